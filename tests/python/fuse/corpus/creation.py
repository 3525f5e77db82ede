"""Functions that make arrays of their own: constants, ranges, grids, windows."""

import numpy as np
from fuse.corpus.cases import Array, case


@case(Array("n m"), dtypes="f i B")
def like_others(x):
    zeros, ones = np.zeros_like(x), np.ones_like(x)
    return x + ones * 2, np.full_like(x, 3) - zeros, np.where(x > 1, x, zeros), ones


@case(Array("n m"), near_zero=1)
def ramps(x):
    n, m = x.shape
    return x * np.arange(m) + np.arange(n, dtype=x.dtype)[:, None], np.arange(2, 3 + m, 2) % 5


@case(Array("n 64"), near_zero=1)
def hann_window(x):
    n = x.shape[-1]
    return x * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1)))


@case(Array("m"), near_zero=1)
def against_linspace(x):
    t = np.linspace(0, 1, x.size, dtype=x.dtype)
    return x * t + (1 - t), np.linspace(-1, 1, 5, endpoint=False) ** 2


@case(Array("m m"), dtypes="f i")
def regularise(a, amount=2):
    return a + amount * np.eye(a.shape[0], dtype=a.dtype), np.identity(3) * 2


@case(Array("h w"), near_zero=1)
def vignette(image):
    h, w = image.shape
    y = np.linspace(-1, 1, h, dtype=image.dtype)[:, None]
    x = np.linspace(-1, 1, w, dtype=image.dtype)
    return image * np.exp(-(x**2 + y**2))


@case(Array("n n"), dtypes="f i")
def causal_mask(scores):
    n = scores.shape[0]
    allowed = np.arange(n)[:, None] >= np.arange(n)
    return np.where(allowed, scores, 0), np.tril(scores), np.triu(scores, 1)


@case(Array("n"), near_zero=1)
def powers_table(x):
    return x[:, None] ** np.arange(5)


@case(Array("n 8"), near_zero=2)
def positional_encoding(x):
    n, d = x.shape
    rate = 1 / 10000 ** (np.arange(0, d, 2) / d)
    angle = np.arange(n)[:, None] * rate
    out = np.empty((n, d))
    out[:, 0::2] = np.sin(angle)
    out[:, 1::2] = np.cos(angle)
    return x + out


@case(Array("n"), Array("m"), near_zero=1)
def grids(x, y):
    xx, yy = np.meshgrid(x, y)
    i, j = np.indices((len(y), len(x)))
    return xx * yy, i - j + xx


@case(Array("n"), sizes="main", near_zero=1, tolerance=64)
def slow_spectrum(x):
    n = x.shape[0]
    k = np.arange(n)
    basis = np.exp(-2j * np.pi * (k[:, None] * k % n) / n)
    return np.abs((basis * x).sum(axis=1))


@case(Array("n m"), dtypes="f B", near_zero=1)
def constants_by_dtype(x):
    weights = np.array([0.25, 0.5, 0.25], dtype=np.float32)
    return x[:, :-2] * weights[0] + x[:, 1:-1] * weights[1] + x[:, 2:] * weights[2]


@case(Array("n m"), dtypes="f d i")
def nothing_of_the_argument(x):
    return np.zeros((2, 3)) + 1, np.full((3,), 2.5, np.float32) * 2, np.ones(x.shape, np.int16)


@case(7, 1.5, dtypes="f")
def no_arrays(n, slope):
    x = np.arange(n)
    return np.exp(-slope * x) * np.cos(x), (x * x).sum()
