"""Functions that reach for what surrounds them: closures, module's arrays, methods, helpers, lambdas, fused helpers."""

import functools

import numpy as np
from fuse.corpus.cases import Array, case

from quern import fuse

X = Array("n m")
LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
TAPS = (0.0625, 0.25, 0.375, 0.25, 0.0625)
EPSILON = np.float32(1e-3)


@case(Array("h w 3", low=0, high=1), dtypes="f d", near_zero=1)
def luminance(image):
    return (image * LUMA).sum(axis=-1)


@case(X, dtypes="f d", near_zero=1)
def guarded_inverse(x):
    return 1 / (np.abs(x) + EPSILON)


@case(X, near_zero=1)
def symmetric_taps(x):
    n = x.shape[1] - len(TAPS) + 1
    return sum(tap * x[:, i : max(i + n, i)] for i, tap in enumerate(TAPS))


@case(X, made=True, near_zero=1)
def captured_numbers():
    gain, offset = 1.5, np.float32(0.25)

    def amplify(x):
        return x * gain + offset

    return amplify


@case(X, made=True, near_zero=1)
def captured_array():
    weights = np.linspace(0, 1, 65, dtype=np.float32)

    def weigh(x):
        return x * (weights if x.shape[1] == weights.size else weights[:1])

    return weigh


@case(Array("n"), made=True, near_zero=1)
def captured_array_written():
    total = np.zeros((), np.float64)

    def count(x):
        nonlocal total
        total = total + x.sum()
        return total + 1

    return count


@case(Array("n m", low=0.1, high=2), made=True, near_zero=1)
def lambda_of_one_line():
    return lambda x: np.log(x) * 2 + np.sqrt(x)


@case(X, X, made=True, near_zero=1)
def lambda_in_a_table():
    table = {"mix": lambda a, b, t=0.25: a + t * (b - a)}
    return table["mix"]


class Filter:
    """A first-order filter that remembers its coefficient."""

    def __init__(self, coefficient):
        self.coefficient = coefficient
        self.steps = 0

    def step(self, state, x):
        self.steps += 1
        return self.coefficient * state + (1 - self.coefficient) * x

    @staticmethod
    def energy(x):
        return (x * x).sum(axis=-1)

    @classmethod
    def bypass(cls, x):
        return cls(0.0).step(x * 0, x)

    def __call__(self, x):
        return self.step(np.zeros_like(x), x) - self.energy(x)[..., None]


@case(X, X, made=True, near_zero=1)
def bound_method():
    return Filter(0.8).step


@case(X, made=True, near_zero=1)
def callable_object():
    return Filter(0.5)


@case(X, made=True)
def class_method():
    return Filter.bypass


@case(X, made=True, near_zero=1)
def static_method():
    return Filter.energy


@case(X, made=True, near_zero=1)
def partial_application():
    def saturate(low, x, high):
        return low + (high - low) / (1 + np.exp(-x))

    return functools.partial(saturate, 0.5, high=2.0)


def _square(x):
    return x * x


def _length(x, y):
    def root(s):
        return np.sqrt(s)

    return root(_square(x) + _square(y))


@case(X, X, near_zero=1)
def nested_helpers(x, y):
    r = _length(x, y)
    return x / (1 + r), y / (1 + r)


@fuse
def fused_sigmoid(x):
    return 1 / (1 + np.exp(-x))


@fuse(kernel_name="swish")
def fused_swish(x, beta=1.0):
    return x * fused_sigmoid(beta * x)


@case(X, near_zero=1)
def calls_fused_functions(x):
    y = fused_swish(x, beta=1.5)
    return y - fused_sigmoid(x).mean(axis=1, keepdims=True) if x.size else y


@case(X, near_zero=1)
def helper_that_writes(x):
    def double(a):
        a *= 2
        return a

    y = x.copy()
    z = double(y)
    return z + y


@case(X, made=True, near_zero=1)
def composed_functions():
    def compose(*functions):
        return lambda x: functools.reduce(lambda value, f: f(value), functions, x)

    return compose(np.tanh, lambda x: x * 2, np.exp, _square)


@case(X, X, made=True, near_zero=1)
def functions_as_arguments():
    def apply(x, y, combine=np.maximum, finish=lambda v: v + 1):
        return finish(combine(x, y))

    return apply


@case(X, dtypes="f d", near_zero=1)
def local_and_global_names(x):
    LUMA = 2.0
    return [x * LUMA * t for t in TAPS[:2]]
