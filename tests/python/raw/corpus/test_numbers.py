"""Linear systems, eigenvalues and sparse rows; residues, long integers, bits in inline PTX, checksums."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

import quern

pytestmark = pytest.mark.parametrize("tier", ["fibers", "regions"])


def module(source, tier, *options, names=None):
    return quern.RawModule(
        code=source, options=(*options, f"--quern-waiting={tier}"), name_expressions=names
    )


# Tridiagonal systems by parallel cyclic reduction, several arrays in one dynamic block of memory.
TRIDIAGONAL = r"""
template <class T> __device__ void solve(const T* lower, const T* middle, const T* upper, const T* right, T* x, int n) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *a = reinterpret_cast<T*>(memory), *b = a + n, *c = b + n, *d = c + n;
    int* steps = reinterpret_cast<int*>(d + n);
    const int i = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * n + i;
    a[i] = i > 0 ? lower[at] : T(0), b[i] = middle[at], c[i] = i < n - 1 ? upper[at] : T(0), d[i] = right[at];
    if (i == 0) *steps = 0;
    __syncthreads();
    for (int delta = 1; delta < n; delta *= 2) {
        T na = 0, nb = b[i], nc = 0, nd = d[i];
        if (i - delta >= 0) {
            T k = a[i] / b[i - delta];
            nb -= c[i - delta] * k, nd -= d[i - delta] * k, na = -a[i - delta] * k;
        }
        if (i + delta < n) {
            T k = c[i] / b[i + delta];
            nb -= a[i + delta] * k, nd -= d[i + delta] * k, nc = -c[i + delta] * k;
        }
        __syncthreads();
        a[i] = na, b[i] = nb, c[i] = nc, d[i] = nd;
        if (i == 0) ++*steps;
        __syncthreads();
    }
    x[at] = d[i] / b[i] + T(*steps) * 0;
}
#define SOLVE(T) extern "C" __global__ void solve_##T( \
    const T* l, const T* m, const T* u, const T* r, T* x, int n) { solve(l, m, u, r, x, n); }
