"""Functions that read, and write, at the places that an index array names."""

import numpy as np
from fuse.corpus.cases import Array, case


@case(Array("256 3", "uint8"), Array("h w", "uint8", 0, 255), sizes="main ones", dtypes="f")
def palette(table, pixels):
    return table[pixels] // 2


@case(Array("m"), Array("n", "int64", "-m", "m"), sizes="main ones", near_zero=1)
def table_lookup(table, index):
    return table[index] * 2 + 1


@case(Array("m k"), Array("b n", "int32", 0, "m"), sizes="main ones", near_zero=1)
def embedding(table, tokens):
    return table[tokens] * np.sqrt(table.shape[1]).astype(table.dtype)


@case(Array("m k"), Array("n 4", "int64", 0, "m"), sizes="main ones", near_zero=1)
def mean_embedding(table, words):
    return table[words].mean(axis=1)


@case(Array("m"), Array("n m", low=0.0, high=1.0), sizes="main", near_zero=2)
def linear_interpolation(table, where):
    p = where * (table.shape[0] - 2)
    i = np.floor(p).astype(np.int64)
    t = p - i
    return table[i] * (1 - t) + table[i + 1] * t


@case(Array("n m"), Array("n", "int64", 0, "m"), sizes="main ones", dtypes="f i")
def one_of_each_row(x, column):
    picked = x[np.arange(x.shape[0]), column]
    return picked, np.take_along_axis(x, column[:, None], axis=1) - picked[:, None]


@case(Array("n m"), Array("k", "int64", -5, 500), sizes="main ones", dtypes="f i")
def take_with_modes(x, index):
    clipped = np.take(x, index, axis=1, mode="clip")
    return clipped + np.take(x, index, axis=1, mode="wrap"), x.take(index % 7, mode="wrap")


@case(Array("n c"), Array("n k", "int64", 0, "n"), sizes="main ones", near_zero=2)
def graph_laplacian(values, neighbours):
    return values[neighbours].sum(axis=1) - neighbours.shape[1] * values


@case(Array("n m"), Array("n", "int64", 0, "n"), sizes="main ones", dtypes="f", near_zero=1)
def permuted_rows(x, order):
    return x[order] - x, x[:, ::-1][order, 1:]


@case(Array("n m", "int64", 0, 2), Array("n m"), Array("m"), sizes="main ones", dtypes="f i")
def choose_among(which, a, b):
    return np.choose(which, [a, b + a * 0, a * 2])


@case(Array("h w"), Array("n", low=0, high=1), Array("n", low=0, high=1), sizes="main")
def bilinear_sample(image, u, v):
    h, w = image.shape
    y, x = v * (h - 1), u * (w - 1)
    y0 = np.clip(np.floor(y).astype(np.int32), 0, h - 2)
    x0 = np.clip(np.floor(x).astype(np.int32), 0, w - 2)
    fy, fx = y - y0, x - x0
    top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
    bottom = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


@case(Array("n", written=True), Array("m", "int64", 0, "n"), Array("m"), sizes="main ones")
def scatter_once(x, index, values):
    x[index[::-1][:1]] = values[:1]
    x[np.arange(0, len(x), 2)] += 1
    return x


@case(Array("n m", low=0, high=3, dtype="int64"), Array("k"), sizes="main", dtypes="f")
def gather_of_gather(index, values):
    chain = np.arange(values.shape[0])[::-1]
    return values[chain[index]] + values[index]
