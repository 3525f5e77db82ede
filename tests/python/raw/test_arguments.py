"""What a raw kernel takes for each parameter, what it refuses before the launch, and what strict=False lets pass."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import quern

STORE = 'extern "C" __global__ void k({type}* out, {type} value) {{ out[0] = value; }}'

# A C++ type, the dtype that holds its bits, a Python value and a NumPy value for it.
SCALARS = [
    ("bool", "bool", True, np.bool_(True)),
    ("char", "int8", -5, np.int8(-5)),
    ("signed char", "int8", -128, np.int8(-128)),
    ("unsigned char", "uint8", 255, np.uint8(255)),
    ("short", "int16", -30000, np.int16(-30000)),
    ("unsigned short", "uint16", 65535, np.uint16(65535)),
    ("int", "int32", -(2**31), np.int32(-(2**31))),
    ("unsigned", "uint32", 2**32 - 1, np.uint32(2**32 - 1)),
    ("long", "int64", -(2**63), np.int64(-(2**63))),
    ("long long", "int64", 2**63 - 1, np.longlong(2**63 - 1)),
    ("unsigned long long", "uint64", 2**64 - 1, np.uint64(2**64 - 1)),
    ("size_t", "uint64", 12, np.uint64(12)),
    ("float", "float32", 0.1, np.float32(0.1)),
    ("double", "float64", 0.1, np.float64(0.1)),
    ("double", "float64", 3, np.float64(3)),
    ("float", "float32", True, np.float32(1)),
]


@pytest.mark.parametrize(("ctype", "dtype", "python", "numpy"), SCALARS)
def test_scalars_arrive(device, ctype, dtype, python, numpy):
    kernel = quern.RawKernel(STORE.format(type=ctype), "k")
    for value in (python, numpy):
        out = quern.zeros(1, dtype)
        kernel((1,), (1,), (out, value))
        assert out.get()[0] == np.dtype(dtype).type(value)


HALVES = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void half_(__half* out, __half value) { out[0] = value; }
extern "C" __global__ void brain(__nv_bfloat16* out, __nv_bfloat16 value) { out[0] = value; }
"""


@pytest.mark.parametrize(("name", "dtype"), [("half_", np.float16), ("brain", ml_dtypes.bfloat16)])
def test_short_floats_arrive(device, name, dtype):
    kernel = quern.RawKernel(HALVES, name)
    for value in (1.1, 3, dtype(1.1)):
        out = quern.zeros(1, dtype)
        kernel((1,), (1,), (out, value))
        assert out.get()[0] == dtype(value)
    with pytest.raises(OverflowError):
        kernel((1,), (1,), (out, 1e39))
    with pytest.raises(TypeError, match="4 bytes"):
        kernel((1,), (1,), (out, np.float32(1)))
    bits = quern.zeros(1, np.uint16)
    kernel((1,), (1,), (bits, np.uint16(7)))
    assert bits.tolist() == [7]


COMPLEX = """
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
extern "C" __global__ void single(cuFloatComplex* out, cuFloatComplex value, float2 other) {
    out[0] = value;
    out[1] = other;
}
extern "C" __global__ void wide(cuDoubleComplex* out, cuDoubleComplex value, double2 other) {
    out[0] = value;
    out[1] = other;
}
"""


@pytest.mark.parametrize(("name", "dtype"), [("single", np.complex64), ("wide", np.complex128)])
def test_complex_numbers_arrive(device, name, dtype):
    kernel = quern.RawKernel(COMPLEX, name)
    out = quern.zeros(2, dtype)
    for first, second in ((1 + 2j, 0.5), (dtype(3 - 1j), dtype(1j)), (2, 1j)):
        kernel((1,), (1,), (out, first, second))
        np.testing.assert_array_equal(out.get(), np.array([first, second], dtype))
    with pytest.raises(TypeError):
        kernel((1,), (1,), (out, np.float32(1), 0))