SOLVE(float) SOLVE(double)
"""


@pytest.mark.parametrize(
    ("ctype", "dtype", "rtol"), [("float", np.float32, 2e-4), ("double", np.float64, 1e-11)]
)
@pytest.mark.parametrize("n", [1, 33, 256])
def test_tridiagonal_systems(device, tier, ctype, dtype, rtol, n):
    random = np.random.default_rng(n)
    lower, upper, right = random.random((3, 5, n)).astype(dtype)
    middle = (random.random((5, n)) + 3).astype(dtype)
    x = quern.zeros((5, n), dtype)
    kernel = module(TRIDIAGONAL, tier).get_function(f"solve_{ctype}")
    given = [quern.asarray(v) for v in (lower, middle, upper, right)]
    kernel((5,), (n,), (*given, x, np.int32(n)), shared_mem=4 * n * np.dtype(dtype).itemsize + 4)
    for k in range(5):
        below, on, above, b = (v[k].astype(np.float64) for v in (lower, middle, upper, right))
        full = np.diag(on) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
        wanted = np.linalg.solve(full, b)
        np.testing.assert_allclose(quern.asnumpy(x)[k], wanted, rtol=rtol, atol=rtol)


# Products of polynomials by number-theoretic transforms: 64-bit residues, Montgomery's way.
RESIDUES = r"""
typedef unsigned long long u64;
__constant__ u64 modulus, inverse;   // of the modulus, negated, mod 2^64
__device__ __forceinline__ u64 mul(u64 a, u64 b) {
    u64 lo = a * b, hi = __umul64hi(a, b);
    u64 m = lo * inverse, t = __umul64hi(m, modulus);
    u64 r = hi + t + (lo != 0);
    return r >= modulus ? r - modulus : r;
}
extern "C" __global__ void transform(u64* data, const u64* roots, int log2n) {
    extern __shared__ u64 s[];
    int n = 1 << log2n, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) s[__brev(i) >> (32 - log2n)] = data[i];
    __syncthreads();
    for (int stage = 0; stage < log2n; ++stage) {
        int half = 1 << stage;
        for (int i = t; i < n / 2; i += blockDim.x) {
            int k = i & (half - 1), at = ((i >> stage) << (stage + 1)) + k;
            u64 u = s[at], v = mul(s[at + half], roots[k << (log2n - 1 - stage)]);
            u64 sum = u + v;
            s[at] = sum >= modulus ? sum - modulus : sum;
            s[at + half] = u >= v ? u - v : u + modulus - v;
        }
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) data[i] = s[i];
}
"""


def test_residues(device, tier):
    p, generator, log2n = 4179340454199820289, 3, 8  # 29 * 2^57 + 1
    n, r = 1 << log2n, 1 << 64
    program = module(RESIDUES, tier)
    for name, value in (("modulus", p), ("inverse", -pow(p, -1, r) % r)):
        pointer = program.get_global(name)
        quern.ndarray(1, np.uint64, pointer)[...] = np.uint64(value)
    root = pow(generator, (p - 1) // n, p)
    roots = [pow(root, k, p) for k in range(n // 2)]
    a = [int(v) for v in np.random.default_rng(1).integers(0, p, n, np.uint64)]
    data = quern.asarray(np.array([v * r % p for v in a], np.uint64))
    there = quern.asarray(np.array([v * r % p for v in roots], np.uint64))
    program.get_function("transform")((1,), (64,), (data, there, np.int32(log2n)), shared_mem=8 * n)
    back = pow(r, -1, p)
    found = [int(v) * back % p for v in quern.asnumpy(data)]
    wanted = [sum(v * pow(root, i * k % n, p) for i, v in enumerate(a)) % p for k in range(n)]
    assert found == wanted


# Long integers: chains of carries in inline PTX, a limb a step.
CARRIES = r"""
typedef unsigned int u32;
template <int Limbs> __global__ void multiply(const u32* x, const u32* y, u32* z, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    u32 a[Limbs], r[2 * Limbs] = {};
    for (int i = 0; i < Limbs; ++i) a[i] = x[t * Limbs + i];
#pragma unroll
    for (int j = 0; j < Limbs; ++j) {
        u32 b = y[t * Limbs + j], carry = 0;
#pragma unroll
        for (int i = 0; i < Limbs; ++i) {
            u32 lo, hi;
            asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\t"
                "madc.hi.u32 %1, %2, %3, 0;" : "=r"(lo), "=r"(hi) : "r"(a[i]), "r"(b), "r"(r[i + j]));
            asm("add.cc.u32 %0, %0, %2;\n\taddc.u32 %1, %1, 0;" : "+r"(lo), "+r"(hi) : "r"(carry));
            r[i + j] = lo;
            carry = hi;
        }
        r[j + Limbs] = carry;
    }
    for (int i = 0; i < 2 * Limbs; ++i) z[t * 2 * Limbs + i] = r[i];
}
extern "C" __global__ void bits(const u32* x, u32* y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    u32 v = x[t], w = x[(t + 1) % n], out, lane, mask;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(out) : "r"(v), "r"(w), "r"(v >> 3));
    y[6 * t] = out;
    asm("bfe.u32 %0, %1, 5, 11;" : "=r"(out) : "r"(v));
    y[6 * t + 1] = out;
    asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(out) : "r"(v), "r"(w));
    y[6 * t + 2] = out;
    asm("prmt.b32 %0, %1, %2, 0x3715;" : "=r"(out) : "r"(v), "r"(w));
    y[6 * t + 3] = out;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    y[6 * t + 4] = lane + 100 * __popc(mask);
    asm("{ .reg .pred p; setp.gt.u32 p, %1, %2; selp.u32 %0, %1, %2, p; }" : "=r"(out) : "r"(v), "r"(w));
    y[6 * t + 5] = out;
}
"""


@pytest.mark.parametrize("limbs", [2, 8])
def test_long_integers(device, tier, limbs):
    name = f"multiply<{limbs}>"
    kernel = module(CARRIES, tier, names=[name]).get_function(name)
    n = 70
    x, y = np.random.default_rng(limbs).integers(0, 1 << 32, (2, n, limbs), np.uint32)
    x[0], y[0] = 0xFFFFFFFF, 0xFFFFFFFF
    z = quern.zeros((n, 2 * limbs), np.uint32)
    kernel((2,), (40,), (quern.asarray(x), quern.asarray(y), z, np.int32(n)))

    def whole(words):
        return sum(int(w) << (32 * k) for k, w in enumerate(words))

    for i, words in enumerate(quern.asnumpy(z)):
        assert whole(words) == whole(x[i]) * whole(y[i])


def test_instructions_on_bits(device, tier):
    kernel = module(CARRIES, tier).get_function("bits")
    n = 100
    v = np.random.default_rng(9).integers(0, 1 << 32, n, np.uint64).astype(np.uint32)
    w = np.roll(v, -1)
    y = quern.zeros((n, 6), np.uint32)
    kernel((2,), (64,), (quern.asarray(v), y, np.int32(n)))
    both = np.stack([v, w], 1).view(np.uint8)
    lane = (np.arange(n) % 64 % 32).astype(np.uint32)
    wanted = np.stack(
        [
            v ^ w ^ (v >> 3),
            v >> 5 & 0x7FF,
            w & ~np.uint32(0xFFF00) | (v & 0xFFF) << 8,
            both[:, [5, 1, 7, 3]].copy().view(np.uint32)[:, 0],
            lane + 100 * lane,
            np.maximum(v, w),
        ],
        1,
    )
    np.testing.assert_array_equal(quern.asnumpy(y), wanted)


# Rows of a sparse matrix: tiles of lanes as wide as the rows are long, templates over both.
SPARSE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <class T, int Lanes, class Op> __global__ void rows_by(
    const int* starts, const int* columns, const T* values, const T* x, T* y, int rows, Op op, T zero) {
    auto tile = cg::tiled_partition<Lanes>(cg::this_thread_block());
    int groups = tile.meta_group_size();
    for (int row = blockIdx.x * groups + tile.meta_group_rank(); row < rows; row += gridDim.x * groups) {
        T sum = zero;
        for (int k = __ldg(starts + row) + tile.thread_rank(); k < __ldg(starts + row + 1); k += Lanes)
            sum = op(sum, __ldg(values + k) * __ldg(x + columns[k]));
        sum = cg::reduce(tile, sum, op);
        if (tile.thread_rank() == 0) y[row] = sum;
    }
}
template <class T> using Plus = cg::plus<T>;
template <class T> using More = cg::greater<T>;
"""


