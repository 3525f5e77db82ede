"""Functions that end in reductions, or that mix reductions and elementwise work."""

import numpy as np
from fuse.corpus.cases import Array, case

XY = (Array("n m"), Array("n m"))


@case(*XY, dtypes="f d fd i", near_zero=1)
@case(Array("n m"), Array("m"), near_zero=1)
def squared_error(x, y):
    return ((x - y) ** 2).sum()


@case(*XY, sizes="main ones", near_zero=1)
def error_measures(x, y):
    e = x - y
    return {
        "mae": np.abs(e).mean(),
        "rmse": np.sqrt(np.mean(e * e)),
        "max": np.max(np.abs(e)),
        "bias": np.mean(e),
    }


@case(Array("n m"), dtypes="f d i", near_zero=1)
@case(Array("n m"), axis=0, near_zero=1)
@case(Array("b n k"), axis=(0, 2), keepdims=True, near_zero=1)
@case(Array("b n k"), axis=-2, dtypes="f", near_zero=1)
def root_mean_square(x, axis=None, keepdims=False):
    return np.sqrt((x * x).sum(axis=axis, keepdims=keepdims) / x.shape[-1])


@case(Array("n m"), sizes="main ones", near_zero=1)
def norms(x):
    a = np.abs(x)
    return a.sum(axis=0), np.sqrt((a * a).sum(axis=0)), a.max(axis=0), (a > 1).sum(axis=0)


@case(Array("n m"), sizes="main ones", near_zero=1)
def logsumexp_of_all(x):
    top = x.max()
    return top + np.log(np.exp(x - top).sum())


@case(Array("b n k"), (0, 1), sizes="main ones", near_zero=1)
@case(Array("b n k"), -1, sizes="main ones", dtypes="f", near_zero=1)
@case(Array("n m"), None, sizes="main ones", dtypes="f i", near_zero=1)
def moments(x, axis):
    mean = x.mean(axis=axis, keepdims=True)
    z = (x - mean) / (x.std(axis=axis, keepdims=True) + 1e-3)
    return mean, x.var(axis=axis), (z**3).mean(axis=axis), (z**4).mean(axis=axis) - 3


@case(Array("n m"), dtypes="f b e", sizes="main ones", oracle="same")
def extent(x):
    low, high = x.min(axis=1), x.max(axis=1)
    return high - low, np.ptp(x, axis=0), np.amin(x), np.amax(x)


@case(Array("n m", specials=True), dtypes="f i", sizes="main ones", oracle="same")
def positions_of_extremes(x):
    return np.argmax(x, axis=1), x.argmin(axis=0), np.argmax(x)


@case(Array("n m", low=-3, high=3), Array("n m"), dtypes="f i b?", oracle="same")
def truths(x, y):
    return (
        np.any(x > y, axis=0),
        np.all(x <= y + 4, axis=1),
        np.count_nonzero(x > 0, axis=1),
        (x == y).any(),
    )


@case(Array("n k", low=0.5, high=1.5), dtypes="f d i")
def products(x):
    return x.prod(axis=1), np.prod(1 + x / 100, axis=0), np.multiply.reduce(x, axis=-1)


@case(Array("n m"), Array("m", low=0.1, high=1), sizes="main ones", near_zero=1)
def weighted_mean(x, w):
    mean = (x * w).sum(axis=1) / w.sum()
    spread = (w * (x - mean[:, None]) ** 2).sum(axis=1) / w.sum()
    return mean, np.sqrt(spread)


@case(*XY, sizes="main ones", near_zero=1)
@case(Array("n m"), Array("m"), sizes="main ones", near_zero=1)
def cosine_similarity(x, y):
    dot = (x * y).sum(axis=-1)
    return dot / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))


@case(Array("n m"), Array("n m"), sizes="main", near_zero=1)
def correlation(x, y):
    dx = x - x.mean(axis=1, keepdims=True)
    dy = y - y.mean(axis=1, keepdims=True)
    return (dx * dy).sum(1) / np.sqrt((dx**2).sum(1) * (dy**2).sum(1))


@case(Array("n m", low=0.1, high=1), sizes="main ones", near_zero=1)
def entropy(weights):
    p = weights / weights.sum(axis=1, keepdims=True)
    return -(p * np.log2(p)).sum(axis=1)


@case(Array("n m"), Array("n m"), sizes="main", near_zero=1)
def coefficient_of_determination(y, prediction):
    residual = np.sum((y - prediction) ** 2)
    total = np.sum((y - y.mean()) ** 2)
    return 1 - residual / total


@case(Array("h w", low=0.1, high=2), sizes="main ones", near_zero=1)
def centre_of_mass(mass):
    total = mass.sum()
    rows, columns = (np.arange(n, dtype=mass.dtype) for n in mass.shape)
    return (mass.sum(axis=1) * rows).sum() / total, (mass.sum(axis=0) * columns).sum() / total


@case(Array("n m", specials=True), dtypes="f d", sizes="main", oracle="same", near_zero=16)
def ignoring_nan(x):
    x = np.where(np.isinf(x), np.nan, x)
    return np.nansum(x, axis=0), np.nanmean(x, axis=1), np.nanmax(x)


@case(Array("b n k"), dtypes="f i", sizes="main ones", near_zero=1)
def reductions_of_reductions(x):
    largest = x.max(axis=2)
    return largest.sum(axis=1), (x.sum(axis=0) ** 2).mean(), largest.mean(axis=0).min()


@case(Array("n m"), dtypes="f b ?", near_zero=1)
def ufunc_reductions(x):
    total = np.add.reduce(x, axis=1)
    return total, np.logical_or.reduce(x > 1, axis=0), np.add.reduce(x * 2, axis=None)


@case(Array("n m"), Array("n m", "?"), near_zero=1)
def masked_sums(x, mask):
    return (
        x.sum(axis=1, where=mask),
        np.sum(x, axis=0, initial=10.0),
        np.max(x, initial=-5.0, where=mask),
    )


@case(Array("n k", "int8"), Array("n k", "uint8"), dtypes="f")
def sums_of_small_integers(a, b):
    return a.sum(axis=0), (a * b).sum(), b.sum(dtype=np.float32), np.sum(a, dtype=np.int32)


@case(Array("n m"), Array("n m"), Array("n m"), near_zero=1, sizes="main ones")
def three_sums(x, y, z):
    s = np.sum(x * y)
    t = np.sum(y * z)
    return s / (1 + np.abs(t)), s + t, x * s + z * t


@case(Array("m m"), dtypes="f d i", near_zero=1)
def symmetric_part(a):
    s = (a + a.T) / 2
    return s.sum(axis=0) - s.sum(axis=1), np.abs(a - a.T).max(initial=0)


@case(Array("n m"), axis=0, sizes="main", near_zero=1)
@case(Array("n m"), axis=1, ddof=1, sizes="main", dtypes="f", near_zero=1)
def coefficient_of_variation(x, axis, ddof=0):
    return np.std(x, axis=axis, ddof=ddof) / (3 + np.mean(x, axis=axis))


@case(Array("n m"), Array("n m"), sizes="main", near_zero=0.1)
def covariance_of_pairs(x, y):
    n = x.size
    return (x * y).sum() / n - x.sum() / n * (y.sum() / n)
