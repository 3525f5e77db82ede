// Kernels whose threads wait for each other, run by the host driver and compared with what the same
// steps give here, one after another.
#include "driver_program.h"
#include "random_ints.h"
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace quern::test {
namespace {

// Both tiers: threads as fibers, and kernels cut in regions (those that can be).
class Waiting : public testing::TestWithParam<const char*> {
  protected:
    static Source source(std::string text) {
        return {std::move(text), {std::string("--quern-waiting=") + GetParam()}};
    }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Waiting, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

TEST_P(Waiting, TreeReductionInDynamicSharedMemory) {
    const DriverProgram program(
        source(R"(extern "C" __global__ void total(const int* x, int* sums, int n) {
        extern __shared__ int part[];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        part[t] = i < n ? x[i] : 0;
        __syncthreads();
        for (int s = blockDim.x / 2; s > 0; s >>= 1) {
            if (t < s) part[t] += part[t + s];
            __syncthreads();
        }
        if (t == 0) sums[blockIdx.x] = part[0];
    })"));
    for (unsigned threads : {1U, 2U, 32U, 64U, 256U, 1024U})
        for (int n : {1, 1000, 10000}) {
            const auto x = random_ints(static_cast<std::size_t>(n), threads);
            const unsigned blocks = (static_cast<unsigned>(n) + threads - 1) / threads;
            std::vector<int> sums(blocks);
            ASSERT_EQ(program.launch("total", {{blocks}, {threads}, threads * 4}, x.data(),
                                     sums.data(), n),
                      CUDA_SUCCESS);
            for (unsigned b = 0; b < blocks; ++b) {
                const auto first = x.begin() + b * threads,
                           last = std::min(first + threads, x.end());
                ASSERT_EQ(sums[b], std::accumulate(first, last, 0));
            }
        }
}

TEST_P(Waiting, EarlyReturnsAreNotWaitedFor) {
    const DriverProgram program(
        source(R"(extern "C" __global__ void rotate(const int* x, int* y, int n) {
        __shared__ int kept[256];
        if (threadIdx.x >= n) return;
        kept[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = kept[(threadIdx.x + 1) % n];
    })"));
    for (int n : {1, 2, 31, 32, 33, 255, 256}) {
        const auto x = random_ints(256, 5);
        std::vector<int> y(256, -1);
        ASSERT_EQ(program.launch("rotate", {{1}, {256}}, x.data(), y.data(), n), CUDA_SUCCESS);
        for (int i = 0; i < 256; ++i)
            ASSERT_EQ(y[i], i < n ? x[(i + 1) % n] : -1);
    }
}

TEST_P(Waiting, RestrictDoesNotHideWhatOthersWrite) {
    const DriverProgram program(source(R"(extern "C" __global__ void pass_on(int* __restrict__ x) {
        int t = threadIdx.x;
        for (int step = 0; step < 10; ++step) {
            int next = x[(t + 1) % blockDim.x];
            __syncthreads();
            x[t] = next + 1;
            __syncthreads();
        }
    })"));
    auto x = random_ints(100, 6);
    auto expected = x;
    for (int step = 0; step < 10; ++step) {
        std::rotate(expected.begin(), expected.begin() + 1, expected.end());
        for (int& value : expected)
            ++value;
    }
    ASSERT_EQ(program.launch("pass_on", {{1}, {100}}, x.data()), CUDA_SUCCESS);
    EXPECT_EQ(x, expected);
}

TEST_P(Waiting, BarriersInDivergentButLegalFlowAndInDeviceFunctions) {
    const DriverProgram program(source(R"(
    __device__ __noinline__ int meet(int* kept, int value) {
        kept[threadIdx.x] = value;
        __syncthreads();
        int other = kept[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
        return other;
    }
    __device__ int recurse(int* kept, int value, int depth) {
        return depth == 0 ? value : recurse(kept, meet(kept, value + depth), depth - 1);
    }
    extern "C" __global__ void mirror(int* x, int depth) {
        __shared__ int kept[128];
        int value = x[threadIdx.x];
        if (depth & 1) value = recurse(kept, value, depth);
        else {
            int i = 0;
            while (true) { if (i++ == depth) break; value = meet(kept, value * 3); }
        }
        x[threadIdx.x] = value;
    })"));
    for (int depth : {0, 1, 2, 3, 6, 7}) {
        auto x = random_ints(128, 7, -9, 9), expected = x;
        for (int step = 0; step < depth; ++step) {
            for (int& value : expected)
                value = depth & 1 ? value + depth - step : value * 3;
            std::reverse(expected.begin(), expected.end());
        }
        ASSERT_EQ(program.launch("mirror", {{1}, {128}}, x.data(), depth), CUDA_SUCCESS);
        EXPECT_EQ(x, expected) << depth;
    }
}

TEST_P(Waiting, ArraysOfAThreadLastOverBarriers) {
    const DriverProgram program(source(R"(
    struct Pair { int a[5]; int b; };
    extern "C" __global__ void shuffle(int* x, Pair weights, int rounds) {
        int own[7], other[3] = {1, 2, 3};
        for (int k = 0; k < 7; ++k) own[k] = x[threadIdx.x] + k;
        __shared__ int kept[96];
        for (int round = 0; round < rounds; ++round) {
            kept[threadIdx.x] = own[(threadIdx.x + round) % 7];
            __syncthreads();
            own[(threadIdx.x * 3 + round) % 7] += kept[(threadIdx.x + 5) % 96] * weights.a[round % 5];
            other[round % 3] += own[round % 7] + weights.b;
            __syncthreads();
        }
        x[threadIdx.x] = own[threadIdx.x % 7] + other[0] * 3 + other[1] * 5 + other[2] * 7;
    })"));
    struct Pair {
        int a[5], b;
    };
    const Pair weights{{2, -1, 3, 1, -2}, 11};
    for (int rounds : {0, 1, 4, 9}) {
        auto x = random_ints(96, 12, -9, 9), expected = x;
        std::vector<std::array<int, 7>> own(96);
        std::vector<std::array<int, 3>> other(96, {1, 2, 3});
        for (int t = 0; t < 96; ++t)
            for (int k = 0; k < 7; ++k)
                own[t][k] = x[t] + k;
        for (int round = 0; round < rounds; ++round) {
            std::vector<int> kept(96);
            for (int t = 0; t < 96; ++t)
                kept[t] = own[t][(t + round) % 7];
            for (int t = 0; t < 96; ++t) {
                own[t][(t * 3 + round) % 7] += kept[(t + 5) % 96] * weights.a[round % 5];
                other[t][round % 3] += own[t][round % 7] + weights.b;
            }
        }
        for (int t = 0; t < 96; ++t)
            expected[t] = own[t][t % 7] + other[t][0] * 3 + other[t][1] * 5 + other[t][2] * 7;
        ASSERT_EQ(program.launch("shuffle", {{1}, {96}}, x.data(), weights, rounds), CUDA_SUCCESS);
        EXPECT_EQ(x, expected) << rounds;
    }
}

TEST_P(Waiting, ValuesOfOneThreadMadeOfWhatAllAgreeOn) {
    // `mixed` is cheap to compute again, but not at every barrier over which it lives.
    const DriverProgram program(source(R"(
    extern "C" __global__ void mix(const int* x, int* y, int* z, int n) {
        __shared__ int kept[96];
        int t = threadIdx.x;
        kept[t] = t ? 1 : n < 32;
        int common = x[0], mixed = common | t;
        for (int i = 0; i < common - 1; ++i) {
            y[t] = mixed;
            __syncthreads();
        }
        __syncthreads();
        z[t] = mixed + kept[95 - t];
    })"));
    for (int first : {0, 1, 2, 7, 64}) {
        std::vector<int> y(96, -1), z(96);
        ASSERT_EQ(program.launch("mix", {{1}, {96}}, &first, y.data(), z.data(), 40), CUDA_SUCCESS);
        for (int t = 0; t < 96; ++t) {
            ASSERT_EQ(y[t], first > 1 ? first | t : -1);
            ASSERT_EQ(z[t], (first | t) + (t != 95));
        }
    }
}

TEST_P(Waiting, DivisionsOfCommonNumbersInBranches) {
    // The first thread of a vector does not take the branch: the quotient is there all the same.
    const DriverProgram program(source(R"(
    extern "C" __global__ void pick(const long long* x, long long* y, unsigned p, int m) {
        __shared__ long long kept[64];
        int t = threadIdx.x;
        kept[t] = x[t];
        __syncthreads();
        long long value = t;
        if (kept[63 - t] & 1) value += kept[(gridDim.x != p ? p : blockDim.x) % (blockDim.x * 2)];
        if (kept[t] & 2) value -= kept[(p >> 3) % blockDim.x] * (m / (int)blockDim.x);
        __syncthreads();
        y[t] = value;
    })"));
    std::mt19937 random(14);
    for (unsigned p : {0U, 7U, 300U, 4000000000U})
        for (int m : {-700, 5, 640}) {
            std::vector<long long> x(64), y(64);
            for (auto& value : x)
                value = static_cast<long long>(random() % 1000);
            ASSERT_EQ(program.launch("pick", {{1}, {64}}, x.data(), y.data(), p % 64, m),
                      CUDA_SUCCESS);
            const unsigned small = p % 64;
            for (int t = 0; t < 64; ++t) {
                long long value = t;
                if (x[63 - t] & 1)
                    value += x[(small != 1 ? small : 64) % 128 % 64];
                if (x[t] & 2)
                    value -= x[(small >> 3) % 64] * (m / 64);
                if (small != 1 || !(x[63 - t] & 1)) { // kept[64] is not there
                    ASSERT_EQ(y[t], value)
                        << t << " p " << small << " m " << m << " x " << x[t] << " " << x[63 - t];
                }
            }
        }
}

TEST_P(Waiting, VotesOfTheBlock) {
    const DriverProgram program(source(R"(extern "C" __global__ void votes(const int* x, int* out) {
        int t = threadIdx.x + blockDim.x * threadIdx.y;
        for (int round = 0; round < 3; ++round) {
            int p = x[t] > round * 300;
            out[0] = __syncthreads_count(p);
            int all = __syncthreads_and(p), any = __syncthreads_or(p);
            if (t == 7) { out[3 * round + 1] = all; out[3 * round + 2] = any; out[3 * round + 3] = out[0]; }
            __syncthreads();
        }
    })"));
    const auto x = random_ints(96, 8);
    std::vector<int> out(10);
    ASSERT_EQ(program.launch("votes", {{1}, {12, 8}}, x.data(), out.data()), CUDA_SUCCESS);
    for (int round = 0; round < 3; ++round) {
        const auto count =
            std::count_if(x.begin(), x.end(), [&](int v) { return v > round * 300; });
        EXPECT_EQ(out[3 * round + 1], count == 96);
        EXPECT_EQ(out[3 * round + 2], count != 0);
        EXPECT_EQ(out[3 * round + 3], count);
    }
}

TEST_P(Waiting, WholeGridsWait) {
    const DriverProgram program(source(R"(
    extern "C" __device__ void __quern_sync_grid();
    extern "C" __global__ void smooth(int* a, int* b, int n, int steps) {
        __shared__ int edge[64];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        edge[threadIdx.x] = i;
        for (int s = 0; s < steps; ++s) {
            if (i < n) b[i] = a[(i + 1) % n] + a[(i + n - 1) % n];
            __quern_sync_grid();
            if (i < n) a[edge[threadIdx.x]] = b[i] & 0xffff;
            __quern_sync_grid();
        }
    })"));
    const int n = 1000, steps = 7;
    auto a = random_ints(n, 9), expected = a;
    std::vector<int> b(n);
    for (int s = 0; s < steps; ++s) {
        for (int i = 0; i < n; ++i)
            b[i] = expected[(i + 1) % n] + expected[(i + n - 1) % n];
        for (int i = 0; i < n; ++i)
            expected[i] = b[i] & 0xffff;
    }
    ASSERT_EQ(program.launch("smooth", {{16}, {64}, 0, true}, a.data(), b.data(), n, steps),
              CUDA_SUCCESS);
    EXPECT_EQ(a, expected);
    EXPECT_EQ(program.launch("smooth", {{100000}, {1024}, 0, true}, a.data(), b.data(), n, steps),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

// Written when warps moved in step; still right where their compilers keep it so.
TEST_P(Waiting, VolatileSharedMemoryKeepsWarpsInStep) {
    const DriverProgram program(source(R"(
    __device__ void finish(volatile int* part, int t) {
        part[t] += part[t + 32]; part[t] += part[t + 16]; part[t] += part[t + 8];
        part[t] += part[t + 4]; part[t] += part[t + 2]; part[t] += part[t + 1];
    }
    extern "C" __global__ void total(const int* x, int* sums) {
        __shared__ int part[256];
        int t = threadIdx.x;
        part[t] = x[blockIdx.x * 256 + t];
        __syncthreads();
        for (int s = 128; s > 32; s >>= 1) {
            if (t < s) part[t] += part[t + s];
            __syncthreads();
        }
        if (t < 32) finish(part, t);
        if (t == 0) sums[blockIdx.x] = part[0];
    })"));
    const auto x = random_ints(256 * 5, 11);
    std::vector<int> sums(5);
    ASSERT_EQ(program.launch("total", {{5}, {256}}, x.data(), sums.data()), CUDA_SUCCESS);
    for (int b = 0; b < 5; ++b)
        EXPECT_EQ(sums[b], std::accumulate(x.begin() + 256 * b, x.begin() + 256 * (b + 1), 0));
}

// The same without volatile: nothing says that a warp moves in step, and hardware does.
TEST_P(Waiting, LanesExchangeWithoutAWord) {
    const DriverProgram program(source(R"(
    struct Mass { float x, weight; };
    __device__ void operator+=(Mass& a, Mass b) { a.x += b.x; a.weight += b.weight; }
    __device__ void add_up(Mass* masses, const Mass* first) {
        int t = threadIdx.x;
        masses[t] = first[t];
        masses[t] += masses[t ^ 8]; masses[t] += masses[t ^ 4];
        for (int by = 2; by > 0; by /= 2) masses[t] += masses[t ^ by];
    }
    extern "C" __global__ void total(const int* x, int* sums) {
        __shared__ int part[256];
        int t = threadIdx.x;
        part[t] = x[blockIdx.x * 256 + t];
        __syncthreads();
        for (int s = 128; s > 32; s >>= 1) {
            if (t < s) part[t] += part[t + s];
            __syncthreads();
        }
        if (t < 32) {
            part[t] += part[t + 32]; part[t] += part[t + 16]; part[t] += part[t + 8];
            part[t] += part[t + 4]; part[t] += part[t + 2]; part[t] += part[t + 1];
        }
        if (t == 0) sums[blockIdx.x] = part[0];
    }
    extern "C" __global__ void running(const int* x, int* sums) { // one warp's at a time, no barrier
        extern __shared__ int row[];
        int t = threadIdx.x, lane = t % 32;
        row[t] = x[blockIdx.x * blockDim.x + t];
        for (int by = 1; by < 32; by *= 2)
            if (lane >= by) row[t] += row[t - by];
        sums[blockIdx.x * blockDim.x + t] = row[t];
    }
    extern "C" __global__ void balance(const float* x, float* out) { // of 16 each
        __shared__ Mass masses[64], first[64];
        int t = threadIdx.x;
        first[t].x = x[t] * t; first[t].weight = x[t];
        add_up(masses, first);
        out[t] = masses[t].x / masses[t].weight;
    }
    extern "C" __global__ void turn(const int* x, int* y, int tiles) { // a warp's tile after the other
        __shared__ int tile[2][32][33];
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        for (int k = warp; k < tiles; k += 2) {
            for (int i = 0; i < 32; ++i) tile[warp][i][lane] = x[k * 1024 + i * 32 + lane];
            __syncwarp();
            for (int i = 0; i < 32; ++i) y[k * 1024 + i * 32 + lane] = tile[warp][lane][i];
        }
    }
    extern "C" __global__ void least(const int* x, int* where) {
        __shared__ int value[64], place[64];
        int t = threadIdx.x;
        value[t] = x[blockIdx.x * 64 + t]; place[t] = t;
        __syncthreads();
        if (t < 32) {
            if (value[t + 32] < value[t]) { value[t] = value[t + 32]; place[t] = place[t + 32]; }
            if (value[t + 16] < value[t]) { value[t] = value[t + 16]; place[t] = place[t + 16]; }
            if (value[t + 8] < value[t]) { value[t] = value[t + 8]; place[t] = place[t + 8]; }
            if (value[t + 4] < value[t]) { value[t] = value[t + 4]; place[t] = place[t + 4]; }
            if (value[t + 2] < value[t]) { value[t] = value[t + 2]; place[t] = place[t + 2]; }
            if (value[t + 1] < value[t]) { value[t] = value[t + 1]; place[t] = place[t + 1]; }
        }
        __syncthreads();
        where[blockIdx.x * 64 + t] = place[0];
    }
    extern "C" __global__ void by_rank(const int* x, int* out) { // half a warp sorts in place
        __shared__ int value[16], rank[16], most[16];
        int t = threadIdx.x;
        if (t < 16) {
            value[t] = most[t] = x[blockIdx.x * 16 + t];
            for (int by = 8; by > 0; by >>= 1)
                if (t < by) most[t] = max(most[t], most[t + by]);
            int below = 0;
            for (int i = 0; i < 16; ++i) below += value[i] < value[t] || (value[i] == value[t] && i < t);
            rank[t] = below;
            int mine = value[t];
            value[rank[t]] = most[0] - mine;
        }
        __syncthreads();
        if (t < 16) out[blockIdx.x * 16 + t] = value[t];
    })"));
    const auto x = random_ints(256 * 5, 11, -99, 99);
    std::vector<int> sums(5), running(x.size()), where(x.size()), sorted(x.size());
    ASSERT_EQ(program.launch("total", {{5}, {256}}, x.data(), sums.data()), CUDA_SUCCESS);
    for (int b = 0; b < 5; ++b)
        EXPECT_EQ(sums[b], std::accumulate(x.begin() + 256 * b, x.begin() + 256 * (b + 1), 0));

    ASSERT_EQ(program.launch("running", {{10}, {128}, 512}, x.data(), running.data()),
              CUDA_SUCCESS);
    for (std::size_t first = 0; first < x.size(); first += 32) {
        std::vector<int> wanted(32);
        std::partial_sum(x.begin() + first, x.begin() + first + 32, wanted.begin());
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), running.begin() + first)) << first;
    }

    std::vector<float> weights(64), centres(64);
    std::transform(x.begin(), x.begin() + 64, weights.begin(),
                   [](int v) { return static_cast<float>(100 + v); });
    ASSERT_EQ(program.launch("balance", {{1}, {64}}, weights.data(), centres.data()), CUDA_SUCCESS);
    for (int t = 0; t < 64; ++t) {
        double moment = 0, weight = 0;
        for (int k = t / 16 * 16; k < t / 16 * 16 + 16; ++k)
            moment += double(weights[k]) * k, weight += weights[k];
        EXPECT_NEAR(centres[t], moment / weight, 1e-4);
    }

    const auto square = random_ints(5 * 1024, 12);
    std::vector<int> turned(square.size());
    ASSERT_EQ(program.launch("turn", {{1}, {64}}, square.data(), turned.data(), 5), CUDA_SUCCESS);
    for (int i = 0; i < 5 * 1024; ++i)
        ASSERT_EQ(turned[i], square[i / 1024 * 1024 + i % 32 * 32 + i % 1024 / 32]) << i;

    ASSERT_EQ(program.launch("least", {{20}, {64}}, x.data(), where.data()), CUDA_SUCCESS);
    for (int b = 0; b < 20; ++b)
        EXPECT_EQ(x[64 * b + where[64 * b]], *std::min_element(&x[64 * b], &x[64 * b] + 64)) << b;

    ASSERT_EQ(program.launch("by_rank", {{80}, {32}}, x.data(), sorted.data()), CUDA_SUCCESS);
    for (int b = 0; b < 80; ++b) {
        std::vector<int> wanted(x.begin() + 16 * b, x.begin() + 16 * (b + 1));
        std::sort(wanted.begin(), wanted.end());
        for (int i = 0, most = wanted[15]; i < 16; ++i)
            EXPECT_EQ(sorted[16 * b + i], most - wanted[i]) << b;
    }
}

// Each warp goes through a tree with one stack, which its first lane writes: no word says that the
// others may read, but their votes keep them together.
TEST_P(Waiting, WhatALeaderWritesItsWarpSees) {
    const DriverProgram program(source(R"(
    extern "C" __global__ void above(const int* most, const int* own, int* sums, int leaves) {
        __shared__ int stack[4 * 32];
        int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
        int bottom = threadIdx.x / 32 * 32, mine = own[i], sum = 0;
        for (int round = 0; round < 3; ++round) {
            int top = bottom;
            if (lane == 0) stack[top] = 2 + round;
            while (top >= bottom) {
                int node = stack[top--];
                if (node >= leaves) {
                    sum += max(most[node] - mine, 0);
                } else if (!__all_sync(0xffffffffu, most[node] <= mine)) {
                    if (lane == 0) {
                        stack[top + 1] = 2 * node;
                        stack[top + 2] = 2 * node + 1;
                    }
                    top += 2;
                }
            }
        }
        sums[i] = sum;
    })"));
    const int leaves = 128;
    const auto own = random_ints(256, 3), values = random_ints(leaves, 4);
    std::vector<int> most(2 * leaves), sums(256);
    std::copy(values.begin(), values.end(), most.begin() + leaves);
    for (int node = leaves - 1; node > 0; --node)
        most[node] = std::max(most[2 * node], most[2 * node + 1]);
    ASSERT_EQ(
        program.launch("above", {{2}, {128}, 0}, most.data(), own.data(), sums.data(), int(leaves)),
        CUDA_SUCCESS);
    for (int i = 0; i < 256; ++i) {
        int wanted = 0;
        for (int leaf = leaves; leaf < 2 * leaves; ++leaf) // below 2 or 3; of 2's, half below 4
            wanted += (leaf < leaves + leaves / 4 ? 2 : 1) * std::max(most[leaf] - own[i], 0);
        ASSERT_EQ(sums[i], wanted) << i;
    }
}

// No barrier stands between the last read of a round and the first write of the next: a race that
// hardware never loses, since its warps run side by side.
TEST_P(Waiting, AllReadBeforeOneGoesOnToOverwrite) {
    const DriverProgram program(source(R"(
    __device__ int warp_sum(int v) {
        unsigned lanes = __activemask();
        for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(lanes, v, step);
        return v;
    }
    __device__ int block_sum(int v, int* part) { // part[0] is read by all, and written by the next call
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        v = warp_sum(v);
        if (lane == 0) part[warp] = v;
        __syncthreads();
        if (warp == 0) {
            v = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0);
            if (lane == 0) part[0] = v;
        }
        __syncthreads();
        return part[0];
    }
    __device__ int every_warp_sums(int v, int* part) { // each warp reads all parts
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
        if (lane == 0) part[warp] = v;
        __syncthreads();
        v = lane < blockDim.x / 32 ? part[lane] : 0;
        for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
        return v;
    }
    __device__ int most(int v, int* all) { // by halves, without warps
        for (int k = threadIdx.x; k < 2 * blockDim.x + 7; k += blockDim.x) v += k > 2 * blockDim.x ? 0 : 1;
        all[threadIdx.x] = v;
        __syncthreads();
        for (int step = blockDim.x / 2; step > 0; step /= 2) {
            if (threadIdx.x < step) all[threadIdx.x] = max(all[threadIdx.x], all[threadIdx.x + step]);
            __syncthreads();
        }
        return all[0];
    }
    extern "C" __global__ void rounds(const int* in, int* out, int count, int first) {
        extern __shared__ int memory[];
        __shared__ int all[256], mean;
        int* part = memory + first;
        int thread = threadIdx.x, block = blockDim.x, seen = 0;
        if (thread >= block - count + 9) return; // nobody leaves, which nobody knows
        for (int round = 0; round < count; ++round) {
            int v = in[round * block + thread];
            int sum = block_sum(v + seen, part), again = block_sum(v ^ thread, part);
            int highest = most(v - seen, all), second = most(sum + thread * v, all);
            if (thread == 0) mean = sum / block + highest;
            __syncthreads();
            seen = seen / 2 + mean % 100 + again % 50 + second % 30 + every_warp_sums(v & seen, part) % 20;
        }
        out[blockIdx.x * block + thread] = seen;
    })"));
    for (int block : {32, 64, 256}) {
        const int count = 9;
        const auto in = random_ints(static_cast<std::size_t>(count) * block, 5);
        std::vector<int> out(2 * static_cast<std::size_t>(block)), small(in);
        for (auto& value : small)
            value %= 1000;
        ASSERT_EQ(program.launch("rounds", {{2}, {std::uint32_t(block)}, 160}, small.data(),
                                 out.data(), int(count), 3),
                  CUDA_SUCCESS);
        const auto passes = [&](int t) { // of the loop before each maximum
            int found = 0;
            for (int k = t; k < 2 * block + 7; k += block)
                found += k > 2 * block ? 0 : 1;
            return found;
        };
        int seen = 0;
        for (int round = 0; round < count; ++round) {
            const int* v = small.data() + static_cast<std::ptrdiff_t>(round) * block;
            int sum = 0, again = 0, highest = INT_MIN, second = INT_MIN, common = 0;
            for (int t = 0; t < block; ++t) {
                sum += v[t] + seen;
                again += v[t] ^ t;
                highest = std::max(highest, v[t] - seen + passes(t));
                common += v[t] & seen;
            }
            for (int t = 0; t < block; ++t)
                second = std::max(second, sum + t * v[t] + passes(t));
            seen =
                seen / 2 + (sum / block + highest) % 100 + again % 50 + second % 30 + common % 20;
        }
        for (const int value : out)
            ASSERT_EQ(value, seen) << block;
    }
}

TEST_P(Waiting, SpinningThreadsLetOthersGoOn) {
    const DriverProgram program(source(R"(
    extern "C" __global__ void chain(volatile int* flags, int* order, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, later = n - 1 - i; // the last one begins
        if (i >= n) return;
        while (later > 0 && flags[i + 1] == 0) ;
        order[i] = later ? order[i + 1] + 1 : 0;
        __threadfence();
        flags[i] = 1;
    }
    extern "C" __global__ void meet(int* arrived, int* seen, int rounds) {
        __shared__ int kept[32];
        for (int round = 1; round <= rounds; ++round) {
            kept[threadIdx.x] = round;
            __syncthreads();
            if (threadIdx.x == 0) {
                atomicAdd(arrived, kept[31]);
                while (atomicAdd(arrived, 0) < (int)gridDim.x * round * (round + 1) / 2) ;
            }
            __syncthreads();
        }
        seen[blockIdx.x * 32 + threadIdx.x] = kept[threadIdx.x];
    })"));
    for (int n : {1, 33, 700}) {
        std::vector<int> flags(n + 1), order(n + 1, -1);
        ASSERT_EQ(program.launch("chain", {{8}, {96}}, flags.data(), order.data(), n),
                  CUDA_SUCCESS);
        for (int i = 0; i < n; ++i)
            ASSERT_EQ(order[i], n - 1 - i);
    }
    int arrived = 0;
    std::vector<int> seen(32 * 40);
    ASSERT_EQ(program.launch("meet", {{40}, {32}}, &arrived, seen.data(), 3), CUDA_SUCCESS);
    EXPECT_EQ(arrived, 40 * 6);
    EXPECT_EQ(seen, std::vector<int>(32 * 40, 3));
}

// Kernels of one process want stacks of every size, and one after another get them.
TEST_P(Waiting, StacksOfManySizes) {
    const DriverProgram program(source(R"(
    __device__ int deep(int n, const int* o) { return n == 0 ? o[0] & 1 : deep(n - 1, o) + 1; }
    extern "C" __global__ void recursive(int* o) {
        __shared__ int s[64];
        s[threadIdx.x] = deep(300 + threadIdx.x, o);
        __syncthreads();
        o[threadIdx.x] = s[63 - threadIdx.x];
    }
    template <int N> __device__ void kept(int* o) {
        int a[N];
        for (int i = 0; i < N; ++i) a[i] = i ^ threadIdx.x;
        __syncthreads();
        int sum = 0;
        for (int i = o[0] & 1; i < N; i += 5) sum += a[(i * 7 + threadIdx.x) % N];
        __syncthreads();
        o[threadIdx.x] = sum;
    }
    extern "C" __global__ void large(int* o) { kept<50000>(o); }
    extern "C" __global__ void larger(int* o) { kept<70000>(o); }
    extern "C" __global__ void small(int* o) { kept<50>(o); })"));
    const auto expect_kept = [&](const char* name, int size) {
        std::vector<int> out(64);
        ASSERT_EQ(program.launch(name, {{1}, {64}, 0}, out.data()), CUDA_SUCCESS);
        for (int t = 0; t < 64; ++t) {
            int sum = 0;
            for (int i = 0; i < size; i += 5)
                sum += ((i * 7 + t) % size) ^ t;
            ASSERT_EQ(out[t], sum) << name;
        }
    };
    for (int round = 0; round < 2; ++round) {
        std::vector<int> out(64);
        ASSERT_EQ(program.launch("recursive", {{1}, {64}, 0}, out.data()), CUDA_SUCCESS);
        for (int t = 0; t < 64; ++t)
            ASSERT_EQ(out[t], 300 + 63 - t);
        expect_kept("large", 50000);
        expect_kept("small", 50);
        expect_kept("larger", 70000);
        expect_kept("large", 50000);
    }
}

TEST_P(Waiting, SharedVariablesAreAligned) {
    const DriverProgram program(source(R"(
    extern "C" __global__ void k(unsigned long long* out) {
        __shared__ [[maybe_unused]] char one;
        __shared__ alignas(256) char wide[3];
        __shared__
            alignas(double2) float pair[1];
        alignas(64) __shared__ char before;
        extern __shared__ __align__(1024) char rest[];
        one = before = 1, wide[threadIdx.x % 3] = 2, pair[0] = 3;
        __syncthreads();
        out[0] = (unsigned long long)wide % 256 + (unsigned long long)pair % 16 +
                 (unsigned long long)&before % 64 + (unsigned long long)rest % 1024;
        out[1] = one + wide[2] + (int)pair[0] + before;
    })"));
    std::vector<unsigned long long> out(2, 9);
    ASSERT_EQ(program.launch("k", {{1}, {32}, 64}, out.data()), CUDA_SUCCESS);
    EXPECT_EQ(out, (std::vector<unsigned long long>{0, 7}));
}

TEST_P(Waiting, SharedObjectsLieAsTheyAre) {
    const DriverProgram program(source(R"(
    struct Vector { double x, y; __device__ Vector() : x(-1), y(-1) {}
                    __device__ Vector(double a, double b = 3) : x(a), y(b) {} };
    struct Count { int value = 5; __device__ ~Count() { value = 0; } };
    template <class T> __device__ double swapped(const T& mine) {
        __shared__ T tile[96];
        tile[threadIdx.x] = mine;
        __syncthreads();
        return tile[95 - threadIdx.x].x + tile[95 - threadIdx.x].y;
    }
    extern "C" __global__ void k(double* out) {
        __shared__ Count count;
        if (threadIdx.x == 0) count.value = 40;
        const double sum = swapped(Vector(threadIdx.x));
        const int counted = count.value; // another thread's write, not the 5 of a constructor
        __syncthreads();
        out[threadIdx.x] = sum + counted + swapped(Vector()); // runs for the thread's own
    })"));
    std::vector<double> out(96);
    ASSERT_EQ(program.launch("k", {{1}, {96}, 0}, out.data()), CUDA_SUCCESS);
    for (int t = 0; t < 96; ++t)
        ASSERT_EQ(out[t], 95 - t + 3 + 40 - 2);
}

// Rounds that end where they began: which word a thread watches changes with what it has found.
TEST_P(Waiting, ThreadsThatStandStillLetOthersGoOn) {
    const DriverProgram program(source(R"(
    extern "C" __global__ void sums(volatile int* ready, volatile int* total, const int* x, int n) {
        // a tree in an array: its leaves are the second half, children are sums of other threads'
        int step = gridDim.x * blockDim.x;
        for (int node = 2 * n - 1 - blockIdx.x * blockDim.x - threadIdx.x; node > 0;) {
            if (node >= n) total[node] = x[node - n];
            else if (!ready[2 * node] || !ready[2 * node + 1]) continue;
            else total[node] = total[2 * node] + total[2 * node + 1];
            __threadfence();
            ready[node] = 1;
            node -= step;
        }
    }
    extern "C" __global__ void levels(volatile int* depth, int n, int last) {
        // parents are the last blocks' threads; every round of a block ends at a barrier
        for (int node = n - blockIdx.x * blockDim.x - threadIdx.x; node <= last;) {
            int up = depth[node / 2];
            if (up >= 0) { depth[node] = up + 1; node += n; }
            __syncthreads();
        }
    }
    extern "C" __global__ void look_back(unsigned* state, const int* x, int* before) {
        __shared__ int reached;
        int i = blockIdx.x;
        if (threadIdx.x == 0) {
            int own = x[i], found = 0;
            atomicExch(&state[i], (1u << 30) | own);
            for (int j = i - 1; j >= 0;) {
                unsigned seen = atomicAdd(&state[j], 0u);
                if (seen >> 30 == 0) continue;
                found += seen & 0x3fffffff;
                j = seen >> 30 == 2 ? -1 : j - 1;
            }
            atomicExch(&state[i], (2u << 30) | (found + own));
            reached = found;
        }
        __syncthreads();
        before[i * blockDim.x + threadIdx.x] = reached;
    })"));
    const int n = 2048;
    auto x = random_ints(n, 5, 0, 1000);
    std::vector<int> ready(2 * n), total(2 * n);
    ASSERT_EQ(program.launch("sums", {{2}, {256}, 0}, ready.data(), total.data(), x.data(), int(n)),
              CUDA_SUCCESS);
    EXPECT_EQ(total[1], std::accumulate(x.begin(), x.end(), 0));

    std::vector<int> depth(n, -1);
    depth[0] = 0;
    ASSERT_EQ(program.launch("levels", {{16}, {64}, 0}, depth.data(), int(16 * 64), int(n - 1)),
              CUDA_SUCCESS);
    for (int node = 1; node < n; ++node)
        ASSERT_EQ(depth[node], depth[node / 2] + 1) << node;

    std::vector<unsigned> state(200);
    std::vector<int> before(200 * 32);
    ASSERT_EQ(program.launch("look_back", {{200}, {32}, 0}, state.data(), x.data(), before.data()),
              CUDA_SUCCESS);
    for (int i = 0, sum = 0; i < 200; sum += x[i++])
        for (int t = 0; t < 32; ++t)
            ASSERT_EQ(before[i * 32 + t], sum);
}

// Rounds over all of a thread's work, again until nothing of it is left: what is missing is others'
// to write, and no counter goes from round to round.
TEST_P(Waiting, ThreadsThatLookAgainLetOthersGoOn) {
    const DriverProgram program(source(R"(
    extern "C" __global__ void heights(const int* up, volatile unsigned char* done, int* height, int n) {
        bool open;
        do {
            open = false;
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
                if (done[i]) continue;
                if (up[i] == i) height[i] = 0;
                else if (done[up[i]]) height[i] = height[up[i]] + 1;
                else { open = true; continue; }
                __threadfence();
                done[i] = 1;
            }
        } while (open);
    }
    extern "C" __global__ void hand_on(int* box, int* taken) { // each takes what the next one puts
        int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
        if (i + 1 < n)
            if (i % 2) while (atomicCAS(&box[i + 1], 7, 8) != 7);
            else while (atomicExch(&box[i + 1], 0) != 7);
        taken[i] = i + 1 < n ? taken[i + 1] + 1 : 0;
        __threadfence();
        atomicExch(&box[i], 7);
    })"));
    const int n = 1500;
    const auto places = random_ints(n, 8, 0, 1 << 20);
    std::vector<int> up(n), wanted(n), height(n);
    std::vector<unsigned char> done(n);
    up[n - 1] = n - 1; // above everyone
    for (int i = n - 2; i >= 0; --i) {
        up[i] = i + 1 + places[i] % std::min(n - 1 - i, 9);
        wanted[i] = wanted[up[i]] + 1;
    }
    ASSERT_EQ(program.launch("heights", {{3}, {64}}, up.data(), done.data(), height.data(), int(n)),
              CUDA_SUCCESS);
    EXPECT_EQ(height, wanted);

    std::vector<int> box(200), taken(200);
    ASSERT_EQ(program.launch("hand_on", {{4}, {50}}, box.data(), taken.data()), CUDA_SUCCESS);
    for (int i = 0; i < 200; ++i)
        ASSERT_EQ(taken[i], 199 - i);
}

TEST_P(Waiting, TrapsEndTheLaunchAndNothingElse) {
    const DriverProgram program(source(R"(
    extern "C" __global__ void fail(int* x, int at) {
        __shared__ int kept[64];
        kept[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        if (kept[63 - threadIdx.x] == at) __trap();
        __syncthreads();
        x[threadIdx.x] = kept[63 - threadIdx.x];
    })"));
    std::vector<int> x(64);
    std::iota(x.begin(), x.end(), 0);
    EXPECT_EQ(program.launch("fail", {{1}, {64}}, x.data(), 40), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(program.launch("fail", {{1}, {64}}, x.data(), -1), CUDA_SUCCESS);
    for (int i = 0; i < 64; ++i)
        EXPECT_EQ(x[i], 63 - i);
}

TEST_P(Waiting, ThreadsThatNeverMeetAreReported) {
    const DriverProgram program(source(R"(extern "C" __global__ void stuck(int* x) {
        if (threadIdx.x == 0) __barrier_sync_count(1, 64);
        else __syncthreads();
        x[0] = 1;
    })"));
    int x = 0;
    EXPECT_EQ(program.launch("stuck", {{1}, {32}}, &x), CUDA_ERROR_LAUNCH_TIMEOUT);
    EXPECT_EQ(x, 0);
}

} // namespace
} // namespace quern::test