@pytest.mark.parametrize("lanes", [4, 32])
@pytest.mark.parametrize("op", ["Plus", "More"])
def test_rows_of_sparse_matrices(device, tier, lanes, op):
    name = f"rows_by<double, {lanes}, {op}<double>>"
    kernel = module(SPARSE, tier, names=[name]).get_function(name)
    random = np.random.default_rng(lanes)
    rows = 77
    counts = random.integers(0, 90, rows)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns = random.integers(0, 50, starts[-1], dtype=np.int32)
    values, x = random.random(starts[-1]), random.random(50)
    y = quern.zeros(rows)
    given = [quern.asarray(v) for v in (starts, columns, values, x)]
    empty = np.zeros((), [("none", np.uint8)])[()]  # what a functor without members is
    kernel((3,), (64,), (*given, y, np.int32(rows), empty, 0.0))
    wanted = np.zeros(rows)
    for r in range(rows):
        products = values[starts[r] : starts[r + 1]] * x[columns[starts[r] : starts[r + 1]]]
        wanted[r] = products.sum() if op == "Plus" else products.max(initial=0)
    np.testing.assert_allclose(quern.asnumpy(y), wanted, rtol=1e-12)


# Checksums joined by a tree: zeros appended by squared matrices over bits, as zlib does it.
CHECKS = r"""
__constant__ unsigned table[256];
extern "C" __global__ void crc(const unsigned char* text, const int* starts, unsigned* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned c = ~0u;
        const unsigned char *p = text + starts[i], *end = text + starts[i + 1];
        for (; p + 4 <= end && ((size_t)p & 3); ++p) c = table[(c ^ *p) & 255] ^ (c >> 8);
        for (; p + 4 <= end; p += 4) {
            uchar4 four = *reinterpret_cast<const uchar4*>(p);
            c = table[(c ^ four.x) & 255] ^ (c >> 8); c = table[(c ^ four.y) & 255] ^ (c >> 8);
            c = table[(c ^ four.z) & 255] ^ (c >> 8); c = table[(c ^ four.w) & 255] ^ (c >> 8);
        }
        while (p < end) c = table[(c ^ *p++) & 255] ^ (c >> 8);
        out[i] = ~c;
    }
}
"""


