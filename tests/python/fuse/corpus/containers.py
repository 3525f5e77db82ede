"""Functions that take and give tuples, lists and dicts of arrays."""

from collections import namedtuple

import numpy as np
from fuse.corpus.cases import Array, Part, Scalar, case

Particle = namedtuple("Particle", ["position", "velocity"])
X = Array("n m")


@case({"w": X, "b": Array("m")}, X, dtypes="f d fd", near_zero=1)
def dense(parameters, x):
    return x * parameters["w"] + parameters["b"]


@case([X, Array("m"), Array("n 1"), 2.0], dtypes="f i", near_zero=1)
@case((Array("k"),), dtypes="f")
def add_all(arrays):
    total = 0
    for a in arrays:
        total = total + a
    return total


@case([X, Array("m")], [X, Array("m")], near_zero=1)
@case([X, Array("m")], [X, Array("m")], rate=Scalar(0.5), dtypes="f", near_zero=1)
def gradient_descent(parameters, gradients, rate=0.01):
    return [p - rate * g for p, g in zip(parameters, gradients, strict=True)]


@case([Array("n m", written=True), Array("m", written=True)], [X, Array("m")], near_zero=1)
def gradient_descent_in_place(parameters, gradients):
    for p, g in zip(parameters, gradients, strict=True):
        p -= 0.1 * g


@case(X, sizes="main ones", near_zero=1)
def summary(x):
    return {"sum": x.sum(), "rows": {"mean": x.mean(axis=1), "max": x.max(axis=1)}, "n": x.size}


@case(Particle(Array("n 3"), Array("n 3")), near_zero=1)
def drift(particle, dt=0.1):
    return Particle(particle.position + dt * particle.velocity, particle.velocity)


@case({"a": X, "b": [X, (Array("m"), None)]}, near_zero=1)
def nested_structure(tree):
    first, (second, nothing) = tree["b"]
    assert nothing is None
    return {"out": [tree["a"] + first, (first * second, None)], "same": tree["a"]}


@case(X, Array("m"), Array("n 1"), near_zero=1)
@case(X, dtypes="f")
def variadic(*arrays, **options):
    total = arrays[0] * options.get("gain", 1)
    for a in arrays[1:]:
        total = total * a
    return total


@case(X, gain=2.0, bias=Array("m"), near_zero=1)
@case(X, bias=None, dtypes="f")
@case(X, clip=(Scalar(-0.5), 0.5), dtypes="f", near_zero=1)
def keywords(x, *, gain=1.0, bias=None, clip=None):
    y = x * gain
    if bias is not None:
        y = y + bias
    return y if clip is None else np.clip(y, *clip)


@case(X, Array("m"), dtypes="f i")
def returns_its_inputs(x, y):
    return y, x, x + y, None, 3, "name"


@case(X, dtypes="f")
def the_same_result_twice(x):
    y = x * 2
    return y, y, y[:1]


@case([Array("k m"), Array("k m"), Array("k m")], near_zero=1)
def stack_and_join(parts):
    return np.stack(parts).sum(axis=0), np.concatenate(parts, axis=1) * 2, np.vstack(parts) + 1


@case((Array("n"), Array("n"), Array("n")), 1.5, near_zero=4)
def tuple_geometry(point, radius):
    x, y, z = point
    r = np.sqrt(x * x + y * y + z * z) + radius
    return (x / r, y / r, z / r), r


@case({"x": Array("n", written=True), "count": 3}, near_zero=1)
def state_of_a_dict(state):
    state["x"] += state["count"]
    return {**state, "count": state["count"] + 1}


@case(X, Part(0, slice(None, None, 2)), [X], dtypes="f")
def views_in_containers(x, half, rest):
    return [x.T, (half[::-1], rest[0][1:])], {"twice": half * 2}