STRUCTS = """
struct Inner { float x; double y; };
struct Params { int n; Inner inner; short tail[3]; float2 both; };
extern "C" __global__ void k(double* out, Params p) {
    out[0] = p.n; out[1] = p.inner.x; out[2] = p.inner.y; out[3] = p.tail[2]; out[4] = p.both.y;
}
struct Five { double a, b, c, d, e; };
extern "C" __global__ void five(Five* out, Five value) { out[0] = value; }
"""
INNER = np.dtype([("x", "f4"), ("y", "f8")], align=True)
PARAMS = np.dtype(
    {
        "names": ["n", "inner", "tail", "both"],
        "formats": ["i4", INNER, ("i2", 3), "c8"],
        "offsets": [0, 8, 24, 32],
        "itemsize": 40,
    }
)


def test_structs_by_value(device):
    kernel = quern.RawKernel(STRUCTS, "k")
    value = np.zeros(1, PARAMS)
    value["n"], value["inner"], value["tail"], value["both"] = 7, (1.5, 2.5), (1, 2, 3), 4 + 5j
    out = quern.zeros(5, np.float64)
    for given in (value, value[0], value.reshape(1, 1)):
        out.fill(0)
        kernel((1,), (1,), (out, given))
        assert out.tolist() == [7, 1.5, 2.5, 3, 5]
    five = np.dtype({"names": list("abcde"), "formats": [np.float64] * 5})
    numbers = np.arange(5.0)
    out = quern.zeros(5, np.float64)
    quern.RawKernel(STRUCTS, "five")((1,), (1,), (out, numbers.view(five)))
    np.testing.assert_array_equal(out.get(), numbers)


def test_structs_of_another_layout_are_refused(device):
    kernel = quern.RawKernel(STRUCTS, "k")
    out = quern.zeros(5, np.float64)
    with pytest.raises(TypeError, match="has 12 bytes, its parameter 40"):
        kernel((1,), (1,), (out, np.zeros(1, [("a", "i4"), ("b", "f8")])))
    with pytest.raises(TypeError, match="lies in the host's memory"):
        kernel((1,), (1,), (out, np.zeros(2, PARAMS)))
    with pytest.raises(TypeError, match=r"shape \(3,\)"):
        kernel((1,), (1,), (out, np.zeros(3)))


@pytest.mark.host
def test_the_cpu_compares_the_places_too(cpu_kernels):
    kernel = quern.RawKernel(STRUCTS, "k")
    other = np.dtype(
        {"names": ["n", "x"], "formats": ["i4", "f8"], "offsets": [0, 4], "itemsize": 40}
    )
    with quern.Device("cpu"):
        out = quern.zeros(5, np.float64)
        with pytest.raises(TypeError, match="another layout") as caught:
            kernel((1,), (1,), (out, np.zeros(1, other)))
        assert "x at 4 (8)" in str(caught.value)
        kernel((1,), (1,), (out, np.zeros(1, other)), strict=False)
        kernel((1,), (1,), (out, np.zeros(1, "V40")[0]))


POINTER = (
    'extern "C" __global__ void k(const {type}* __restrict__ x, int* out) {{ *out = x != 0; }}'
)
FITS = {
    "float": "float32 complex64",
    "double": "float64 complex128",
    "int": "int32 uint32",
    "unsigned int": "int32 uint32",
    "long long": "int64 uint64",
    "unsigned long": "int64 uint64",
    "short": "int16 uint16 float16 bfloat16",
    "signed char": "bool int8 uint8",
    "unsigned char": "bool int8 uint8",
    "bool": "bool int8 uint8",
    "float2": "float32 complex64 int64 uint64 float64",
    "uchar4": "bool int8 uint8 int32 uint32 float32",
    "int4": "int32 uint32 complex128",
    "char": "*",
    "void": "*",
}
ALL = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"


