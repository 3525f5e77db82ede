"""What `fuse` takes, how many kernels it makes, and what it says where it cannot."""

import contextlib
import gc
from typing import Any

import numpy as np
import pytest

import quern


@pytest.fixture
def x(device):
    return quern.linspace(-2, 3, 1001, dtype=np.float32)


def kernels(fused, *args, **kwargs):
    return fused.explain(*args, **kwargs).kernels


def test_forms(x):
    @quern.fuse
    def plain(a):
        return quern.exp(a) * 2 + a

    @quern.fuse()
    def called(a):
        return quern.exp(a) * 2 + a

    @quern.fuse(kernel_name="named")
    def named(a):
        return quern.exp(a) * 2 + a

    wanted = plain.__wrapped__(x).get()
    for fused in (plain, called, named, quern.fuse(lambda a: quern.exp(a) * 2 + a)):
        assert np.array_equal(fused(x).get(), wanted)
        assert len(kernels(fused, x)) == 1
    assert plain.__name__ == "plain"
    assert "quern_named" in named.source(x) or "named" in named.source(x)


def test_methods_and_closures(x):
    class Model:
        def __init__(self, gain):
            self.gain = gain

        @quern.fuse
        def scaled(self, a, *, offset=1.0):
            """Its words."""
            return a * self.gain + offset

    bias = quern.full((), 0.5, np.float32)
    model = Model(3.0)
    assert np.array_equal(model.scaled(x, offset=2.0).get(), (x * 3.0 + 2.0).get())
    assert Model.scaled.__doc__ == "Its words."
    model.gain = 4.0
    assert np.array_equal(model.scaled(x).get(), (x * 4.0 + 1.0).get())
    fused = quern.fuse(lambda a: a * a + bias)
    assert np.array_equal(fused(x).get(), (x * x + bias).get())


def test_temporaries_are_not_stored(x):
    @quern.fuse
    def chain(a, b):
        t = quern.sqrt(a * a + b * b)
        u = quern.where(t > 1, t - 1, 0)
        return u * 0.5, t

    (kernel,) = kernels(chain, x, x)
    assert kernel["written"] == 2 * x.nbytes
    assert kernel["read"] in (x.nbytes, 2 * x.nbytes)
    for ours, wanted in zip(chain(x, x), chain.__wrapped__(x, x), strict=True):
        assert np.array_equal(ours.get(), wanted.get())


def test_common_and_dead_steps(x):
    @quern.fuse
    def wasteful(a, b):
        unused = quern.sin(a)
        del unused
        return (a + b) * (a + b)

    (kernel,) = kernels(wasteful, x, x[::-1])
    assert "sin" not in kernel["graph"]
    assert kernel["graph"].count("add") == 1


def test_new_scalars_do_not_compile(x):
    fused = quern.fuse(lambda a, k: a * k + k)
    values = (2.5, np.float32(3), 4)
    wanted = [x * k + k for k in values]
    fused(x, 1.5)
    before = quern.cache.stats()["compiles"]
    for k, expected in zip(values, wanted, strict=True):
        found = fused(x, k)
        assert np.array_equal(found.get(), expected.get())
        assert found.dtype == expected.dtype
    assert quern.cache.stats()["compiles"] == before


def test_in_place(device):
    @quern.fuse
    def step(position, speed, dt):
        speed -= position * dt
        position += speed * dt
        position[:3] = 0
        return position

    def start():
        return quern.arange(10.0), quern.ones(10)

    ours, theirs = start(), start()
    assert step(*ours, 0.1) is ours[0]
    step.__wrapped__(*theirs, 0.1)
    for a, b in zip(ours, theirs, strict=True):
        assert np.array_equal(a.get(), b.get())


def test_views_of_what_is_written(device):
    @quern.fuse
    def shifted(a):
        b = a + 1
        b[1:] += b[:-1]
        c = b[::-1]
        c *= 2
        return b + c

    a = quern.arange(9.0)
    assert np.array_equal(shifted(a).get(), shifted.__wrapped__(quern.arange(9.0)).get())


def test_nested_and_kernels_of_users(x):
    square = quern.ElementwiseKernel("T x", "T y", "y = x * x", "square")
    inner = quern.fuse(lambda a: square(a) + 1)
    outer = quern.fuse(lambda a: quern.sqrt(inner(a)) - square(a))
    assert np.array_equal(outer(x).get(), (quern.sqrt(square(x) + 1) - square(x)).get())
    assert len(kernels(outer, x)) == 1


def test_kernels_that_are_gone_before_they_run(x):
    @quern.fuse
    def brief(a):
        made = quern.ElementwiseKernel("T x", "T y", "y = x * 3", "brief")(a)
        gc.collect()
        return made + 1

    assert np.array_equal(brief(x).get(), (x * 3 + 1).get())


def test_memory_of_others_is_written(device):
    if device != quern.Device("cpu"):
        pytest.skip("NumPy's memory is the CPU's")
    host = np.arange(5.0)

    @quern.fuse
    def write():
        shared = quern.from_dlpack(host)
        shared += 1
        shared *= 2

    write()
    assert np.array_equal(host, (np.arange(5) + 1) * 2)


