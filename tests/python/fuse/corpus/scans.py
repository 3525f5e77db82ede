"""Functions with running sums, products and extremes."""

import numpy as np
from fuse.corpus.cases import Array, case


@case(Array("n m"), 0, dtypes="f d", near_zero=8, epsilon_of="T")
@case(Array("n m"), 1, dtypes="i b ?", near_zero=8)
@case(Array("b n k"), 1, dtypes="f", near_zero=8, epsilon_of="T")
def running_mean(x, axis):
    counts = np.arange(1, x.shape[axis] + 1)
    shape = [1] * x.ndim
    shape[axis] = -1
    return np.cumsum(x, axis=axis) / counts.reshape(shape)


@case(Array("n m", low=-0.1, high=0.1), sizes="main ones", near_zero=1)
def drawdown(returns):
    wealth = np.cumprod(1 + returns, axis=1)
    peak = np.maximum.accumulate(wealth, axis=1)
    fall = (peak - wealth) / peak
    return wealth, fall, fall.max(axis=1)


@case(Array("h w"), dtypes="f d B", near_zero=64)
def integral_image(x):
    return x.cumsum(axis=0).cumsum(axis=1)


@case(Array("n", low=0.1, high=1), Array("n"), near_zero=8)
def cumulative_trapezoid(dx, y):
    area = dx[1:] * (y[1:] + y[:-1]) / 2
    return np.cumsum(area), area.sum()


@case(Array("n m", low=0.1, high=1), sizes="main ones", near_zero=1)
def cumulative_distribution(weights):
    c = np.cumsum(weights, axis=-1)
    return c / c[..., -1:]


@case(Array("n m"), near_zero=8)
def prefix_and_suffix(x):
    forward = np.cumsum(x, axis=1)
    backward = np.cumsum(x[:, ::-1], axis=1)[:, ::-1]
    return forward + backward - x, np.add.accumulate(x, axis=0)


@case(Array("n", dtype="?"), dtypes="f")
def enumerate_true(mask):
    return np.where(mask, np.cumsum(mask) - 1, -1)


@case(Array("n m"), sizes="main", near_zero=8)
def moving_average(x, width=5):
    c = np.cumsum(x, axis=1)
    return (c[:, width:] - c[:, :-width]) / width
