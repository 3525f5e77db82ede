"""Functions with a call in their middle that no elementwise kernel or reduction does: products, sorts, transforms."""

import numpy as np
from fuse.corpus.cases import Array, case

X = Array("n m")


@case(X, Array("m k"), Array("k"), near_zero=8)
def dense_layer(x, weight, bias):
    return np.maximum((x * 0.5 + 1) @ weight + bias, 0) ** 2


@case(Array("b n 8"), Array("b n 8"), Array("b n 8"), sizes="main ones", near_zero=4)
def attention_by_products(query, key, value):
    scores = np.matmul(query, key.swapaxes(-1, -2)) / 8**0.5
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ value


@case(X, sizes="main ones", oracle="same", near_zero=1)
def sort_rows(x):
    y = np.sort(np.abs(x), axis=1)
    return y[:, ::-1] - y[:, :1], np.argsort(x * 2, axis=1, kind="stable")[:, 0]


@case(Array("n m"), Array("n m"), sizes="main", near_zero=16, tolerance=64)
def lagged_correlation(x, y):
    x = x - x.mean()
    lags = np.correlate(x[0], y[0] * 2, "full")
    return lags / x.shape[1], np.abs(lags).max()


@case(Array("h w", "uint8", 0, 255), sizes="main", dtypes="f")
def equalise_histogram(image):
    counts = np.bincount(image.ravel(), minlength=256)
    share = np.cumsum(counts) / image.size
    return (share[image] * 255).astype(np.uint8)


@case(Array("h w"), mode="edge", sizes="main ones", near_zero=1)
@case(Array("h w"), mode="constant", sizes="main ones", dtypes="f", near_zero=1)
def padded_box_blur(image, mode):
    p = np.pad(image * 2, 1, mode=mode)
    h, w = image.shape
    return sum(p[i : i + h, j : j + w] for i in range(3) for j in range(3)) / 9


@case(Array("n", low=0, high=1), Array("n m", low=0, high=1), sizes="main ones", oracle="same")
def transform_by_edges(edges, x):
    edges = np.cumsum(edges)
    place = np.searchsorted(edges, x * edges[-1])
    return place * 2, np.minimum(place, len(edges) - 1) % 3 == 0


@case(X, Array("m"), near_zero=2)
def joined_parts(x, row):
    both = np.concatenate([x * 2, row[None] - 1, np.zeros_like(x)], axis=0)
    return both.sum(axis=0) + row, np.tile(row, 2) * 2, np.repeat(x + 1, 2, axis=1)


@case(Array("n k"), Array("k m"), near_zero=8)
def sums_of_products(a, b):
    c = np.einsum("ij,jk->ik", a + 1, b)
    return np.tanh(c / 8), np.outer(a[:, 0] * 2, b[0]) + 1


@case(X, sizes="main", oracle="same", near_zero=2)
def robust_scale(x):
    low, middle, high = np.percentile(x, [25, 50, 75], axis=1)
    return (x - middle[:, None]) / (high - low)[:, None]


@case(Array("n"), Array("n"), sizes="main", near_zero=8)
def slopes(y, spacing):
    t = np.cumsum(np.abs(spacing) + 0.5)
    rate = np.diff(y) / np.diff(t)
    return (
        np.append(rate, 0) * 2,
        np.trapezoid(y * y, t),
        np.convolve(y, np.ones_like(y[:3]), "same"),
    )


@case(Array("m m"), Array("m"), sizes="main", near_zero=16)
def power_iteration(a, x):
    s = a @ a.T
    for _ in range(3):
        x = s @ x
        x = x / np.linalg.norm(x)
    return x, (x * (s @ x)).sum() / (x * x).sum()


@case(Array("n", low=0, high=1), oracle="same", near_zero=2)
def tone_curve(x):
    knots = np.linspace(0, 1, 6)
    return np.interp(x * 0.9, knots, np.sqrt(knots)) + 0.5
