"""Functions of views: slices, turned axes, reshapes."""

import numpy as np
from fuse.corpus.cases import Array, case


@case(Array("n m"), dtypes="f i")
def mirror_average(x):
    return (x + x[:, ::-1] + x[::-1] + x[::-1, ::-1]) / 4


@case(Array("n m"), dtypes="f b")
def every_step(x):
    return x[::2] * 2, x[1::3, ::-2] + 1, x[-1:0:-4, 5:50:7], x[40:, :] + x[100:200]


@case(Array("64"), Array("32"), dtypes="F D", sizes="main", near_zero=4)
def butterfly(x, twiddle):
    even, odd = x[::2], x[1::2] * twiddle
    return even + odd, even - odd


@case(Array("n 64"), dtypes="f d", near_zero=1)
def haar(x):
    half = 0.5**0.5
    return half * (x[:, ::2] + x[:, 1::2]), half * (x[:, ::2] - x[:, 1::2])


@case(Array("b n k"), dtypes="f i")
def turned_axes(x):
    return (
        np.transpose(x, (2, 0, 1)) * 2,
        x.swapaxes(0, 1) + 1,
        np.moveaxis(x, 0, -1) - x.transpose(1, 2, 0),
        x.T.sum(axis=0),
    )


@case(Array("n 1 m"), dtypes="f i")
def expand_and_squeeze(x):
    y = np.squeeze(x, axis=1)
    return np.expand_dims(y, 0) + 1, y[..., None] * 2, np.expand_dims(y, (1, 2)).squeeze(), y


@case(Array("n m"), dtypes="f h", near_zero=1)
def binomial_filter(x):
    return (x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]) / 4


@case(Array("n m"), near_zero=1)
def second_derivative(x, h=0.5):
    out = np.zeros_like(x)
    out[:, 1:-1] = (x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2]) / h**2
    return out


@case(Array("16 24"), sizes="main", near_zero=1)
@case(Array("b 16 24"), sizes="main", near_zero=1, dtypes="f")
def block_mean(x, size=4):
    *lead, h, w = x.shape
    return x.reshape(*lead, h // size, size, w // size, size).mean(axis=(-3, -1))


@case(Array("h w"), dtypes="f B")
def nearest_upsample(x):
    h, w = x.shape
    y = np.broadcast_to(x[:, None, :, None], (h, 2, w, 2))
    return y.reshape(2 * h, 2 * w) * 2


@case(Array("b 8 h w"), dtypes="f")
def depth_to_space(x):
    b, c, h, w = x.shape
    y = x.reshape(b, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2)
    return y.reshape(b, c // 4, h * 2, w * 2) + 0.5


@case(Array("n m"), dtypes="f i")
def only_views(x):
    return x.T, x[1:], x[..., np.newaxis], x[:, ::-2], x


@case(Array("n m"), dtypes="F D")
def real_and_imaginary_views(z):
    return z.real, z.imag[::2], z.T.real * z.T.imag


@case(Array("n k"), dtypes="f i")
def flatten_and_scale(x):
    flat = x.ravel()
    return flat * np.arange(flat.size), x.reshape(-1)[::3] + 1, x.flatten()[:5]


@case(Array("n m"), dtypes="f d", near_zero=1)
def interleave(x):
    a, b = x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 : x.shape[1] // 2 * 2]
    out = np.empty((x.shape[0], 2 * a.shape[1]), x.dtype)
    out[:, ::2] = a + b
    out[:, 1::2] = a - b
    return out


@case(Array("h w"), dtypes="f i")
def quarter_turns(x):
    return np.rot90(x) * 1, np.flip(x, 0) - np.flipud(x), np.fliplr(x.T) + 1


@case(Array("n m"), dtypes="f", near_zero=1)
def gradient_magnitude(x):
    gy = x[1:, :-1] - x[:-1, :-1]
    gx = x[:-1, 1:] - x[:-1, :-1]
    return np.sqrt(gx * gx + gy * gy)


@case(Array("m m"), dtypes="f i", sizes="main ones")
def diagonals(a):
    d = np.diagonal(a)
    return a * d, a - d[:, None], d.sum()


@case(Array("b 3"), Array("b 3"), near_zero=4)
def cross_product(a, b):
    ax, ay, az = a[:, 0], a[:, 1], a[:, 2]
    bx, by, bz = b.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


@case(Array("n m"), dtypes="f B")
def checkerboard(x):
    y = x.copy()
    y[::2, ::2] = 0
    y[1::2, 1::2] = 1
    return y


@case(Array("n 2 k"), dtypes="f", near_zero=1)
def ellipsis_and_integers(x):
    return x[..., 0] * x[:, 1, :1], x[:, -1] + x[:, 0], x[:, :, None, ::2].sum(axis=2)
