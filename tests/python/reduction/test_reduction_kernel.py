"""ReductionKernel against NumPy: shapes, axes, layouts, expressions, errors."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import quern

SUM = quern.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "test_sum")
MAX = quern.ReductionKernel("T x", "T y", "x", "a > b ? a : b", "y = a", "-1000000", "test_max")
SHAPES = [
    (), (1,), (7,), (1000,), (100_003,), (3, 5), (1, 300), (300, 1), (64, 64), (33, 1000), (1000, 33),
    (20_000, 3), (3, 20_000), (5, 7, 11), (2, 300, 17), (17, 2, 300), (4, 1, 6, 5), (2, 3, 4, 5, 6),
]  # fmt: skip


def every_axis(ndim):
    yield None
    for count in range(1, ndim + 1):
        yield from itertools.combinations(range(ndim), count)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_axis(device, shape):
    values = np.random.default_rng(len(shape)).integers(-100, 100, shape)
    array = quern.asarray(values)
    for axis in every_axis(values.ndim):
        for keepdims in (False, True):
            found = SUM(array, axis=axis, keepdims=keepdims)
            expected = values.sum(axis=axis, keepdims=keepdims)
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found.get(), expected)


def views(values):
    yield "transposed", lambda a: a.transpose()
    yield "rotated", lambda a: a.transpose(1, 2, 0)
    yield "reversed", lambda a: a[::-1, :, ::-1]
    yield "all reversed", lambda a: a[::-1, ::-1, ::-1]
    yield "strided", lambda a: a[:, ::2, ::3]
    yield "offset", lambda a: a[1:, 1:, 1:]
    yield "odd", lambda a: a[:, :, 1:-2]
    yield "broadcast", lambda a: a[:, :1, :]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float64"])
@pytest.mark.parametrize("shape", [(9, 33, 130), (130, 9, 33), (40, 50, 60)], ids=str)
def test_views(device, dtype, shape):
    values = np.random.default_rng(3).integers(-3, 3, shape).astype(dtype)
    kernel = quern.ReductionKernel("T x", "int64 y", "x", "a + b", "y = a", "0", "test_wide_sum")
    array = quern.asarray(values)
    for name, view in views(values):
        of_numpy, ours = view(values), view(array)
        if name == "broadcast":
            of_numpy = np.broadcast_to(of_numpy, values.shape)
            ours = quern.broadcast_to(ours, values.shape)
        for axis in every_axis(3):
            found = kernel(ours, axis=axis).get()
            np.testing.assert_array_equal(
                found, of_numpy.astype("int64").sum(axis=axis), f"{name} {axis}"
            )


def test_random_shapes_and_strides(device):
    random = np.random.default_rng(11)
    for _ in range(120):
        ndim = int(random.integers(1, 6))
        shape = tuple(int(n) for n in random.integers(1, [0, 3000, 80, 20, 9, 6][ndim] + 1, ndim))
        values = random.integers(-1000, 1000, shape).astype(
            random.choice(["int16", "int32", "int64"])
        )
        slices = tuple(
            slice(int(random.integers(0, 2)), None, int(random.choice([1, 1, 1, 2, 3, -1])))
            if n > 3
            else slice(None)
            for n in shape
        )
        slices = tuple(slice(None, None, s.step) if s.step and s.step < 0 else s for s in slices)
        order = tuple(int(d) for d in random.permutation(ndim))
        of_numpy = values[slices].transpose(order)
        ours = quern.asarray(values)[slices].transpose(order)
        chosen = [d for d in range(ndim) if random.random() < 0.5]
        axis = tuple(chosen) if chosen else None
        found = quern.ReductionKernel(
            "T x", "int64 y", "x", "a + b", "y = a", "0", "test_wide_sum"
        )(ours, axis=axis)
        expected = of_numpy.astype("int64").sum(axis=axis)
        np.testing.assert_array_equal(found.get(), expected, f"{shape} {slices} {order} {axis}")


@pytest.mark.parametrize("splits", [1, 2, 3, 7, 64, 1000])
def test_any_number_of_blocks_for_an_output(device, splits):
    values = np.random.default_rng(splits).integers(-100, 100, (3, 40_000)).astype("int32")
    array = quern.asarray(values)
    for view, of_numpy in ((array, values), (array.T, values.T)):
        for axis in (None, 0, 1):
            np.testing.assert_array_equal(
                SUM(view, axis=axis, splits=splits).get(), of_numpy.sum(axis=axis, dtype="int32")
            )


def test_broadcast_inputs_and_scalars(device):
    random = np.random.default_rng(5)
    x, y = random.standard_normal((40, 50)), random.standard_normal((50,))
    dot = quern.ReductionKernel(
        "T x, T y, float64 scale", "T z", "x * y * scale", "a + b", "z = a + scale", "0", "test_dot"
    )
    for axis in (None, 0, 1):
        found = dot(quern.asarray(x), quern.asarray(y), 2.5, axis=axis).get()
        np.testing.assert_allclose(found, (x * y * 2.5).sum(axis=axis) + 2.5, rtol=1e-12)


def test_raw_inputs(device):
    values = np.random.default_rng(6).integers(0, 100, 500)
    weights = np.random.default_rng(7).integers(0, 100, 500)
    kernel = quern.ReductionKernel(
        "T x, raw T w", "T y", "x * w[_J]", "a + b", "y = a", "0", "test_weighted"
    )
    found = kernel(quern.asarray(values), quern.asarray(weights))
    assert int(found) == int((values * weights).sum())


ARGMAX = quern.ReductionKernel(
    "T x",
    "int64 y",
    "Best<T>(x, _J)",
    "better(a, b)",
    "y = a.index",
    None,
    "test_argmax",
    "Best<T>",
    preamble="""
    template <class T> struct Best {
        T value; long long index;
        __device__ Best() : value(), index(-1) {}
        __device__ Best(T v, long long i) : value(v), index(i) {}
    };
    template <class T> __device__ Best<T> better(Best<T> a, Best<T> b) {
        if (a.index < 0) return b;
        if (b.index < 0) return a;
        if (a.value == b.value) return a.index < b.index ? a : b;
        return a.value > b.value ? a : b;
    }
    """,
)


@pytest.mark.parametrize(
    "shape", [(1000,), (300_000,), (37, 500), (500, 37), (20, 30, 40)], ids=str
)
def test_positions_and_structures(device, shape):
    values = np.random.default_rng(8).integers(0, 50, shape).astype("int32")
    for view in (lambda a: a, lambda a: a.T, lambda a: a[::-1]):
        of_numpy = view(values)
        for axis in (None, *range(values.ndim)):
            found = ARGMAX(view(quern.asarray(values)), axis=axis).get()
            np.testing.assert_array_equal(found, of_numpy.argmax(axis=axis))


def test_output_numbers_and_indices(device):
    values = np.random.default_rng(9).integers(0, 9, (4, 5, 6))
    rows = quern.ReductionKernel("T x", "T y", "x * _i", "a + b", "y = a", "0", "test_rows")
    found = rows(quern.asarray(values), axis=1).get()
    number = np.arange(24).reshape(4, 6)
    np.testing.assert_array_equal(found, values.sum(axis=1) * number)
    place = quern.ReductionKernel(
        "T x",
        "int64 y",
        "x * (_in_ind.get()[0] * 100 + _in_ind.get()[1] * 10 + _in_ind.get()[2])",
        "a + b",
        "y = a",
        "0",
        "test_place",
    )
    found = place(quern.asarray(values), axis=1).get()  # the reduced axis stands first
    j, i, k = np.ogrid[:5, :4, :6]
    expected = (values.transpose(1, 0, 2) * (j * 100 + i * 10 + k)).sum(axis=0)
    np.testing.assert_array_equal(found, expected)


def test_several_outputs(device):
    values = np.random.default_rng(10).standard_normal((30, 70))
    kernel = quern.ReductionKernel(
        "T x",
        "T least, T most, int64 count",
        "Range<T>{x, x, 1}",
        "Range<T>{min(a.low, b.low), max(a.high, b.high), a.count + b.count}",
        "least = a.low; most = a.high; count = a.count",
        "Range<T>{1e300, -1e300, 0}",
        "test_range",
        "Range<T>",
        preamble="template <class T> struct Range { T low, high; long long count; };",
    )
    for axis in (None, 0, 1):
        low, high, count = kernel(quern.asarray(values), axis=axis)
        np.testing.assert_array_equal(low.get(), values.min(axis=axis))
        np.testing.assert_array_equal(high.get(), values.max(axis=axis))
        assert (count.get() == values.size // low.size).all()


def test_outputs_of_any_layout(device):
    values = np.random.default_rng(12).integers(0, 100, (6, 7, 8))
    array = quern.asarray(values)
    expected = values.sum(axis=1)
    for out in (
        quern.zeros((6, 8), "int64"),
        quern.zeros((8, 6), "int64").T,
        quern.zeros((12, 16), "int64")[::2, ::2],
        quern.zeros((6, 8), "int64")[::-1, ::-1],
    ):
        assert SUM(array, axis=1, out=out) is out
        np.testing.assert_array_equal(out.get(), expected)
    out = quern.zeros((6, 8), "int64")
    assert SUM(array, out, axis=1) is out
    np.testing.assert_array_equal(out.get(), expected)


def test_empty(device):
    for shape, axis in (((0,), None), ((0, 5), 0), ((3, 0), 1), ((0, 5), 1), ((2, 0, 3), (0, 1))):
        values = np.zeros(shape, "int64")
        found = SUM(quern.asarray(values), axis=axis)
        np.testing.assert_array_equal(found.get(), values.sum(axis=axis))
    without = quern.ReductionKernel("T x", "T y", "x", "a + b", "y = a", None, "test_none")
    with pytest.raises(ValueError, match="zero-size array to reduction operation test_none which"):
        without(quern.zeros((0,)))
    assert without(quern.zeros((0, 3)), axis=1).shape == (0,)


def test_the_same_bits_each_time(device):
    values = np.random.default_rng(13).standard_normal((700, 900)).astype("float32")
    array = quern.asarray(values)
    for axis in (None, 0, 1):
        first = SUM(array, axis=axis).get().tobytes()
        assert all(SUM(array, axis=axis).get().tobytes() == first for _ in range(20))


def test_half_and_complex(device):
    random = np.random.default_rng(14)
    half = random.standard_normal((50, 60)).astype("float16")
    kernel = quern.ReductionKernel(
        "T x", "T y", "x", "a + b", "y = a", "0", "test_half", reduce_type="float"
    )
    np.testing.assert_allclose(
        kernel(quern.asarray(half), axis=0).get(),
        half.astype("f8").sum(axis=0),
        rtol=2e-3,
        atol=1e-2,
    )
    z = random.standard_normal((50, 60)) + 1j * random.standard_normal((50, 60))
    np.testing.assert_allclose(SUM(quern.asarray(z), axis=1).get(), z.sum(axis=1), rtol=1e-12)


def test_mistakes_are_refused(device):
    array = quern.zeros((3, 4))
    with pytest.raises(np.exceptions.AxisError):
        SUM(array, axis=2)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        SUM(array, axis=(0, -2))
    with pytest.raises(ValueError, match="Out shape is mismatched"):
        SUM(array, axis=0, out=quern.zeros(3))
    with pytest.raises(ValueError, match="both a positional and keyword"):
        SUM(array, quern.zeros(4), axis=0, out=quern.zeros(4))
    with pytest.raises(TypeError, match="Type is mismatched"):
        SUM(array, axis=0, out=quern.zeros(4, "int32"))
    with pytest.raises(TypeError, match="Wrong number of arguments"):
        SUM()
    with pytest.raises(TypeError, match="takes out=, axis="):
        SUM(array, dtype="int32")
    with pytest.raises(TypeError, match="Unsupported type"):
        SUM(np.zeros(3))
    with pytest.raises(ValueError, match="no input is an array"):
        quern.ReductionKernel("float64 x", "T y", "x", "a + b", "y = a", "0")(1.0, quern.zeros(()))
    with pytest.raises(ValueError, match="map_expr is empty"):
        quern.ReductionKernel("T x", "T y", " ", "a + b", "y = a", "0")
    with pytest.raises(ValueError, match="has no output"):
        quern.ReductionKernel("T x", "", "x", "a + b", "y = a", "0")
    np.testing.assert_array_equal(SUM(array, axis=0).get(), np.zeros(4))


def test_compile_errors_name_the_expression(device):
    for texts, label in (
        (("x +* 2", "a + b", "y = a"), "map_expr"),
        (("x", "a + c", "y = a"), "reduce_expr"),
        (("x", "a + b", "y = q"), "post_map_expr"),
    ):
        kernel = quern.ReductionKernel("T x", "T y", *texts, "0", "test_wrong")
        with pytest.raises(quern.CompileError, match=rf"{label}, line 1"):
            kernel(quern.zeros(3))


def test_attributes_and_pickles(device):
    assert (SUM.nin, SUM.nout, SUM.nargs, SUM.name) == (1, 1, 2, "test_sum")
    assert (SUM.map_expr, SUM.reduce_expr, SUM.post_map_expr, SUM.identity) == (
        "x",
        "a + b",
        "y = a",
        "0",
    )
    again = pickle.loads(pickle.dumps(ARGMAX))
    assert int(again(quern.asarray(np.array([3, 9, 2, 9])))) == 1
    assert "plan: " in SUM.explain(quern.zeros((30, 40)), axis=1)
    assert repr(SUM) == "<quern.ReductionKernel test_sum(T x) -> (T y)>"
