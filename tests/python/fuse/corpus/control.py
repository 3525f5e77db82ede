"""Functions whose Python control flow hangs on static values: shapes, dtypes, modes, None, counts."""

import functools

import numpy as np
from fuse.corpus.cases import Array, Scalar, case

X = Array("n m")


@case(X, "relu", dtypes="f d")
@case(X, "tanh", dtypes="f")
@case(X, mode="square", dtypes="f i")
def activation(x, mode="relu"):
    match mode:
        case "relu":
            return np.maximum(x, 0)
        case "tanh":
            return np.tanh(x)
    return x * x


@case(Array("*", low=-1, high=1), 1, near_zero=1)
@case(Array("*", low=-1, high=1), 5, dtypes="f", near_zero=1)
def chebyshev(x, degree):
    previous, current = np.ones_like(x), x
    for _ in range(degree - 1):
        previous, current = current, 2 * x * current - previous
    return current


@case(X, Array("n m"), dtypes="fd df ff ib", near_zero=1)
def by_dtype(x, y):
    if x.dtype != y.dtype:
        common = np.promote_types(x.dtype, y.dtype)
        x, y = x.astype(common), y.astype(common)
    if np.issubdtype(x.dtype, np.integer):
        return x // 2 + y
    return x / 2 + y


@case(Array("*"), sizes="main ones", near_zero=1)
def by_ndim(x):
    if x.ndim == 0:
        return x * 2
    if x.ndim == 1:
        return x - x[::-1]
    return x - x.mean(axis=tuple(range(1, x.ndim)), keepdims=True)


@case(Array("n m"), Array("n m"), near_zero=1)
@case(Array("n m"), Array("m"), dtypes="f", near_zero=1)
@case(Array("n m"), None, dtypes="f")
@case(Array("n m"), 2, dtypes="f")
def by_argument(x, other):
    if other is None:
        return x
    if not isinstance(other, np.ndarray):
        return x * other
    return x + other if x.shape == other.shape else x - other


@case(X, 3, dtypes="f", near_zero=1)
@case(X, 10, dtypes="d", near_zero=1)
def repeated_squaring(x, exponent):
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else result * x
        x, exponent = x * x, exponent >> 1
    return result


@case(Array("n"), 3, sizes="main ones empty", near_zero=8)
def pascal(x, depth):
    if depth == 0:
        return x
    return pascal(x, depth - 1) + 0.5 * pascal(x[::-1], depth - 1)


@case(Array("b n k"), near_zero=1, sizes="main ones")
def centre_every_axis(x):
    for axis in range(x.ndim):
        x = x - x.mean(axis=axis, keepdims=True)
    return x


@case(X, [0.5, -1.0, 2.0, 0.25], near_zero=4)
@case(X, (), dtypes="f")
def polynomial(x, coefficients):
    return functools.reduce(lambda total, c: total * x + c, coefficients, np.zeros_like(x))


@case(X, dtypes="f d", near_zero=1)
def early_return(x, scale=1.0, offset=0):
    assert x.ndim == 2, "a table"
    if scale == 1.0 and not offset:
        return np.abs(x)
    return x * scale + offset


@case(X, dtypes="f i d", near_zero=1)
def try_and_except(x):
    try:
        return np.add(x, 1, out=np.empty(x.shape, np.float32), casting="safe")
    except TypeError:
        return x - 1


@case(X, Scalar(2.0), dtypes="f d", near_zero=1)
@case(X, 3, dtypes="f i", near_zero=1)
@case(X, True, dtypes="f i", near_zero=1)
@case(X, 1.5, dtypes="e i", near_zero=1)
@case(X, Scalar(3, "int64"), dtypes="f b", near_zero=1)
@case(X, Scalar(1.5, "float32"), dtypes="d e", near_zero=1)
def scalar_types(x, s):
    return x * s + s, np.maximum(x, s), s - x, np.where(x > s, x, s), s * 2


@case(X, dtypes="f", near_zero=1)
def generators_and_comprehensions(x):
    columns = [x[:, i] * i for i in range(min(4, x.shape[1]))]
    total = sum(c * c for c in columns)
    return total, {i: c for i, c in enumerate(columns) if i % 2}


@case(Array("n m"), axes=((0,), (1,), (0, 1)), near_zero=1, sizes="main ones")
def loop_over_axes(x, axes):
    return [x.sum(axis=a, keepdims=True) / x.size for a in axes]


@case(Array("n m"), low=-1, high=None, dtypes="f i")
@case(Array("n m"), low=None, high=1, dtypes="f")
def optional_limits(x, low=None, high=None):
    y = x
    if low is not None:
        y = np.maximum(y, low)
    if high is not None:
        y = np.minimum(y, high)
    return y


@case(Array("n k"), dtypes="f", near_zero=1)
def unpacked_columns(x):
    first, second, *others = x.T if x.shape[1] > 1 else (x[:, 0], x[:, 0])
    return first - second, len(others)
