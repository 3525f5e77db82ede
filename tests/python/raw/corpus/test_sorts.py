"""Sorting: bitonic in shared and in global memory, odd-even, radix, a network, merge path."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
template <class T> __device__ void order(T& a, T& b, bool up) {
    if ((a > b) == up) {
        T t = a;
        a = b;
        b = t;
    }
}

// A block sorts a row of 2 * blockDim.x keys with their values.
template <class T> __global__ void bitonic_shared(T* keys, int* values) {
    extern __shared__ __align__(16) char raw[];
    const unsigned n = 2 * blockDim.x, t = threadIdx.x;
    T* k = (T*)raw;
    int* v = (int*)(k + n);
    keys += blockIdx.x * n, values += blockIdx.x * n;
    k[t] = keys[t], v[t] = values[t], k[t + n / 2] = keys[t + n / 2], v[t + n / 2] = values[t + n / 2];
    for (unsigned size = 2; size <= n; size <<= 1)
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned i = 2 * t - (t & (stride - 1));
            bool up = (i & size) == 0;
            if ((k[i] > k[i + stride]) == up) {
                order(k[i], k[i + stride], k[i] > k[i + stride]);
                int w = v[i];
                v[i] = v[i + stride], v[i + stride] = w;
            }
        }
    __syncthreads();
    keys[t] = k[t], values[t] = v[t], keys[t + n / 2] = k[t + n / 2], values[t + n / 2] = v[t + n / 2];
}

// One comparison of the network a thread; the host runs the passes.
extern "C" __global__ void bitonic_step(float* x, int j, int k) {
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x, ixj = i ^ j;
    if (ixj > i) {
        if ((i & k) == 0 && x[i] > x[ixj]) {
            float t = x[i];
            x[i] = x[ixj];
            x[ixj] = t;
        }
        if ((i & k) != 0 && x[i] < x[ixj]) {
            float t = x[i];
            x[i] = x[ixj];
            x[ixj] = t;
        }
    }
}

extern "C" __global__ void odd_even(int* x, int n) {
    __shared__ bool swapped;
    do {
        __syncthreads();
        if (threadIdx.x == 0) swapped = false;
        __syncthreads();
        for (int phase = 0; phase < 2; ++phase) {
            for (int i = 2 * threadIdx.x + phase; i + 1 < n; i += 2 * blockDim.x)
                if (x[i] > x[i + 1]) {
                    int t = x[i];
                    x[i] = x[i + 1], x[i + 1] = t;
                    swapped = true;
                }
            __syncthreads();
        }
    } while (swapped);
}

// Least significant digits first, four bits a pass: count, offsets, scatter that keeps order within a block's tile.
#define DIGITS 16
extern "C" __global__ void radix_count(const unsigned* in, unsigned* counts, int n, int shift) {
    __shared__ unsigned bins[DIGITS];
    if (threadIdx.x < DIGITS) bins[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i] >> shift & (DIGITS - 1)], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}
extern "C" __global__ void radix_offsets(unsigned* counts, int n) {
    if (threadIdx.x) return;
    unsigned sum = 0;
    for (int i = 0; i < n; ++i) {
        unsigned c = counts[i];
        counts[i] = sum;
        sum += c;
    }
}
extern "C" __global__ void radix_scatter(const unsigned* in, unsigned* out, const unsigned* offsets, int n,
                                         int shift) {
    __shared__ unsigned before[8][DIGITS]; // of this warp: how many such digits the warps before it hold
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned key = i < n ? in[i] : 0, digit = i < n ? key >> shift & (DIGITS - 1) : DIGITS;
    unsigned same = __match_any_sync(0xffffffff, digit), rank = __popc(same & ((1u << lane) - 1));
    if (lane < DIGITS) before[warp][lane] = 0;
    __syncwarp();
    if (rank == 0 && i < n) before[warp][digit] = __popc(same);
    __syncthreads();
    if (threadIdx.x < DIGITS) {
        unsigned sum = offsets[threadIdx.x * gridDim.x + blockIdx.x];
        for (int w = 0; w < blockDim.x / 32; ++w) {
            unsigned c = before[w][threadIdx.x];
            before[w][threadIdx.x] = sum;
            sum += c;
        }
    }
    __syncthreads();
    if (i < n) out[before[warp][digit] + rank] = key;
}

// Batcher's network for eight values in registers, one row a thread.
#define CAS(i, j) order(r[i], r[j], true)
extern "C" __global__ void network(double* x, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double r[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) r[i] = x[row * 8 + i];
    CAS(0, 1);
    CAS(2, 3);
    CAS(4, 5);
    CAS(6, 7);
    CAS(0, 2);
    CAS(1, 3);
    CAS(4, 6);
    CAS(5, 7);
    CAS(1, 2);
    CAS(5, 6);
    CAS(0, 4);
    CAS(3, 7);
    CAS(1, 5);
    CAS(2, 6);
    CAS(1, 4);
    CAS(3, 6);
    CAS(2, 4);
    CAS(3, 5);
    CAS(3, 4);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[row * 8 + i] = r[i];
}

// Merge path: each thread finds where its diagonal crosses, then merges its share.
extern "C" __global__ void merge(const int* a, int na, const int* b, int nb, int* out, int share) {
    int diagonal = min((int)(blockIdx.x * blockDim.x + threadIdx.x) * share, na + nb);
    int low = max(0, diagonal - nb), high = min(diagonal, na);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    int i = low, j = diagonal - low;
    for (int k = diagonal; k < min(diagonal + share, na + nb); ++k)
        out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}
"""
TYPES = {"float": "f4", "unsigned long long": "u8", "short": "i2"}


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(code=CODE, name_expressions=[f"bitonic_shared<{t}>" for t in TYPES])


