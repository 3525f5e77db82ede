"""Prefix sums: Hillis-Steele, Blelloch, warp shuffles, one pass over the grid with look-back; segments, compaction."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
// Hillis and Steele, inclusive, two buffers.
extern "C" __global__ void hillis_steele(const int* in, int* out, int n) {
    extern __shared__ int buffers[];
    int t = threadIdx.x, from = 0;
    buffers[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d <<= 1) {
        int to = 1 - from;
        int* a = buffers + from * blockDim.x;
        buffers[to * blockDim.x + t] = t >= d ? a[t] + a[t - d] : a[t];
        from = to;
        __syncthreads();
    }
    if (t < n) out[t] = buffers[from * blockDim.x + t];
}

// Blelloch, exclusive, two elements a thread, indices padded against bank conflicts.
#define PAD(i) ((i) + ((i) >> 5))
extern "C" __global__ void blelloch(const float* in, float* out, float* sums, int n) {
    extern __shared__ float temp[];
    int t = threadIdx.x, width = 2 * blockDim.x, base = blockIdx.x * width;
    int offset = 1;
    temp[PAD(t)] = base + t < n ? in[base + t] : 0.f;
    temp[PAD(t + blockDim.x)] = base + t + blockDim.x < n ? in[base + t + blockDim.x] : 0.f;
    for (int d = width >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = PAD(offset * (2 * t + 1) - 1), b = PAD(offset * (2 * t + 2) - 1);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (t == 0) {
        if (sums) sums[blockIdx.x] = temp[PAD(width - 1)];
        temp[PAD(width - 1)] = 0;
    }
    for (int d = 1; d < width; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = PAD(offset * (2 * t + 1) - 1), b = PAD(offset * (2 * t + 2) - 1);
            float v = temp[a];
            temp[a] = temp[b];
            temp[b] += v;
        }
    }
    __syncthreads();
    if (base + t < n) out[base + t] = temp[PAD(t)];
    if (base + t + blockDim.x < n) out[base + t + blockDim.x] = temp[PAD(t + blockDim.x)];
}
extern "C" __global__ void add_offsets(float* out, const float* offsets, int width, int n) {
    for (int i = blockIdx.x * width + threadIdx.x; i < min((blockIdx.x + 1) * width, n); i += blockDim.x)
        out[i] += offsets[blockIdx.x];
}

template <class T> __device__ T inclusive_in_warp(T v) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        T other = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += other;
    }
    return v;
}
template <class T> __device__ T inclusive_in_block(T v, T& total) {
    __shared__ T warps[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = blockDim.x / 32;
    v = inclusive_in_warp(v);
    if (lane == 31) warps[warp] = v;
    __syncthreads();
    if (warp == 0) {
        T s = lane < count ? warps[lane] : T(0);
        s = inclusive_in_warp(s);
        if (lane < count) warps[lane] = s;
    }
    __syncthreads();
    total = warps[count - 1];
    if (warp > 0) v += warps[warp - 1];
    __syncthreads();
    return v;
}
template <class T> __global__ void block_scan(const T* in, T* out, int n) {
    T carry = 0, total;
    for (int base = 0; base < n; base += blockDim.x) {
        int i = base + threadIdx.x;
        T v = inclusive_in_block(i < n ? in[i] : T(0), total);
        if (i < n) out[i] = carry + v;
        carry += total;
    }
}

// One pass: a block takes the next tile, tells its sum, and looks back at what the tiles before it told.
// A state is 0: nothing yet, 1: the tile's sum, 2: the sum of all up to it; the value lies in the upper half.
extern "C" __global__ void look_back(const int* in, int* out, unsigned long long* states, int* next, int n) {
    __shared__ int tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int i = tile * blockDim.x + threadIdx.x, total;
    int v = inclusive_in_block(i < n ? in[i] : 0, total);
    if (threadIdx.x == 0) {
        int sum = 0;
        if (tile > 0) {
            atomicExch(&states[tile], (unsigned long long)(unsigned)total << 32 | 1);
            for (int j = tile - 1; j >= 0;) {
                unsigned long long state = *(volatile unsigned long long*)&states[j];
                if ((state & 3) == 0) continue;
                sum += (int)(state >> 32);
                if ((state & 3) == 2) break;
                --j;
            }
        }
        __threadfence();
        atomicExch(&states[tile], (unsigned long long)(unsigned)(sum + total) << 32 | 2);
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = before + v;
}

// Sums that start again at every flag: pairs (flag, sum) under the segmented operator.
extern "C" __global__ void segmented(const int* in, const unsigned char* heads, int* out, int n) {
    __shared__ int sums[512];
    __shared__ unsigned char flags[512];
    int t = threadIdx.x;
    sums[t] = t < n ? in[t] : 0;
    flags[t] = t < n ? heads[t] : 1;
    for (int d = 1; d < blockDim.x; d *= 2) {
        __syncthreads();
        int s = sums[t];
        unsigned char f = flags[t];
        if (t >= d) {
            if (!f) s += sums[t - d];
            f |= flags[t - d];
        }
        __syncthreads();
        sums[t] = s, flags[t] = f;
    }
    if (t < n) out[t] = sums[t];
}

// Compaction: a ballot within the warp, one atomic a warp; order is kept within a warp only.
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned votes = __ballot_sync(~0u, keep);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(~0u, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
}
"""


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(code=CODE, name_expressions=["block_scan<int>", "block_scan<double>"])


