"""The list of NumPy's and CuPy's names is true: what is missing says why, and the page of all of them is up to date."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import quern
from quern._absent import REFUSED, is_planned

DOCS = Path(__file__).parents[2] / "docs"
MISSING = sorted(
    name for name in np.__all__ if not name.startswith("_") and name not in quern.__all__
)

if not DOCS.exists():
    pytest.skip("not a checkout", allow_module_level=True)


@pytest.fixture(scope="module")
def names():
    spec = importlib.util.spec_from_file_location("names", DOCS / "names.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_writes(names):
    page = (DOCS / "names.md").read_text()
    if f"with NumPy {names.numpy_version()}." not in page:
        pytest.skip("the page was written with another NumPy")
    assert page == names.page(), "run `python docs/names.py`"


@pytest.mark.parametrize("name", MISSING)
def test_missing_names_say_why(name):
    assert (name in REFUSED) != is_planned(name)
    with pytest.raises(AttributeError) as error:
        getattr(quern, name)
    assert (REFUSED.get(name) or "is planned") in str(error.value)


def test_refused_names_are_missing_and_are_somebodys(names):
    assert not set(REFUSED) & set(quern.__all__)
    known = (
        names.cupy_names()
        | names.numpy_names()
        | {name for name in dir(np)}
        | {"matlib", "core", "float96", "complex192"}
    )
    assert set(REFUSED) <= known | {
        "float128",
        "complex256",
        "scimath",
        "tracemalloc_domain",
        "ScalarType",
    }


def test_names_that_differ_are_there(names):
    assert set(names.DIFFERS) <= set(quern.__all__)


def test_unknown_names_are_plain_errors():
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_thing'$"):
        _ = quern.no_such_thing


@pytest.mark.parametrize(
    ("module", "name"), [("linalg", "svd"), ("fft", "fft"), ("random", "default_rng")]
)
def test_later_modules_say_so(module, name):
    with pytest.raises(AttributeError, match="comes later"):
        getattr(getattr(quern, module), name)
    with pytest.raises(AttributeError, match=r"'no_such_thing'$"):
        _ = getattr(quern, module).no_such_thing
