"""What raw kernels and modules tell and keep: variables, attributes, files, pickles, explain()."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import quern

GLOBALS = r"""
__constant__ float weights[8];
__device__ int counter = 5;
__device__ double table[2][3];
__managed__ float shared_value = 2.5f;
namespace inner { __device__ int hidden = 9; }
extern "C" __global__ void use(float* out) {
    out[threadIdx.x] = weights[threadIdx.x] * shared_value;
    if (threadIdx.x == 0) counter += 1, table[1][2] = 7;
}
"""

PLAIN = r"""
extern "C" __global__ void plain(float* x, int n) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[threadIdx.x] + n;
}
"""

DYNAMIC = r"""
extern "C" __global__ void dynamic(int* out, int n) {
    extern __shared__ int store[];
    store[n - 1] = 41;
    out[0] = store[n - 1] + 1;
}
"""


def test_variables(device):
    module = quern.RawModule(code=GLOBALS)
    place = module.get_global("weights")
    assert place.mem.size == 32
    assert place.ptr == int(place)
    weights = quern.ndarray((8,), np.float32, place)
    weights[...] = quern.arange(8, dtype=np.float32)
    out = quern.zeros(8, np.float32)
    kernel = module.get_function("use")
    for _ in range(2):
        kernel((1,), (8,), (out,))
    np.testing.assert_array_equal(out.get(), np.arange(8, dtype=np.float32) * 2.5)
    assert quern.ndarray((), np.int32, module.get_global("counter")).item() == 7
    table = quern.ndarray((2, 3), np.float64, module.get_global("table"))
    np.testing.assert_array_equal(table.get(), [[0, 0, 0], [0, 0, 7]])
    shared_value = quern.ndarray(1, np.float32, module.get_global("shared_value"))
    shared_value.fill(-1)
    kernel((1,), (8,), (out,))
    np.testing.assert_array_equal(out.get(), -np.arange(8, dtype=np.float32))
    del module, kernel
    assert weights.tolist() == list(range(8))


def test_variables_by_expression(device):
    module = quern.RawModule(code=GLOBALS, name_expressions=("&inner::hidden",))
    place = module.get_global("&inner::hidden")
    assert quern.ndarray(1, np.int32, place).tolist() == [9]


def test_missing_variables(device):
    module = quern.RawModule(code=GLOBALS)
    with pytest.raises(quern.DriverError, match="named symbol not found") as caught:
        module.get_global("none")
    assert caught.value.name == "CUDA_ERROR_NOT_FOUND"


def test_arrays_over_memory(device):
    x = quern.arange(24, dtype=np.float32)
    y = quern.ndarray((2, 3), np.int32, x.data + 16)
    np.testing.assert_array_equal(y.get(), x.get()[4:10].view(np.int32).reshape(2, 3))
    z = quern.ndarray((3, 4), np.float32, x.data, strides=(8, 12))
    np.testing.assert_array_equal(z.get(), np.ndarray((3, 4), np.float32, x.get(), strides=(8, 12)))
    f = quern.ndarray((2, 3), np.float32, x.data, order="F")
    np.testing.assert_array_equal(f.get(), np.ndarray((2, 3), np.float32, x.get(), order="F"))
    back = quern.ndarray((4,), np.float32, x[23:].data, strides=(-4,))
    assert back.tolist() == [23, 22, 21, 20]
    with pytest.raises(ValueError, match="reaches past"):
        quern.ndarray((2000,), np.float32, x.data)
    with pytest.raises(ValueError, match="reaches past"):
        quern.ndarray((2,), np.float32, x.data, strides=(-4,))
    with pytest.raises(TypeError, match="MemoryPointer"):
        quern.ndarray((2,), np.float32, 12345)
    with pytest.raises(ValueError, match="strides"):
        quern.ndarray((2,), np.float32, x.data, strides=(4, 4))


NAMES = [
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs",
    "ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes",
    "preferred_shared_memory_carveout",
]  # fmt: skip


def test_attributes(device):
    kernel = quern.RawKernel(PLAIN, "plain", ("-DX",))
    assert sorted(kernel.attributes) == sorted(NAMES)
    for name in NAMES:
        assert kernel.attributes[name] == getattr(kernel, name)
    assert kernel.max_threads_per_block == 1024
    assert kernel.shared_size_bytes == 1024
    assert kernel.name == kernel.__name__ == "plain"
    assert kernel.code == PLAIN
    assert kernel.file_path is None
    assert kernel.options == ("-DX",)
    assert kernel.backend == "nvrtc"
    assert kernel.enable_cooperative_groups is False
    assert isinstance(kernel.kernel, int)
    if device.is_cpu:
        assert kernel.num_regs == 0
    else:
        assert kernel.num_regs > 0
        assert kernel.binary_version == int(device.compute_capability)
    with pytest.raises(AttributeError):
        kernel.num_regs = 3
    bounded = PLAIN.replace("void plain", "void __launch_bounds__(128) plain")
    assert quern.RawKernel(bounded, "plain").max_threads_per_block == 128


def test_settable_attributes(device):
    kernel = quern.RawKernel(DYNAMIC, "dynamic")
    out = quern.zeros(1, np.int32)
    wanted = 64 * 1024
    with pytest.raises(quern.DriverError, match="max_dynamic_shared_size_bytes"):
        kernel((1,), (1,), (out, wanted // 4), shared_mem=wanted)
    kernel.max_dynamic_shared_size_bytes = wanted
    assert kernel.max_dynamic_shared_size_bytes == wanted
    kernel((1,), (1,), (out, wanted // 4), shared_mem=wanted)
    assert out.tolist() == [42]
    kernel.preferred_shared_memory_carveout = 50
    assert kernel.preferred_shared_memory_carveout == 50
    with pytest.raises(quern.DriverError):
        kernel.max_dynamic_shared_size_bytes = 2**30
    with pytest.raises(quern.DriverError):
        kernel.preferred_shared_memory_carveout = 101
    with pytest.raises(TypeError):
        kernel.preferred_shared_memory_carveout = 1.5
    kernel((1,), (1,), (out, 4), shared_mem=16)


def test_explain(device):
    kernel = quern.RawKernel(PLAIN, "plain", ("-DX=1", "-O3", "--ftz=true", "-Xcompiler", "-Wall"))
    text = kernel.explain()
    assert device.name in text
    assert "-DX=1" in text
    assert "-O3: is for host code" in text
    assert "-Xcompiler -Wall: is for host code" in text
    assert "0  float*" in text.replace("float *", "float*")
    assert "1  int" in text
    assert "shared_size_bytes 1024" in text
    if device.is_cpu:
        assert "--ftz=true: chooses nothing" in text
        assert "one toolchain" in quern.RawKernel(PLAIN, "plain", backend="nvcc").explain()
    else:
        assert "--ftz=true:" not in text
    again = quern.RawKernel(PLAIN, "plain", ("-DX=1", "-O3", "--ftz=true", "-Xcompiler", "-Wall"))
    assert "found in the cache" in again.explain()


def test_pickles(device, tmp_path):
    kernel = quern.RawKernel(PLAIN, "plain", ("-DX=1",), strict=False)
    kernel.note = "kept"
    module = quern.RawModule(
        code="template <class T> __global__ void one(T* x) { *x = 1; }",
        name_expressions=["one<int>"],
    )
    source = tmp_path / "two.cu"
    source.write_text('extern "C" __global__ void two(int* x) { *x = 2; }')
    filed = quern.RawModule(path=str(source))
    saved = tmp_path / "kernels"
    saved.write_bytes(
        pickle.dumps([kernel, module, module.get_function("one<int>"), filed.get_function("two")])
    )
    code = f"""
        import pickle, quern
        quern.Device({device.name!r}).use()
        kernel, module, one, two = pickle.loads(open({str(saved)!r}, "rb").read())
        assert (kernel.name, kernel.options, kernel.note) == ("plain", ("-DX=1",), "kept")
        assert kernel.strict is False
        x = quern.zeros(4, "f4")
        kernel((1,), (4,), (x, 3))
        assert x.tolist() == [3] * 4
        y = quern.zeros(1, "i4")
        for each, value in ((one, 1), (two, 2), (module.get_function("one<int>"), 1)):
            each((1,), (1,), (y,))
            assert y.tolist() == [value]
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "done", done.stderr


