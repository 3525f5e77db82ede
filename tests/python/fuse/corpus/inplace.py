"""Functions that write: in-place operators, slices, masks, `out=`, and views of one another."""

import numpy as np
from fuse.corpus.cases import Array, Part, case

W = Array("n m", written=True)


@case(W, Array("n m"), dtypes="f d fd", near_zero=1)
@case(W, Array("m"), dtypes="f", near_zero=1)
@case(W, 0.25, dtypes="f", near_zero=1)
def accumulate_into(total, x):
    total *= 0.9
    total += 0.1 * x


@case(W, Array("n m"), dtypes="f", near_zero=1)
def scale_and_return(x, y):
    x -= y
    x /= 2
    return x


@case(W, dtypes="f i", near_zero=1)
def shift_right(x):
    x[:, 1:] = x[:, :-1]
    x[:, 0] = 0
    return x


@case(W, dtypes="f i", near_zero=1)
def add_neighbour(x):
    x[:-1] += x[1:]
    x[1:] -= x[:-1]


@case(W, dtypes="f i")
def add_mirror(x):
    x += x[:, ::-1]
    return x[0:1] * 2


@case(Array("m m", written=True), dtypes="f i")
def symmetrise_in_place(a):
    a += a.T
    a //= 2
    return a


@case(Array("n", written=True), Part(0, slice(1, None)), dtypes="f i")
def overlapping_arguments(x, tail):
    tail += x[:-1]
    x[:-1] *= 2
    return x + 1


@case(Array("n", written=True), Part(0, slice(None, None, -1)), near_zero=1)
def reversed_argument(x, back):
    x *= 2
    back += 1
    return x - back


@case(Array("n m", written=True), Part(0, slice(None)))
def the_same_twice(x, y):
    x += y
    y *= 3
    return x


@case(W, Array("n m", written=True), dtypes="f b")
def swap(a, b):
    t = a.copy()
    a[...] = b
    b[:] = t


@case(W, Array("n m"), near_zero=1)
def ufunc_out(out, x):
    np.exp(x, out=out)
    np.add(out, 1, out=out)
    return np.log(out, out=out)


@case(W, Array("n m"), Array("n m", "?"), near_zero=1)
def ufunc_where(out, x, mask):
    np.multiply(x, 2, out=out, where=mask)
    np.copyto(out, 0.5, where=~mask & (x > 1))
    return out


@case(W, dtypes="f i")
def mask_assignment(x):
    x[x < 0] = 0
    x[x > 1] *= 2
    return x


@case(Array("h w", written=True), dtypes="f B")
def frame(image):
    image[:2] = 1
    image[-2:, :] = 2
    image[:, :1] = image[:, -1:] = 3
    return image[2:-2, 1:-1].sum()


@case(W, near_zero=1, dtypes="f")
def writes_of_temporaries(x):
    t = x * 2
    t[::2] += 1
    u = t[:, 1:]
    u *= 3
    t[0:1] = 7
    return t, u.sum()


@case(W, near_zero=1)
def dead_writes(x):
    x[:] = 1
    y = x * 5
    x[:] = y - 2
    y += 100
    return x


@case(W, Array("m"), sizes="main", near_zero=1)
def normalise_rows_in_place(x, weight):
    x -= x.mean(axis=1, keepdims=True)
    x /= np.sqrt((x * x).sum(axis=1, keepdims=True))
    x *= weight


@case(Array("n m", "int32", written=True), Array("n m", "int32", 1, 7), dtypes="f")
def integer_operators(x, y):
    x += y
    x -= 3
    x *= y
    x //= 2
    x %= 1000
    x <<= 2
    x >>= 1
    x &= 0xFFF
    x |= y
    x ^= 5
    x **= 2
    return x


@case(Array("n m", "int8", written=True), Array("n m", low=-90, high=90), oracle="same")
def cast_on_assignment(codes, x):
    codes[:, ::2] = x[:, ::2]
    np.copyto(codes[:, 1::2], x[:, 1::2], casting="unsafe")


@case(Array("n m", written=True), dtypes="f d", near_zero=1)
def view_then_base(x):
    v = x[1:, :-1]
    before = v * 1
    x += 1
    after = v.copy()
    v[...] = before - after
    return v, before


@case(Array("n k", written=True), dtypes="f i")
def through_reshape(x):
    flat = x.T[0]
    flat += 10
    grown = x[:, :, None]
    grown[:, ::2] = 1
    return x.sum(axis=1)


@case(Array("n", written=True), Array("n"), dtypes="f", near_zero=1)
def red_black(x, rhs):
    for start in (0, 1):
        inner = x[1 + start : -1 : 2]
        left, right = x[start:-2:2], x[2 + start :: 2]
        m = min(len(inner), len(left), len(right))
        inner[:m] = (left[:m] + right[:m] - rhs[:m]) / 2


@case(W, Array("n", "int64", 0, "n"), dtypes="f", sizes="main ones")
def rows_by_index(x, rows):
    x[rows] = 0
    x[rows[:1], 1:] = 5
    return x.sum(axis=1)


@case(W, dtypes="f i")
def fill_and_flag(x):
    y = np.empty_like(x)
    y.fill(3)
    y[:, -1] = x[:, 0]
    x[0:1].fill(9)
    return y


@case(Array("n m", "bool", written=True), Array("n m", "bool"), dtypes="f")
def flags_in_place(seen, now):
    seen |= now
    fresh = seen & ~now
    seen ^= fresh[:, ::-1]
    return fresh
