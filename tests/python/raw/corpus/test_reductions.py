"""Reductions: trees in shared memory, warp shuffles, atomics, the last block, cooperative groups."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
template <class T> __global__ void tree(const T* in, T* out, int n) {
    extern __shared__ __align__(8) unsigned char raw[];
    T* part = reinterpret_cast<T*>(raw);
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    part[t] = (i < n ? in[i] : T(0)) + (i + blockDim.x < n ? in[i + blockDim.x] : T(0));
    __syncthreads();
    for (unsigned width = blockDim.x; width > 1;) {  // any block size, not only powers of two
        unsigned half = (width + 1) / 2;
        if (t < width / 2) part[t] += part[t + half];
        width = half;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

// Interleaved addressing, the textbook's first version.
__global__ void interleaved(const float* in, float* out, int n) {
    __shared__ float part[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0.f;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

template <unsigned B> __device__ void last_warp(volatile float* s, unsigned t) {
    if (B >= 64) s[t] += s[t + 32];
    if (B >= 32) s[t] += s[t + 16];
    if (B >= 16) s[t] += s[t + 8];
    if (B >= 8) s[t] += s[t + 4];
    if (B >= 4) s[t] += s[t + 2];
    if (B >= 2) s[t] += s[t + 1];
}
// Unrolled, the last warp through volatile shared memory, as programs before Volta wrote it.
template <unsigned B> __global__ void unrolled(const float* in, float* out, unsigned n) {
    __shared__ float s[B + 32];
    unsigned t = threadIdx.x;
    float sum = 0;
    for (unsigned i = blockIdx.x * B + t; i < n; i += B * gridDim.x) sum += in[i];
    s[t] = sum;
    if (t < 32) s[B + t] = 0;
    __syncthreads();
    if (B >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); }
    if (B >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
    if (B >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
    if (t < 32) last_warp<B>(s, t);
    if (t == 0) out[blockIdx.x] = s[0];
}

template <class T> __device__ __forceinline__ T warp_sum(T v) {
    for (int d = warpSize / 2; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}
template <class T> __global__ void by_shuffle(const T* in, T* out, int n) {
    static __shared__ T warps[32];
    T v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    v = warp_sum(v);
    if (lane == 0) warps[warp] = v;
    __syncthreads();
    v = threadIdx.x < (blockDim.x + 31) / 32 ? warps[lane] : T(0);
    if (warp == 0) v = warp_sum(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
}

struct Best { float value; int index; };
__device__ Best better(Best a, Best b) {
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
extern "C" __global__ void argmax(const float* in, Best* out, int n) {
    __shared__ Best best[256];
    Best mine = {-3.4e38f, n};
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine = better(mine, Best{in[i], i});
    best[threadIdx.x] = mine;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) best[threadIdx.x] = better(best[threadIdx.x], best[threadIdx.x + s]);
        __syncthreads();
    }
    if (!threadIdx.x) *out = best[0];
}

// One launch: the block that arrives last adds up what the others left.
__device__ unsigned int arrived = 0;
extern "C" __global__ void last_block(const float* in, volatile double* parts, double* out, int n) {
    __shared__ double s[96];
    __shared__ bool last;
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x; ++i) sum += s[i];
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    if (threadIdx.x == 0) {
        double all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += parts[b];
        *out = all;
        arrived = 0;
    }
}

// min, max, and, or, xor and sum of a warp in one instruction each; ragged last warps by their mask.
extern "C" __global__ void warp_reductions(const unsigned* in, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    unsigned v = in[i], w = i / 32;
    unsigned sum = __reduce_add_sync(mask, v), low = __reduce_min_sync(mask, v), high = __reduce_max_sync(mask, v);
    unsigned all = __reduce_and_sync(mask, v), any = __reduce_or_sync(mask, v), odd = __reduce_xor_sync(mask, v);
    int least = __reduce_min_sync(mask, (int)v);
    if ((threadIdx.x & 31) == 0) {
        unsigned* o = out + 7 * w;
        o[0] = sum, o[1] = low, o[2] = high, o[3] = all, o[4] = any, o[5] = odd, o[6] = least;
    }
}

extern "C" __global__ void dot(const double* x, const double* y, double* out, size_t n) {
    double sum = 0.0, lost = 0.0;  // Kahan
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        double term = fma(x[i], y[i], -lost), next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}

// Rows of a matrix, one warp each, several rows a block (2-D blocks).
extern "C" __global__ void row_norms(const float* a, float* out, int rows, int columns) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int c = threadIdx.x; c < columns; c += 32) sum += a[row * columns + c] * a[row * columns + c];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) out[row] = sqrtf(sum);
}
"""

NAMES = (
    "tree<float>", "tree<int>", "tree<double>", "tree<unsigned long long>", "interleaved", "unrolled<512>",
    "unrolled<128>", "unrolled<64>", "unrolled<32>", "by_shuffle<float>", "by_shuffle<int>", "by_shuffle<double>",
)  # fmt: skip


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(code=CODE, name_expressions=NAMES)


