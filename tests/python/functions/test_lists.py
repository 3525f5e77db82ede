"""Functions take lists and scalars as NumPy's do; what is of another kind answers operators by itself."""

import numpy as np
import pytest
from functions.compare import agree

import quern

ROW, ROWS = [3, 1, 2], [[3, 1, 2], [0, 5, 4]]

CALLS = {
    **{
        name: (ROWS,)
        for name in (
            "sum", "prod", "max", "min", "ptp", "mean", "std", "var", "all", "any", "argmax", "argmin", "count_nonzero",
            "nansum", "nanmean", "nanmax", "cumsum", "cumprod", "nancumsum", "average", "median", "nanmedian", "sort",
            "argsort", "ravel", "squeeze", "transpose", "unique", "nonzero", "flatnonzero", "argwhere", "diagonal",
            "sort_complex",
        )
    },
    "reshape": (ROWS, (3, 2)),
    "moveaxis": (ROWS, 0, 1),
    "swapaxes": (ROWS, 0, 1),
    "expand_dims": (ROW, 0),
    "broadcast_to": (ROW, (2, 3)),
    "cumulative_sum": (ROW,),
    "percentile": (ROW, 30),
    "quantile": (ROW, 0.3),
    "partition": (ROW, 1),
    "argpartition": ([3, 1], 1),
    "lexsort": (ROWS,),
    "searchsorted": ([1, 3], 2),
    "digitize": (ROW, [1, 2]),
    "bincount": (ROW,),
    "isin": (ROW, [1, 4]),
    "take": (ROW, 1),
    "compress": ([1, 0, 1], ROW),
    "choose": ([1, 0, 1], ROWS),
    "piecewise": (np.int8(2), [False, True], [1, 10]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_lists(device, name):
    agree(getattr(quern, name)(*CALLS[name]), getattr(np, name)(*CALLS[name]), 1e-15)


def scalars(of, value):
    """Numbers, also those in lists, as 0-d arrays and as NumPy's scalars."""
    if isinstance(value, (list, tuple)):
        return type(value)(scalars(of, item) for item in value)
    number = np.asarray(value)[()]
    return value if isinstance(value, (str, bool)) else of(number)


SCALARS = {
    **CALLS,
    "array_split": (list(range(11)), 3),
    "tile": (ROW, 2),
    "tile pairs": (ROW, (2, 3)),
    "repeat": (ROW, 2),
    "repeat each": (ROW, [2, 0, 1]),
    "roll": (ROW, 1),
    "roll rows": (ROWS, (1, 2), (0, 1)),
    "round": ([0.375, 1.6251], 1),
    "pad": (ROWS, (1, 2)),
    "pad rows": (ROWS, ((1, 2), (0, 1))),
    "full": ((2, 3), [1, 2, 3]),
    "arange": (1, 9.5, 2),
    "linspace": (1.0, 2.0, 7),
    "histogram": ([1, 2, 1], [0, 1, 2, 3]),
    "histogram 4": ([1, 2, 1.5], 4),
    "histogram_bin_edges": ([1, 2, 5], 3),
    "percentile several": (ROW, [30, 50]),
    "delete": (list(range(9)), [1, 3, 5]),
    "delete 2": (list(range(9)), 2),
    "insert": (list(range(9)), [1, 3], [70, 80]),
    "interp": ([1.5, 2.25], [1, 2, 3], [3.0, 2.0, 0.0]),
    "diag_indices": (3, 2),
    "eye": (3, 4, 1),
    "tri": (3, 4, 1),
    "where": ([1, 0, 1], ROW, 7),
    "clip": (ROW, 1, 2),
    "polyval": (ROW, 2),
    "roots": ([1, -3, 2],),
    "convolve": (ROW, [1, 2]),
    "gradient": ([1.0, 2.0, 4.0],),
    "trapezoid": (ROW,),
    "outer": (ROW, ROW),
    "cross": (ROW, [1, 2, 4]),
    "meshgrid": (ROW, [1, 2]),
    "unravel_index": (5, (2, 3)),
    "concatenate": ((ROW, [7]),),
    "stack": ((ROW, ROW),),
    "block": ([[1, 2], [3, 4]],),
}


@pytest.mark.parametrize("name", SCALARS)
def test_lists_of_scalar_arrays(device, name):
    """What is a scalar of NumPy's in a script is a 0-d array here: lists, options and extents take it."""
    function, given = name.split(" ")[0], SCALARS[name]
    found = getattr(quern, function)(*scalars(quern.asarray, given))
    agree(found, getattr(np, function)(*scalars(lambda number: number, given)), 1e-14)


@pytest.mark.parametrize("letter", "bIlefd")
def test_round_of_scalar_arrays(device, letter):
    for number in (2.5, 3.5, -1.375, 126):
        x = np.asarray(number).astype(letter)
        ours = quern.asarray(x)
        assert round(ours) == round(x[()])
        assert type(round(ours)) is int
        for decimals in (0, 1, -1):
            agree(round(ours, decimals), np.asarray(round(x[()], decimals)))
    with pytest.raises(TypeError, match="0-d"):
        round(quern.ones(1))
    with pytest.raises(ValueError, match="NaN"):
        round(quern.asarray(np.nan))


def test_scalar_arrays_as_options(device):
    x = quern.asarray(np.arange(12.0).reshape(3, 4))
    host, two, one = x.get(), quern.asarray(2), quern.asarray(1)
    agree(x.max(initial=quern.asarray(7.5)), host.max(initial=7.5))
    agree(quern.sum(x, axis=1, initial=two), host.sum(1, initial=2))
    agree(quern.add.reduce(x, initial=two), np.add.reduce(host, initial=2))
    with pytest.raises(TypeError, match="initial must be a number"):
        x.max(initial=quern.asarray([7.5]))
    for name, options in {"split": [2, [1, 2]], "hsplit": [2], "vsplit": [3]}.items():
        for given in options:
            split = getattr(quern, name)(x, scalars(quern.asarray, given), *[1][: name == "split"])
            agree(split, getattr(np, name)(host, given, *[1][: name == "split"]))
    agree(quern.partition(ROWS, [one, two], 1), np.partition(ROWS, [1, 2], 1))
    agree(quern.add.reduceat(x[0], [one, two]), np.add.reduceat(host[0], [1, 2]))
    agree(x[[one, two]], host[[1, 2]])
    agree(x[:, [one, two]], host[:, [1, 2]])
    agree(x[([one, 0], [two, 1])], host[[1, 0], [2, 1]])
    agree(x.flat[[one, two]], host.flat[[1, 2]])
    x[[one, two]] = [[one] * 4, x[0]]
    host[[1, 2]] = [[1] * 4, host[0]]
    agree(x, host)
    quern.add.at(x, [one, one], [[one] * 4, [two] * 4])
    np.add.at(host, [1, 1], [[1] * 4, [2] * 4])
    agree(x, host)
    quern.fill_diagonal(x[:, :3], [one, two, 5])
    np.fill_diagonal(host[:, :3], [1, 2, 5])
    agree(x, host)
    quern.copyto(x, 9, where=[one, quern.asarray(0), one, two])
    np.copyto(host, 9, where=np.array([1, 0, 1, 2], bool))
    agree(x, host)
    agree(quern.asarray(quern.asnumpy([one, two])), np.array([1, 2]))
    with pytest.raises(IndexError, match="valid indices"):
        x[[quern.asarray(1.5), one]]
    assert x[[x[:0, 0]]].shape == (1, 0, 4)


def test_shapes_of_anything(device):
    for value in (3, 2.5, None, [], ROWS, (1, 2), {1, 2}, "text", quern.zeros((2, 3)), np.zeros(2)):
        for name in ("shape", "ndim", "size"):
            theirs = value.get() if isinstance(value, quern.ndarray) else value
            assert getattr(quern, name)(value) == getattr(np, name)(theirs)
    scalar_arrays = scalars(quern.asarray, ROWS)
    assert quern.shape(scalar_arrays) == (2, 3)
    assert (quern.ndim(scalar_arrays), quern.size(scalar_arrays)) == (2, 6)
    for axis in (0, -1, (0, 1), ()):
        assert quern.size(ROWS, axis) == np.size(ROWS, axis)
        assert quern.size(quern.asarray(ROWS), axis) == np.size(ROWS, axis)
    for axis in (2, (0, 0)):
        with pytest.raises((ValueError, IndexError)):
            quern.size(ROWS, axis)


def test_weighted_means(device):
    agree(quern.average(ROW, weights=[1, 0, 2]), np.average(ROW, weights=[1, 0, 2]), 1e-15)
    agree(
        quern.average(quern.asarray(ROWS), 0, np.ones((2, 3)), returned=True),
        np.average(ROWS, 0, np.ones((2, 3)), returned=True),
        1e-15,
    )


class Other(np.lib.mixins.NDArrayOperatorsMixin):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, inputs


class Silent:
    __array_ufunc__ = None

    def __radd__(self, other):
        return "radd"

    def __gt__(self, other):
        return "gt"


def test_operators_of_others(device):
    x, y = quern.arange(2), Other()
    for said, first, second in (
        (x + y, x, y), (y + x, y, x), (x - y, x, y), (y**x, y, x), (np.multiply(x, y), x, y), (x < y, x, y),
    ):  # fmt: skip
        assert said[1][0] is first
        assert said[1][1] is second
    assert [(x + y)[0], (x < y)[0], (x == y)[0], (y >= x)[0]] == [
        "add", "less", "equal", "greater_equal",
    ]  # fmt: skip
    assert x + Silent() == "radd"
    assert (x < Silent()) == "gt"


def test_correlations_lie_in_one_run(device):
    for mode in ("full", "same", "valid"):
        made = quern.correlate(quern.arange(3.0), quern.arange(7.0), mode)
        assert made.flags.c_contiguous
        agree(made, np.correlate(np.arange(3.0), np.arange(7.0), mode))


def test_a_linspace_of_the_smallest_floats(device):
    agree(quern.linspace(0, 5e-324, 10), np.linspace(0, 5e-324, 10))


def test_values_that_are_not_safe(device):
    a = quern.zeros(3, "i4")
    with pytest.raises(TypeError, match="safe"):
        quern.putmask(a, a == 0, quern.ones(3))
    with pytest.raises(TypeError, match="safe"):
        np.putmask(np.zeros(3, "i4"), [True] * 3, np.ones(3))
    quern.putmask(a, a == 0, quern.ones(3, "i2"))
    agree(a, np.ones(3, "i4"))
    with pytest.raises(ValueError, match="too deep"):
        quern.bincount(quern.asarray([[1.5]]))


def test_weights_that_cancel(device):
    for axis, weights in ((None, [1, -1]), (0, [1, -1])):
        with pytest.raises(ZeroDivisionError, match="zero"):
            quern.average(quern.asarray([1.0, 2]), axis, weights)
    with pytest.raises(ZeroDivisionError):
        quern.average(quern.ones((2, 3)), 0, quern.asarray([[1.0, 0, 2], [1, 0, 3]]))


def test_coordinates_from_the_host(device):
    f, x = np.arange(12.0).reshape(3, 4) ** 2, np.array([0.0, 1, 3, 7])
    agree(quern.gradient(quern.asarray(f), x, axis=1), np.gradient(f, x, axis=1), 1e-14)
    agree(quern.gradient(quern.asarray(f), [0, 1, 5], x), np.gradient(f, [0, 1, 5], x), 1e-14)
    agree(quern.gradient(quern.asarray(f), np.array(2.0)), np.gradient(f, np.array(2.0)), 1e-14)


def test_positions_of_a_dtype(device):
    a = quern.asarray([[3, 1, 2], [0, 5, 4]])
    for name in ("argmax", "argmin"):
        for axis in (None, 1):
            theirs = getattr(np, name)(a.get(), axis).astype("i1")
            agree(getattr(quern, name)(a, axis, dtype="i1"), theirs)
            agree(getattr(a, name)(axis, dtype="i1"), theirs)


def test_scalars_of_numpys_on_the_left(device):
    a = quern.asarray([[1, 5, 3]])
    for scalar in (np.int16(3), np.float32(3), np.bool_(True), np.array(3), np.complex64(3)):
        for op in ("add", "subtract", "multiply", "equal", "not_equal", "power"):
            agree(getattr(np, op)(scalar, a), getattr(np, op)(scalar, a.get()), 1e-6)
    for scalar in (np.int16(3), np.float32(3)):
        agree(scalar < a, scalar < a.get())
        agree(scalar >= a, scalar >= a.get())
        agree(scalar == a, scalar == a.get())


def test_one_warning_for_a_dropped_imaginary_part(device):
    a = quern.zeros(3)
    for write in (
        lambda: a.__setitem__(0, np.complex64(2j)),
        lambda: a.__setitem__(quern.asarray([0]), np.complex128(2j)),
        lambda: a.fill(np.complex64(1 + 2j)),
    ):
        with pytest.warns(np.exceptions.ComplexWarning) as caught:
            write()
        assert len(caught) == 1


def test_places_of_bools_and_default_order(device):
    dims = (2, 4)
    parts = [np.array([True, False]), np.array([1, 3])]
    ours = [quern.asarray(x) for x in parts]
    for order in ("C", "F", None):
        plain = order or "C"
        found = quern.ravel_multi_index(ours, dims, order=order)
        agree(found, np.ravel_multi_index(parts, dims, order=plain))
        found = quern.unravel_index(quern.asarray([True, False]), dims, order)
        agree(found, np.unravel_index([1, 0], dims, plain))
    for call in (
        lambda: quern.ravel_multi_index(ours, (2.0, 4)),
        lambda: quern.unravel_index(3, (2.0, 4)),
    ):
        with pytest.raises(TypeError):
            call()


class ByIdentity:
    pass


class KnowsTwo:
    def __eq__(self, other):
        return other == 2

    __hash__ = None


def test_equality_with_what_is_no_number(device):
    theirs = np.array([[1, 2, 3], [4, 5, 6]])
    a = quern.asarray(theirs)
    for value in (None, "text", b"bytes", {}, ..., ByIdentity(), object()):
        agree(a == value, theirs == value)
        agree(a != value, theirs != value)
        agree(value == a, value == theirs)
        agree(value != a, value != theirs)
    agree(a == KnowsTwo(), (theirs == KnowsTwo()).astype(bool))
    with pytest.raises(TypeError, match="__ne__"):
        a != KnowsTwo()  # noqa: B015
    with pytest.raises(TypeError):
        a < None  # noqa: B015
