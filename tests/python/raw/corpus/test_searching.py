"""Trees over codes, programs as data, neighbours, selection, spins, warps with different work."""

from __future__ import annotations

import numpy as np
import pytest

import quern

pytestmark = pytest.mark.parametrize("tier", ["fibers", "regions"])


def module(source, tier, *options, names=None):
    return quern.RawModule(
        code=source, options=(*options, f"--quern-waiting={tier}"), name_expressions=names
    )


# Points on a curve that fills space, and the tree over their codes (Karras).
CODES = r"""
__device__ __forceinline__ unsigned spread(unsigned v) {
    v = (v * 0x00010001u) & 0xFF0000FFu; v = (v * 0x00000101u) & 0x0F00F00Fu;
    v = (v * 0x00000011u) & 0xC30C30C3u; v = (v * 0x00000005u) & 0x49249249u;
    return v;
}
extern "C" __global__ void morton(const float3* points, unsigned long long* codes, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float3 p = points[i];
        auto scaled = [](float v) { return (unsigned)fminf(fmaxf(v * 1024.f, 0.f), 1023.f); };
        unsigned code = spread(scaled(p.x)) * 4 + spread(scaled(p.y)) * 2 + spread(scaled(p.z));
        codes[i] = (unsigned long long)code << 32 | i;
    }
}
__device__ int common(const unsigned long long* codes, int n, int i, int j) {
    return j < 0 || j >= n ? -1 : __clzll(codes[i] ^ codes[j]);
}
extern "C" __global__ void hierarchy(const unsigned long long* codes, int2* children, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1) return;
    int d = common(codes, n, i, i + 1) - common(codes, n, i, i - 1) >= 0 ? 1 : -1;
    int least = common(codes, n, i, i - d), most = 2;
    while (common(codes, n, i, i + most * d) > least) most <<= 1;
    int length = 0;
    for (int t = most >> 1; t > 0; t >>= 1)
        if (common(codes, n, i, i + (length + t) * d) > least) length += t;
    int j = i + length * d, node = common(codes, n, i, j), s = 0;
    for (int t = length; t > 1;) {
        t = (t + 1) >> 1;
        if (common(codes, n, i, i + (s + t) * d) > node) s += t;
    }
    int split = i + s * d + min(d, 0);
    children[i] = make_int2(min(i, j) == split ? ~split : split, max(i, j) == split + 1 ? ~(split + 1) : split + 1);
}
"""


def test_tree_over_codes(device, tier):
    n = 300
    points = np.random.default_rng(4).random((n, 3), np.float32)
    program = module(CODES, tier)
    codes = quern.zeros(n, np.uint64)
    program.get_function("morton")((2,), (64,), (quern.asarray(points), codes, np.int32(n)))
    scaled = np.minimum((points * 1024).astype(np.int64), 1023)
    wanted = np.zeros(n, np.uint64)
    for bit in range(10):
        for axis in range(3):
            place = np.uint64(32 + 3 * bit + 2 - axis)
            wanted |= (scaled[:, axis] >> bit & 1).astype(np.uint64) << place
    np.testing.assert_array_equal(quern.asnumpy(codes), wanted | np.arange(n).astype(np.uint64))
    ordered = np.sort(wanted | np.arange(n).astype(np.uint64))
    children = quern.zeros((n - 1, 2), np.int32)
    program.get_function("hierarchy")((5,), (64,), (quern.asarray(ordered), children, np.int32(n)))
    tree = quern.asnumpy(children)
    leaves, open_nodes = [], [0]
    while open_nodes:
        node = open_nodes.pop()
        for child in tree[node][::-1]:
            if child < 0:
                leaves.append(~child)
            else:
                open_nodes.append(child)
    assert sorted(leaves) == list(range(n))


# A machine whose programs are data: switch, a stack of its own, calls by a table of functions.
MACHINE = r"""
enum Op : unsigned char { push, load, add, sub, mul, divide, less, jump, branch, call, swap, stop };
struct Step { unsigned char op; short by; float value; };
typedef float (*Function)(float);
__device__ float square(float x) { return x * x; }
__device__ float half(float x) { return 0.5f * x; }
__device__ float ramp(float x) { return x > 0 ? x : 0; }
__device__ Function table[] = {square, half, ramp};
extern "C" __global__ void run(const Step* program, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float stack[16];
    int top = 0, at = 0, fuel = 1000;
    for (bool on = true; on && fuel-- > 0;) {
        Step s = program[at++];
        switch (s.op) {
        case push: stack[top++] = s.value; break;
        case load: stack[top++] = x[i]; break;
        case add: --top; stack[top - 1] += stack[top]; break;
        case sub: --top; stack[top - 1] -= stack[top]; break;
        case mul: --top; stack[top - 1] *= stack[top]; break;
        case divide: --top; stack[top - 1] /= stack[top]; break;
        case less: --top; stack[top - 1] = stack[top - 1] < stack[top]; break;
        case jump: at += s.by; break;
        case branch: if (stack[--top] != 0) at += s.by; break;
        case call: stack[top - 1] = table[s.by](stack[top - 1]); break;
        case swap: { float t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; } break;
        default: on = false;
        }
    }
    y[i] = stack[0];
}
"""


