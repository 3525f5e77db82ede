"""What ElementwiseKernel promises beyond layouts: raw arrays, scalars, positions, outputs, call options, attributes."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import quern
from quern import ElementwiseKernel


def test_fixed_types_and_placeholders(device: quern.Device) -> None:
    kernel = ElementwiseKernel("float32 x, T y, T a", "U z", "z = x * y + a")
    x, y = np.arange(5, dtype="f4"), np.arange(5, dtype="f8")
    z = quern.empty(5, "i4")
    assert kernel(quern.asarray(x), quern.asarray(y), 3, z) is z
    np.testing.assert_array_equal(z.get(), (x * y + 3).astype("i4"))


def test_raw_flat_index(device: quern.Device) -> None:
    kernel = ElementwiseKernel(
        "raw T x, int32 shift", "T y", "y = x[(i + shift) % x.size()]", "roll"
    )
    x = np.arange(12.0).reshape(3, 4)
    for array, host in [
        (quern.asarray(x), x),
        (quern.asarray(x).T, x.T),
        (quern.asarray(x)[::-1, ::2], x[::-1, ::2]),
    ]:
        out = quern.empty(host.size, "f8")
        kernel(array, 5, out)
        np.testing.assert_array_equal(out.get(), np.roll(host.ravel(), -5))


def test_raw_multi_index_shape_strides(device: quern.Device) -> None:
    x = np.arange(24, dtype="i4").reshape(4, 6)
    kernel = ElementwiseKernel(
        "raw T x",
        "T y",
        """
        ptrdiff_t at[] = {i % x.shape()[0], i / x.shape()[0]};
        y = x[at] + T(1000 * x.strides()[0] / sizeof(T)) + T(100000 * x.ndim);
        """,
        "columns",
    )
    array = quern.asarray(x)
    out = kernel(array, quern.empty(24, "i4"))
    np.testing.assert_array_equal(out.get(), x.T.ravel() + 6000 + 200000)
    out = kernel(array.T, quern.empty(24, "i4"))
    np.testing.assert_array_equal(out.get(), x.ravel() + 1000 + 200000)


def test_raw_int_index_and_pointer(device: quern.Device) -> None:
    kernel = ElementwiseKernel(
        "raw float32 x, raw float32 y",
        "float32 z",
        "int at[2] = {int(i), 1}; const float* p = &y[0]; z = x[at] + p[i]",
    )
    x, y = np.arange(6, dtype="f4").reshape(3, 2), np.arange(3, dtype="f4") * 10
    np.testing.assert_array_equal(
        kernel(quern.asarray(x), quern.asarray(y), quern.empty(3, "f4")).get(), x[:, 1] + y
    )


def test_raw_output_and_size(device: quern.Device) -> None:
    kernel = ElementwiseKernel("", "raw T y", "y[n - 1 - i] = i", "down")
    y = quern.zeros(10, "i8")
    kernel(y, size=10)
    np.testing.assert_array_equal(y.get(), np.arange(10)[::-1])
    made = ElementwiseKernel("int32 a", "raw float32 y", "y[i] = a * i")(2, size=7)
    np.testing.assert_array_equal(made.get(), np.arange(7, dtype="f4") * 2)


def test_index_names(device: quern.Device) -> None:
    kernel = ElementwiseKernel("T x", "int64 y", "y = i * 1000 + n + _ind.size()")
    x = quern.zeros((3, 4), "f4")
    np.testing.assert_array_equal(kernel(x).get(), np.arange(12).reshape(3, 4) * 1000 + 24)
    np.testing.assert_array_equal(kernel(x.T).get(), np.arange(12).reshape(4, 3) * 1000 + 24)
    kernel = ElementwiseKernel(
        "T x", "int64 y", "y = _ind.get()[0] * 100 + _ind.get()[1]", reduce_dims=False
    )
    rows, columns = np.indices((3, 4))
    np.testing.assert_array_equal(kernel(x).get(), rows * 100 + columns)
    np.testing.assert_array_equal(kernel(quern.zeros((4, 3), "f4").T).get(), rows * 100 + columns)
    kernel = ElementwiseKernel("T x", "int64 y", "y = _ind.get()[0]")  # merged to one axis
    np.testing.assert_array_equal(kernel(x).get(), np.arange(12).reshape(3, 4))


def test_loop_prep_and_after_loop(device: quern.Device) -> None:
    kernel = ElementwiseKernel(
        "T x, raw int32 total",
        "T y",
        "y = x * factor; seen += 1;",
        "prep",
        loop_prep="const T factor = 3; int seen = 0;",
        after_loop="atomicAdd(const_cast<int*>(&total[0]), seen)",
    )
    total = quern.zeros(1, "i4")
    x = np.arange(1000, dtype="f4")
    np.testing.assert_array_equal(kernel(quern.asarray(x), total).get(), x * 3)
    assert int(total.get()[0]) == 1000


def test_preamble_and_options(device: quern.Device) -> None:
    kernel = ElementwiseKernel(
        "T x",
        "T y",
        "y = twice(x) + OFFSET",
        preamble="template <class V> __device__ V twice(V v) { return v + v; }",
        options=("-DOFFSET=7",),
    )
    np.testing.assert_array_equal(kernel(quern.arange(4)).get(), np.arange(4) * 2 + 7)


def test_partial_writes_keep_old_values(device: quern.Device) -> None:
    kernel = ElementwiseKernel("T x", "T y", "if (x > 2) y = x; else if (x == 0) y += 100")
    x = np.arange(37, dtype="f4") % 5
    y = quern.asarray(np.full(37, -1, "f4"))
    kernel(quern.asarray(x), y)
    np.testing.assert_array_equal(y.get(), np.where(x > 2, x, np.where(x == 0, 99, -1)))


@pytest.mark.parametrize("body", ["if (x < 3) return; y = x", "if (x < 3) continue; y = x"])
def test_early_leave_skips_one_element(device: quern.Device, body: str) -> None:
    x = np.arange(1000, dtype="i4") % 7
    y = quern.asarray(np.full(1000, -5, "i4"))
    ElementwiseKernel("T x", "T y", body)(quern.asarray(x), y)
    np.testing.assert_array_equal(y.get(), np.where(x < 3, -5, x))


def test_in_place_and_several_outputs(device: quern.Device) -> None:
    x = quern.arange(10, dtype="f8")
    ElementwiseKernel("T a", "T x", "x = x * a + 1")(2, x)
    np.testing.assert_array_equal(x.get(), np.arange(10) * 2.0 + 1)
    q, r = ElementwiseKernel("T x, T y", "T q, T r", "q = x / y; r = x % y")(
        quern.arange(10), quern.asarray(np.int64(3))
    )
    np.testing.assert_array_equal(q.get(), np.arange(10) // 3)
    np.testing.assert_array_equal(r.get(), np.arange(10) % 3)


def test_returns(device: quern.Device) -> None:
    x = quern.arange(3)
    assert ElementwiseKernel("T x", "T y", "y = x", no_return=True)(x) is None
    tupled = ElementwiseKernel("T x", "T y", "y = x", return_tuple=True)(x)
    assert isinstance(tupled, tuple)
    assert len(tupled) == 1
    assert ElementwiseKernel("raw T x", "", "")(x, size=3) == ()


def test_scalars_follow_numpy_assignment(device: quern.Device) -> None:
    kernel = ElementwiseKernel("T x, T a", "T y", "y = x + a")
    zeros = quern.zeros(2, "i4")
    assert kernel(zeros, 2.5).get().tolist() == [2, 2]
    assert kernel(zeros, True).get().tolist() == [1, 1]
    assert kernel(zeros, np.int8(-3)).get().tolist() == [-3, -3]
    with pytest.raises(OverflowError, match="-1 out of bounds for uint8"):
        kernel(quern.zeros(2, "u1"), -1)
    with pytest.raises(OverflowError, match="-1 out of bounds for uint8"):
        kernel(quern.zeros(0, "u1"), -1)  # nothing would run
    with pytest.raises(OverflowError):
        kernel(zeros, 2**40)
    with pytest.raises(TypeError, match="complex"):
        kernel(zeros, 1j)
    half = kernel(quern.zeros(3, "e"), 1 / 3)
    np.testing.assert_array_equal(half.get(), np.full(3, 1 / 3, "e"))
    np.testing.assert_array_equal(
        kernel(quern.zeros(3, "F"), 1 + 2j).get(), np.full(3, 1 + 2j, "F")
    )
    np.testing.assert_array_equal(
        kernel(quern.zeros(1, "u8"), 2**64 - 1).get(), np.array([2**64 - 1], "u8")
    )


def test_half_scalars_round_like_numpy(device: quern.Device) -> None:
    kernel = ElementwiseKernel("T a", "T y", "y = a")
    random = np.random.default_rng(5)
    values = np.concatenate(
        [random.normal(0, 10.0**e, 20) for e in range(-9, 6)]
        + [[np.inf, -np.inf, 65519.99, 65520.0, 2.0**-25]]
    )
    for value in values:
        out = quern.empty(1, "e")
        kernel(float(value), out)
        with np.errstate(over="ignore"):
            assert out.get()[0] == np.float16(value), value


def test_structured_scalar(device: quern.Device) -> None:
    dtype = np.dtype([("scale", "f4"), ("shift", "i8"), ("flag", "?")], align=True)
    value = np.array((2.5, 7, True), dtype)[()]
    kernel = ElementwiseKernel(
        "float64 x, S s", "float64 y", "y = s.flag ? x * s.scale + s.shift : 0"
    )
    x = np.arange(6.0)
    np.testing.assert_array_equal(kernel(quern.asarray(x), value).get(), x * 2.5 + 7)


def test_call_options(device: quern.Device) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + 1")
    x = quern.arange(1000)
    stream = quern.cuda.Stream()
    for block_size in (1, 32, 100, 256, 1024):
        np.testing.assert_array_equal(kernel(x, block_size=block_size).get(), np.arange(1000) + 1)
    y = kernel(x, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(y.get(), np.arange(1000) + 1)
    with pytest.raises(ValueError, match="block_size"):
        kernel(x, block_size=0)
    with pytest.raises(TypeError, match="Wrong arguments"):
        kernel(x, grid=3)


def test_foreign_arrays(device: quern.Device) -> None:
    class Wrapper:
        def __init__(self, array: Any) -> None:
            name = (
                "__cuda_array_interface__"
                if hasattr(array, "__cuda_array_interface__")
                else "__array_interface__"
            )
            setattr(self, name, getattr(array, name))
            self.kept = array

    x = quern.arange(5, dtype="f4")
    kernel = ElementwiseKernel("T x", "T y", "y = x * x")
    np.testing.assert_array_equal(kernel(Wrapper(x)).get(), np.arange(5, dtype="f4") ** 2)


def test_attributes(device: quern.Device) -> None:
    kernel = ElementwiseKernel(
        "T x, raw float32 w", "T y", "y = x", "named", loop_prep="int a;", options=("-DA",)
    )
    assert (kernel.nin, kernel.nout, kernel.nargs) == (2, 1, 3)
    assert kernel.name == kernel.__name__ == "named"
    assert kernel.operation == "y = x"
    assert kernel.reduce_dims
    assert not kernel.no_return
    assert not kernel.return_tuple
    assert [p.name for p in kernel.params] == ["x", "w", "y"]
    assert kernel.in_params[1].raw
    assert kernel.in_params[1].dtype == np.float32
    assert kernel.in_params[0].dtype is None
    assert kernel.kwargs == {"loop_prep": "int a;", "options": ("-DA",)}
    with pytest.raises(RuntimeError, match="not been compiled"):
        _ = kernel.cached_code
    kernel(quern.zeros(3), quern.zeros(3, "f4"))
    assert "named" in kernel.cached_code
    assert list(kernel.cached_codes.values()) == [kernel.cached_code]


def test_pickle_and_copy(device: quern.Device) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + K", "pickled", options=("-DK=4",))
    for again in (pickle.loads(pickle.dumps(kernel)), copy.copy(kernel), copy.deepcopy(kernel)):
        np.testing.assert_array_equal(again(quern.arange(3)).get(), np.arange(3) + 4)


def test_many_threads(device: quern.Device) -> None:
    name = device.name if hasattr(device, "name") else None
    kernel = ElementwiseKernel("T x, int32 a", "T y", "y = x * a", "threaded")
    wrong: list[Any] = []

    def work(seed: int) -> None:
        try:
            with quern.Device(name):
                for dtype in "fdilhb":
                    x = np.arange(seed, seed + 5000).astype(dtype)
                    got = kernel(quern.asarray(x), 3).get()
                    if not (got == (x * 3).astype(dtype)).all():
                        wrong.append((seed, dtype))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_other_threads_run_while_a_kernel_compiles(device: quern.Device) -> None:
    ticks, done = [0], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1

    x = quern.arange(4)
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = ticks[0]
        # A text that no cache has; not through the name that records kernels for the corpus.
        fresh = f"y = x + {threading.get_ident() % 100003} * {id(ticks) % 9973}"
        quern._core.ElementwiseKernel("T x", "T y", fresh)(x)
        after = ticks[0]
    finally:
        done.set()
        thread.join()
    assert after - before > 100


@pytest.mark.parametrize(
    "names",
    [
        ("row", "step"),
        ("base", "q"),
        ("p", "lane"),
        ("first", "last"),
        ("n_", "nest"),
        ("tile", "high"),
        ("data", "data_x"),
        ("at", "at_0"),
        ("share", "count"),
        ("low", "column"),
    ],
)
def test_parameters_may_have_any_name(device: quern.Device, names: tuple[str, str]) -> None:
    a, b = names
    kernel = ElementwiseKernel(f"T {a}, T {b}, T x", "T out", f"out = {a} * {b} - x")
    x, y, z = (np.arange(6000.0).reshape(60, 100) + k for k in range(3))
    for column, turned in ((y[:, :1], z), (y, z.reshape(100, 60).T), (y[0], z)):
        ours = kernel(
            quern.asarray(x),
            quern.asarray(np.ascontiguousarray(column)),
            quern.asarray(z.reshape(100, 60)).T if turned is not z else quern.asarray(z),
        )
        np.testing.assert_array_equal(ours.get(), x * column - turned)


def test_names_like_ours_are_free(device: quern.Device) -> None:
    kernel = ElementwiseKernel(
        "T q_x, T step, T row",
        "T q_nest",
        "T base = q_x + step; T lane = row; q_nest = base * lane",
    )
    a, b, c = np.arange(5.0), np.arange(5.0) + 1, np.arange(5.0) + 2
    np.testing.assert_array_equal(kernel(*map(quern.asarray, (a, b, c))).get(), (a + b) * c)


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "f2", "i4", "f8", "F"])
def test_elements_that_a_body_leaves(device: quern.Device, kind: str) -> None:
    """What is not assigned keeps its value: in kernels of one's own, ufuncs with `where`, copyto and by masks."""
    random = np.random.default_rng(5)
    some = ElementwiseKernel("bool m, T x, T z", "T y", "if (m) y = x; else if (x == z) y = T(1)")
    twice = ElementwiseKernel(
        "bool m, T x", "T y, int32 seen", "seen += m; if (m) { y = x; y += x; }"
    )
    for shape in ((1,), (37,), (1000,), (33, 65)):
        m = random.random(shape) < 0.4
        x, y, z = (random.integers(0, 4, shape).astype(kind) for _ in range(3))
        for cut in (np.s_[...], np.s_[..., ::-1], np.s_[..., ::3]):
            host = [values[cut] for values in (m, x, y, z)]
            mask, given, _, other = (quern.asarray(values)[cut] for values in (m, x, y, z))

            def fresh() -> quern.ndarray:
                return quern.asarray(y.copy())[cut]  # noqa: B023

            chosen = np.where(host[0], host[1], host[2])
            out = fresh()
            some(mask, given, other, out)
            apart = np.where(~host[0] & (host[1] == host[3]), np.ones((), kind), chosen)
            np.testing.assert_array_equal(out.get(), apart)
            out, seen = fresh(), quern.asarray(np.full(host[0].shape, 5, "i4"))
            twice(mask, given, out, seen)
            doubled = np.where(host[0], host[1] + host[1], host[2])
            np.testing.assert_array_equal(out.get(), doubled)
            np.testing.assert_array_equal(seen.get(), 5 + host[0])
            out = fresh()
            quern.add(given, other, out=out, where=mask)
            np.testing.assert_array_equal(
                out.get(), np.where(host[0], host[1] + host[3], host[2]).astype(kind)
            )
            for change in (
                lambda out: quern.copyto(out, given, where=mask),  # noqa: B023
                lambda out: quern.putmask(out, mask, given),  # noqa: B023
                lambda out: out.__setitem__(mask, given[mask]),  # noqa: B023
            ):
                out = fresh()
                change(out)
                np.testing.assert_array_equal(out.get(), chosen)


def test_both_results_of_a_ufunc_are_left(device: quern.Device) -> None:
    """Two outputs and a mask: neither changes where it is false."""
    x = np.random.default_rng(6).standard_normal(300).astype("f4") * 9
    mask = x > 1
    whole, part = quern.full(300, 7, "f4"), quern.full(300, 8, "f4")
    quern.modf(quern.asarray(x), out=(part, whole), where=quern.asarray(mask))
    wanted = np.modf(x)
    np.testing.assert_array_equal(part.get(), np.where(mask, wanted[0], 8))
    np.testing.assert_array_equal(whole.get(), np.where(mask, wanted[1], 7))
