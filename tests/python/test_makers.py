"""Functions that make arrays, against NumPy: values, dtypes, layouts, and what they refuse."""

import warnings

import numpy as np
import pytest

import quern


def test_zeros_ones_full(device, dtype, equal):
    for shape in [(), 3, (2, 3), [2, 0], (np.int64(2), 2)]:
        equal(quern.zeros(shape, dtype), np.zeros(shape, dtype))
        equal(quern.ones(shape, dtype), np.ones(shape, dtype))
        equal(quern.full(shape, 1, dtype), np.full(shape, 1, dtype))
    for order in "CF":
        made = quern.zeros((2, 3), dtype, order)
        assert made.strides == np.zeros((2, 3), dtype, order).strides
        equal(quern.ones((2, 3), dtype, order), np.ones((2, 3), dtype))


@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e20, -1.5, 2.5, 1 + 2j, complex(np.nan, 1)])
def test_values_that_the_dtype_cannot_hold_are_cast(device, dtype, value, equal):
    def made(xp):
        copied = xp.ones((2, 3), dtype)
        xp.copyto(copied, value, casting="unsafe")
        masked = xp.ones((2, 3), dtype)
        xp.copyto(masked, value, casting="unsafe", where=masked > 0)
        return (
            xp.full((2, 3), value, dtype),
            xp.full_like(xp.ones(3, dtype), value),
            copied,
            masked,
        )

    with warnings.catch_warnings(record=True) as theirs:
        warnings.simplefilter("always")
        expected = made(np)
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        found = made(quern)
    for mine, other in zip(found, expected, strict=True):
        equal(mine, other)
    # An infinite float16 is what the dtype holds: no warning, as in all kernels.
    lost = [w for w in theirs if "overflow" not in str(w.message)]
    assert [(w.category, str(w.message)) for w in ours] == [
        (w.category, str(w.message)) for w in lost
    ]


def test_assignment_refuses_what_the_dtype_cannot_hold(device):
    for value, error in ((np.nan, ValueError), (np.inf, OverflowError), (1e30, OverflowError)):
        for xp in (np, quern):
            array = xp.ones(3, np.int64)
            with pytest.raises(error):
                array.fill(value)
            with pytest.raises(error):
                array[1] = value
            assert array.tolist() == [1, 1, 1]


def test_defaults(device):
    assert quern.empty(2).dtype == np.float64
    assert quern.zeros(2).dtype == np.float64
    assert quern.ones(2).dtype == np.float64
    assert quern.ndarray((2, 3)).dtype == np.float64
    assert quern.ndarray((2, 3), "i", order="F").strides == (4, 8)
    assert quern.empty(2).device == device
    for value in (
        True,
        1,
        1.5,
        1j,
        np.float32(2),
        np.int8(3),
        np.array(2, "u2"),
        quern.asarray(1, "f"),
    ):
        assert (
            quern.full(2, value).dtype
            == np.full(2, value.get() if hasattr(value, "get") else value).dtype
        )


def test_like(device, dtype, layout, make, equal):
    host = layout(make((3, 4), dtype))
    array = quern.asarray(host)
    for order in "CFAK":
        for view, other in ((array, host), (array.T, host.T), (array[:, ::2], host[:, ::2])):
            made, expected = quern.zeros_like(view, order=order), np.zeros_like(other, order=order)
            equal(made, expected)
            equal(quern.ones_like(view, order=order), np.ones_like(other, order=order))
            equal(quern.full_like(view, 1, order=order), np.full_like(other, 1, order=order))
            if view.strides == other.strides:
                assert made.strides == expected.strides
    equal(quern.zeros_like(array, shape=(2, 2)), np.zeros_like(host, shape=(2, 2)))
    assert quern.empty_like(array, "i8").dtype == np.int64
    assert quern.empty_like(np.zeros((2, 3), "f")).shape == (2, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        (5,), (0,), (-3,), (2, 7), (7, 2), (7, 2, -2), (0, 1, 0.1), (5.0,), (1, 2.5, 0.25), (0.5, 3),
        (np.float32(5),), (np.int8(5),), (np.uint8(3), np.uint8(9)), (10, None, 3), (-1.5, 2.25, 0.75), (3, 4),
        (2**53, 2**53 + 4), (True, 5),
    ],
)  # fmt: skip
def test_arange(device, arguments, equal):
    if arguments == (10, None, 3):
        equal(quern.arange(10, step=3), np.arange(10, step=3))
    else:
        equal(quern.arange(*arguments), np.arange(*arguments))