def test_programs_as_data(device, tier):
    ops = [
        "push",
        "load",
        "add",
        "sub",
        "mul",
        "divide",
        "less",
        "jump",
        "branch",
        "call",
        "swap",
        "stop",
    ]
    text = [
        ("load", 0, 0),
        ("call", 0, 0),
        ("call", 1, 0),
        ("push", 0, 1),
        ("add", 0, 0),  # x * x / 2 + 1
        ("push", 0, 0),
        ("swap", 0, 0),
        ("sub", 0, 0),  # negated
        ("call", 2, 0),  # ramp: 0
        ("load", 0, 0),
        ("push", 0, 0.5),
        ("less", 0, 0),
        ("branch", 2, 0),
        ("push", 0, 3),
        ("add", 0, 0),
        ("load", 0, 0),
        ("add", 0, 0),
        ("stop", 0, 0),
    ]
    step = np.dtype([("op", np.uint8), ("by", np.int16), ("value", np.float32)], align=True)
    program = np.zeros(len(text), step)
    for k, (op, by, value) in enumerate(text):
        program[k] = (ops.index(op), by, value)
    n = 100
    x = np.random.default_rng(2).random(n, np.float32)
    y = quern.zeros(n, np.float32)
    kernel = module(MACHINE, tier).get_function("run")
    kernel((4,), (32,), (quern.asarray(program.view(np.uint8)), quern.asarray(x), y, np.int32(n)))
    np.testing.assert_allclose(quern.asnumpy(y), np.where(x < 0.5, x, 3 + x), rtol=1e-6)


# Neighbours: each thread keeps its nearest in an array of its own, sorted as they come.
NEIGHBOURS = r"""
#include <math_constants.h>
template <int K> __global__ void nearest(
    const float* points, const float* queries, int* index, float* distance, int n, int m) {
    __shared__ float tile[3][128];
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    float best[K], x = 0, y = 0, z = 0;
    int who[K];
    for (int k = 0; k < K; ++k) best[k] = CUDART_INF_F, who[k] = -1;
    if (q < m) x = queries[3 * q], y = queries[3 * q + 1], z = queries[3 * q + 2];
    for (int base = 0; base < n; base += 128) {
        for (int t = threadIdx.x; t < 128; t += blockDim.x)
            for (int axis = 0; axis < 3; ++axis)
                tile[axis][t] = base + t < n ? points[3 * (base + t) + axis] : CUDART_INF_F;
        __syncthreads();
        for (int t = 0; t < min(128, n - base); ++t) {
            float dx = tile[0][t] - x, dy = tile[1][t] - y, dz = tile[2][t] - z;
            float d = dx * dx + dy * dy + dz * dz;
            if (d >= best[K - 1]) continue;
            int k = K - 1;
            for (; k > 0 && best[k - 1] > d; --k) best[k] = best[k - 1], who[k] = who[k - 1];
            best[k] = d, who[k] = base + t;
        }
        __syncthreads();
    }
    if (q < m)
        for (int k = 0; k < K; ++k) index[q * K + k] = who[k], distance[q * K + k] = sqrtf(best[k]);
}
"""


@pytest.mark.parametrize("k", [1, 5])
def test_nearest_neighbours(device, tier, k):
    name = f"nearest<{k}>"
    kernel = module(NEIGHBOURS, tier, names=[name]).get_function(name)
    random = np.random.default_rng(k)
    n, m = 300, 90
    points, queries = random.random((n, 3), np.float32), random.random((m, 3), np.float32)
    index, distance = quern.zeros((m, k), np.int32), quern.zeros((m, k), np.float32)
    given = (quern.asarray(points), quern.asarray(queries), index, distance)
    kernel((3,), (32,), (*given, np.int32(n), np.int32(m)))
    every = np.linalg.norm(queries[:, None].astype(np.float64) - points, axis=-1)
    order = np.argsort(every, 1)[:, :k]
    np.testing.assert_array_equal(quern.asnumpy(index), order)
    wanted = np.take_along_axis(every, order, 1)
    np.testing.assert_allclose(quern.asnumpy(distance), wanted, rtol=1e-5)


