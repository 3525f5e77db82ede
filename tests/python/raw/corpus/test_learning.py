"""Kernels of programs that learn: boxes that overlap, optimisers, norms, pairs of halves."""

from __future__ import annotations

import numpy as np
import pytest

import quern

pytestmark = pytest.mark.parametrize("tier", ["fibers", "regions"])


def module(source, tier, *options, names=None):
    return quern.RawModule(
        code=source, options=(*options, f"--quern-waiting={tier}"), name_expressions=names
    )


# Boxes that overlap a better one fall: words of bits by pairs of columns, as detectors do it.
OVERLAPS = r"""
__device__ inline bool overlaps(const float* a, const float* b, float limit) {
    float left = fmaxf(a[0], b[0]), right = fminf(a[2], b[2]);
    float top = fmaxf(a[1], b[1]), bottom = fminf(a[3], b[3]);
    float both = fmaxf(right - left, 0.f) * fmaxf(bottom - top, 0.f);
    float sa = (a[2] - a[0]) * (a[3] - a[1]), sb = (b[2] - b[0]) * (b[3] - b[1]);
    return both > limit * (sa + sb - both);
}
extern "C" __global__ void masks(int n, float limit, const float* boxes, unsigned long long* mask) {
    const int row_start = blockIdx.y, col_start = blockIdx.x;
    if (row_start > col_start) return;
    const int rows = min(n - row_start * 64, 64), cols = min(n - col_start * 64, 64);
    __shared__ float near[64 * 4];
    if (threadIdx.x < cols)
        for (int k = 0; k < 4; ++k) near[threadIdx.x * 4 + k] = boxes[(64 * col_start + threadIdx.x) * 4 + k];
    __syncthreads();
    if (threadIdx.x < rows) {
        const int at = 64 * row_start + threadIdx.x;
        unsigned long long bits = 0;
        for (int i = row_start == col_start ? threadIdx.x + 1 : 0; i < cols; i++)
            if (overlaps(boxes + 4 * at, near + 4 * i, limit)) bits |= 1ULL << i;
        mask[at * gridDim.x + col_start] = bits;
    }
}
"""


