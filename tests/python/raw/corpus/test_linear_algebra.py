"""Linear algebra: LU, Gaussian elimination, Cholesky, triangular solves, sparse products in four formats."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
// LU without pivoting, a column a launch pair.
extern "C" __global__ void lu_scale(double* a, int n, int k) {
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i * n + k] /= a[k * n + k];
}
extern "C" __global__ void lu_update(double* a, int n, int k) {
    int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x, i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] -= a[i * n + k] * a[k * n + j];
}

// LU of a small matrix by one block with partial pivoting; the pivot by a shared reduction.
extern "C" __global__ void lu_pivoted(float* a, int* pivots, int n) {
    extern __shared__ float m[];
    __shared__ float best[64];
    __shared__ int where[64];
    int t = threadIdx.x;
    for (int i = t; i < n * n; i += blockDim.x) m[i] = a[i];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        best[t] = -1, where[t] = k;
        for (int i = k + t; i < n; i += blockDim.x)
            if (fabsf(m[i * n + k]) > best[t]) best[t] = fabsf(m[i * n + k]), where[t] = i;
        for (int s = blockDim.x / 2; s > 0; s >>= 1) {
            __syncthreads();
            if (t < s && best[t + s] > best[t]) best[t] = best[t + s], where[t] = where[t + s];
        }
        __syncthreads();
        int p = where[0];
        if (t == 0) pivots[k] = p;
        if (p != k)
            for (int j = t; j < n; j += blockDim.x) {
                float v = m[k * n + j];
                m[k * n + j] = m[p * n + j];
                m[p * n + j] = v;
            }
        __syncthreads();
        for (int i = k + 1 + t; i < n; i += blockDim.x) {
            float factor = m[i * n + k] /= m[k * n + k];
            for (int j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
        }
        __syncthreads();
    }
    for (int i = t; i < n * n; i += blockDim.x) a[i] = m[i];
}

// Gaussian elimination with multipliers in a matrix of their own, then substitution by one warp.
extern "C" __global__ void multipliers(const float* a, float* factors, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1 - k) return;
    factors[n * (i + k + 1) + k] = a[n * (i + k + 1) + k] / a[n * k + k];
}
extern "C" __global__ void eliminate(float* a, float* b, const float* factors, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n - 1 - k || j >= n - k) return;
    a[n * (i + 1 + k) + j + k] -= factors[n * (i + 1 + k) + k] * a[n * k + j + k];
    if (j == 0) b[i + 1 + k] -= factors[n * (i + 1 + k) + k] * b[k];
}
extern "C" __global__ void back_substitute(const float* a, const float* b, float* x, int n) {
    for (int row = n - 1; row >= 0; --row) {
        float sum = 0;
        for (int j = row + 1 + threadIdx.x; j < n; j += 32) sum += a[row * n + j] * x[j];
        for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x == 0) x[row] = (b[row] - sum) / a[row * n + row];
        __threadfence_block();
        __syncwarp();
    }
}

// Cholesky of one tile, threads by row.
template <int N> __global__ void cholesky(double* a) {
    __shared__ double l[N][N + 1];
    int t = threadIdx.x;
    a += blockIdx.x * N * N;
    for (int j = 0; j < N; ++j) l[t][j] = a[t * N + j];
    for (int k = 0; k < N; ++k) {
        __syncthreads();
        if (t == k) l[k][k] = sqrt(l[k][k]);
        __syncthreads();
        if (t > k) l[t][k] /= l[k][k];
        __syncthreads();
        for (int j = k + 1; j <= t; ++j) l[t][j] -= l[t][k] * l[j][k];
    }
    for (int j = 0; j < N; ++j) a[t * N + j] = j <= t ? l[t][j] : 0.0;
}

extern "C" __global__ void csr_scalar(const int* rows, const int* columns, const float* values, const float* x,
                                      float* y, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float sum = 0;
        for (int e = rows[r], end = rows[r + 1]; e < end; e++) sum += values[e] * x[columns[e]];
        y[r] = sum;
    }
}
template <int Lanes>
__global__ void csr_vector(const int* rows, const int* columns, const float* values, const float* __restrict__ x,
                           float* y, int n) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, lane = thread % Lanes, r = thread / Lanes;
    float sum = 0;
    if (r < n)
        for (int e = rows[r] + lane; e < rows[r + 1]; e += Lanes) sum = fmaf(values[e], __ldg(&x[columns[e]]), sum);
#pragma unroll
    for (int d = Lanes / 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d, Lanes);
    if (lane == 0 && r < n) y[r] = sum;
}
extern "C" __global__ void ell(const int* columns, const float* values, const float* x, float* y, int n, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float sum = 0;
    for (int k = 0; k < width; ++k) {
        int c = columns[k * n + r];
        if (c >= 0) sum += values[k * n + r] * x[c];
    }
    y[r] = sum;
}
extern "C" __global__ void coo(const int* rows, const int* columns, const float* values, const float* x, float* y,
                               int count) {
    int stride = gridDim.x * blockDim.x;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < count; e += stride)
        atomicAdd(&y[rows[e]], values[e] * x[columns[e]]);
}
"""


