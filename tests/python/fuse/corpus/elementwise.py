"""Functions of floats, element by element."""

import numpy as np
from fuse.corpus.cases import Array, Scalar, case

X = Array("*")


@case(X, dtypes="f d e X", tolerance=64, near_zero=4, oracle="same")
def horner(x):
    return ((0.25 * x - 1.5) * x + 2.0) * x - 0.75


@case(X)
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@case(X, dtypes="f d e", near_zero=1)
def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


@case(X)
@case(X, slope=0.2, dtypes="f")
@case(X, Scalar(0.3), dtypes="f e")
def leaky_relu(x, slope=0.01):
    return np.where(x > 0, x, slope * x)


@case(X, alpha=1.5, dtypes="f d")
def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


@case(Array("n m"), Array("n m"), 0.75, near_zero=1)
@case(Array("n m"), Array("m"), Scalar(0.75), near_zero=1)
def huber(prediction, target, delta):
    error = prediction - target
    size = np.abs(error)
    return np.where(size <= delta, 0.5 * error * error, delta * (size - 0.5 * delta))


@case(Array("*", low=0.05, high=0.95), near_zero=1)
def logit(p):
    return np.log(p) - np.log1p(-p)


@case(Array("*", low=-9, high=9), near_zero=1)
def trigonometry(t):
    return np.sin(t) * np.cos(2 * t), np.tan(t / 10), np.hypot(np.sin(t), np.cos(t))


@case(Array("*", low=-0.95, high=0.95), near_zero=1)
def inverse_trigonometry(x):
    y = np.arcsin(x) + np.arctan(2 * x)
    return y, np.arccos(x), np.arctan2(x, 1 - x)


@case(Array("*", low=-0.95, high=0.95), near_zero=1)
def hyperbolics(x):
    s = np.sinh(x) + np.cosh(x) - np.tanh(x)
    return s, np.arcsinh(x), np.arccosh(2 + x), np.arctanh(x)


@case(Array("*", low=0.1, high=4), near_zero=1)
def exponentials_and_logarithms(x):
    grown = np.exp2(x) - np.exp(x / 2)
    return np.log2(grown * grown + 1) + np.log10(x), np.log(x) / np.expm1(x), np.cbrt(x)


@case(Array("*", low=0.1, high=4), Array("*", low=-2, high=2), near_zero=1)
def powers(x, y):
    return x**y, np.power(x, 2), x**0.5 - x**-1, np.float_power(x, y), np.reciprocal(x)


@case(Array("*", low=-30, high=30), oracle="same", dtypes="f d e")
def roundings(x):
    return np.floor(x) + np.ceil(x), np.trunc(x), np.rint(x / 4), np.round(x, 1), np.fix(x)


@case(Array("*", low=-30, high=30), Array("*", low=1, high=7), oracle="same", dtypes="f d")
def divisions(x, y):
    quotient, rest = np.divmod(x, y)
    return x // y, x % y, np.fmod(x, y), quotient * y + rest, x / y


@case(Array("*", low=-9, high=9), oracle="same", dtypes="f d e")
def parts_of_floats(x):
    mantissa, exponent = np.frexp(x)
    fraction, whole = np.modf(x)
    return np.ldexp(mantissa, exponent + 1), fraction, whole, exponent


@case(X, Array("*"), oracle="same", dtypes="f d")
def neighbours_of_floats(x, y):
    return np.nextafter(x, y), np.spacing(x), np.copysign(x, y), np.signbit(x)


@case(Array("*", specials=True), oracle="same", dtypes="f d e")
def classify(x):
    code = np.where(np.isnan(x), 1, np.where(np.isinf(x), 2, 0))
    return code + 4 * np.signbit(x), np.isfinite(x) & ~np.isnan(x)


@case(Array("*", specials=True), Array("*", specials=True), oracle="same", dtypes="f d fd")
def extremes_with_nan(x, y):
    return np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, 0)


@case(Array("*", specials=True), oracle="same", dtypes="f d")
def clean(x):
    return np.nan_to_num(x, nan=0.0, posinf=9.0, neginf=-9.0) * 2


@case(X, Array("*"), near_zero=1)
def log_add(x, y):
    return np.logaddexp(x, y), np.logaddexp2(x - 1, y), np.heaviside(x, 0.5) * y


@case(Array("*", low=-180, high=180), near_zero=180)
def compass(bearing):
    r = np.deg2rad(bearing)
    north, east = np.cos(r), np.sin(r)
    back = np.degrees(np.arctan2(east, north))
    return back - bearing, np.sinc(r), np.radians(back)


@case(Array("*", low=-10, high=40), oracle="same")
def comfort(celsius):
    return np.select(
        [celsius < 0, celsius < 15, celsius <= 25], [celsius * 0, 0.1 * celsius, celsius / 25], 2.0
    )


@case(X, -1.0, 1.0, dtypes="f d e")
@case(X, Scalar(-0.5), None, dtypes="f")
@case(Array("n m"), Array("m", low=-1, high=0), Array("n 1", low=0, high=1), dtypes="f")
def clipped(x, low, high):
    return np.clip(x, low, high) + x.clip(low, high)


@case(X, dtypes="f d")
def quantise(x, levels=127):
    q = np.rint(np.clip(x / 2, -1, 1) * levels).astype(np.int8)
    return q, q.astype(x.dtype) * (2 / levels)


@case(Array("n m"), Array("m", "U"), Array("n 1", "V"), 0.5, dtypes="fdb eFd bhl ?if")
def mixed_types(a, b, c, d):
    return (a + b) * c - d, a * 2 + c, np.maximum(a, c)


@case(Array("*", specials=True), Array("*", "int8"), oracle="same", dtypes="f d")
def logic(x, flags):
    ok = np.logical_and(np.isfinite(x), flags > 0)
    odd = np.logical_xor(flags % 2 == 1, x >= 1)
    return np.logical_or(ok, ~odd), np.logical_not(flags), ok & odd | (flags != 0), ok == odd


@case(Array("*", low=-4, high=4), Array("*", low=1, high=4), oracle="same", dtypes="f d i")
def ufuncs_by_name(x, y):
    a = np.true_divide(np.subtract(x, y), np.add(y, 1))
    b = np.multiply(np.floor_divide(x, y), np.mod(x, y)) + np.conjugate(x)
    order = np.less(x, y) | np.greater_equal(a, b), np.less_equal(x, 1) ^ np.greater(y, 2)
    return np.divide(a, 3), b, np.equal(*order), np.not_equal(x, np.absolute(x))


@case(X, dtypes="f d e")
def signs(x):
    return np.sign(x) * np.sqrt(np.fabs(x)), np.negative(x), np.positive(x), np.abs(-x), abs(x)


@case(Array("*", low=-1, high=1), near_zero=1)
def smoothstep(x):
    t = np.clip((x + 0.5) / 1.5, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@case(Array("*", low=0.5, high=80), oracle="same", dtypes="f")
def inverse_square_root(x):
    bits = np.uint32(0x5F3759DF) - (x.view(np.uint32) >> np.uint32(1))
    y = bits.view(np.float32)
    return y * (np.float32(1.5) - np.float32(0.5) * x * y * y)