@pytest.mark.parametrize("ctype", FITS)
def test_arrays_must_be_what_the_pointer_says(device, ctype):
    kernel = quern.RawKernel(POINTER.format(type=ctype), "k")
    out = quern.zeros(1, np.int32)
    for dtype in ALL.split():
        array = quern.zeros(4, dtype)
        if FITS[ctype] == "*" or dtype in FITS[ctype].split():
            out.fill(0)
            kernel((1,), (1,), (array, out))
        else:
            with pytest.raises(TypeError, match="another dtype") as caught:
                kernel((1,), (1,), (array, out))
            assert ctype.split()[-1] in str(caught.value)
            assert f"{dtype} array, shape (4,)" in str(caught.value)
            kernel((1,), (1,), (array, out), strict=False)
        assert out.tolist() == [1]


def test_pointers_to_what_has_no_name_take_anything(device):
    code = """
    struct Pair { int a; float b; };
    extern "C" __global__ void k(Pair* p, float** q, void (*f)(int), int* out) { *out = p && q; }
    """
    kernel = quern.RawKernel(code, "k")
    out = quern.zeros(1, np.int32)
    for dtype in ("float64", "int8"):
        x = quern.zeros(4, dtype)
        out.fill(0)
        kernel((1,), (1,), (x, x, None, out))
        assert out.tolist() == [1]


def test_addresses(device):
    kernel = quern.RawKernel(POINTER.format(type="float"), "k")
    x, out = quern.zeros(4, np.float32), quern.zeros(1, np.int32)
    for pointer in (x, x.data, x.data.ptr, np.uint64(x.data.ptr), np.int64(x.data.ptr)):
        out.fill(0)
        kernel((1,), (1,), (pointer, out.data))
        assert out.tolist() == [1]
    for null in (None, 0):
        kernel((1,), (1,), (null, out.data.ptr))
        assert out.tolist() == [0]

    class Handle:  # as textures, surfaces and other libraries' pointers are
        ptr = x.data.ptr

    kernel((1,), (1,), (Handle(), out))
    assert out.tolist() == [1]
    for wrong in (1.5, True, 1j, np.int32(4), np.float64(4)):
        with pytest.raises(TypeError):
            kernel((1,), (1,), (wrong, out))
    with pytest.raises(OverflowError):
        kernel((1,), (1,), (2**64, out))


MIX = """
template <class T> __global__ void mix(T* x, float a, int n, unsigned char b) { x[0] = T(a + n + b); }
extern "C" __global__ void plain(float* x, float a, int n, unsigned char b) { x[0] = a + n + b; }
"""


@pytest.mark.parametrize("name", ["mix<float>", "plain"])
def test_wrong_scalars_are_refused_with_both_lists(device, name):
    kernel = quern.RawKernel(MIX, name)
    x = quern.zeros(1, np.float32)

    def refused(error, *args, match):
        with pytest.raises(error, match=match) as caught:
            kernel((1,), (1,), args)
        return str(caught.value)

    text = refused(TypeError, x, 1.0, 2, match="takes 4 arguments, 3 were given")
    assert "float" in text
    assert "int 2" in text
    text = refused(
        TypeError, x, np.float64(1), 2, 3, match="argument 1 has 8 bytes, its parameter 4"
    )
    assert next(line for line in text.splitlines() if line.startswith("  >")).split()[:3] == [
        ">",
        "1",
        "float",
    ]
    assert "float64 1" in text
    assert "strict=False" in text
    refused(TypeError, x, 1.0, np.int64(2), 3, match="argument 2 has 8 bytes")
    refused(TypeError, x, 1.0, 2.5, 3, match="argument 2 cannot become")
    refused(TypeError, x, 1j, 2, 3, match="argument 1 cannot become")
    refused(TypeError, x, np.int32(1), 2, 3, match="another kind of number")
    refused(TypeError, x, 1.0, np.float32(2), 3, match="another kind of number")
    refused(TypeError, x, x, 2, 3, match="its parameter is no pointer")
    refused(TypeError, x, None, 2, 3, match="None")
    refused(OverflowError, x, 1e39, 2, 3, match="too large")
    refused(OverflowError, x, 1.0, 2**31, 3, match="int32")
    refused(OverflowError, x, 1.0, 2, 256, match="uint8")
    refused(OverflowError, x, 1.0, 2, -1, match="uint8")
    refused(TypeError, x, 1.0, 2, 3, x, match="5 were given")
    refused(TypeError, x, 1.0, 2, 3, np.int32(4), match="5 were given")
    with pytest.warns(UserWarning, match="5 were given"):  # a number that nobody reads does no harm
        kernel((1,), (1,), (x, 1.0, 2, 3, 4))
    refused(TypeError, x, "text", 2, 3, match="Unsupported type")
    refused(TypeError, x, b"bytes", 2, 3, match="Unsupported type")
    refused(TypeError, x, [1], 2, 3, match="Unsupported type")
    kernel((1,), (1,), (x, float("inf"), 2, 3))
    assert np.isinf(x.get()[0])
    kernel((1,), (1,), (x, 1, True, np.uint8(3)))
    assert x.tolist() == [5]