def test_arange_dtype(device, dtype, equal):
    stop = 2 if dtype.kind == "b" else 50
    if dtype.name == "bfloat16":
        assert quern.arange(50, dtype=dtype).get().astype(int).tolist() == list(range(50))
        return
    equal(quern.arange(stop, dtype=dtype), np.arange(stop, dtype=dtype))
    if dtype.kind in "iufc":
        equal(quern.arange(20, 3, -1, dtype=dtype), np.arange(20, 3, -1, dtype=dtype))
    if dtype.kind in "fc":
        equal(quern.arange(0, 3, 0.1, dtype=dtype), np.arange(0, 3, 0.1, dtype=dtype))


def test_arange_refuses(device):
    with pytest.raises(ZeroDivisionError):
        quern.arange(0, 5, 0)
    with pytest.raises(ValueError, match="Maximum allowed size"):
        quern.arange(float("inf"))
    with pytest.raises(ValueError, match="length"):
        quern.arange(float("nan"))
    with pytest.raises(TypeError, match="bool"):
        quern.arange(5, dtype=bool)
    assert quern.arange(255, 256, dtype="u1").get().tolist() == [255]


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7, 50])
@pytest.mark.parametrize("ends", [(0, 1), (2.5, -3), (1j, 2), (-5, 5), (3, 3)], ids=str)
def test_linspace(device, ends, num, endpoint):
    ours, theirs = quern.linspace(*ends, num, endpoint), np.linspace(*ends, num, endpoint)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours.get(), theirs, rtol=1e-15, atol=1e-15)
    if num > 1 and endpoint:
        assert ours[-1].item() == ends[1]


def test_linspace_dtypes(device):
    for dtype in ("f", "i", "u1", "e", "D"):
        ours = quern.linspace(0, 20, 9, dtype=dtype)
        np.testing.assert_array_equal(ours.get(), np.linspace(0, 20, 9, dtype=dtype), strict=True)
    np.testing.assert_array_equal(
        quern.linspace(-4, 4, 7, dtype=int).get(), np.linspace(-4, 4, 7, dtype=int), strict=True
    )
    assert quern.linspace(np.float32(0), np.float32(1)).dtype == np.float32
    values, step = quern.linspace(0, 1, 5, retstep=True)
    assert step == 0.25
    assert values.get().tolist() == [0, 0.25, 0.5, 0.75, 1]
    with pytest.raises(ValueError, match="non-negative"):
        quern.linspace(0, 1, -1)
    with pytest.raises(TypeError, match="Unsupported type"):
        quern.linspace(np.zeros(2), 1)


@pytest.mark.parametrize(
    "value",
    [
        1, 1.5, True, 1j, [1, 2], [[1.0, 2], [3, 4]], (), [], np.float32(1), np.int8([1, 2]), range(4),
        np.arange(6).reshape(2, 3)[::-1], b"", memoryview(b"abc"), [np.float32(1), 2], [[]],
    ],

)  # fmt: skip
def test_asarray_of_anything(device, value, equal):
    if isinstance(value, bytes):
        with pytest.raises(TypeError, match="Unsupported dtype"):
            quern.asarray(value)
        return
    equal(quern.asarray(value), np.asarray(value))


def test_asarray_of_lists_of_arrays(device, equal):
    parts = [quern.arange(3), quern.arange(3, 6)]
    equal(quern.asarray(parts), np.arange(6).reshape(2, 3))
    equal(quern.asarray([[parts[0], parts[1]]]), np.arange(6).reshape(1, 2, 3))
    equal(quern.array([quern.asarray(1.5), 2]), np.array([1.5, 2]))


A = np.random.default_rng(1).random((2, 3))
B = np.arange(3, dtype=np.int16)
NESTED = [
    ([A, A + 1], {}),
    ([A.T, A.T], {}),
    ([[A[0], B], [B, A[1]]], {}),
    ([A[:, 0], [1, 2j], (3, True)], {}),
    ([[np.float32(2), A[0, 0]], [1, 2]], {}),
    ([[B[0], B[1]], [B[2], 7]], {}),
    ([[[B[0]], [1]], [[2], [3]]], {}),
    ([[A, A], [A.tolist(), A]], {}),
    ([[A, A], A[None].repeat(2, 0)], {}),
    ([[B], [B.tolist()]], {}),
    ([A[:0], A[:0]], {}),
    ([A[:, 0], B[:2]], {"dtype": "f4"}),
    ([A * 5, A], {"dtype": "i4"}),
    ([B > 1, B > 0], {}),
    ([A, A], {"order": "F"}),
    ([A, A], {"ndmin": 5}),
    ((A, [B, B]), {}),
]


