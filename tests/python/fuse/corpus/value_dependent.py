"""Functions whose outcome hangs on the values of arrays: what they compute next, or the shape of what they give."""

import numpy as np
from fuse.corpus.cases import Array, case

X = Array("n m")
SAME = {"oracle": "same", "near_zero": 1}
HOST = {"oracle": "same", "epsilon_of": "T", "tolerance": 64, "near_zero": 64}


@case(X, sizes="main ones", **SAME)
@case(Array("n m", low=-2, high=-1), sizes="main ones", **SAME)
def branch_on_a_maximum(x):
    if x.max() > 0:
        return x * 2
    return x - 1


@case(X, **HOST)
def divide_by_a_total(x):
    y = np.abs(x)
    total = float(y.sum())
    return y / total if total else y, total


@case(Array("n m", "int64", 0, 9), dtypes="f")
def number_of_kinds(x):
    return x + len(np.unique(x)), len(np.unique(x[:2]))


@case(Array("n", low=0.5, high=30), **HOST)
def newton_until_converged(a):
    x = np.ones_like(a)
    for _ in range(60):
        new = 0.5 * (x + a / x)
        if np.all(np.abs(new - x) < 1e-9):
            break
        x = new
    return x * x, x > 1


@case(X, **HOST)
def clip_by_norm(gradient, largest=5.0):
    norm = np.sqrt((gradient * gradient).sum())
    if norm > largest:
        gradient = gradient * (largest / norm)
    return gradient, bool(norm > largest)


@case(X, sizes="main", **SAME)
def select_by_mask(x):
    positive = x[x > 0]
    return positive * 2, positive.mean(), positive.size


@case(Array("n", low=-3, high=3), **SAME)
def places_of_peaks(x):
    inner = x[1:-1]
    peaks = np.nonzero((inner > x[:-2]) & (inner > x[2:]))[0] + 1
    return peaks, x[peaks], np.flatnonzero(x > 1)


@case(Array("n m"), sizes="main ones", **SAME)
def row_of_the_best(x):
    best = int(np.argmax(x.sum(axis=1)))
    return x[best] + 1, best


@case(Array("n", low=0, high=4, dtype="int64"), dtypes="f", sizes="main ones")
def length_from_a_value(x):
    n = int(x.max())
    return np.arange(n) * 2, np.zeros(n + 1), np.bincount(x)


@case(Array("k m"), **SAME)
def loop_over_rows(x):
    total = np.zeros(x.shape[1], x.dtype)
    for row in x:
        total = total + row if row[0] > 0 else total - row
    return total


@case(Array("n", low=-1, high=1), **SAME)
def as_a_list(x):
    return [v * 2 for v in x[:3].tolist()], x * 2


@case(Array("n m", "int32", 0, 3), dtypes="f", sizes="main ones")
def chained_conditions(x):
    if 0 <= x.min() <= x.max() < 10 and not (x == 99).any():
        return x % 2 == 0
    return x


@case(Array("n", "float64", 0.1, 1), dtypes="d", sizes="main", near_zero=64, oracle="same")
def bisection(weights, target=10.0):
    low, high = 0.0, 100.0
    for _ in range(20):
        middle = (low + high) / 2
        if (1 - np.exp(-weights * middle)).sum() < target:
            low = middle
        else:
            high = middle
    return low, np.exp(-weights * low)


@case(X, sizes="main ones", **SAME)
def work_around_a_question(x):
    y = np.exp(x) + 1
    scale = 2.0 if y[0, 0] > 1 else 3.0
    return np.log(y) * scale, y.sum() > 0


@case(Array("n m"), **SAME)
def drop_empty_rows(x):
    kept = x[(x > 1.8).any(axis=1)]
    return kept - 1, kept.shape[0]


@case(X, sizes="main", **SAME)
def sorted_trim(x):
    ordered = np.sort(x, axis=None)
    cut = ordered.size // 10
    return ordered[cut : ordered.size - cut].mean(), np.median(x, axis=1)


@case(Array("n m"), **SAME)
def text_of_a_value(x):
    return x + 1, f"{x.size} values", str(x.dtype)


@case(Array("n m", written=True), sizes="main ones", **SAME)
def writes_on_both_sides(x):
    x += 1
    if x.min() < 0:
        x[x < 0] = 0
    x *= 2
    return x.item(0) > 0