def test_checksums(device, tier):
    program = module(CHECKS, tier)
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ 0xEDB88320, table >> 1).astype(np.uint32)
    quern.ndarray(256, np.uint32, program.get_global("table"))[...] = quern.asarray(table)
    random = np.random.default_rng(8)
    lengths = random.integers(0, 60, 90)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    text = random.integers(0, 256, starts[-1], dtype=np.uint8)
    out = quern.zeros(90, np.uint32)
    given = (quern.asarray(text), quern.asarray(starts), out, np.int32(90))
    program.get_function("crc")((2,), (32,), given)
    wanted = [zlib.crc32(text[a:b].tobytes()) for a, b in itertools.pairwise(starts)]
    assert quern.asnumpy(out).tolist() == wanted


# Eigenvalues of small symmetric matrices, a warp each: Jacobi's rotations in pairs.
JACOBI = r"""
template <class T, int N> struct Small { T at[N][N + 1]; };
template <class T, int N> __global__ void eigen(const T* in, T* out, int count, int sweeps) {
    __shared__ Small<T, N> all[2];
    auto& a = all[threadIdx.y].at;
    int which = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    bool mine = which < count;
    for (int i = 0; i < N; ++i)
        if (lane < N) a[i][lane] = mine ? in[(which * N + i) * N + lane] : T(i == lane);
    __syncwarp();
    for (int s = 0; s < sweeps; ++s)
        for (int p = 0; p < N - 1; ++p)
            for (int q = p + 1; q < N; ++q) {
                T app = a[p][p], aqq = a[q][q], apq = a[p][q], c = 1, d = 0;
                if (fabs(apq) > T(1e-30)) {
                    T theta = (aqq - app) / (2 * apq);
                    T t = copysign(T(1), theta) / (fabs(theta) + sqrt(theta * theta + 1));
                    c = rsqrt(t * t + 1), d = t * c;
                }
                __syncwarp();
                if (lane < N) {
                    T x = a[p][lane], y = a[q][lane];
                    a[p][lane] = c * x - d * y, a[q][lane] = d * x + c * y;
                }
                __syncwarp();
                if (lane < N) {
                    T x = a[lane][p], y = a[lane][q];
                    a[lane][p] = c * x - d * y, a[lane][q] = d * x + c * y;
                }
                __syncwarp();
            }
    if (mine && lane < N) out[which * N + lane] = a[lane][lane];
}
"""


def test_eigenvalues(device, tier):
    name = "eigen<double, 6>"
    kernel = module(JACOBI, tier, names=[name]).get_function(name)
    a = np.random.default_rng(12).normal(size=(5, 6, 6))
    a = a + a.transpose(0, 2, 1)
    out = quern.zeros((5, 6))
    kernel((3,), (32, 2), (quern.asarray(a), out, np.int32(5), np.int32(10)))
    found = np.sort(quern.asnumpy(out), 1)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(a), rtol=1e-9, atol=1e-9)