@pytest.mark.parametrize("n", [1, 64, 150])
def test_boxes_that_overlap(device, tier, n):
    random = np.random.default_rng(n)
    corner = random.random((n, 2), np.float32) * 8
    boxes = np.concatenate([corner, corner + random.random((n, 2), np.float32) * 4 + 0.5], 1)
    columns = -(-n // 64)
    mask = quern.zeros((n, columns), np.uint64)
    kernel = module(OVERLAPS, tier).get_function("masks")
    kernel((columns, columns), (64,), (np.int32(n), np.float32(0.3), quern.asarray(boxes), mask))
    wide = boxes.astype(np.float64)
    low = np.maximum(wide[:, None, :2], wide[None, :, :2])
    high = np.minimum(wide[:, None, 2:], wide[None, :, 2:])
    both = np.clip(high - low, 0, None).prod(-1)
    area = (wide[:, 2:] - wide[:, :2]).prod(-1)
    ratio = both / (area[:, None] + area[None] - both)
    found = np.zeros((n, n), bool)
    words = quern.asnumpy(mask)
    for i in range(n):
        for j in range(n):
            found[i, j] = int(words[i, j // 64]) >> (j % 64) & 1
    sure = np.abs(ratio - 0.3) > 1e-5
    wanted = (ratio > 0.3) & (np.arange(n)[:, None] < np.arange(n))
    np.testing.assert_array_equal(found[sure], wanted[sure])


# One launch over many arrays: a structure by value holds their addresses, as optimisers do it.
STEPS = r"""
template <int Lists> struct Tensors { float* of[Lists][12]; int sizes[12]; int block_of[40]; int chunk_of[40]; };
template <class F> struct Each {
    F f; int chunk;
    __device__ void operator()(const Tensors<4>& t) const {
        int which = t.block_of[blockIdx.x], from = t.chunk_of[blockIdx.x] * chunk;
        int n = min(t.sizes[which] - from, chunk);
        float* p = t.of[0][which] + from; const float* __restrict__ g = t.of[1][which] + from;
        float *m = t.of[2][which] + from, *v = t.of[3][which] + from;
        for (int i = threadIdx.x; i < n; i += blockDim.x) f(p[i], g[i], m[i], v[i]);
    }
};
struct Adam {
    float b1, b2, rate, epsilon, decay, c1, c2;
    __device__ void operator()(float& p, float g, float& m, float& v) const {
        m = b1 * m + (1 - b1) * g;
        v = b2 * v + (1 - b2) * g * g;
        p -= rate * ((m / c1) / (sqrtf(v / c2) + epsilon) + decay * p);
    }
};
extern "C" __global__ void adam(Tensors<4> t, Adam f, int chunk) { Each<Adam>{f, chunk}(t); }
"""


def test_many_arrays_in_one_launch(device, tier):
    random = np.random.default_rng(3)
    sizes = [5, 1000, 1, 777, 4096]
    chunk = 512
    kernel = module(STEPS, tier).get_function("adam")
    lists = [[random.random(n).astype(np.float32) for n in sizes] for _ in range(4)]
    there = [[quern.asarray(a) for a in group] for group in lists]
    kind = np.dtype(
        [
            ("of", np.uint64, (4, 12)),
            ("sizes", np.int32, 12),
            ("block_of", np.int32, 40),
            ("chunk_of", np.int32, 40),
        ]
    )
    table = np.zeros((), kind)
    for k, group in enumerate(there):
        for i, array in enumerate(group):
            table["of"][k, i] = array.data.ptr
    table["sizes"][: len(sizes)] = sizes
    pieces = [(i, c) for i, n in enumerate(sizes) for c in range(-(-n // chunk))]
    for b, (i, c) in enumerate(pieces):
        table["block_of"][b], table["chunk_of"][b] = i, c
    step = np.array([0.9, 0.999, 1e-2, 1e-8, 0.01, 0.1, 0.001], np.float32)
    names = ("b1", "b2", "rate", "epsilon", "decay", "c1", "c2")
    factors = np.zeros((), [(name, np.float32) for name in names])
    for name, value in zip(names, step, strict=True):
        factors[name] = value
    kernel((len(pieces),), (128,), (table, factors, np.int32(chunk)))
    b1, b2, rate, epsilon, decay, c1, c2 = step.astype(np.float64)
    for i in range(len(sizes)):
        p, g, m, v = (group[i].astype(np.float64) for group in lists)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        p = p - rate * ((m / c1) / (np.sqrt(v / c2) + epsilon) + decay * p)
        for k, wanted in ((0, p), (2, m), (3, v)):
            np.testing.assert_allclose(quern.asnumpy(there[k][i]), wanted, rtol=2e-5, atol=1e-6)


# Mean and spread in one pass, joined across lanes and warps (Welford, Chan).
WELFORD = r"""
struct Moments { float mean, m2, n; };
__device__ Moments join(Moments a, Moments b) {
    if (b.n == 0) return a;
    float n = a.n + b.n, d = b.mean - a.mean;
    return {a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n, n};
}
__device__ Moments of_warp(Moments w) {
    for (int lane = 16; lane > 0; lane >>= 1)
        w = join(w, {__shfl_xor_sync(~0u, w.mean, lane), __shfl_xor_sync(~0u, w.m2, lane),
                     __shfl_xor_sync(~0u, w.n, lane)});
    return w;
}
template <int Warps> __global__ __launch_bounds__(Warps * 32)
void norm(const float4* __restrict__ x, float4* __restrict__ y, int vectors, float epsilon) {
    __shared__ Moments of[Warps];
    const float4* row = x + (size_t)blockIdx.x * vectors;
    Moments w{0, 0, 0};
    for (int i = threadIdx.x; i < vectors; i += Warps * 32) {
        float4 v = __ldg(row + i);
        const float values[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (float value : values) {
            w.n += 1;
            float d = value - w.mean;
            w.mean += d / w.n;
            w.m2 += d * (value - w.mean);
        }
    }
    w = of_warp(w);
    if ((threadIdx.x & 31) == 0) of[threadIdx.x >> 5] = w;
    __syncthreads();
    if (threadIdx.x < 32) {
        w = threadIdx.x < Warps ? of[threadIdx.x] : Moments{0, 0, 0};
        w = of_warp(w);
        if (threadIdx.x == 0) of[0] = w;
    }
    __syncthreads();
    float mean = of[0].mean, scale = rsqrtf(of[0].m2 / of[0].n + epsilon);
    for (int i = threadIdx.x; i < vectors; i += Warps * 32) {
        float4 v = row[i];
        y[(size_t)blockIdx.x * vectors + i] =
            make_float4((v.x - mean) * scale, (v.y - mean) * scale, (v.z - mean) * scale, (v.w - mean) * scale);
    }
}
"""


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_norms_in_one_pass(device, tier, warps):
    name = f"norm<{warps}>"
    kernel = module(WELFORD, tier, names=[name]).get_function(name)
    for columns in (4, 100, 1024):
        x = np.random.default_rng(columns).normal(5, 2, (7, columns)).astype(np.float32)
        y = quern.zeros_like(quern.asarray(x))
        kernel((7,), (warps * 32,), (quern.asarray(x), y, np.int32(columns // 4), np.float32(1e-5)))
        wide = x.astype(np.float64)
        wanted = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(quern.asnumpy(y), wanted, rtol=1e-4, atol=1e-4)


HALVES = r"""
#include <cuda_fp16.h>
extern "C" __global__ void blend(const __half2* x, const __half2* y, __half2* out, float* scalars, int n) {
    int stride = gridDim.x * blockDim.x;
    __half2 most = __float2half2_rn(-65504.f);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        __half2 a = __hfma2(x[i], y[i], __floats2half2_rn(0.5f, -0.25f));
        a = __hmul2(a, __half2half2(__ushort_as_half(0x3800)));      // one half
        __half2 lower = __hlt2(x[i], y[i]);
        out[i] = __hadd2(a, __hsub2(lower, __lowhigh2highlow(x[i])));
        most = __hmax2(most, out[i]);
    }
    float2 f = __half22float2(most);
    for (int d = 16; d > 0; d /= 2) {
        f.x = fmaxf(f.x, __shfl_down_sync(~0u, f.x, d));
        f.y = fmaxf(f.y, __shfl_down_sync(~0u, f.y, d));
    }
    if (threadIdx.x % 32 == 0) {
        int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
        scalars[2 * w] = f.x, scalars[2 * w + 1] = f.y;
    }
}
"""


@pytest.mark.parametrize("n", [7, 64, 1000])
def test_pairs_of_halves(device, tier, n):
    x, y = np.random.default_rng(n).uniform(-4, 4, (2, n, 2)).astype(np.float16)
    out, most = quern.zeros((n, 2), np.float16), quern.zeros((4, 2), np.float32)
    kernel = module(HALVES, tier).get_function("blend")
    kernel((2,), (64,), (quern.asarray(x), quern.asarray(y), out, most, np.int32(n)))
    fused = (x.astype(np.float64) * y + [0.5, -0.25]).astype(np.float16) * np.float16(0.5)
    wanted = fused + ((x < y).astype(np.float16) - x[:, ::-1])
    np.testing.assert_array_equal(quern.asnumpy(out), wanted)
    of_warp = np.full((4, 2), -65504, np.float32)
    np.maximum.at(of_warp, np.arange(n) % 128 // 32, wanted.astype(np.float32))
    np.testing.assert_array_equal(quern.asnumpy(most), of_warp)
