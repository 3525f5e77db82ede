"""RawKernel and RawModule: how kernels are named, compiled and launched."""

from __future__ import annotations

import io

import numpy as np
import pytest

import quern

ADD = r"""
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""

WHERE = r"""
extern "C" __global__ void where(int* out) {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = block * 10000 + thread;
}
"""

SCALE = r"""
template <class T, int N> __global__ void scale(T* x, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) x[i] = x[i] * T(N);
}
namespace inner {
__global__ void minus(float* x) { x[threadIdx.x] = -x[threadIdx.x]; }
}
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
"""


def test_adds(device):
    random = np.random.default_rng(1)
    x, y = random.random((2, 1000), np.float32)
    out = quern.zeros(1000, np.float32)
    kernel = quern.RawKernel(ADD, "add")
    assert kernel((8,), (128,), (quern.asarray(x), quern.asarray(y), out, 1000)) is None
    np.testing.assert_array_equal(out.get(), x + y)


def test_brackets_launch_too(device):
    x = np.arange(100, dtype=np.float32)
    given = quern.asarray(x)
    out = quern.zeros(100, np.float32)
    kernel = quern.RawKernel(ADD, "add")
    kernel[1, 128](given, given, out, 100)
    np.testing.assert_array_equal(out.get(), x + x)
    stream = quern.Stream(non_blocking=True)
    kernel[(1,), (64, 1), 0, stream](given, out, out, np.int32(64))
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), np.where(np.arange(100) < 64, 3 * x, 2 * x))
    with pytest.raises(TypeError, match=r"kernel\[grid, block\]"):
        kernel[3]
    with pytest.raises(TypeError, match="by place"):
        kernel[1, 1](given, given, out, n=3)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((3,), (5,)), ((2, 3), (4, 2)), ((2, 1, 3), (2, 3, 2)), ((0,), (4, -1)), ([2], [3]), (2, 3),
        ((np.int64(2),), (np.int32(3),)), ((), ()),
    ],
)  # fmt: skip
def test_grids_of_every_shape(device, grid, block):
    def whole(extents):
        given = extents if isinstance(extents, tuple | list) else (extents,)
        return [max(1, int(given[k])) if k < len(given) else 1 for k in range(3)]

    blocks, threads = int(np.prod(whole(grid))), int(np.prod(whole(block)))
    out = quern.full(blocks * threads, -1, np.int32)
    quern.RawKernel(WHERE, "where")(grid, block, (out,))
    expected = np.arange(blocks)[:, None] * 10000 + np.arange(threads)
    np.testing.assert_array_equal(out.get(), expected.ravel())


def test_bad_grids_are_refused_and_leave_things_well(device):
    kernel = quern.RawKernel(WHERE, "where")
    out = quern.zeros(4, np.int32)
    with pytest.raises(quern.DriverError, match="a block of 2000 threads") as caught:
        kernel((1,), (2000,), (out,))
    assert caught.value.name == "CUDA_ERROR_INVALID_VALUE"
    with pytest.raises(quern.DriverError, match="along y"):
        kernel((1, 70000), (1,), (out,))
    with pytest.raises(quern.DriverError, match="max_dynamic_shared_size_bytes"):
        kernel((1,), (1,), (out,), shared_mem=100_000)
    with pytest.raises(ValueError, match="up to 3"):
        kernel((1, 1, 1, 1), (1,), (out,))
    with pytest.raises(ValueError, match="32 bits"):
        kernel((2**32,), (1,), (out,))
    with pytest.raises(TypeError):
        kernel((1.5,), (1,), (out,))
    with pytest.raises(ValueError, match="shared_mem"):
        kernel((1,), (1,), (out,), shared_mem=-1)
    with pytest.raises(TypeError, match="pass a tuple"):
        kernel((1,), (1,), out)
    with pytest.raises(TypeError, match="no keyword 'shared'"):
        kernel((1,), (1,), (out,), shared=3)
    with pytest.raises(TypeError, match="a grid, a block"):
        kernel((1,), (1,))
    kernel((1,), (4,), (out,))
    np.testing.assert_array_equal(out.get(), np.arange(4))


def test_templates_by_name_expression(device):
    names = ("scale<float, 4>", "scale<int, 3>", "inner::minus")
    module = quern.RawModule(code=SCALE, name_expressions=names)
    x = quern.asarray(np.arange(50, dtype=np.float32))
    module.get_function("scale<float, 4>")((1,), (64,), (x, 50))
    np.testing.assert_array_equal(x.get(), 4 * np.arange(50, dtype=np.float32))
    i = quern.asarray(np.arange(50, dtype=np.int32))
    module.get_function("scale<int, 3>")((1,), (64,), (i, 50))
    np.testing.assert_array_equal(i.get(), 3 * np.arange(50))
    module.get_function("inner::minus")((1,), (50,), (x,))
    np.testing.assert_array_equal(x.get(), -4 * np.arange(50, dtype=np.float32))


def test_a_kernel_may_be_a_template_itself(device):
    x = quern.asarray(np.arange(50, dtype=np.float64))
    quern.RawKernel(SCALE, "scale<double, 2>")((1,), (64,), (x, 50))
    np.testing.assert_array_equal(x.get(), 2.0 * np.arange(50))


@pytest.mark.parametrize("name", ["twice", "_Z5twicePf"])
def test_plain_names_need_no_extern_c(device, name):
    x = quern.asarray(np.arange(50, dtype=np.float32))
    quern.RawKernel(SCALE, name)((1,), (50,), (x,))
    np.testing.assert_array_equal(x.get(), 2 * np.arange(50, dtype=np.float32))


def test_a_missing_kernel_lists_those_there_are(device):
    module = quern.RawModule(code=ADD + WHERE)
    with pytest.raises(quern.DriverError, match="named symbol not found") as caught:
        module.get_function("ad")
    assert caught.value.name == "CUDA_ERROR_NOT_FOUND"
    assert "CUDA_ERROR_NOT_FOUND" in str(caught.value)
    assert "add" in str(caught.value)
    assert "where" in str(caught.value)
    with pytest.raises(quern.DriverError, match="'missing'"):
        quern.RawKernel(ADD, "missing")((1,), (1,), ())


def test_streams(device):
    kernel = quern.RawKernel(ADD, "add")
    x = quern.asarray(np.ones(10, np.float32))
    with quern.Stream() as stream:
        kernel((1,), (32,), (x, x, x, 10))
        stream.synchronize()
    np.testing.assert_array_equal(x.get(), np.full(10, 2, np.float32))
    other = quern.Stream()
    kernel((1,), (32,), (x, x, x, 10), stream=other)
    kernel((1,), (32,), (x, x, x, 10), stream=other.ptr)
    other.synchronize()
    kernel((1,), (32,), (x, x, x, 10), stream=None)
    np.testing.assert_array_equal(x.get(), np.full(10, 16, np.float32))


def test_any_layout_passes_its_address(device):
    x = quern.asarray(np.arange(20, dtype=np.float32))
    out = quern.zeros(5, np.float32)
    quern.RawKernel(ADD, "add")((1,), (32,), (x[10:], x[10::-1], out, 5))
    np.testing.assert_array_equal(out.get(), 2 * np.arange(10, 15, dtype=np.float32))


def test_compile_errors_show_the_line(device):
    broken = 'extern "C" __global__ void k(float* x) {\n    x[0] = 1;\n\tx[1] = nonsense;\n}\n'
    kernel = quern.RawKernel(broken, "k")
    for attempt in range(2):
        with pytest.raises(quern.CompileError) as caught:
            kernel((1,), (1,), (quern.zeros(2, np.float32),))
        text = str(caught.value)
        assert "line 3" in text, attempt
        assert "nonsense" in text
        assert "   3 | \tx[1] = nonsense;\n         | \t       ^\n" in text
        assert "test_launch.py:" in text
        assert caught.value.name == "k"
        assert caught.value.source == broken
        assert "nonsense" in caught.value.log
    with pytest.raises(quern.CompileError, match="name expression"):
        quern.RawModule(code=ADD, name_expressions=("gone<int>",)).compile()


def test_compile_ahead_and_its_log(device):
    warning = 'extern "C" __global__ void k(int* x) { int unused_one; x[0] = 10 / 0; }'
    log = io.StringIO()
    quern.RawKernel(warning, "k").compile(log_stream=log)
    assert "zero" in log.getvalue()
    quern.RawModule(code=ADD).compile()


def test_options(device):
    code = 'extern "C" __global__ void k(int* x) { x[0] = VALUE; x[1] = __cplusplus >= 202002L; }'
    x = quern.zeros(2, np.int32)
    quern.RawKernel(code, "k", ("-DVALUE=42",))((1,), (1,), (x,))
    assert x.tolist() == [42, 0]
    quern.RawKernel(code, "k", options=("--define-macro=VALUE=7", "--std=c++20"))((1,), (1,), (x,))
    assert x.tolist() == [7, 1]
    with pytest.raises(TypeError, match="tuple"):
        quern.RawKernel(code, "k", ["-DVALUE=42"])
    with pytest.raises(quern.CompileError, match="nonsense"):
        quern.RawKernel(code, "k", ("--nonsense-option",)).compile()


def test_included_files_count(device, tmp_path):
    header = tmp_path / "amount.h"
    header.write_text("#define AMOUNT 3\n")
    code = '#include "amount.h"\nextern "C" __global__ void k(int* x) { x[0] = AMOUNT; }'
    x = quern.zeros(1, np.int32)
    quern.RawKernel(code, "k", (f"-I{tmp_path}",))((1,), (1,), (x,))
    assert x.tolist() == [3]
    header.write_text("#define AMOUNT 4\n")
    quern.RawKernel(code, "k", (f"-I{tmp_path}",))((1,), (1,), (x,))
    assert x.tolist() == [4]


def test_backend_names(device):
    with pytest.raises(ValueError, match="nvrtc"):
        quern.RawKernel(ADD, "add", backend="clang")


def test_kernels_of_one_text_share_a_binary(device):
    code = ADD + "// shared\n" + WHERE
    quern.RawKernel(code, "add").compile()
    before = quern.cache.stats()["compiles"]
    quern.RawKernel(code, "where").compile()
    assert quern.cache.stats()["compiles"] == before
