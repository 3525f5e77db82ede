"""Histograms: global atomics, shared bins, bins private to a warp, weights; and k-means, whose bins move."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
extern "C" __global__ void in_global(const unsigned char* x, unsigned* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i]], 1u);
}

extern "C" __global__ void in_shared(const unsigned char* x, unsigned* bins, int n) {
    __shared__ unsigned mine[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(mine + x[i], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (mine[b]) atomicAdd(bins + b, mine[b]);
}

// Four bytes of a word at a time, counters of a byte, bins private to each warp.
template <int Warps> __global__ void per_warp(const unsigned* words, unsigned* bins, int n) {
    __shared__ unsigned private_bins[Warps][64];
    unsigned* mine = private_bins[threadIdx.x / 32];
    for (int b = threadIdx.x; b < Warps * 64; b += blockDim.x) (&private_bins[0][0])[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned w = words[i];
#pragma unroll
        for (int k = 0; k < 4; ++k) atomicAdd(&mine[__byte_perm(w, 0, 0x4440 + k) >> 2], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < Warps; ++w) sum += private_bins[w][b];
        atomicAdd(&bins[b], sum);
    }
}

template <class T, class W>
__global__ void weighted(const T* x, const W* w, W* bins, int n, T low, T high, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !(x[i] >= low && x[i] < high)) return;
    int bin = min(count - 1, (int)((x[i] - low) / (high - low) * count));
    atomicAdd(&bins[bin], w[i]);
}

// k-means: points to the nearest centre, centres' sums in dynamic shared memory.
extern "C" __global__ void assign(const float2* points, const float2* centres, int* labels, float* sums, int* counts,
                                  int n, int k) {
    extern __shared__ float2 near[];
    float* sx = (float*)(near + k);
    int* members = (int*)(sx + 2 * k);
    for (int c = threadIdx.x; c < k; c += blockDim.x)
        near[c] = centres[c], sx[2 * c] = sx[2 * c + 1] = 0, members[c] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 p = points[i];
        float least = CUDART_INF_F;
        int label = -1;
        for (int c = 0; c < k; ++c) {
            float dx = p.x - near[c].x, dy = p.y - near[c].y, d = dx * dx + dy * dy;
            if (d < least) least = d, label = c;
        }
        labels[i] = label;
        atomicAdd(&sx[2 * label], p.x);
        atomicAdd(&sx[2 * label + 1], p.y);
        atomicAdd(&members[label], 1);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < k; c += blockDim.x) {
        atomicAdd(&sums[2 * c], sx[2 * c]);
        atomicAdd(&sums[2 * c + 1], sx[2 * c + 1]);
        atomicAdd(&counts[c], members[c]);
    }
}
extern "C" __global__ void move(float2* centres, const float* sums, const int* counts, int k) {
    int c = threadIdx.x;
    if (c < k && counts[c]) centres[c] = make_float2(sums[2 * c] / counts[c], sums[2 * c + 1] / counts[c]);
}
"""


@pytest.fixture(scope="module")
def module():
    text = "#define CUDART_INF_F __int_as_float(0x7f800000)\n" + CODE
    return quern.RawModule(
        code=text,
        name_expressions=["per_warp<4>", "weighted<float, double>", "weighted<double, float>"],
    )


@pytest.mark.parametrize("name", ["in_global", "in_shared"])
@pytest.mark.parametrize(("n", "blocks", "threads"), [(1, 1, 32), (5003, 3, 100), (20_000, 7, 256)])
def test_bytes(device, module, name, n, blocks, threads):
    x = np.random.default_rng(n).binomial(255, 0.4, n).astype("u1")
    bins = quern.zeros(256, "u4")
    module.get_function(name)((blocks,), (threads,), (quern.asarray(x), bins, n))
    np.testing.assert_array_equal(bins.get(), np.bincount(x, minlength=256))


@pytest.mark.parametrize("n", [3, 2500])
def test_per_warp(device, module, n):
    x = np.random.default_rng(n).integers(0, 256, 4 * n).astype("u1")
    bins = quern.zeros(64, "u4")
    module.get_function("per_warp<4>")((2,), (128,), (quern.asarray(x.view("u4")), bins, n))
    np.testing.assert_array_equal(bins.get(), np.bincount(x >> 2, minlength=64))


@pytest.mark.parametrize(("ctypes", "dtypes"), [("float, double", "fd"), ("double, float", "df")])
def test_weighted(device, module, ctypes, dtypes):
    n, count = 3001, 17
    random = np.random.default_rng(8)
    x, w = random.normal(size=n).astype(dtypes[0]), random.random(n).astype(dtypes[1])
    x[5] = np.nan
    bins = quern.zeros(count, dtypes[1])
    kernel = module.get_function(f"weighted<{ctypes}>")
    low, high = np.dtype(dtypes[0]).type(-1.25), np.dtype(dtypes[0]).type(1.5)
    kernel((-(-n // 96),), (96,), (quern.asarray(x), quern.asarray(w), bins, n, low, high, count))
    inside = (x >= low) & (x < high)
    place = np.minimum(count - 1, ((x[inside] - low) / (high - low) * count).astype(int))
    wanted = np.bincount(place, w[inside].astype("f8"), count)
    np.testing.assert_allclose(bins.get(), wanted, rtol=1e-4 if dtypes[1] == "f" else 1e-12)


@pytest.mark.parametrize(("n", "k"), [(50, 1), (2003, 7)])
def test_k_means(device, module, n, k):
    random = np.random.default_rng(9)
    points = (random.normal(size=(n, 2)) + 6 * random.integers(0, 3, (n, 2))).astype("f4")
    wanted = points[:k].astype("f8")
    given, centres, labels = (
        quern.asarray(points),
        quern.asarray(points[:k].copy()),
        quern.zeros(n, "i4"),
    )
    for _ in range(4):
        sums, counts = quern.zeros((k, 2), "f4"), quern.zeros(k, "i4")
        args = (given, centres, labels, sums, counts, n, k)
        module.get_function("assign")(
            (-(-n // 128),), (128,), args, shared_mem=k * 20, strict=False
        )
        module.get_function("move")((1,), (k,), (centres, sums, counts, k), strict=False)
        nearest = ((points[:, None].astype("f8") - wanted) ** 2).sum(2).argmin(1)
        np.testing.assert_array_equal(counts.get(), np.bincount(labels.get(), minlength=k))
        assert (labels.get() != nearest).mean() < 0.002  # ties under rounding
        for c in range(k):
            if (nearest == c).any():
                wanted[c] = points[nearest == c].mean(0, dtype="f8")
    np.testing.assert_allclose(centres.get(), wanted, atol=1e-2)
