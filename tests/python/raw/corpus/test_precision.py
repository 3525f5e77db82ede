"""Two-byte floats: arithmetic in pairs, sums held in float, softmax, layer norm; numbers between formats."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import quern

CODE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void half_axpy(__half a, const __half2* x, __half2* y, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

template <class T> __device__ float wide(T x) { return float(x); }
template <class T> struct Narrow;
template <> struct Narrow<__half> {
    __device__ static __half of(float x) { return __float2half_rn(x); }
};
template <> struct Narrow<__nv_bfloat16> {
    __device__ static __nv_bfloat16 of(float x) { return __float2bfloat16(x); }
};
template <> struct Narrow<float> {
    __device__ static float of(float x) { return x; }
};

__device__ float block_sum(float v) {
    __shared__ float warps[32];
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) v += warps[w];
    return v;
}
__device__ float block_max(float v) {
    __shared__ float warps[32];
    for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; ++w) v = fmaxf(v, warps[w]);
    __syncthreads();
    return v;
}

template <class T> __global__ void softmax(const T* x, T* y, int columns) {
    x += (size_t)blockIdx.x * columns, y += (size_t)blockIdx.x * columns;
    float most = -1e30f, sum = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, wide(x[c]));
    most = block_max(most);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += expf(wide(x[c]) - most);
    sum = block_sum(sum);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) y[c] = Narrow<T>::of(expf(wide(x[c]) - most) / sum);
}

template <class T>
__global__ void layer_norm(const T* __restrict__ x, const T* __restrict__ gain, const T* __restrict__ bias,
                           T* __restrict__ y, int columns, float epsilon) {
    const T* row = x + (size_t)blockIdx.x * columns;
    float sum = 0, square = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += wide(row[c]);
    const float mean = block_sum(sum) / columns;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) square += (wide(row[c]) - mean) * (wide(row[c]) - mean);
    const float scale = rsqrtf(block_sum(square) / columns + epsilon);
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        y[(size_t)blockIdx.x * columns + c] =
            Narrow<T>::of((wide(row[c]) - mean) * scale * wide(gain[c]) + wide(bias[c]));
}

// The operators and the intrinsics of halves side by side.
extern "C" __global__ void half_operations(const __half* a, const __half* b, __half* out, bool* truth, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half x = a[i], y = b[i];
    out[i] = x + y, out[n + i] = __hsub(x, y), out[2 * n + i] = x * y, out[3 * n + i] = __hdiv(x, y);
    out[4 * n + i] = __hfma(x, y, x), out[5 * n + i] = -x, out[6 * n + i] = __habs(y),
                out[7 * n + i] = hsqrt(__habs(x));
    out[8 * n + i] = __hmax(x, y), out[9 * n + i] = __int2half_rn(__half2int_rn(x));
    truth[i] = x < y, truth[n + i] = __hge(x, y), truth[2 * n + i] = x == x, truth[3 * n + i] = __hisnan(x - x) != 0;
}

// Attention of one query row over keys, kept as running maximum and sum (one pass).
extern "C" __global__ void attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                                     float* out, int keys, int width) {
    extern __shared__ float query[];
    const int row = blockIdx.x, t = threadIdx.x;
    if (t < width) query[t] = __bfloat162float(q[row * width + t]) * rsqrtf(width);
    __syncthreads();
    float most = -INFINITY_F, sum = 0, value = 0;
    for (int j = 0; j < keys; ++j) {
        float score = 0;
        for (int c = 0; c < width; ++c) score += query[c] * __bfloat162float(k[j * width + c]);
        float next = fmaxf(most, score), keep = expf(most - next), weight = expf(score - next);
        sum = sum * keep + weight;
        if (t < width) value = value * keep + weight * __bfloat162float(v[j * width + t]);
        most = next;
    }
    if (t < width) out[row * width + t] = value / sum;
}
"""
BFLOAT = np.dtype(ml_dtypes.bfloat16)
TYPES = {"__half": np.dtype("f2"), "__nv_bfloat16": BFLOAT, "float": np.dtype("f4")}
EPS = {"__half": 2**-10, "__nv_bfloat16": 2**-7, "float": 1e-5}