def test_source_files(device, tmp_path):
    (tmp_path / "beside.h").write_text("#define VALUE 11\n")
    source = tmp_path / "kernel.cu"
    source.write_text('#include "beside.h"\nextern "C" __global__ void k(int* x) { *x = VALUE; }\n')
    module = quern.RawModule(path=str(source))
    assert module.file_path == str(source)
    assert module.code is None
    x = quern.zeros(1, np.int32)
    module.get_function("k")((1,), (1,), (x,))
    assert x.tolist() == [11]
    source.write_text('extern "C" __global__ void k(int* x) { *x = nonsense; }\n')
    with pytest.raises(quern.CompileError, match=r"kernel\.cu, line 1"):
        quern.RawModule(path=str(source)).compile()


def test_ptx_and_cubins_need_a_gpu(device, tmp_path):
    ptx = tmp_path / "kernel.ptx"
    ptx.write_text(
        "//\n.version 7.0\n.target sm_50\n.address_size 64\n.visible .entry empty() { ret; }\n"
    )
    cubin = tmp_path / "kernel.cubin"
    cubin.write_bytes(b"\x7fELF" + bytes(60))
    if not device.is_cpu:
        quern.RawModule(path=str(ptx)).get_function("empty")((1,), (1,), ())
        with pytest.raises(quern.DriverError):
            quern.RawModule(path=str(cubin)).get_function("empty")
        return
    with pytest.raises(NotImplementedError, match="holds PTX for NVIDIA GPUs"):
        quern.RawModule(path=str(ptx)).get_function("empty")
    with pytest.raises(NotImplementedError, match="holds machine code for NVIDIA GPUs"):
        quern.RawModule(path=str(cubin)).compile()


