"""Functions whose arguments broadcast against each other."""

import numpy as np
from fuse.corpus.cases import Array, Scalar, case


@case(Array("n"), Array("m"), dtypes="f d il bf")
def outer_table(a, b):
    return a[:, None] * b + a[:, np.newaxis] - b[None, :]


@case(Array("n"), Array("m"), near_zero=1)
def gaussian_kernel(x, y, width=0.7):
    return np.exp(-((x[:, None] - y[None, :]) ** 2) / (2 * width**2))


@case(Array("n 3"), Array("m 3"), near_zero=2)
def pairwise_distances(a, b):
    d = a[:, None, :] - b[None, :, :]
    return np.sqrt((d * d).sum(axis=-1))


@case(Array("b c h w"), Array("c"), Array("c"), near_zero=2)
def channel_affine(images, gain, bias):
    return images * gain[:, None, None] + bias.reshape(1, -1, 1, 1)


@case(Array("n m"), Array("n 1"), Array("1 m"), Array("1"), dtypes="f d", near_zero=4)
def row_and_column_offsets(x, row, column, both):
    return x - row - column + both, row + column


@case(Array("n", low=-1.5, high=1.5), Array("n"), Array("m", low=-1.5, high=1.5), Array("m"))
def great_circle(lat1, lon1, lat2, lon2):
    dlat = lat2 - lat1[:, None]
    dlon = lon2 - lon1[:, None]
    a = np.sin(dlat / 2) ** 2 + np.cos(lat1)[:, None] * np.cos(lat2) * np.sin(dlon / 2) ** 2
    return 6371.0 * 2 * np.arcsin(np.sqrt(np.clip(a, 0, 1)))


@case(Array("h w 3"), Array("3 3"), near_zero=2)
def colour_matrix(image, matrix):
    return (image[..., None, :] * matrix).sum(-1)


@case(Array("m"), Array("n m"), sizes="main ones")
def explicit_broadcast(row, like):
    spread = np.broadcast_to(row, like.shape)
    return spread * like, np.broadcast_to(row[:1], (4, 1))


@case(Array("n k"), Array("k"), Array("n 1"), dtypes="ffb dbf", near_zero=2)
def linear_scores(features, weights, offset):
    return (features * weights).sum(axis=1, keepdims=True) + offset


@case(Array("n k 2"), Array("n k"), near_zero=2)
def rotary_embedding(pairs, angle):
    c, s = np.cos(angle), np.sin(angle)
    a, b = pairs[..., 0], pairs[..., 1]
    return a * c - b * s, a * s + b * c


@case(Array("n 1"), Array("1 m"), Scalar(2), sizes="main ones")
@case(Array("n 1"), 3, Array("m"), sizes="main ones")
@case(2.5, Array("k 1 1"), Array("n 1"), dtypes="f i")
def three_ways(a, b, c):
    return a * b + c, np.minimum(np.maximum(a, b), c)


@case(Array("b n m"), Array("n m", "?"))
@case(Array("n m"), Array("m", "?"))
def masked_fill(scores, mask):
    return np.where(mask, scores, -np.inf)


@case(Array("n", low=0, high=1), Array("3"), Array("3"), near_zero=2)
def colour_ramp(t, start, end):
    return (1 - t)[:, None] * start + t[:, None] * end