@pytest.mark.parametrize("ctype", TYPES)
@pytest.mark.parametrize("n", [2, 64, 1024])
def test_bitonic_shared(device, module, ctype, n):
    keys = np.random.default_rng(n).permutation(3 * n).reshape(3, n).astype(TYPES[ctype])
    values = np.arange(3 * n, dtype="i4").reshape(3, n)
    k, v = quern.asarray(keys), quern.asarray(values)
    shared = n * (keys.itemsize + 4)
    module.get_function(f"bitonic_shared<{ctype}>")((3,), (n // 2,), (k, v), shared_mem=shared)
    np.testing.assert_array_equal(k.get(), np.sort(keys, axis=1))
    np.testing.assert_array_equal(keys.ravel()[v.get()], np.sort(keys, axis=1))


@pytest.mark.parametrize("n", [32, 2048])
def test_bitonic_steps(device, module, n):
    x = np.random.default_rng(n).normal(size=n).astype("f4")
    out, step = quern.asarray(x), module.get_function("bitonic_step")
    k = 2
    while k <= n:
        j = k // 2
        while j:
            step((n // 32,), (32,), (out, j, k))
            j //= 2
        k *= 2
    np.testing.assert_array_equal(out.get(), np.sort(x))


@pytest.mark.parametrize(("n", "block"), [(2, 1), (101, 64), (257, 33)])
def test_odd_even(device, module, n, block):
    x = np.random.default_rng(n).integers(-50, 50, n).astype("i4")
    out = quern.asarray(x)
    module.get_function("odd_even")((1,), (block,), (out, n))
    np.testing.assert_array_equal(out.get(), np.sort(x))


@pytest.mark.parametrize(("n", "block"), [(1, 32), (1000, 64), (3001, 256)])
def test_radix(device, module, n, block):
    x = np.random.default_rng(n).integers(0, 2**32, n).astype("u4")
    a, b = quern.asarray(x), quern.zeros(n, "u4")
    blocks = -(-n // block)
    counts = quern.zeros(16 * blocks, "u4")
    for shift in range(0, 32, 4):
        module.get_function("radix_count")((blocks,), (block,), (a, counts, n, shift))
        module.get_function("radix_offsets")((1,), (32,), (counts, 16 * blocks))
        module.get_function("radix_scatter")((blocks,), (block,), (a, b, counts, n, shift))
        a, b = b, a
    np.testing.assert_array_equal(a.get(), np.sort(x))


@pytest.mark.parametrize("rows", [1, 100])
def test_network(device, module, rows):
    x = np.random.default_rng(rows).normal(size=(rows, 8))
    out = quern.asarray(x)
    module.get_function("network")((-(-rows // 33),), (33,), (out, rows))
    np.testing.assert_array_equal(out.get(), np.sort(x, axis=1))


@pytest.mark.parametrize(
    ("na", "nb", "share"), [(1, 0, 1), (0, 5, 2), (1000, 333, 7), (40, 4000, 64)]
)
def test_merge_path(device, module, na, nb, share):
    random = np.random.default_rng(na)
    a, b = (np.sort(random.integers(0, 500, n)).astype("i4") for n in (na, nb))
    out = quern.zeros(na + nb, "i4")
    threads = -(-(na + nb) // share)
    args = (quern.asarray(a), na, quern.asarray(b), nb, out, share)
    module.get_function("merge")((-(-threads // 50),), (50,), args)
    np.testing.assert_array_equal(out.get(), np.sort(np.concatenate([a, b])))
