"""Elementwise kernels over every dtype, layout and broadcast, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quern

add = quern.ElementwiseKernel("T x, T y", "T z", "z = x + y", "layout_add")
axpy = quern.ElementwiseKernel("T x, U y", "V z", "z = V(x) * V(2) + V(y)", "layout_mixed")

# How a device array of shape (6, 10) may lie in memory: (shape of its base, view of the base).
VIEWS: dict[str, tuple[tuple[int, ...], Any]] = {
    "c": ((6, 10), lambda a: a),
    "transposed": ((10, 6), lambda a: a.T),
    "every second": ((12, 20), lambda a: a[::2, ::2]),
    "rows of a wider one": ((6, 33), lambda a: a[:, 5:15]),
    "reversed": ((6, 10), lambda a: a[::-1, ::-1]),
    "reversed rows": ((6, 10), lambda a: a[::-1]),
    "strided back": ((18, 20), lambda a: a[::-3, 18::-2]),
    "a row": ((10,), lambda a: quern.broadcast_to(a, (6, 10))),
    "a column": ((6, 1), lambda a: quern.broadcast_to(a, (6, 10))),
    "one element": ((), lambda a: quern.broadcast_to(a, (6, 10))),
}


def device_view(
    name: str, dtype: Any, make: Any, seed: int
) -> tuple[quern.ndarray, npt.NDArray[Any]]:
    shape, view = VIEWS[name]
    array = view(quern.asarray(make(shape, dtype, seed)))
    return array, array.get()


@pytest.mark.parametrize("right", VIEWS)
@pytest.mark.parametrize("left", VIEWS)
def test_layout_pairs(device: quern.Device, make: Any, equal: Any, left: str, right: str) -> None:
    x, nx = device_view(left, np.float32, make, 1)
    y, ny = device_view(right, np.float32, make, 2)
    equal(add(x, y), nx + ny)


@pytest.mark.parametrize("view", VIEWS)
def test_layout_dtypes(
    device: quern.Device, dtype: np.dtype[Any], make: Any, equal: Any, view: str
) -> None:
    x, nx = device_view(view, dtype, make, 3)
    y = make((6, 10), dtype, 4)
    with np.errstate(over="ignore"):
        equal(add(x, quern.asarray(y)), (nx + y).astype(dtype))


@pytest.mark.parametrize(
    "view", ["c", "transposed", "every second", "rows of a wider one", "reversed", "strided back"]
)
def test_given_output(
    device: quern.Device, dtype: np.dtype[Any], make: Any, equal: Any, view: str
) -> None:
    base_shape, make_view = VIEWS[view]
    base = quern.asarray(make(base_shape, dtype, 5))
    before, out = base.get(), make_view(base)
    x, y = make((6, 10), dtype, 6), make((6, 10), dtype, 7)
    assert add(quern.asarray(x), quern.asarray(y), out) is out
    equal(out, (x + y).astype(dtype))
    # Nothing outside the view was touched.
    expected = before.copy()
    host = {
        "c": lambda a: a,
        "transposed": lambda a: a.T,
        "every second": lambda a: a[::2, ::2],
        "rows of a wider one": lambda a: a[:, 5:15],
        "reversed": lambda a: a[::-1, ::-1],
        "strided back": lambda a: a[::-3, 18::-2],
    }[view](expected)
    host[...] = x + y
    equal(base, expected)


@pytest.mark.parametrize(
    "size", [0, 1, 2, 3, 15, 16, 17, 127, 128, 129, 1000, 4097, 65536, 100_003]
)
def test_sizes(
    device: quern.Device, dtype: np.dtype[Any], make: Any, equal: Any, size: int
) -> None:
    x, y = make((size,), dtype, 8), make((size,), dtype, 9)
    equal(add(quern.asarray(x), quern.asarray(y)), (x + y).astype(dtype))


@pytest.mark.parametrize(
    "offsets", [(0, 0, 0), (1, 1, 1), (3, 3, 3), (1, 0, 0), (0, 1, 2), (5, 2, 7)]
)
def test_misaligned(
    device: quern.Device, dtype: np.dtype[Any], make: Any, equal: Any, offsets: tuple[int, int, int]
) -> None:
    size = 1003
    bases = [make((size + 16,), dtype, 10 + k) for k in range(3)]
    arrays = [quern.asarray(b) for b in bases]
    x, y, z = (a[o : o + size] for a, o in zip(arrays, offsets, strict=True))
    add(x, y, z)
    nx, ny, nz = (b[o : o + size] for b, o in zip(bases, offsets, strict=True))
    nz[...] = nx + ny
    equal(arrays[2], bases[2])


@pytest.mark.parametrize(
    "types",
    [
        ("f4", "i1", "f8"),
        ("i1", "f8", "f4"),
        ("?", "i4", "i8"),
        ("u1", "u2", "f4"),
        ("f8", "i8", "F"),
        ("e", "f4", "f8"),
        ("D", "f4", "D"),
        ("i8", "u1", "i2"),
    ],
)
def test_mixed_types(device: quern.Device, make: Any, types: tuple[str, str, str]) -> None:
    x, y = make((37, 50), types[0], 11), make((37, 50), types[1], 12)
    z = quern.empty((37, 50), types[2])
    axpy(quern.asarray(x), quern.asarray(y), z)
    wide = np.dtype(types[2])
    np.testing.assert_array_equal(z.get(), x.astype(wide) * wide.type(2) + y.astype(wide))


def test_transposed_operand_large(
    device: quern.Device, dtype: np.dtype[Any], make: Any, equal: Any
) -> None:
    x, y = make((257, 391), dtype, 13), make((391, 257), dtype, 14)
    equal(add(quern.asarray(x), quern.asarray(y).T), (x + y.T).astype(dtype))
    a, b = make((5, 70, 66), dtype, 15), make((66, 70, 5), dtype, 16)
    equal(
        add(quern.asarray(a), quern.asarray(b).transpose(2, 1, 0)),
        (a + b.transpose(2, 1, 0)).astype(dtype),
    )


def test_zero_d_and_empty(device: quern.Device, equal: Any) -> None:
    one, two = quern.asarray(np.float32(1.5)), quern.asarray(np.float32(2))
    assert one.shape == ()
    equal(add(one, two), np.asarray(np.float32(3.5)))
    empty = quern.empty((0, 4), "f4")
    equal(add(empty, quern.ones((4,), "f4")), np.empty((0, 4), "f4"))


dims = st.integers(1, 5)


@st.composite
def broadcastable(draw: st.DrawFn) -> list[tuple[npt.NDArray[Any], tuple[Any, ...]]]:
    """Two or three arrays that broadcast, each with a random basic index that keeps it broadcastable."""
    full = draw(st.lists(dims, min_size=0, max_size=5))
    made = []
    for k in range(draw(st.integers(2, 3))):
        shape = [
            1 if draw(st.booleans()) and n > 1 else n
            for n in full[draw(st.integers(0, len(full))) :]
        ]
        steps = [draw(st.sampled_from([1, 2, -1, -2])) for _ in shape]
        base = [n * abs(s) for n, s in zip(shape, steps, strict=True)]
        order = draw(st.permutations(range(len(shape))))
        values = np.random.default_rng(k + sum(base)).integers(-50, 50, [base[o] for o in order])
        made.append(
            (
                values.astype(np.float32),
                (tuple(np.argsort(order)), tuple(slice(None, None, s) for s in steps)),
            )
        )
    return made


three = quern.ElementwiseKernel("T x, T y, T w", "T z", "z = x + y * w", "layout_three")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arrays=broadcastable())
def test_broadcasting_property(device: quern.Device, arrays: Any) -> None:
    ours, theirs = [], []
    for values, (axes, index) in arrays:
        ours.append(quern.asarray(values).transpose(axes)[index] if axes else quern.asarray(values))
        theirs.append(values.transpose(axes)[index] if axes else values)
    if len(ours) == 2:
        np.testing.assert_array_equal(add(*ours).get(), theirs[0] + theirs[1])
    else:
        np.testing.assert_array_equal(three(*ours).get(), theirs[0] + theirs[1] * theirs[2])


def test_bfloat16_is_ml_dtypes(device: quern.Device) -> None:
    x = np.arange(-20, 20, 0.37).astype(ml_dtypes.bfloat16)
    got = quern.ElementwiseKernel("T x", "T y", "y = x * x - x / T(3)")(quern.asarray(x))
    assert got.dtype == ml_dtypes.bfloat16
    wide = x.astype("f4")
    np.testing.assert_array_equal(
        got.get(),
        (wide * wide - wide / np.float32(ml_dtypes.bfloat16(3))).astype(ml_dtypes.bfloat16),
    )
