"""Subclasses of ndarray: views, copies and ufuncs keep the type and tell __array_finalize__, as NumPy's do."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import quern


class Named(quern.ndarray):
    name = None

    def __new__(cls, *args, name=None, **kwargs):
        made = super().__new__(cls, *args, **kwargs)
        made.name = name
        return made

    def __array_finalize__(self, origin):
        if origin is not None:
            self.name = getattr(origin, "name", "new")


class Plain(quern.ndarray):
    pass


def test_making(device):
    a = Named((2, 3), "f4", name="a")
    assert type(a) is Named
    assert (a.name, a.shape, a.dtype) == ("a", (2, 3), "f4")
    assert type(Plain(3)) is Plain


def test_views(device):
    x = quern.arange(12.0).reshape(3, 4)
    a = x.view(Named)
    assert type(a) is Named
    assert a.name == "new"
    a.name = "a"
    for view in (
        a[1:],
        a[0],
        a.T,
        a.reshape(-1),
        a[:, None],
        a.view(),
        a.view("i8"),
        a.swapaxes(0, 1),
        a.ravel(),
    ):
        assert type(view) is Named
        assert view.name == "a"
        assert quern.may_share_memory(view, x)
    assert type(a.view(quern.ndarray)) is quern.ndarray
    assert type(x.view("i8", Plain)) is Plain
    assert x.view("i8", Plain).dtype == "i8"
    assert type(x.view(type=Plain)) is Plain
    assert a.view(Plain).base is x.base
    for wrong in (int, np.ndarray, 3):
        with pytest.raises(ValueError, match="subclass"):
            x.view(type=wrong)


def test_copies_and_ufuncs(device):
    x = quern.arange(4.0)
    a, b = x.view(Named), x.view(Plain)
    a.name = "a"
    for made in (
        a.copy(),
        quern.sin(a),
        quern.add(x, a),
        a + 1,
        2 * a,
        a < 2,
        quern.modf(a)[1],
        a + b,
    ):
        assert type(made) is Named
        assert made.name == "a"
    assert type(b + a) is Plain
    assert type(quern.sin(a, subok=False)) is quern.ndarray
    out = quern.empty(4)
    assert quern.sin(a, out=out) is out
    np.testing.assert_array_equal((a + 1).get(), np.arange(4.0) + 1)


def test_an_error_in_the_hook_comes_through(device):
    class Wrong(quern.ndarray):
        def __array_finalize__(self, origin):
            raise KeyError("hook")

    with pytest.raises(KeyError, match="hook"):
        quern.zeros(3).view(Wrong)
    with pytest.raises(KeyError, match="hook"):
        Wrong(3)


def test_copies_and_comparisons_keep_the_type(device):
    a = quern.arange(4).view(Plain)
    for made in (a.copy(), copy.copy(a), copy.deepcopy(a), a == 2, a == None, a != "x"):  # noqa: E711
        assert type(made) is Plain
    for made in (quern.asarray(a), quern.array(a, copy=None), quern.array(a)):
        assert type(made) is quern.ndarray
    assert quern.asanyarray(a) is a
    assert type(quern.array(a, copy=None, subok=True)) is Plain
    with pytest.raises(TypeError, match="subok"):
        quern.sin(a, subok=1)


def test_the_hook_of_ndarray_may_be_called(device):
    class Careful(quern.ndarray):
        def __array_finalize__(self, origin):
            super().__array_finalize__(origin)
            self.seen = True

    assert quern.zeros(3).view(Careful)[1:].seen


def test_an_error_in_the_hook_of_a_copy_comes_through(device):
    class Late(quern.ndarray):
        raises = False

        def __array_finalize__(self, origin):
            if Late.raises:
                raise KeyError("hook")

    a = quern.zeros(3).view(Late)
    Late.raises = True
    for make in (a.copy, lambda: copy.copy(a), lambda: quern.sin(a), lambda: a == None):  # noqa: E711
        with pytest.raises(KeyError, match="hook"):
            make()