def test_more_than_a_kernel_has_room_for(device):
    arrays = [quern.full(100, k, np.float64) for k in range(90)]

    @quern.fuse
    def total(*given):
        found = given[0]
        for a in given[1:]:
            found = found + a
        return found

    assert np.array_equal(total(*arrays).get(), np.full(100, 4005.0))


def test_reads_warn_once(x):
    @quern.fuse
    def clipped(a):
        b = a * 2
        if b.max() > 1:
            b = b + 1
        return b * 3

    with pytest.warns(
        RuntimeWarning, match=r"test_decorator\.py:\d+: clipped needs an array's values here"
    ):
        found = clipped(x)
    assert np.array_equal(found.get(), ((x * 2 + 1) * 3).get())
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped(x)


def test_strict(x):
    @quern.fuse(strict=True)
    def clipped(a):
        b = a * 2
        return b + float(b.max())

    for fused in (clipped, quern.fuse(clipped.__wrapped__, strict=True)):
        with pytest.raises(quern.FusionError, match="needs an array's values here"):
            fused(x)
    assert np.array_equal((x + 1).get(), x.get() + 1)  # nothing is lost


def test_errors_come_from_the_call_that_makes_them(device):
    a = quern.arange(5, dtype=np.uint8)

    @quern.fuse
    def wrong(b):
        b += 1
        try:
            b + 1000
        except OverflowError:
            b += 2
        return b + quern.zeros(4, np.uint8)

    with pytest.raises(ValueError, match="broadcast"):
        wrong(a)
    assert np.array_equal(a.get(), np.arange(5) + 3)  # what came before the error has happened


def test_a_first_call_that_fails_leaves_nothing(device):
    @quern.fuse
    def wrong(b):
        with contextlib.suppress(OverflowError):
            b + 1000
        c = b[:4].reshape(2, 2) + 2
        return c.ravel() * 3

    a = quern.arange(5, dtype=np.uint8)
    for _ in range(3):
        assert np.array_equal(wrong(a).get(), np.arange(2, 6) * 3)


def test_generators_are_refused():
    with pytest.raises(TypeError, match="does not compute when it is called"):

        @quern.fuse
        def rows(a):
            yield a


def test_explanation(x):
    @quern.fuse
    def line(a):
        b = a * 2
        return b + 1

    before = x.copy()
    text = str(line.explain(x))
    assert text.startswith("line: 1 fused kernel\nkernel 1: 2 calls of lines ")
    assert f"{x.nbytes} bytes read, {x.nbytes} written" in text
    assert np.array_equal(x.get(), before.get())
    assert "__global__" in line.source(x)


def test_lines_are_known_after_a_call(device: quern.Device) -> None:
    x = quern.ones(8)
    fused = quern.fuse(lambda a: a * 2 + 5)
    fused(x)
    (kernel,) = fused.explain(x).kernels
    assert kernel["lines"] == [fused.__wrapped__.__code__.co_firstlineno]
    assert f"# line {kernel['lines'][0]}" in kernel["graph"]


def test_explaining_casts(device: quern.Device) -> None:
    fused = quern.fuse(lambda x: (x + 1).astype("float64"))
    assert len(fused.explain(quern.ones((64, 256), "f4")).kernels) == 1


def stencil(np: Any, u: Any, new: Any) -> Any:
    new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
    return new


def copies(np: Any, u: Any, new: Any) -> Any:
    y = u.copy()
    y += 1
    new[...] = y * 2
    return y, new.astype("float64")


def filled(np: Any, u: Any, new: Any) -> Any:
    y = np.zeros_like(u)
    y += u
    new[...] = 3
    return np.full_like(u, 2) * y + np.ones(u.shape, u.dtype), new


@pytest.mark.parametrize("function", [stencil, copies, filled])
def test_copies_and_fills_are_steps(function: Any, device: quern.Device) -> None:
    drawn = np.random.default_rng(3).standard_normal((2, 64, 96))
    wanted = function(np, *(theirs := drawn.copy()))
    fused = quern.fuse(lambda u, new: function(quern, u, new))
    assert len(fused.explain(*map(quern.asarray, drawn)).kernels) == 1
    for _ in range(3):
        ours = quern.asarray(drawn)
        found = fused(ours[0], ours[1])
        np.testing.assert_array_equal(quern.asnumpy(ours), theirs)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(quern.asnumpy(one), other)


def test_more_steps_and_scalars_than_a_kernel_takes(device: quern.Device) -> None:
    def long(x: Any) -> Any:
        for k in range(150):
            x = x * (k % 3) + k
        return x

    x = np.random.default_rng(0).integers(0, 5, 100)
    fused = quern.fuse(long)
    np.testing.assert_array_equal(quern.asnumpy(fused(quern.asarray(x))), long(x))
    assert len(fused.explain(quern.asarray(x)).kernels) < 16
