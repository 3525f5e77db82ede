"""How many launches, copies and waits each function asks of the driver: a constant number, and no hidden wait.

`costs.py` holds the list, docs/costs.md shows it.
"""

from __future__ import annotations

import importlib.util
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from functions.costs import BOUNDED, BY_SIZE, CALLS_OTHERS, COSTS, ON_THE_HOST, Function

import quern
from quern import _core

DOCS = Path(__file__).resolve().parents[3] / "docs"


def cost_of(function: Function, n: int, device: quern.Device) -> tuple[int, int]:
    a = quern.asarray(np.linspace(-5, 5, n * n).reshape(n, n))
    v = quern.asarray(np.linspace(1, 2, n))
    for _ in range(8):  # a GPU's first reads are copies and waits, the others one wait
        bool(v[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        function(a, v)  # compiled now, so that what compiling asks of the driver is not counted
        device.synchronize()  # nor launches that waited for their kernels
        before = _core._call_counts(device)
        function(a, v)
        after = _core._call_counts(device)
    spent = {name: after[name] - before[name] for name in after}
    return spent["launches"] + spent["copies"] + spent["fills"], spent["waits"]


@pytest.mark.parametrize("name", COSTS)
def test_a_call_costs_what_it_says(device, name):
    function, work, reads = COSTS[name]
    small, large = cost_of(function, 12, device), cost_of(function, 68, device)
    assert name in BY_SIZE or small == large
    assert max(small[0], large[0]) <= work
    one_read = cost_of(lambda a, v: bool(v[0]), 12, device)[
        1
    ]  # a copy and the wait for it, or both in one
    if name in BOUNDED:
        assert max(small[1], large[1]) <= reads * one_read
    else:
        assert small[1] == large[1] == reads * one_read


@pytest.mark.parametrize("name", _core.ufuncs)
def test_a_ufunc_is_one_launch(device, name):
    ufunc = _core.ufuncs[name]
    letters = next(t for t in reversed(ufunc.types) if not set("!X") & set(t)).split("->")[0]
    inputs = [quern.ones(50, letter) for letter in letters]
    assert cost_of(lambda a, v: ufunc(*inputs), 12, device) == (1, 0)


def test_every_public_function_is_counted():
    """Each has a row in the list, or is of the host, or calls what it is given."""
    counted = {name.split(",")[0].split("(")[0].split(" ")[0] for name in COSTS}
    functions = {
        name
        for name in quern.__all__
        if not name.startswith("__")
        and callable(thing := getattr(quern, name))
        and not isinstance(thing, (type, types.ModuleType, quern.ufunc))
        and getattr(np, name, None) is not thing
    }
    assert functions - counted - ON_THE_HOST - CALLS_OTHERS == set()
    assert (ON_THE_HOST | CALLS_OTHERS) & counted == set()


def test_the_list_is_shown():
    spec = importlib.util.spec_from_file_location("costs_page", DOCS / "costs.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    assert (DOCS / "costs.md").read_text() == page.page(), "run: python docs/costs.py"


def test_the_count_counts(device):
    _core._call_counts(device)
    a = quern.zeros(100)
    before = _core._call_counts(device)
    a + 1
    middle = _core._call_counts(device)
    assert middle["launches"] - before["launches"] == 1
    assert middle["waits"] == before["waits"]
    a.get()
    assert _core._call_counts(device)["waits"] > middle["waits"]