# Largest k of each row: digits from the top, counted in shared memory (radix selection).
SELECTION = r"""
extern "C" __global__ void kth(const float* x, float* out, int n, int k) {
    __shared__ unsigned counts[256];
    __shared__ unsigned prefix, rest;
    const float* row = x + (size_t)blockIdx.x * n;
    auto key = [](float v) { unsigned u = __float_as_uint(v); return u & 0x80000000u ? ~u : u | 0x80000000u; };
    if (threadIdx.x == 0) prefix = 0, rest = k;
    unsigned mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            unsigned u = key(row[i]);
            if ((u & mask) == prefix) atomicAdd(&counts[u >> shift & 255], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 255;
            while (counts[digit] < rest) rest -= counts[digit--];
            prefix |= (unsigned)digit << shift;
        }
        mask |= 255u << shift;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        unsigned u = prefix;
        out[blockIdx.x] = __uint_as_float(u & 0x80000000u ? u & 0x7fffffffu : ~u);
    }
}
"""


@pytest.mark.parametrize("n", [1, 37, 1000])
def test_selection_by_digits(device, tier, n):
    x = np.random.default_rng(n).normal(size=(5, n)).astype(np.float32)
    kernel = module(SELECTION, tier).get_function("kth")
    for k in {1, (n + 1) // 2, n}:
        out = quern.zeros(5, np.float32)
        kernel((5,), (64,), (quern.asarray(x), out, np.int32(n), np.int32(k)))
        np.testing.assert_array_equal(quern.asnumpy(out), np.sort(x, 1)[:, n - k])


# Spins on a chequerboard, and dice of the curand device API.
SPINS = r"""
#include <curand_kernel.h>
extern "C" __global__ void begin(curandStatePhilox4_32_10_t* states, unsigned long long seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) curand_init(seed, i, 0, &states[i]);
}
extern "C" __global__ void sweep(
    signed char* spin, curandStatePhilox4_32_10_t* states, float beta, int wide, int high, int colour) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= wide || j >= high || (i + j) % 2 != colour) return;
    int at = j * wide + i, sum = spin[j * wide + (i + 1) % wide] + spin[j * wide + (i + wide - 1) % wide]
        + spin[(j + 1) % high * wide + i] + spin[(j + high - 1) % high * wide + i];
    float4 r = curand_uniform4(&states[at]);
    float up = 1.f / (1.f + __expf(-2.f * beta * sum));
    spin[at] = r.x < up ? 1 : -1;
}
"""


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_spins(device, tier, beta):
    wide, high = 64, 48
    program = module(SPINS, tier)
    states = quern.zeros(wide * high * 64, np.uint8)
    begin = program.get_function("begin")
    begin((wide * high // 64,), (64,), (states, np.uint64(7), np.int32(wide * high)))
    spin = quern.ones((high, wide), np.int8)
    sweep = program.get_function("sweep")
    for step in range(80):
        rest = (np.float32(beta), np.int32(wide), np.int32(high), np.int32(step % 2))
        sweep((4, 3), (16, 16), (spin, states, *rest))
    order = abs(quern.asnumpy(spin).mean())
    assert set(np.unique(quern.asnumpy(spin))) <= {-1, 1}
    assert order > 0.95 if beta == 1.0 else order < 0.2


# Producers and consumers: warps of one block with different work meet at a ring of slots.
RING = r"""
extern "C" __global__ void ring(const int* x, int* y, int rounds) {
    __shared__ volatile int slots[4][32];
    __shared__ int filled[4], emptied[4];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x < 4) filled[threadIdx.x] = 0, emptied[threadIdx.x] = 0;
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {
        int slot = r % 4, turn = r / 4;
        if (warp == 0) {
            while (atomicAdd(&emptied[slot], 0) < turn) __nanosleep(20);
            slots[slot][lane] = x[(blockIdx.x * rounds + r) * 32 + lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) atomicExch(&filled[slot], turn + 1);
        } else {
            while (atomicAdd(&filled[slot], 0) < turn + 1) __nanosleep(20);
            y[(blockIdx.x * rounds + r) * 32 + lane] = slots[slot][31 - lane] * 2;
            __threadfence_block();
            __syncwarp();
            if (lane == 0) atomicExch(&emptied[slot], turn + 1);
        }
    }
}
"""


def test_warps_with_different_work(device, tier):
    rounds = 13
    x = np.random.default_rng(6).integers(-99, 99, (3, rounds, 32), dtype=np.int32)
    y = quern.zeros_like(quern.asarray(x))
    module(RING, tier).get_function("ring")((3,), (64,), (quern.asarray(x), y, np.int32(rounds)))
    np.testing.assert_array_equal(quern.asnumpy(y), 2 * x[:, :, ::-1])