@pytest.mark.parametrize("nested", range(len(NESTED)))
def test_lists_of_arrays_and_values(device, nested, equal):
    """By NumPy's rules; what the arrays hold is not fetched."""

    def ours(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(ours, value))
        return quern.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value

    value, options = NESTED[nested]
    given = ours(value)
    quern.array(given, **options)
    waits = quern._core._call_counts(device)["waits"]
    found = quern.array(given, **options)
    if all(isinstance(item, np.ndarray) for item in value):
        assert quern._core._call_counts(device)["waits"] == waits
    expected = np.array(value, **options)
    equal(found, expected)
    assert found.flags.c_contiguous == expected.flags.c_contiguous
    assert found.device == device
    target = quern.zeros(found.shape, found.dtype)
    target[...] = given
    equal(target, expected)
    if not options and found.dtype.kind == "i":
        many = quern.arange(10)
        equal(many[given], np.arange(10)[np.array(value)])
        many[given] = given
        equal(many, np.arange(10))


@pytest.mark.parametrize(
    "value",
    [[A, A[0]], [A[0], A[0, :2]], [A[:, :1], 2.0], [[B, B], [B]], [[B], 1], [B, [B]], [A, A.T]],
)
def test_lists_of_arrays_of_several_shapes(device, value):
    def ours(given):
        return list(map(ours, given)) if isinstance(given, list) else quern.asarray(given)

    given = ours(value)
    with pytest.raises(ValueError, match="inhomogeneous") as theirs:
        np.array(value, float)
    with pytest.raises(ValueError, match="inhomogeneous") as found:
        quern.array(given)
    assert str(found.value) == str(theirs.value)
    with pytest.raises(ValueError, match="inhomogeneous"):
        quern.zeros(3)[...] = given
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        quern.array([given[0]], copy=False)


def test_copy_rules(device):
    array = quern.arange(3)
    assert quern.asarray(array) is array
    assert quern.asarray(array, dtype="i8") is array
    assert quern.array(array) is not array
    assert quern.array(array, copy=None) is array
    assert quern.array(array, copy=False) is array
    assert quern.asarray(array, dtype="f").dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        quern.array(array, dtype="f", copy=False)
    two = quern.zeros((2, 3))
    assert quern.asarray(two, order="C") is two
    assert quern.asarray(two, order="F").flags.f_contiguous
    assert quern.ascontiguousarray(two.T).flags.c_contiguous
    assert quern.asfortranarray(two).flags.f_contiguous
    assert quern.copy(two.T).flags.f_contiguous
    assert quern.array(5, ndmin=3).shape == (1, 1, 1)
    assert quern.array(array, copy=None, ndmin=2).base is array


def test_no_copy_of_host_memory(device):
    host = np.arange(4)
    if device.is_cpu:
        array = quern.asarray(host, copy=False)
        array[0] = 7
        assert host[0] == 7
        assert array.base is host
        assert not array.flags.owndata
    else:
        with pytest.raises(ValueError, match="GPU"):
            quern.asarray(host, copy=False)
    with pytest.raises(ValueError, match="copy"):
        quern.asarray([1, 2], copy=False)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ([object()], "object"), (["a"], "<U1"), (np.datetime64("2020-01-01"), "datetime64"),
        (np.timedelta64(1, "s"), "timedelta64"), (np.zeros(2, [("x", "i4")]), "x"), (np.zeros(2, "S3"), "S3"),
        (np.longdouble(1), "float128"), (np.zeros(1, np.clongdouble), "complex256"), ([2**70], "object"),
    ],
)  # fmt: skip
def test_unsupported_dtypes_are_named(device, value, word):
    with pytest.raises(TypeError, match="Unsupported dtype") as error:
        quern.asarray(value)
    assert word in str(error.value)
    assert len(str(error.value)) > 30  # and a cure


def test_dtype_spellings(device):
    import ml_dtypes

    for spelling in ("float32", "f4", "f", "single", "<f4", np.float32, np.dtype("f")):
        assert quern.empty(1, spelling).dtype == np.float32
    for spelling in (float, int, bool, complex, "q", "Q", np.longlong, np.intp):
        assert quern.empty(1, spelling).dtype == np.dtype(spelling)
    for spelling in ("bfloat16", ml_dtypes.bfloat16, quern.bfloat16):
        assert quern.empty(1, spelling).dtype == np.dtype(ml_dtypes.bfloat16)
    with pytest.raises(TypeError, match="not understood"):
        quern.empty(1, "float33")


def test_bad_shapes(device):
    for shape, error in [((-1,), ValueError), ("ab", TypeError), (1.5, TypeError), ((2, 1.5), TypeError),
                         ((1,) * 65, ValueError), ((2**40, 2**40), ValueError)]:  # fmt: skip
        with pytest.raises(error):
            quern.empty(shape)
    with pytest.raises(ValueError, match="order"):
        quern.empty(2, order="K")
    with pytest.raises(TypeError):
        quern.ndarray()