def test_silence_on_demand(device):
    kernel = quern.RawKernel(MIX, "plain", strict=False)
    x = quern.zeros(1, np.float32)
    kernel((1,), (1,), (x, np.float32(1.5), np.int64(2), 3))
    assert x.tolist() == [6.5]
    kernel((1,), (1,), (x, 1.5, 2, 3, "ignored" and 9))
    assert x.tolist() == [6.5]
    with pytest.raises(TypeError):
        kernel((1,), (1,), (x, np.float32(1.5), np.int64(2), 3), strict=True)
    with pytest.raises(TypeError):
        quern.RawKernel(MIX, "plain")[1, 1](x, np.float32(1.5), np.int64(2), 3)
    kernel[1, 1](x, np.float32(1.5), np.int64(2), 3)


def test_typedefs_and_macros_are_seen_through(device):
    code = """
    typedef float real;
    using count_t = unsigned short;
    #define INDEX long long
    extern "C" __global__ void k(real* x, const real a, count_t n, INDEX i, NUMBER t, real y[]) {
        x[0] = a + n + i + t + y[0];
    }
    """
    kernel = quern.RawKernel(code, "k", ("-DNUMBER=double",))
    x = quern.zeros(1, np.float32)
    kernel((1,), (1,), (x, 0.5, 1, 2, 4.0, x))
    assert x.tolist() == [7.5]
    with pytest.raises(TypeError, match="another dtype"):
        kernel((1,), (1,), (x.astype("float64"), 0.5, 1, 2, 4.0, x))
    with pytest.raises(TypeError, match="another dtype"):
        kernel((1,), (1,), (x, 0.5, 1, 2, 4.0, x.astype("int32")))
    with pytest.raises(OverflowError):
        kernel((1,), (1,), (x, 0.5, 65536, 2, 4.0, x))


def test_enums_and_many_parameters(device):
    names = ", ".join(f"int a{k}" for k in range(60))
    total = " + ".join(f"a{k}" for k in range(60))
    code = f"""
    enum Mode {{ one = 1, two }};
    extern "C" __global__ void k(int* x, Mode mode, {names}) {{ x[0] = mode + {total}; }}
    """
    x = quern.zeros(1, np.int32)
    quern.RawKernel(code, "k")((1,), (1,), (x, 2, *range(60)))
    assert x.tolist() == [2 + sum(range(60))]


def test_no_parameters(device):
    code = 'extern "C" __global__ void k() {}'
    quern.RawKernel(code, "k")((1,), (1,), ())
    with pytest.raises(TypeError, match="takes 0 arguments"):
        quern.RawKernel(code, "k")((1,), (1,), (None,))


def test_arrays_of_two_devices_are_refused():
    if len(quern._core.device_names()) < 2:
        pytest.skip("one device")
    x = quern.zeros(1, np.float32, device="cpu")
    y = quern.zeros(1, np.int32, device="cuda:0")
    with pytest.raises(ValueError, match="device"):
        quern.RawKernel(POINTER.format(type="float"), "k")((1,), (1,), (x, y))