def test_bad_modules(device, tmp_path):
    with pytest.raises(quern.DriverError, match="CUDA_ERROR_FILE_NOT_FOUND"):
        quern.RawModule(path=str(tmp_path / "gone.cubin")).get_function("k")
    with pytest.raises(TypeError, match="exactly one"):
        quern.RawModule()
    with pytest.raises(TypeError, match="exactly one"):
        quern.RawModule(code=PLAIN, path="x.cu")
    with pytest.raises(ValueError, match="name_expressions"):
        quern.RawModule(code=PLAIN, backend="nvcc", name_expressions=("plain",))
    with pytest.raises(TypeError):
        quern.RawModule(code=PLAIN, options=["-DX"])
    with pytest.raises(TypeError, match="code must be a str"):
        quern.RawModule(code=3)


def test_jitify_has_no_effect(device):
    with pytest.warns(DeprecationWarning, match="jitify=True is deprecated"):
        kernel = quern.RawKernel(PLAIN, "plain", jitify=True)
    kernel.compile()
    with pytest.warns(DeprecationWarning, match="The jitify argument is deprecated"):
        quern.RawModule(code=PLAIN, jitify=False)


def test_nvcc(device):
    if not device.is_cpu and shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    kernel = quern.RawKernel(PLAIN, "plain", ("--minimal", "-DX"), backend="nvcc")
    assert kernel.backend == "nvcc"
    x = quern.zeros(4, np.float32)
    kernel((1,), (4,), (x, 3))
    assert x.tolist() == [3] * 4
    with pytest.raises(quern.CompileError, match="nonsense"):
        quern.RawKernel("nonsense", "k", backend="nvcc").compile()


def test_cucomplex_translated(device):
    code = """
    #include <cuComplex.h>
    extern "C" __global__ void k(cuFloatComplex* out, cuDoubleComplex z) {
        cuFloatComplex x = make_cuFloatComplex(1, 2);
        out[0] = cuCmulf(x, x) + x * 2;
        out[1] = cuComplexDoubleToFloat(cuCdiv(z, cuConj(z)));
    }
    """
    out = quern.zeros(2, np.complex64)
    quern.RawKernel(code, "k", translate_cucomplex=True)((1,), (1,), (out, 3 + 4j))
    x, z = 1 + 2j, 3 + 4j
    np.testing.assert_allclose(out.get(), [x * x + 2 * x, z / z.conjugate()], rtol=1e-6)


def test_headers_of_cupy(device):
    code = """
    #include <cupy/complex.cuh>
    #include <cupy/math_constants.h>
    extern "C" __global__ void k(complex<float>* x, thrust::complex<double> z) {
        x[0] = x[0] * complex<float>(z);
        x[1] = complex<float>(CUDART_PI_F, CUDART_INF_F);
    }
    """
    x = quern.asarray(np.array([1 + 2j, 0], np.complex64))
    quern.RawKernel(code, "k")((1,), (1,), (x, 1j))
    assert x.tolist() == [-2 + 1j, complex(np.float32(np.pi), np.inf)]


def test_headers_of_the_standard_library(device):
    code = """
    #include <algorithm>
    #include <cmath>
    #include <limits>
    #include <type_traits>
    template <class T> __global__ void nearest(const T* x, T* out, T to, int n) {
        static_assert(std::is_floating_point<T>::value, "");
        T best = std::numeric_limits<T>::infinity();
        for (int i = threadIdx.x; i < n; i += blockDim.x) best = std::min(best, std::abs(x[i] - to));
        out[threadIdx.x] = std::sqrt(best);
    }
    """
    x = np.random.default_rng(3).random(1000)
    module = quern.RawModule(code=code, name_expressions=("nearest<float>", "nearest<double>"))
    for dtype in (np.float32, np.float64):
        out, t = quern.zeros(64, dtype), dtype(0.25)
        kernel = module.get_function(f"nearest<{'float' if dtype is np.float32 else 'double'}>")
        kernel((1,), (64,), (quern.asarray(x.astype(dtype)), out, t, 1000))
        distances = np.abs(np.pad(x.astype(dtype), (0, 24), constant_values=9) - t).reshape(-1, 64)
        np.testing.assert_allclose(out.get(), np.sqrt(distances.min(0)), rtol=1e-6)


def test_cooperative(device):
    code = 'extern "C" __global__ void k(int* x) { atomicAdd(x, 1); }'
    kernel = quern.RawKernel(code, "k", enable_cooperative_groups=True)
    assert kernel.enable_cooperative_groups is True
    x = quern.zeros(1, np.int32)
    kernel((4,), (32,), (x,))
    assert x.tolist() == [128]