@pytest.fixture(scope="module")
def module():
    names = [f"{k}<{t}>" for k in ("softmax", "layer_norm") for t in TYPES]
    text = "#define INFINITY_F __int_as_float(0x7f800000)\n" + CODE
    return quern.RawModule(code=text, name_expressions=names)


@pytest.mark.parametrize("pairs", [1, 333])
def test_half_axpy(device, module, pairs):
    x, y = np.random.default_rng(pairs).normal(size=(2, 2 * pairs)).astype("f2")
    out, a = quern.asarray(y), np.float16(0.3)
    module.get_function("half_axpy")((3,), (128,), (a, quern.asarray(x), out, pairs), strict=False)
    wanted = (a.astype("f8") * x.astype("f8") + y).astype("f2")  # one rounding
    np.testing.assert_array_equal(out.get(), wanted)


@pytest.mark.parametrize("ctype", TYPES)
@pytest.mark.parametrize(("rows", "columns", "block"), [(1, 1, 32), (5, 100, 64), (3, 1000, 256)])
def test_softmax_and_layer_norm(device, module, ctype, rows, columns, block):
    random = np.random.default_rng(columns)
    x = (4 * random.normal(size=(rows, columns))).astype(TYPES[ctype])
    exact = x.astype("f8")
    out = quern.zeros(x.shape, x.dtype)
    module.get_function(f"softmax<{ctype}>")((rows,), (block,), (quern.asarray(x), out, columns))
    wanted = np.exp(exact - exact.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    np.testing.assert_allclose(out.get().astype("f8"), wanted, rtol=EPS[ctype], atol=1e-7)
    gain, bias = random.normal(size=(2, columns)).astype(x.dtype)
    args = [quern.asarray(v) for v in (x, gain, bias)]
    module.get_function(f"layer_norm<{ctype}>")(
        (rows,), (block,), (*args, out, columns, np.float32(1e-3))
    )
    wanted = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-3)
    wanted = wanted * gain.astype("f8") + bias.astype("f8")
    np.testing.assert_allclose(out.get().astype("f8"), wanted, rtol=EPS[ctype], atol=2e-5)


def test_half_operations(device, module):
    n = 1000
    bits = np.random.default_rng(5).integers(0, 2**16, (2, n)).astype("u2")
    bits[:, :4] = [[0, 0x8000, 0x7C00, 1], [0x3C00, 0x4000, 0x3C00, 0x3C00]]
    a, b = bits.view("f2")
    big = (
        np.abs(a.astype("f8")) > 30000
    )  # whole numbers beyond int's reach of a half stay as they are
    out, truth = quern.zeros((10, n), "f2"), quern.zeros((4, n), "?")
    module.get_function("half_operations")(
        (8,), (128,), (quern.asarray(a), quern.asarray(b), out, truth, n)
    )
    x, y = a.astype("f8"), b.astype("f8")
    with np.errstate(all="ignore"):
        wanted = [x + y, x - y, x * y, x / y, x * y + x, -x, abs(y), np.sqrt(abs(x)), np.fmax(x, y)]
        np.testing.assert_array_equal(out.get()[:9], np.array(wanted).astype("f2"))
        whole = np.isfinite(x) & ~big
        np.testing.assert_array_equal(out.get()[9][whole], np.rint(x[whole]).astype("f2"))
        np.testing.assert_array_equal(truth.get(), [x < y, x >= y, x == x, np.isnan(x - x)])


@pytest.mark.parametrize(("rows", "keys", "width"), [(1, 1, 8), (4, 33, 20), (2, 100, 64)])
def test_attention(device, module, rows, keys, width):
    random = np.random.default_rng(keys)
    q, k, v = (random.normal(size=(n, width)).astype(BFLOAT) for n in (rows, keys, keys))
    out = quern.zeros((rows, width), "f4")
    args = (*(quern.asarray(a) for a in (q, k, v)), out, keys, width)
    module.get_function("attention")((rows,), (64,), args, shared_mem=4 * width)
    scores = q.astype("f8") @ k.astype("f8").T / width**0.5
    weights = np.exp(scores - scores.max(1, keepdims=True))
    wanted = weights / weights.sum(1, keepdims=True) @ v.astype("f8")
    np.testing.assert_allclose(out.get(), wanted, atol=1e-5)
