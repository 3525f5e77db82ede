"""Matrix products: static, dynamic and templated tiles, blocks in registers, half in and float out, bytes by dp4a."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
#include <cuda_fp16.h>
#define TILE 16
extern "C" __global__ void fixed(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int p = 0; p < (k + TILE - 1) / TILE; p++) {
        as[ty][tx] = row < m && p * TILE + tx < k ? a[row * k + p * TILE + tx] : 0;
        bs[ty][tx] = p * TILE + ty < k && column < n ? b[(p * TILE + ty) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// Tiles of blockDim.y x blockDim.x, both in one piece of dynamic shared memory.
extern "C" __global__ void dynamic(const double* a, const double* b, double* c, int m, int n, int k) {
    extern __shared__ double tiles[];
    const int t = blockDim.x;
    double *as = tiles, *bs = tiles + t * t;
    int row = blockIdx.y * t + threadIdx.y, column = blockIdx.x * t + threadIdx.x;
    double sum = 0;
    for (int p = 0; p < k; p += t) {
        if (row < m && p + threadIdx.x < k) as[threadIdx.y * t + threadIdx.x] = a[row * k + p + threadIdx.x];
        else as[threadIdx.y * t + threadIdx.x] = 0;
        if (p + threadIdx.y < k && column < n) bs[threadIdx.y * t + threadIdx.x] = b[(p + threadIdx.y) * n + column];
        else bs[threadIdx.y * t + threadIdx.x] = 0;
        __syncthreads();
        for (int i = 0; i < t; ++i) sum = fma(as[threadIdx.y * t + i], bs[i * t + threadIdx.x], sum);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// BM x BN of C a block, TM x TN a thread, one-dimensional blocks.
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1)
    registers(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
    __shared__ float as[BK][BM];
    __shared__ float bs[BK][BN];
    constexpr int threads = (BM / TM) * (BN / TN);
    const int tr = threadIdx.x / (BN / TN), tc = threadIdx.x % (BN / TN);
    const int r0 = blockIdx.y * BM, c0 = blockIdx.x * BN;
    float sums[TM][TN] = {0.0f}, x[TM], y[TN];
    for (int p = 0; p < k; p += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += threads) {
            int r = i / BK, q = i % BK;
            as[q][r] = r0 + r < m && p + q < k ? a[(r0 + r) * k + p + q] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += threads) {
            int q = i / BN, s = i % BN;
            bs[q][s] = p + q < k && c0 + s < n ? b[(p + q) * n + c0 + s] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < BK; ++q) {
#pragma unroll
            for (int i = 0; i < TM; ++i) x[i] = as[q][tr * TM + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) y[j] = bs[q][tc * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            int r = r0 + tr * TM + i, s = c0 + tc * TN + j;
            if (r < m && s < n) c[r * n + s] = alpha * sums[i][j] + beta * c[r * n + s];
        }
}

extern "C" __global__ void halves(const __half* a, const __half* b, float* c, int m, int n, int k) {
    __shared__ __half as[8][8], bs[8][8];
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < k; p += 8) {
        as[threadIdx.y][threadIdx.x] =
            row < m && p + threadIdx.x < k ? a[row * k + p + threadIdx.x] : __float2half(0.f);
        bs[threadIdx.y][threadIdx.x] =
            p + threadIdx.y < k && column < n ? b[(p + threadIdx.y) * n + column] : __float2half(0.f);
        __syncthreads();
        for (int i = 0; i < 8; ++i) sum += __half2float(as[threadIdx.y][i]) * __half2float(bs[i][threadIdx.x]);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// Signed bytes, four at a time; b comes transposed.
extern "C" __global__ void bytes(const int* a, const int* bt, int* c, int m, int n, int words) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    int sum = 0;
    for (int w = 0; w < words; ++w) sum = __dp4a(a[row * words + w], bt[column * words + w], sum);
    c[row * n + column] = sum;
}
"""
REGISTERS = {
    "64, 64, 8, 8, 8": (64, 64, 64),
    "32, 64, 4, 4, 2": (32, 64, 256),
    "16, 16, 16, 1, 4": (16, 16, 64),
}


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(code=CODE, name_expressions=[f"registers<{s}>" for s in REGISTERS])


SHAPES = [(1, 1, 1), (16, 16, 16), (33, 50, 17), (70, 65, 40)]


def pair(shape, dtype):
    m, n, k = shape
    random = np.random.default_rng(m)
    return random.normal(size=(m, k)).astype(dtype), random.normal(size=(k, n)).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_fixed_tiles(device, module, shape):
    (m, n, k), (a, b) = shape, pair(shape, "f4")
    c = quern.zeros((m, n), "f4")
    grid = (-(-n // 16), -(-m // 16))
    module.get_function("fixed")(grid, (16, 16), (quern.asarray(a), quern.asarray(b), c, m, n, k))
    np.testing.assert_allclose(c.get(), a.astype("f8") @ b.astype("f8"), atol=1e-5 * k)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tile", [5, 8, 32])
def test_dynamic_tiles(device, module, shape, tile):
    (m, n, k), (a, b) = shape, pair(shape, "f8")
    c = quern.zeros((m, n), "f8")
    grid = (-(-n // tile), -(-m // tile))
    args = (quern.asarray(a), quern.asarray(b), c, m, n, k)
    module.get_function("dynamic")(grid, (tile, tile), args, shared_mem=16 * tile * tile)
    np.testing.assert_allclose(c.get(), a @ b, atol=1e-13 * k)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sizes", REGISTERS)
def test_registers(device, module, shape, sizes):
    (m, n, k), (a, b) = shape, pair(shape, "f4")
    before = np.random.default_rng(2).normal(size=(m, n)).astype("f4")
    c = quern.asarray(before.copy())
    bm, bn, threads = REGISTERS[sizes]
    alpha, beta = np.float32(0.5), np.float32(-2)
    args = (m, n, k, alpha, quern.asarray(a), quern.asarray(b), beta, c)
    module.get_function(f"registers<{sizes}>")((-(-n // bn), -(-m // bm)), (threads,), args)
    wanted = 0.5 * (a.astype("f8") @ b.astype("f8")) - 2.0 * before
    np.testing.assert_allclose(c.get(), wanted, atol=1e-5 * (k + 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_halves(device, module, shape):
    (m, n, k), (a, b) = shape, pair(shape, "f2")
    c = quern.zeros((m, n), "f4")
    grid = (-(-n // 8), -(-m // 8))
    module.get_function("halves")(grid, (8, 8), (quern.asarray(a), quern.asarray(b), c, m, n, k))
    np.testing.assert_allclose(c.get(), a.astype("f8") @ b.astype("f8"), atol=2e-5 * k)


@pytest.mark.parametrize(("m", "n", "words"), [(1, 1, 1), (20, 33, 9)])
def test_bytes(device, module, m, n, words):
    random = np.random.default_rng(4)
    a, bt = (random.integers(-128, 128, (rows, 4 * words)).astype("i1") for rows in (m, n))
    c = quern.zeros((m, n), "i4")
    args = (quern.asarray(a.view("i4")), quern.asarray(bt.view("i4")), c, m, n, words)
    module.get_function("bytes")((-(-n // 16), -(-m // 4)), (16, 4), args)
    np.testing.assert_array_equal(c.get(), a.astype("i4") @ bt.T.astype("i4"))