@pytest.fixture(scope="module")
def module():
    names = [
        "cholesky<1>",
        "cholesky<16>",
        "cholesky<31>",
        *(f"csr_vector<{n}>" for n in (2, 8, 32)),
    ]
    return quern.RawModule(code=CODE, name_expressions=names)


def dominant(n, dtype):
    random = np.random.default_rng(n)
    return (random.normal(size=(n, n)) + np.eye(n) * 2 * n).astype(dtype)


@pytest.mark.parametrize("n", [1, 2, 37, 60])
def test_lu(device, module, n):
    a = dominant(n, "f8")
    given = quern.asarray(a)
    for k in range(n - 1):
        rest = n - k - 1
        module.get_function("lu_scale")((-(-rest // 32),), (32,), (given, n, k))
        module.get_function("lu_update")((-(-rest // 8), -(-rest // 8)), (8, 8), (given, n, k))
    found = given.get()
    np.testing.assert_allclose((np.tril(found, -1) + np.eye(n)) @ np.triu(found), a, atol=1e-11)


@pytest.mark.parametrize("n", [1, 13, 40])
@pytest.mark.parametrize("block", [32, 64])
def test_lu_pivoted(device, module, n, block):
    a = np.random.default_rng(n).normal(size=(n, n)).astype("f4")
    given, pivots = quern.asarray(a), quern.zeros(n, "i4")
    module.get_function("lu_pivoted")((1,), (block,), (given, pivots, n), shared_mem=4 * n * n)
    found, order = given.get().astype("f8"), np.arange(n)
    for k, p in enumerate(pivots.get()):
        order[[k, p]] = order[[p, k]]
    lower = np.tril(found, -1) + np.eye(n)
    assert np.abs(lower).max() <= 1 + 1e-6
    np.testing.assert_allclose(lower @ np.triu(found), a[order], atol=1e-4)


@pytest.mark.parametrize("n", [2, 19, 50])
def test_gaussian_elimination(device, module, n):
    a, b = dominant(n, "f4"), np.random.default_rng(1).normal(size=n).astype("f4")
    left, right, factors, x = (
        quern.asarray(a),
        quern.asarray(b),
        quern.zeros((n, n), "f4"),
        quern.zeros(n, "f4"),
    )
    for k in range(n - 1):
        module.get_function("multipliers")((-(-n // 40),), (40,), (left, factors, n, k))
        grid = (-(-n // 4), -(-n // 4))
        module.get_function("eliminate")(grid, (4, 4), (left, right, factors, n, k))
    module.get_function("back_substitute")((1,), (32,), (left, right, x, n))
    np.testing.assert_allclose(x.get(), np.linalg.solve(a.astype("f8"), b), atol=1e-5)


@pytest.mark.parametrize("n", [1, 16, 31])
def test_cholesky(device, module, n):
    root = np.random.default_rng(n).normal(size=(3, n, n))
    a = root @ root.transpose(0, 2, 1) + n * np.eye(n)
    given = quern.asarray(a)
    module.get_function(f"cholesky<{n}>")((3,), (n,), (given,))
    np.testing.assert_allclose(given.get(), np.linalg.cholesky(a), atol=1e-12)


@pytest.mark.parametrize(("n", "per_row"), [(1, 1), (100, 5), (333, 40)])
def test_sparse_products(device, module, n, per_row):
    random = np.random.default_rng(n)
    dense = np.where(random.random((n, n)) < per_row / n, random.normal(size=(n, n)), 0).astype(
        "f4"
    )
    x = random.normal(size=n).astype("f4")
    wanted = dense.astype("f8") @ x
    r, c = (v.astype("i4") for v in np.nonzero(dense))
    values = dense[r, c]
    rows = np.concatenate([[0], np.cumsum(np.bincount(r, minlength=n))]).astype("i4")
    given = [quern.asarray(v) for v in (rows, c, values, x)]

    def check(name, grid, block, args):
        y = quern.zeros(n, "f4")
        module.get_function(name)(grid, block, tuple(y if a is None else a for a in args))
        np.testing.assert_allclose(y.get(), wanted, atol=2e-5)

    check("csr_scalar", (-(-n // 100),), (100,), (*given, None, n))
    for lanes in (2, 8, 32):
        check(f"csr_vector<{lanes}>", (-(-n * lanes // 96),), (96,), (*given, None, n))
    width = max(1, int(np.diff(rows).max()))
    columns, table = np.full((width, n), -1, "i4"), np.zeros((width, n), "f4")
    place = np.arange(len(r)) - rows[r]
    columns[place, r], table[place, r] = c, values
    check(
        "ell",
        (-(-n // 64),),
        (64,),
        (quern.asarray(columns), quern.asarray(table), given[3], None, n, width),
    )
    check("coo", (3,), (128,), (quern.asarray(r), *given[1:], None, len(r)))