def test_makers_are_native():
    """Arrays are made without a frame of Python; what functions of NumPy's take, they take."""
    for name in (
        "array",
        "asarray",
        "copy",
        "empty",
        "zeros",
        "ones",
        "full",
        "empty_like",
        "zeros_like",
        "full_like",
    ):
        assert not hasattr(getattr(quern, name), "__code__"), name
    assert quern.zeros_like([[1, 2]]).shape == (1, 2)
    assert quern.full_like([1, 2], 3.7).get().tolist() == [3, 3]
    assert quern.full(2, 1j).dtype == np.complex128
    assert quern.full(2, True).dtype == bool
    assert quern.full(2, 2**63).dtype == np.uint64
    assert quern.ones_like(np.ones(2, "i2"), subok=False).dtype == np.int16


def test_numbers_become_arrays_as_they_do_in_numpy():
    for value in (2.5, -0.0, float("inf"), 3, True, 1j, 2**63, np.float32(1.5), 1e300):
        for options in ({}, {"dtype": "f4"}, {"ndmin": 2}, {"dtype": "f8"}):
            if isinstance(value, complex) and "dtype" in options:
                continue
            with np.errstate(all="ignore"):
                wanted = np.array(value, **options)
                found = quern.array(value, **options)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.get(), wanted)
            assert np.signbit(found.get().real) == np.signbit(wanted.real)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        quern.array(2.5, copy=False)
    for stop in (0, 5, -3, True, 2.5, 10**6):
        wanted = np.arange(stop)
        found = quern.arange(stop)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.get(), wanted)


def test_orders_are_numpys(device):
    """Strides of what is made, where several orders would do: extents of 1, transposed values, other shapes."""
    ones = np.ones((1, 3, 1))
    for order in "CFAK":
        assert quern.array(ones, order=order).strides == np.array(ones, order=order).strides
    values = np.arange(24.0).reshape(2, 3, 4)
    for source in (
        values.transpose(1, 0, 2),
        values.transpose(2, 0, 1),
        values[:, ::2].swapaxes(0, 1),
    ):
        for order in "CFAK":
            made = quern.array(source, order=order)
            assert made.strides == np.array(source, order=order).strides
            np.testing.assert_array_equal(made.get(), source)
    for model in (
        values,
        np.asfortranarray(values),
        values[:, ::2].swapaxes(0, 1),
        values.transpose(1, 2, 0),
    ):
        for shape in (6, (4, 2), (4, 2, 3), (5, 4, 2, 3)):
            for order in "CFAK":
                made = quern.empty_like(quern.asarray(model, order="K"), order=order, shape=shape)
                assert made.strides == np.empty_like(model, order=order, shape=shape).strides


def test_asanyarray_takes_asarrays_options(device):
    a = quern.asanyarray([1, 2], "f4", "C", copy=True, blocking=True, device=device)
    assert (a.dtype, a.device) == (np.float32, device)
    assert quern.asanyarray(a) is a


def test_new_arrays_without_elements_step_nowhere(device):
    for shape in [(0,), (0, 3), (3, 0, 2)]:
        for order in "CF":
            assert quern.empty(shape, order=order).strides == np.empty(shape, order=order).strides
        made = quern.zeros(shape) + 1
        assert made.strides == (np.zeros(shape) + 1).strides
        assert quern.empty_like(made).strides == np.empty_like(made.get()).strides
    assert quern.zeros((2, 0)).reshape(0, 5).strides == (40, 8)
    assert quern.zeros((3, 4))[:0].strides == (32, 8)


def test_ndarray_with_strides(device):
    assert quern.ndarray((2, 3), strides=(8, 16)).strides == (8, 16)
    assert quern.ndarray((2, 3), "f4", strides=(8, 4)).strides == (8, 4)
    assert quern.ndarray((4, 5), strides=(0, 8)).shape == (4, 5)
    for strides in ((80, 16), (-8, 8), (24, 16)):
        with pytest.raises(ValueError, match="reaches past"):
            quern.ndarray((2, 3), strides=strides)
    with pytest.raises(ValueError, match="1 entries, shape has 2"):
        quern.ndarray((2, 3), strides=(8,))


class Wrapper:
    """Holds an array, as the objects of libraries over CuPy do."""

    def __init__(self, array):
        self.array = array

    def __cupy_get_ndarray__(self):
        return self.array


def test_wrapped_arrays_in_lists(device):
    inner = quern.asarray([1.5, 2.5])
    made = quern.array([[Wrapper(inner), [3, 4]], (inner, Wrapper(inner))])
    assert made.get().tolist() == [[[1.5, 2.5], [3, 4]], [[1.5, 2.5], [1.5, 2.5]]]
    assert quern.asarray(Wrapper(inner)) is inner


def test_integers_past_64_bits(device):
    with pytest.raises(quern.UnsupportedDtypeError, match="past 64 bits"):
        quern.arange(2**64, 2**64 + 3)
    assert quern.isclose(10**20, quern.asarray([1e20, 1e19])).get().tolist() == [True, False]
