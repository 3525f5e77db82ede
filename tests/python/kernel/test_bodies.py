"""What bodies may use: CUDA's math, atomics, complex, half and bfloat16 arithmetic, integer rules, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import quern
from quern import ElementwiseKernel

random = np.random.default_rng(7)

# name in CUDA: (NumPy or math oracle in float64, low, high)
FUNCTIONS: dict[str, tuple[Any, float, float]] = {
    "sin": (np.sin, -20, 20),
    "cos": (np.cos, -20, 20),
    "tan": (np.tan, -1.4, 1.4),
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1),
    "atan": (np.arctan, -50, 50),
    "sinh": (np.sinh, -10, 10),
    "cosh": (np.cosh, -10, 10),
    "tanh": (np.tanh, -5, 5),
    "asinh": (np.arcsinh, -50, 50),
    "acosh": (np.arccosh, 1, 50),
    "atanh": (np.arctanh, -0.99, 0.99),
    "exp": (np.exp, -30, 30),
    "exp2": (np.exp2, -30, 30),
    "expm1": (np.expm1, -5, 5),
    "log": (np.log, 0.001, 100),
    "log2": (np.log2, 0.001, 100),
    "log10": (np.log10, 0.001, 100),
    "log1p": (np.log1p, -0.9, 100),
    "sqrt": (np.sqrt, 0, 100),
    "cbrt": (np.cbrt, -100, 100),
    "floor": (np.floor, -10, 10),
    "ceil": (np.ceil, -10, 10),
    "trunc": (np.trunc, -10, 10),
    "rint": (np.rint, -10, 10),
    "fabs": (np.fabs, -10, 10),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.01, 100),
    "erf": (np.vectorize(math.erf), -3, 3),
    "erfc": (np.vectorize(math.erfc), -3, 3),
    "tgamma": (np.vectorize(math.gamma), 0.5, 10),
    "lgamma": (np.vectorize(math.lgamma), 2.5, 50),
    "exp10": (lambda x: np.power(10.0, x), -5, 5),
    "sinpi": (lambda x: np.sin(np.pi * x), -0.9, 0.9),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_math(device: quern.Device, name: str, dtype: str) -> None:
    oracle, low, high = FUNCTIONS[name]
    x = random.uniform(low, high, 5000).astype(dtype)
    got = ElementwiseKernel("T x", "T y", f"y = {name}(x)")(quern.asarray(x)).get()
    exact = oracle(x.astype("f8"))
    tolerance = (8 if dtype == "f4" else 16) * np.finfo(dtype).eps
    np.testing.assert_allclose(got, exact.astype(dtype), rtol=tolerance, atol=tolerance * 0.1)


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("pow(x, y)", np.power),
        ("atan2(x, y)", np.arctan2),
        ("hypot(x, y)", np.hypot),
        ("fmod(x, y)", np.fmod),
        ("fmin(x, y)", np.fmin),
        ("fmax(x, y)", np.fmax),
        ("min(x, y)", np.fmin),
        ("max(x, y)", np.fmax),
        ("copysign(x, -y)", lambda x, y: np.copysign(x, -y)),
        ("fma(x, y, x)", lambda x, y: x * y + x),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_binary_math(device: quern.Device, name: str, oracle: Any, dtype: str) -> None:
    x, y = (random.uniform(0.1, 5, 3000).astype(dtype) for _ in range(2))
    got = ElementwiseKernel("T x, T y", "T z", f"z = {name}")(
        quern.asarray(x), quern.asarray(y)
    ).get()
    np.testing.assert_allclose(
        got, oracle(x.astype("f8"), y.astype("f8")).astype(dtype), rtol=16 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("dtype", "bhilBHIL")
def test_integer_min_max_abs(device: quern.Device, dtype: str) -> None:
    info = np.iinfo(dtype)
    x, y = (random.integers(info.min // 2, info.max // 2, 500).astype(dtype) for _ in range(2))
    got = ElementwiseKernel("T x, T y", "T a, T b", "a = min(x, y); b = max(x, y)")(
        quern.asarray(x), quern.asarray(y)
    )
    np.testing.assert_array_equal(got[0].get(), np.minimum(x, y))
    np.testing.assert_array_equal(got[1].get(), np.maximum(x, y))


def test_no_contraction_by_default(device: quern.Device) -> None:
    x, y, z = (random.normal(0, 1, 20000) for _ in range(3))
    got = ElementwiseKernel("T x, T y, T z", "T w", "w = x * y + z")(
        *map(quern.asarray, (x, y, z))
    ).get()
    np.testing.assert_array_equal(got, x * y + z)


def test_division_and_sqrt_are_exact(device: quern.Device) -> None:
    for dtype in ("f4", "f8"):
        x, y = (random.uniform(1e-3, 1e3, 20000).astype(dtype) for _ in range(2))
        got = ElementwiseKernel("T x, T y", "T z", "z = sqrt(x) / y")(
            quern.asarray(x), quern.asarray(y)
        ).get()
        np.testing.assert_array_equal(got, np.sqrt(x) / y)


def test_denormals_are_kept(device: quern.Device) -> None:
    x = np.array([1e-40, -1e-42, 1.2e-38], "f4")
    np.testing.assert_array_equal(
        ElementwiseKernel("T x", "T y", "y = x * T(0.5)")(quern.asarray(x)).get(),
        x * np.float32(0.5),
    )


def test_integer_division_by_zero_does_not_kill(device: quern.Device) -> None:
    x = quern.asarray(np.array([5, -7, np.iinfo("i4").min, 0], "i4"))
    y = quern.asarray(np.array([0, 0, -1, 0], "i4"))
    ElementwiseKernel("T x, T y", "T q, T r", "q = x / y; r = x % y")(x, y)
    quern.synchronize()
    assert quern.arange(3).get().tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
def test_atomic_add(device: quern.Device, dtype: str) -> None:
    bins = random.integers(0, 16, 100_000).astype("i4")
    totals = quern.zeros(16, dtype)
    ElementwiseKernel(
        "int32 bin, raw T totals", "", "atomicAdd(const_cast<T*>(&totals[bin]), T(1))"
    )(quern.asarray(bins), totals)
    np.testing.assert_array_equal(totals.get(), np.bincount(bins, minlength=16).astype(dtype))


def test_atomic_max_and_cas(device: quern.Device) -> None:
    x = random.integers(-1000, 1000, 50_000).astype("i4")
    best = quern.asarray(np.array([-10000], "i4"))
    ElementwiseKernel("int32 x, raw int32 best", "", "atomicMax(const_cast<int*>(&best[0]), x)")(
        quern.asarray(x), best
    )
    assert best.get()[0] == x.max()
    xf = x.astype("f4") / 7
    bestf = quern.asarray(np.array([-1e9], "f4"))
    ElementwiseKernel(
        "float32 x, raw float32 best", "", "atomicMax(const_cast<float*>(&best[0]), x)"
    )(quern.asarray(xf), bestf)
    assert bestf.get()[0] == xf.max()


def test_half_atomic_add(device: quern.Device) -> None:
    total = quern.zeros(3, "e")
    ElementwiseKernel(
        "raw float16 total", "", "atomicAdd(const_cast<float16*>(&total[1]), float16(1))"
    )(total, size=500)
    assert total.get().tolist() == [0, 500, 0]


COMPLEX: dict[str, Any] = {
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "-x": lambda x, y: -x,
    "x * 2 + 1": lambda x, y: x * 2 + 1,
    "exp(x)": lambda x, y: np.exp(x),
    "log(x)": lambda x, y: np.log(x),
    "sqrt(x)": lambda x, y: np.sqrt(x),
    "sin(x)": lambda x, y: np.sin(x),
    "cos(x)": lambda x, y: np.cos(x),
    "tan(x)": lambda x, y: np.tan(x),
    "sinh(x)": lambda x, y: np.sinh(x),
    "cosh(x)": lambda x, y: np.cosh(x),
    "tanh(x)": lambda x, y: np.tanh(x),
    "asin(x)": lambda x, y: np.arcsin(x),
    "acos(x)": lambda x, y: np.arccos(x),
    "atan(x)": lambda x, y: np.arctan(x),
    "asinh(x)": lambda x, y: np.arcsinh(x),
    "acosh(x)": lambda x, y: np.arccosh(x),
    "atanh(x)": lambda x, y: np.arctanh(x),
    "conj(x)": lambda x, y: np.conj(x),
    "pow(x, y)": lambda x, y: np.power(x, y),
    "T(x.real(), y.imag())": lambda x, y: x.real + 1j * y.imag,
    "T(abs(x), arg(x))": lambda x, y: np.abs(x) + 1j * np.angle(x),
    "T(norm(x))": lambda x, y: np.abs(x) ** 2,
}


@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("expression", COMPLEX)
def test_complex(device: quern.Device, expression: str, dtype: str) -> None:
    x, y = (
        (random.normal(0, 2, 2000) + 1j * random.normal(0, 2, 2000)).astype(dtype) for _ in range(2)
    )
    got = ElementwiseKernel("T x, T y", "T z", f"z = {expression}")(
        quern.asarray(x), quern.asarray(y)
    ).get()
    exact = COMPLEX[expression](x.astype("D"), y.astype("D"))
    scale = np.abs(exact) + 1e-3
    assert np.max(np.abs(got - exact) / scale) < (5e-5 if dtype == "F" else 5e-13)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("operation", ["x + y", "x - y", "x * y", "x / y"])
def test_two_byte_floats_round_once(device: quern.Device, dtype: Any, operation: str) -> None:
    x, y = (random.normal(0, 3, 3000).astype(dtype) for _ in range(2))
    got = ElementwiseKernel("T x, T y", "T z", f"z = {operation}")(
        quern.asarray(x), quern.asarray(y)
    ).get()
    wide_x, wide_y = x.astype("f8"), y.astype("f8")
    np.testing.assert_array_equal(got, eval(operation, {"x": wide_x, "y": wide_y}).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_two_byte_floats_functions_and_operators(device: quern.Device, dtype: Any) -> None:
    x = random.uniform(0.5, 4, 1000).astype(dtype)
    body = "T t = x; t += 1; t *= 2.0f; if (t > x && !isnan(t)) t = -t; y = sqrt(exp(log(-t))) + max(x, T(1)) + abs(x)"
    got = ElementwiseKernel("T x", "T y", body)(quern.asarray(x)).get()
    t = ((x.astype("f4") + 1).astype(dtype).astype("f4") * 2).astype(dtype).astype("f4")
    exact = np.sqrt(t) + np.maximum(x.astype("f4"), 1) + x.astype("f4")
    np.testing.assert_allclose(got.astype("f4"), exact, rtol=2e-2 if dtype != np.float16 else 2e-3)


def test_every_half_survives_a_round_trip(device: quern.Device) -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16):
        every = np.arange(65536, dtype="u2").view(dtype)
        wide = ElementwiseKernel("T x", "float32 y", "y = x")(quern.asarray(every)).get()
        np.testing.assert_array_equal(wide, every.astype("f4"))
        back = ElementwiseKernel("float32 x", "T y", "y = x")(
            quern.asarray(wide), quern.empty(65536, dtype)
        ).get()
        finite = ~np.isnan(wide)
        np.testing.assert_array_equal(back.view("u2")[finite], every.view("u2")[finite])


def test_every_dtype_converts_to_every_other(
    device: quern.Device, dtype: np.dtype[Any], make: Any
) -> None:
    x = make((300,), dtype, 21)
    for target in [np.dtype(c) for c in "?bhilBHILefdFD"] + [np.dtype(ml_dtypes.bfloat16)]:
        got = quern.asarray(x).astype(target).get()
        source = x if target.kind == "c" or x.dtype.kind != "c" else x.real
        if target == np.bool_:
            expected = x != 0
        elif target.kind in "iu" and x.dtype.kind not in "iub":
            expected = source.astype("f8").astype("i8").astype(target)
        else:
            expected = source.astype(target)
        np.testing.assert_array_equal(got, expected)


BODIES: dict[str, tuple[str, str, Any]] = {
    "bit tricks": (
        "i4",
        "y = __popc(x) + __clz(x) + (x << 3) + (x >> 1)",
        lambda x: [int(v).bit_count() + 32 - int(v).bit_length() + v * 8 + v // 2 for v in x],
    ),
    "constants": (
        "f8",
        "y = CUDART_INF > x ? M_PI : CUDART_NAN",
        lambda x: np.full(x.shape, np.pi),
    ),
    "widths": (
        "i4",
        "int32_t a = 3; uint8_t b = 250; size_t c = 9; y = a + b + c + x",
        lambda x: x + 262,
    ),
    "a struct and a lambda": (
        "i8",
        "struct P { T a; }; P p = {x}; auto f = [](T v) { return v + 1; }; y = f(p.a)",
        lambda x: x + 1,
    ),
    "a switch": (
        "i8",
        "switch (x % 3) { case 0: y = x; break; case 1: y = -x; break; default: y = 7; }",
        lambda x: np.choose(x % 3, [x, -x, 7]),
    ),
    "threads": (
        "i4",
        "y = threadIdx.x + blockDim.x * blockIdx.x + 0 * x",
        lambda x: np.arange(x.size),
    ),
    "thrust": (
        "D",
        "y = thrust::conj(x) * thrust::complex<double>(0, 1)",
        lambda x: np.conj(x) * 1j,
    ),
    "goto and nested loops": (
        "i4",
        "y = 0; for (int a = 0; a < 5; ++a) for (int b = 0; b < 5; ++b) if (a * b > x % 7) goto out; else ++y; out:",
        lambda x: [next((k for k in range(25) if (k // 5) * (k % 5) > v % 7), 25) for v in x],
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_all_kinds(device: quern.Device, name: str) -> None:
    dtype, body, oracle = BODIES[name]
    x = np.arange(1, 301).astype(dtype)
    got = ElementwiseKernel("T x", "T y", body)(quern.asarray(x)).get()
    np.testing.assert_array_equal(got, np.asarray(oracle(x)).astype(dtype))


def test_escape_time_loop(device: quern.Device) -> None:
    kernel = ElementwiseKernel(
        "complex64 c, int32 limit",
        "int32 count",
        """
        complex<float> z(0, 0);
        int k = 0;
        for (; k < limit && norm(z) <= 4.0f; ++k) z = z * z + c;
        count = k;
    """,
        "mandelbrot",
    )
    c = (np.linspace(-2, 1, 200)[None, :] + 1j * np.linspace(-1, 1, 150)[:, None]).astype("F")
    z, count = np.zeros_like(c), np.zeros(c.shape, "i4")
    with np.errstate(all="ignore"):
        for _ in range(50):
            inside = z.real * z.real + z.imag * z.imag <= 4
            count += inside
            re = z.real * z.real - z.imag * z.imag + c.real
            im = z.real * z.imag + z.imag * z.real + c.imag
            z = np.where(inside, re + 1j * im, z).astype("F")
    np.testing.assert_array_equal(kernel(quern.asarray(c), 50).get(), count)


@pytest.mark.parametrize("wide", ["f4", "f8", "i4", "i8"])
def test_halves_beside_wider_numbers(device: quern.Device, wide: str) -> None:
    mask = random.uniform(size=1003) < 0.5
    a, b = (random.uniform(-9, 9, 1003).astype(dtype) for dtype in (wide, "f2"))
    kernel = ElementwiseKernel("bool m, A a, B b", "float32 y", "y = m ? (float)a : (float)b")
    got = kernel(*map(quern.asarray, (mask, a, b))).get()
    np.testing.assert_array_equal(got, np.where(mask, a.astype("f4"), b.astype("f4")))