def integers(n, low=-100, high=100):
    return np.random.default_rng(n).integers(low, high, n).astype("i4")


@pytest.mark.parametrize(("n", "block"), [(1, 1), (17, 32), (100, 100), (1000, 1024)])
def test_hillis_steele(device, module, n, block):
    x = integers(n)
    out = quern.zeros(n, "i4")
    module.get_function("hillis_steele")(
        (1,), (block,), (quern.asarray(x), out, n), shared_mem=8 * block
    )
    np.testing.assert_array_equal(out.get(), np.cumsum(x))


@pytest.mark.parametrize(("n", "block"), [(1, 32), (255, 128), (2000, 64), (5003, 256)])
def test_blelloch(device, module, n, block):
    x = np.random.default_rng(n).random(n, np.float32)
    width, shared = 2 * block, 4 * (2 * block + 2 * block // 32 + 1)
    blocks = -(-n // width)
    out, sums = quern.zeros(n, "f4"), quern.zeros(blocks, "f4")
    scan = module.get_function("blelloch")
    scan((blocks,), (block,), (quern.asarray(x), out, sums, n), shared_mem=shared)
    assert blocks <= width
    scan((1,), (block,), (sums, sums, None, blocks), shared_mem=shared)
    module.get_function("add_offsets")((blocks,), (32,), (out, sums, width, n))
    np.testing.assert_allclose(out.get(), np.cumsum(x.astype("f8")) - x, atol=1e-6 * n)


@pytest.mark.parametrize("block", [32, 160, 1024])
@pytest.mark.parametrize("n", [1, 1025, 3333])
def test_block_scan(device, module, n, block):
    x = integers(n)
    out = quern.zeros(n, "i4")
    module.get_function("block_scan<int>")((1,), (block,), (quern.asarray(x), out, n))
    np.testing.assert_array_equal(out.get(), np.cumsum(x))
    wide = quern.zeros(n, "f8")
    module.get_function("block_scan<double>")((1,), (block,), (quern.asarray(x / 7), wide, n))
    np.testing.assert_allclose(wide.get(), np.cumsum(x / 7), atol=1e-10)


@pytest.mark.parametrize(("n", "block"), [(5, 32), (4000, 128), (10_001, 256)])
def test_look_back(device, module, n, block):
    x = integers(n)
    blocks = -(-n // block)
    out, states, next_tile = quern.zeros(n, "i4"), quern.zeros(blocks, "u8"), quern.zeros(1, "i4")
    module.get_function("look_back")(
        (blocks,), (block,), (quern.asarray(x), out, states, next_tile, n)
    )
    np.testing.assert_array_equal(out.get(), np.cumsum(x))


@pytest.mark.parametrize("n", [1, 300, 512])
def test_segmented(device, module, n):
    x = integers(n)
    heads = np.random.default_rng(1).random(n) < 0.1
    heads[0] = True
    out = quern.zeros(n, "i4")
    module.get_function("segmented")(
        (1,), (512,), (quern.asarray(x), quern.asarray(heads.astype("u1")), out, n)
    )
    running = np.cumsum(x)
    start = np.maximum.accumulate(np.where(heads, np.arange(n), 0))
    np.testing.assert_array_equal(out.get(), running - running[start] + x[start])


@pytest.mark.parametrize("n", [1, 1000, 4099])
def test_compaction(device, module, n):
    x = integers(n, 0)
    out, count = quern.zeros(n, "i4"), quern.zeros(1, "i4")
    module.get_function("compact")((-(-n // 192),), (192,), (quern.asarray(x), out, count, n))
    wanted = np.sort(x[x % 3 == 0])
    assert count.get()[0] == wanted.size
    np.testing.assert_array_equal(np.sort(out.get()[: wanted.size]), wanted)


PAIRS = r"""
// Two elements a thread in padded places: where they lie is made anew behind every barrier.
__device__ int padded(int i) { return i + (i >> 4); }
__device__ unsigned climb(float* part) {
    unsigned step = 1;
    for (int left = blockDim.x; left > 0; left >>= 1, step *= 2) {
        __syncthreads();
        if (threadIdx.x < left) {
            int first = __mul24(__mul24(2, step), threadIdx.x) + step - 1;
            part[padded(first + step)] += part[padded(first)];
        }
    }
    return step;
}
__device__ void descend(float* part, unsigned step) {
    for (int busy = 1; busy <= blockDim.x; busy *= 2) {
        step >>= 1;
        __syncthreads();
        if (threadIdx.x < busy) {
            int first = __mul24(__mul24(2, step), threadIdx.x) + step - 1;
            int low = padded(first), high = padded(first + step);
            float kept = part[low];
            part[low] = part[high];
            part[high] += kept;
        }
    }
}
template <bool Sums, bool Ragged> __device__ void pairs(float* out, const float* in, float* sums, int n, int base) {
    extern __shared__ float part[];
    int low = threadIdx.x, high = low + blockDim.x;
    int at = (base == 0 ? __mul24(blockIdx.x, blockDim.x << 1) : base) + low;
    part[padded(low)] = in[at];
    part[padded(high)] = !Ragged || high < n ? in[at + blockDim.x] : 0;
    unsigned step = climb(part);
    if (threadIdx.x == 0) {
        int last = padded(2 * blockDim.x - 1);
        if (Sums) sums[blockIdx.x] = part[last];
        part[last] = 0;
    }
    descend(part, step);
    __syncthreads();
    out[at] = part[padded(low)];
    if (!Ragged || high < n) out[at + blockDim.x] = part[padded(high)];
}
extern "C" __global__ void pairs_whole(float* out, const float* in, float* sums, int n, int base) {
    pairs<true, false>(out, in, sums, n, base);
}
extern "C" __global__ void pairs_ragged(float* out, const float* in, float* sums, int n, int base) {
    pairs<false, true>(out, in, sums, n, base);
}
"""


# Compiled anew each time: what the compiler keeps over a barrier once lay where something else was put since.
@pytest.mark.parametrize("waiting", ["fibers", "regions"])
@pytest.mark.parametrize("again", range(4))
def test_two_elements_a_thread(device, waiting, again):
    tier = (f"--quern-waiting={waiting}",) if device.is_cpu else ()
    module = quern.RawModule(code=PAIRS, options=(*tier, f"-DAGAIN={again}"))
    x = np.random.default_rng(again).integers(0, 100, (8, 256)).astype(np.float32)
    out, sums = quern.zeros(x.size, np.float32), quern.zeros(8, np.float32)
    shared = 4 * (256 + 16)
    module.get_function("pairs_whole")(
        (8,), (128,), (out, quern.asarray(x), sums, 256, 0), shared_mem=shared
    )
    np.testing.assert_array_equal(out.get().reshape(8, 256), np.cumsum(x, 1) - x)
    np.testing.assert_array_equal(sums.get(), x.sum(1))
    given, made = quern.asarray(x.ravel()), quern.full(x.size, -1, np.float32)
    module.get_function("pairs_ragged")(
        (1,), (128,), (made, given, sums, 200, 300), shared_mem=shared
    )
    wanted = np.full(x.size, -1, np.float32)
    wanted[300:500] = np.cumsum(x.ravel()[300:500]) - x.ravel()[300:500]
    np.testing.assert_array_equal(made.get(), wanted)
