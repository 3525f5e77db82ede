"""The array API standard, function by function: one call on quern and on the standard's own strict implementation.

Names and parameters, dtypes (which are allowed, what they promote to), shapes and values. The calls use nothing but
what the standard has, so that any program written to it finds the same here.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quern

strict = pytest.importorskip("array_api_strict", reason="pip install array-api-strict")

VERSION = "2024.12"
strict.set_array_api_strict_flags(api_version=VERSION)

BOOLS = ("bool",)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL = BOOLS + INTEGERS + FLOATS + COMPLEX

OURS_TO_KNOW = (
    "get_array_api_strict_flags",
    "set_array_api_strict_flags",
    "reset_array_api_strict_flags",
)
NAMES = sorted(
    name
    for name in strict.__all__
    if name not in OURS_TO_KNOW and name not in ("ArrayAPIStrictFlags", "Device")
)

# What NumPy, whose names these are, has not either.
MISSING_PARAMETERS = {
    ("sort", "descending"): "NumPy's sort has no descending order",
    ("argsort", "descending"): "NumPy's argsort has no descending order",
}


def sample(dtype: str, shape: tuple[int, ...] = (3, 4), seed: int = 0) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return random.integers(1 if kind == "u" else -9, 10, shape).astype(dtype)
    values = random.uniform(-3, 3, shape)
    if kind == "c":
        values = values + 1j * random.uniform(-3, 3, shape)
    return values.astype(dtype)


def dtype_name(x: Any) -> str:
    return str(x.dtype).split(".")[-1]


def values(x: Any) -> np.ndarray[Any, Any]:
    return x.get() if isinstance(x, quern.ndarray) else np.asarray(x)


def agree(ours: Any, theirs: Any, rtol: float = 1e-5) -> None:
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list))
        assert len(ours) == len(theirs)
        if hasattr(theirs, "_fields"):
            assert ours._fields == theirs._fields
        for mine, other in zip(ours, theirs, strict=True):
            agree(mine, other, rtol)
        return
    if not isinstance(theirs, strict._array_object.Array):
        if isinstance(theirs, (bool, int, float)):
            assert ours == theirs
        else:  # a dtype
            assert str(np.dtype(ours)) == str(theirs).split(".")[-1]
        return
    assert isinstance(ours, quern.ndarray)
    assert (dtype_name(ours), ours.shape) == (dtype_name(theirs), theirs.shape)
    if dtype_name(theirs)[0] in "fc":
        np.testing.assert_allclose(values(ours), values(theirs), rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(values(ours), values(theirs))


def both(call: Callable[..., Any], *inputs: np.ndarray[Any, Any]) -> None:
    theirs = call(strict, *(strict.asarray(x) for x in inputs))
    agree(call(quern, *(quern.asarray(x) for x in inputs)), theirs)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name):
    assert hasattr(quern, name)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_have_the_standards_names(name):
    theirs, ours = getattr(strict, name), getattr(quern, name)
    if not inspect.isfunction(theirs):
        return
    try:
        known = inspect.signature(ours).parameters
    except ValueError:
        known = None  # a function of the core: its text begins with its parameters
    for parameter in inspect.signature(theirs).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            continue
        if (name, parameter.name) in MISSING_PARAMETERS:
            assert known is not None
            assert parameter.name not in known
        elif known is not None:
            assert parameter.name in known, parameter.name
            assert known[parameter.name].kind != parameter.POSITIONAL_ONLY
        else:
            assert f"{parameter.name}:" in ours.__doc__.splitlines()[0], parameter.name


@pytest.mark.parametrize(
    "name",
    [n for n in dir(strict._array_object.Array) if n.startswith("__") and n not in dir(object)]
    + ["T", "mT", "device", "dtype", "ndim", "shape", "size", "to_device"],
)
def test_every_method_is_there(name):
    if name in ("__slots__", "__weakref__", "__annotations__", "__buffer__"):
        return  # Python's own; the buffer protocol of types made in C has no such attribute before 3.12
    assert hasattr(quern.ndarray, name)


# Functions of elements: every dtype that the standard allows.

UNARY = {
    "abs": ALL[1:], "acos": FLOATS + COMPLEX, "acosh": FLOATS + COMPLEX, "asin": FLOATS + COMPLEX,
    "asinh": FLOATS + COMPLEX, "atan": FLOATS + COMPLEX, "atanh": FLOATS + COMPLEX, "bitwise_invert": BOOLS + INTEGERS,
    "ceil": INTEGERS + FLOATS, "conj": COMPLEX, "cos": FLOATS + COMPLEX, "cosh": FLOATS + COMPLEX,
    "exp": FLOATS + COMPLEX, "expm1": FLOATS + COMPLEX, "floor": INTEGERS + FLOATS, "imag": COMPLEX,
    "isfinite": ALL[1:], "isinf": ALL[1:], "isnan": ALL[1:], "log": FLOATS + COMPLEX, "log10": FLOATS + COMPLEX,
    "log1p": FLOATS + COMPLEX, "log2": FLOATS + COMPLEX, "logical_not": BOOLS, "negative": ALL[1:], "positive": ALL[1:],
    "real": COMPLEX, "reciprocal": FLOATS + COMPLEX, "round": ALL[1:], "sign": ALL[1:], "signbit": FLOATS,
    "sin": FLOATS + COMPLEX, "sinh": FLOATS + COMPLEX, "sqrt": FLOATS + COMPLEX, "square": ALL[1:],
    "tan": FLOATS + COMPLEX, "tanh": FLOATS + COMPLEX, "trunc": INTEGERS + FLOATS,
}  # fmt: skip
UNIT = ("acos", "asin", "atanh")  # of reals from -1 to 1
POSITIVE = ("acosh", "log", "log10", "log1p", "log2", "sqrt")

BINARY = {
    "add": ALL[1:], "atan2": FLOATS, "bitwise_and": BOOLS + INTEGERS, "bitwise_or": BOOLS + INTEGERS,
    "bitwise_xor": BOOLS + INTEGERS, "bitwise_left_shift": INTEGERS, "bitwise_right_shift": INTEGERS,
    "copysign": FLOATS, "divide": FLOATS + COMPLEX, "equal": ALL, "floor_divide": INTEGERS + FLOATS,
    "greater": INTEGERS + FLOATS, "greater_equal": INTEGERS + FLOATS, "hypot": FLOATS, "less": INTEGERS + FLOATS,
    "less_equal": INTEGERS + FLOATS, "logaddexp": FLOATS, "logical_and": BOOLS, "logical_or": BOOLS,
    "logical_xor": BOOLS, "maximum": INTEGERS + FLOATS, "minimum": INTEGERS + FLOATS, "multiply": ALL[1:],
    "nextafter": FLOATS, "not_equal": ALL, "pow": ALL[1:], "remainder": INTEGERS + FLOATS, "subtract": ALL[1:],
}  # fmt: skip

OPERATORS = {
    "add": "__add__", "subtract": "__sub__", "multiply": "__mul__", "divide": "__truediv__",
    "floor_divide": "__floordiv__", "remainder": "__mod__", "pow": "__pow__", "bitwise_and": "__and__",
    "bitwise_or": "__or__", "bitwise_xor": "__xor__", "bitwise_left_shift": "__lshift__",
    "bitwise_right_shift": "__rshift__", "equal": "__eq__", "not_equal": "__ne__", "less": "__lt__",
    "less_equal": "__le__", "greater": "__gt__", "greater_equal": "__ge__",
}  # fmt: skip


def promotable(a: str, b: str) -> bool:
    """Pairs whose promotion the standard defines: of one kind, or floats and complex numbers."""
    kinds = {np.dtype(a).kind, np.dtype(b).kind}
    return (
        (kinds <= {"i", "u"} or kinds <= {"f", "c"} or len(kinds) == 1)
        and kinds != {"b", "i"}
        and not ({a, b} & {"uint64"} and "i" in kinds)
    )


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(device, name):
    for dtype in UNARY[name]:
        x = sample(dtype)
        if name in POSITIVE and x.dtype.kind == "f":
            x = np.abs(x) + x.dtype.type(1)
        elif name in UNIT and x.dtype.kind == "f":
            x = np.tanh(x).astype(x.dtype)
        both(lambda xp, x: getattr(xp, name)(x), x)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(device, name):
    for a, b in itertools.product(BINARY[name], repeat=2):
        if not promotable(a, b):
            continue
        x, y = sample(a), sample(b, (4,), 1)
        if name in (
            "bitwise_left_shift",
            "bitwise_right_shift",
            "pow",
            "remainder",
            "floor_divide",
        ):
            y = (
                np.abs(y).astype(b) % np.asarray(4, "int8").astype(b) + np.asarray(1, b)
                if y.dtype.kind in "iu"
                else y
            )
            x = np.abs(x).astype(a) if y.dtype.kind == "f" else x
        both(lambda xp, x, y: getattr(xp, name)(x, y), x, y)
        if name in OPERATORS:
            both(lambda xp, x, y: getattr(x, OPERATORS[name])(y), x, y)
            if np.result_type(x, y) == x.dtype:
                both(lambda xp, x, y: in_place(xp, name, x, y), x, y)


def in_place(xp: Any, name: str, x: Any, y: Any) -> Any:
    operator = OPERATORS[name].replace("__", "__i", 1)
    if not hasattr(strict._array_object.Array, operator):
        return x
    return getattr(xp.asarray(x, copy=True), operator)(y)


def with_number(name: str, x: Any, number: Any) -> tuple[Any, Any]:
    """What the operator gives with a Python number on its right, and on its left where it takes one."""
    reflected = OPERATORS[name].replace("__", "__r", 1)
    straight = getattr(x, OPERATORS[name])(number)
    if name in ("pow", "bitwise_left_shift", "bitwise_right_shift") or not hasattr(x, reflected):
        return straight, straight
    return straight, getattr(x, reflected)(number)


@pytest.mark.parametrize("name", OPERATORS)
def test_python_scalars_do_not_decide(device, name):
    numbers: dict[str, tuple[Any, ...]] = {
        "b": (True,),
        "i": (2,),
        "u": (2,),
        "f": (2, 2.5),
        "c": (2, 2.5, 1 + 2j),
    }
    for dtype in BINARY[name]:
        kind = np.dtype(dtype).kind
        x = sample(dtype)
        x = x if kind == "b" else np.abs(x).astype(dtype) + np.asarray(1, dtype)
        for number in numbers[kind]:
            both(lambda xp, x, number=number: with_number(name, x, number), x)


# Everything else: calls that use each parameter once.

N = ALL[1:]
R = INTEGERS + FLOATS
F = FLOATS + COMPLEX

CALLS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "all": (ALL, lambda xp, x: (xp.all(x), xp.all(x, axis=1), xp.all(x, axis=(0, 1), keepdims=True))),
    "any": (ALL, lambda xp, x: (xp.any(x), xp.any(x, axis=0), xp.any(x, axis=-1, keepdims=True))),
    "argmax": (R, lambda xp, x: (xp.argmax(x), xp.argmax(x, axis=1, keepdims=True))),
    "argmin": (R, lambda xp, x: (xp.argmin(x), xp.argmin(x, axis=0))),
    "argsort": (R, lambda xp, x: (xp.argsort(x), xp.argsort(x, axis=0, stable=True))),
    "asarray": (ALL, lambda xp, x: (xp.asarray(x), xp.asarray(x, copy=True), xp.asarray(x, dtype=x.dtype))),
    "astype": (ALL, lambda xp, x: (xp.astype(x, xp.complex128), xp.astype(x, x.dtype, copy=False))),
    "astype, of reals": (BOOLS + R, lambda xp, x: (xp.astype(x, xp.bool), xp.astype(x, xp.float32))),
    "broadcast_arrays": (ALL, lambda xp, x: list(xp.broadcast_arrays(x, x[0, :]))),
    "broadcast_to": (ALL, lambda xp, x: xp.broadcast_to(x, (2, 3, 4))),
    "clip": (R, lambda xp, x: (xp.clip(x, 2, 5), xp.clip(x, min=3), xp.clip(x, max=3), xp.clip(x))),
    "concat": (ALL, lambda xp, x: (xp.concat([x, x]), xp.concat((x, x), axis=1), xp.concat([x, x], axis=None))),
    "count_nonzero": (ALL, lambda xp, x: (xp.count_nonzero(x), xp.count_nonzero(x, axis=1, keepdims=True))),
    "cumulative_prod": (N, lambda xp, x: xp.cumulative_prod(x[0, :], include_initial=True)),
    "cumulative_sum": (N, lambda xp, x: (xp.cumulative_sum(x, axis=1), xp.cumulative_sum(x, axis=0, dtype=x.dtype))),
    "diff": (N, lambda xp, x: (xp.diff(x), xp.diff(x, axis=0, n=2), xp.diff(x, prepend=x, append=x))),
    "empty_like": (ALL, lambda xp, x: xp.zeros_like(xp.empty_like(x, dtype=xp.int8))),
    "expand_dims": (ALL, lambda xp, x: (xp.expand_dims(x, axis=0), xp.expand_dims(x, axis=-1))),
    "finfo": (F, lambda xp, x: tuple(
        getattr(xp.finfo(x.dtype), n) for n in ("bits", "eps", "max", "min", "smallest_normal", "dtype"))),
    "flip": (ALL, lambda xp, x: (xp.flip(x), xp.flip(x, axis=1), xp.flip(x, axis=(0, 1)))),
    "full_like": (INTEGERS + F, lambda xp, x: (xp.full_like(x, 3), xp.full_like(x, 1, dtype=xp.float32))),
    "iinfo": (INTEGERS, lambda xp, x: tuple(
        getattr(xp.iinfo(x.dtype), n) for n in ("bits", "max", "min", "dtype"))),
    "isdtype": (ALL, lambda xp, x: tuple(xp.isdtype(x.dtype, kind) for kind in (
        "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
        xp.int8, (xp.float32, "bool")))),
    "isin": (INTEGERS, lambda xp, x: quern.isin(x, x[0, :]) if xp is quern else strict.any(
        x[:, :, None] == x[0, :][None, None, :], axis=-1)),
    "matmul": (N, lambda xp, x: (xp.matmul(x, xp.permute_dims(x, (1, 0))), x @ x.mT, xp.matmul(x, x[0, :]))),
    "matrix_transpose": (ALL, lambda xp, x: (xp.matrix_transpose(x), x.mT, x.T)),
    "max": (R, lambda xp, x: (xp.max(x), xp.max(x, axis=0), xp.max(x, axis=(0, 1), keepdims=True))),
    "mean": (FLOATS, lambda xp, x: (xp.mean(x), xp.mean(x, axis=0, keepdims=True))),
    "meshgrid": (ALL, lambda xp, x: list(xp.meshgrid(x[0, :], x[:, 0], indexing="ij")) + list(
        xp.meshgrid(x[0, :], x[:, 0]))),
    "min": (R, lambda xp, x: (xp.min(x), xp.min(x, axis=0), xp.min(x, axis=-1, keepdims=True))),
    "moveaxis": (ALL, lambda xp, x: (xp.moveaxis(x, 0, 1), xp.moveaxis(x, (0, 1), (1, 0)))),
    "nonzero": (ALL, lambda xp, x: xp.nonzero(x)),
    "ones_like": (ALL, lambda xp, x: (xp.ones_like(x), xp.ones_like(x, dtype=xp.int16))),
    "permute_dims": (ALL, lambda xp, x: xp.permute_dims(x, axes=(1, 0))),
    "prod": (N, lambda xp, x: (xp.prod(x[:2, :2]), xp.prod(x[:2, :2], axis=0, dtype=x.dtype, keepdims=True))),
    "repeat": (ALL, lambda xp, x: (xp.repeat(x, 2), xp.repeat(x, 3, axis=1), xp.repeat(
        x, xp.asarray([1, 0, 2]), axis=0))),
    "reshape": (ALL, lambda xp, x: (xp.reshape(x, (4, 3)), xp.reshape(x, shape=(-1,), copy=True))),
    "result_type": (N, lambda xp, x: xp.result_type(x, x.dtype, 1)),
    "roll": (ALL, lambda xp, x: (xp.roll(x, 2), xp.roll(x, shift=(1, 2), axis=(0, 1)), xp.roll(x, -1, axis=1))),
    "searchsorted": (R, lambda xp, x: (
        xp.searchsorted(xp.sort(x[0, :]), x), xp.searchsorted(xp.sort(x[0, :]), x[1, :], side="right"),
        xp.searchsorted(x[0, :], x, sorter=xp.argsort(x[0, :])))),
    "sort": (R, lambda xp, x: (xp.sort(x), xp.sort(x, axis=0, stable=True))),
    "squeeze": (ALL, lambda xp, x: (xp.squeeze(x[None, ...], axis=0), xp.squeeze(x[:, None, :, None], axis=(1, 3)))),
    "stack": (ALL, lambda xp, x: (xp.stack([x, x]), xp.stack((x, x), axis=-1))),
    "std": (FLOATS, lambda xp, x: (xp.std(x), xp.std(x, axis=1, correction=1.0, keepdims=True))),
    "sum": (N, lambda xp, x: (xp.sum(x), xp.sum(x, axis=0, keepdims=True), xp.sum(x, axis=1, dtype=x.dtype))),
    "take": (ALL, lambda xp, x: (xp.take(x, xp.asarray([2, 0]), axis=0), xp.take(x[0, :], xp.asarray([1, 1])))),
    "take_along_axis": (ALL, lambda xp, x: xp.take_along_axis(x, xp.asarray([[0, 2], [1, 1], [3, 0]]), axis=1)),
    "tensordot": (N, lambda xp, x: (
        xp.tensordot(x, x, axes=((1,), (1,))), xp.tensordot(x, xp.matrix_transpose(x), axes=1),
        xp.tensordot(x[0, :], x[1, :], axes=0))),
    "tile": (ALL, lambda xp, x: (xp.tile(x, (2, 1, 2)), xp.tile(x, (2,)))),
    "tril": (N, lambda xp, x: (xp.tril(x), xp.tril(x, k=1))),
    "triu": (N, lambda xp, x: (xp.triu(x), xp.triu(x, k=-1))),
    "unique_all": (R, lambda xp, x: xp.unique_all(x)),
    "unique_counts": (R, lambda xp, x: xp.unique_counts(x)),
    "unique_inverse": (R, lambda xp, x: xp.unique_inverse(x)),
    "unique_values": (R, lambda xp, x: xp.unique_values(x)),
    "unstack": (ALL, lambda xp, x: (xp.unstack(x), xp.unstack(x, axis=1))),
    "var": (FLOATS, lambda xp, x: (xp.var(x), xp.var(x, axis=(0, 1), correction=1.0), xp.var(x, axis=0))),
    "vecdot": (N, lambda xp, x: (xp.vecdot(x, x), xp.vecdot(x, x, axis=-1), xp.vecdot(x[0, :], x))),
    "where": (ALL, lambda xp, x: (xp.where(x[:, :1] == x, x, x[0, :]), xp.where(x == x, x, x))),
    "zeros_like": (ALL, lambda xp, x: (xp.zeros_like(x), xp.zeros_like(x, dtype=xp.uint8))),
    "indexing": (ALL, lambda xp, x: (
        x[1, 2], x[1:, ::-1], x[..., None], x[None, 0, :], x[-1, ...], x[x == x], x[:0, :], x[2:0:-1, 1:3])),
    "indexing with arrays": (ALL, lambda xp, x: (
        x[xp.asarray([0, 2]), xp.asarray([1, 3])], x[1, xp.asarray([[0, 1], [2, 3]])])),
    "matrix parts": (N, lambda xp, x: (
        xp.linalg.outer(x[0, :], x[1, :]), xp.linalg.trace(x), xp.linalg.diagonal(x, offset=1),
        xp.linalg.matmul(x, x.mT), xp.linalg.tensordot(x, x, axes=((0,), (0,))), xp.linalg.vecdot(x, x),
        xp.linalg.matrix_transpose(x), xp.linalg.cross(x[:, :3], x[:, 1:]))),
    "norms": (FLOATS + COMPLEX, lambda xp, x: (
        xp.linalg.matrix_norm(x), xp.linalg.matrix_norm(x, ord=1, keepdims=True), xp.linalg.vector_norm(x),
        xp.linalg.vector_norm(x, axis=1, ord=1), xp.linalg.matrix_power(x[:, :3], 3))),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(device, name):
    dtypes, call = CALLS[name]
    for dtype in dtypes:
        both(call, sample(dtype))


MAKERS: dict[str, Callable[[Any], Any]] = {
    "arange": lambda xp: (
        xp.arange(5),
        xp.arange(1.5, 4),
        xp.arange(1, 9, 3),
        xp.arange(4, dtype=xp.float32),
    ),
    "empty": lambda xp: tuple(
        xp.zeros_like(x) for x in (xp.empty((2, 3)), xp.empty(4, dtype=xp.uint8))
    ),
    "eye": lambda xp: (xp.eye(3), xp.eye(3, 4, k=1), xp.eye(2, dtype=xp.int32), xp.eye(3, 2, k=-1)),
    "full": lambda xp: (
        xp.full(3, 7),
        xp.full((2, 2), 1.5),
        xp.full((1,), True),
        xp.full(2, 3, dtype=xp.float32),
    ),
    "linspace": lambda xp: (
        xp.linspace(0, 1, 5),
        xp.linspace(0, 3, num=4, endpoint=False, dtype=xp.float32),
    ),
    "ones": lambda xp: (xp.ones(3), xp.ones((2, 2), dtype=xp.complex64)),
    "zeros": lambda xp: (xp.zeros((2, 0)), xp.zeros(3, dtype=xp.bool)),
    "asarray": lambda xp: (
        xp.asarray([1, 2]),
        xp.asarray([[1.0, 2], [3, 4]]),
        xp.asarray(True),
        xp.asarray(1j),
    ),
    "constants": lambda xp: xp.asarray([xp.e, xp.pi, xp.inf, xp.nan])[xp.newaxis, :],
    "broadcast_shapes": lambda xp: (quern if xp is quern else np).broadcast_shapes((2, 1), (3,)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_makers(device, name):
    agree(MAKERS[name](quern), MAKERS[name](strict))


def test_every_function_is_called():
    """Every function of the standard stands in one of the tables above, or in a test of its own."""
    called = {*UNARY, *BINARY, *CALLS, *MAKERS}
    own = {"can_cast", "from_dlpack", "__array_namespace_info__"}
    assert {n for n in NAMES if inspect.isfunction(getattr(strict, n))} - called - own == set()


def test_can_cast():
    for a, b in itertools.product(ALL, repeat=2):
        theirs = strict.can_cast(getattr(strict, a), getattr(strict, b))
        ours = quern.can_cast(getattr(quern, a), getattr(quern, b))
        assert quern.can_cast(quern.zeros(1, a), getattr(quern, b)) == ours
        if promotable(a, b):  # NumPy casts between kinds too
            assert ours == theirs


def test_exchange(device):
    x = quern.from_dlpack(quern.arange(3))
    agree(x, strict.arange(3))
    agree(quern.from_dlpack(x, copy=True), strict.arange(3))
    if device.is_cpu:
        agree(quern.from_dlpack(strict.arange(4)), strict.arange(4))


def test_namespace_of_an_array(device):
    x = quern.zeros(2)
    assert x.__array_namespace__() is quern
    for version in ("2021.12", "2022.12", "2023.12", VERSION):
        assert x.__array_namespace__(api_version=version) is quern
    with pytest.raises(ValueError, match=r"2019\.12"):
        x.__array_namespace__(api_version="2019.12")
    assert quern.__array_api_version__ == VERSION


def test_namespace_info(device):
    info, theirs = quern.__array_namespace_info__(), strict.__array_namespace_info__()
    assert info.capabilities() == theirs.capabilities()
    assert info.default_device() == device
    assert device in info.devices()
    for where in (None, device):
        made = info.default_dtypes(device=where)
        assert {k: v.name for k, v in made.items()} == {
            k: str(v).split(".")[-1] for k, v in theirs.default_dtypes().items()
        }
        for kind in (
            None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
            "numeric", ("bool", "real floating"),
        ):  # fmt: skip
            assert set(info.dtypes(device=where, kind=kind)) == set(theirs.dtypes(kind=kind))
    assert info.dtypes()["float32"] == quern.float32
    with pytest.raises(ValueError, match="tensor"):
        info.dtypes(kind="tensor")


def test_devices(device):
    x = quern.zeros(3, device=device)
    assert x.device == device
    assert x.to_device(device) is x
    assert x.to_device("cpu").device == quern.Device("cpu")
    for made in (
        quern.ones(2, device=device), quern.full(2, 1, device=device), quern.arange(2, device=device),
        quern.linspace(0, 1, 3, device=device), quern.eye(2, device=device), quern.asarray([1], device=device),
        quern.empty(1, device=device), quern.zeros_like(x, device=device), quern.ones_like(x, device=device),
        quern.empty_like(x, device=device), quern.full_like(x, 2, device=device),
        quern.from_dlpack(x, device=device), quern.astype(x, quern.int8, device=device),
    ):  # fmt: skip
        assert made.device == device


def test_numbers_of_arrays(device):
    for value, convert in ((True, bool), (3, int), (2.5, float), (1 + 2j, complex), (3, range)):
        assert convert(quern.asarray(value)) == convert(value)
    for kind, value in ((int, 1j), (float, 1j)):
        with pytest.raises((TypeError, np.exceptions.ComplexWarning)):
            kind(quern.asarray(value))
    with pytest.raises(TypeError):
        range(quern.asarray(1.5))