def numbers(dtype, n, seed=3):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return random.normal(size=n).astype(dtype)
    return random.integers(0, 1000, n).astype(dtype)


def close(found, wanted, n, dtype):
    if np.dtype(dtype).kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=0, atol=4 * n**0.5 * np.finfo(dtype).eps)
    else:
        assert found == wanted


@pytest.mark.parametrize(
    ("ctype", "dtype"),
    [("float", "f4"), ("int", "i4"), ("double", "f8"), ("unsigned long long", "u8")],
)
@pytest.mark.parametrize(
    ("n", "block"), [(1, 32), (1000, 100), (4097, 256), (777, 1), (5000, 1023)]
)
def test_tree(device, module, ctype, dtype, n, block):
    x = numbers(dtype, n)
    blocks = -(-n // (2 * block))
    out = quern.zeros(blocks, dtype)
    size = np.dtype(dtype).itemsize
    module.get_function(f"tree<{ctype}>")(
        (blocks,), (block,), (quern.asarray(x), out, n), shared_mem=block * size
    )
    close(out.get().sum(), x.astype("f8" if dtype[0] == "f" else dtype).sum(), n, dtype)


def test_interleaved(device, module):
    x = numbers("f4", 1000)
    out = quern.zeros(8, "f4")
    module.get_function("interleaved")((8,), (128,), (quern.asarray(x), out, 1000))
    close(out.get().sum(), x.sum(dtype="f8"), 1000, "f4")


@pytest.mark.parametrize("block", [32, 64, 128, 512])
@pytest.mark.parametrize("n", [31, 3001])
def test_unrolled(device, module, block, n):
    x = numbers("f4", n)
    out = quern.zeros(3, "f4")
    module.get_function(f"unrolled<{block}>")((3,), (block,), (quern.asarray(x), out, np.uint32(n)))
    close(out.get().sum(), x.sum(dtype="f8"), n, "f4")


@pytest.mark.parametrize(("ctype", "dtype"), [("float", "f4"), ("int", "i4"), ("double", "f8")])
@pytest.mark.parametrize("block", [32, 96, 1024])
def test_by_shuffle(device, module, ctype, dtype, block):
    x = numbers(dtype, 2999)
    out = quern.zeros(1, dtype)
    module.get_function(f"by_shuffle<{ctype}>")((2,), (block,), (quern.asarray(x), out, 2999))
    close(out.get()[0], x.astype("f8" if dtype[0] == "f" else dtype).sum(), 2999, dtype)


def test_argmax(device, module):
    x = numbers("f4", 3001)
    x[[77, 2222]] = 9.0  # the first of equals
    best = quern.zeros(2, "f4")
    module.get_function("argmax")((1,), (256,), (quern.asarray(x), best, 3001), strict=False)
    found = best.get()
    assert found[0] == 9.0
    assert found.view("i4")[1] == 77


def test_last_block(device, module):
    x = numbers("f4", 10_001)
    for blocks in (1, 7):  # the counter is ready again after each launch
        parts, out = quern.zeros(blocks, "f8"), quern.zeros(1, "f8")
        module.get_function("last_block")((blocks,), (96,), (quern.asarray(x), parts, out, 10_001))
        np.testing.assert_allclose(out.get()[0], x.sum(dtype="f8"), rtol=1e-12)


def test_warp_reductions(device, module):
    n = 32 * 5 + 7
    x = np.random.default_rng(5).integers(0, 2**32, n).astype("u4")
    out = quern.zeros((6, 7), "u4")
    module.get_function("warp_reductions")((2,), (96,), (quern.asarray(x), out, n))
    for w, found in enumerate(out.get()):
        v = x[32 * w : 32 * w + 32]
        wanted = [
            v.sum(dtype="u4"),
            v.min(),
            v.max(),
            np.bitwise_and.reduce(v),
            np.bitwise_or.reduce(v),
        ]
        wanted += [np.bitwise_xor.reduce(v), v.view("i4").min().view("u4")]
        assert found.tolist() == [int(a) for a in wanted]


def test_dot(device, module):
    x, y = np.random.default_rng(6).normal(size=(2, 5001))
    out = quern.zeros(1, "f8")
    module.get_function("dot")(
        (3,), (64,), (quern.asarray(x), quern.asarray(y), out, np.uint64(5001))
    )
    np.testing.assert_allclose(out.get()[0], x @ y, atol=1e-11)


@pytest.mark.parametrize("rows", [1, 5, 33])
@pytest.mark.parametrize("columns", [1, 31, 100])
def test_row_norms(device, module, rows, columns):
    a = np.random.default_rng(7).normal(size=(rows, columns)).astype("f4")
    out = quern.zeros(rows, "f4")
    module.get_function("row_norms")(
        (-(-rows // 4),), (32, 4), (quern.asarray(a), out, rows, columns)
    )
    np.testing.assert_allclose(out.get(), np.linalg.norm(a.astype("f8"), axis=1), rtol=1e-5)
