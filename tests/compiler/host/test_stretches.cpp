// Regions run for a whole block at once, and for stretches of threads where these are at different
// places: in the middle of a row, over several rows, in one thread alone.
#include "driver_program.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace quern::test {
namespace {

std::vector<int> random_ints(std::size_t count, unsigned seed, int low, int high) {
    std::mt19937 engine(seed);
    std::uniform_int_distribution<int> values(low, high);
    std::vector<int> result(count);
    for (auto& value : result)
        value = values(engine);
    return result;
}

struct Block {
    unsigned x, y, z;
};

class Stretches : public testing::TestWithParam<const char*> {
  protected:
    static Source source(std::string text) {
        return {std::move(text), {std::string("--quern-waiting=") + GetParam()}};
    }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Stretches, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

// Lanes with different masks go their own ways and meet again at the barrier. Each adds what the
// next lane of its kind has, and all of them write where their three indices say.
TEST_P(Stretches, LanesApartInBlocksOfSeveralRows) {
    const DriverProgram program(source(R"(extern "C" __global__ void apart(const int* x, int* y) {
        __shared__ int kept[1024];
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        int value = x[t];
        unsigned mine = __ballot_sync(~0u, value & 1), lane = t % 32;
        unsigned others = value & 1 ? mine : ~mine, later = others >> lane >> 1;
        int from = later ? lane + __ffs(later) : __ffs(others) - 1;
        if (value & 1) value = 3 * value + __shfl_sync(others, value, from);
        else value = value - __shfl_sync(others, value, from);
        kept[t] = value;
        __syncthreads();
        int n = blockDim.x * blockDim.y * blockDim.z;
        y[t] = kept[n - 1 - t] + threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z;
    })"));
    for (const Block& block : {Block{96, 1, 1}, {3, 32, 1}, {7, 8, 4}, {16, 16, 1}, {1, 1, 64}}) {
        const unsigned n = block.x * block.y * block.z;
        const auto x = random_ints(n, n, -50, 50);
        std::vector<int> value(n), y(n);
        for (unsigned t = 0; t < n; ++t) {
            unsigned next = t;
            do
                next = next % 32 == 31 ? next - 31 : next + 1;
            while ((x[next] & 1) != (x[t] & 1));
            value[t] = x[t] & 1 ? 3 * x[t] + x[next] : x[t] - x[next];
        }
        ASSERT_EQ(
            program.launch("apart", {{1}, {block.x, block.y, block.z}, 0}, x.data(), y.data()),
            CUDA_SUCCESS);
        for (unsigned t = 0; t < n; ++t)
            ASSERT_EQ(y[t],
                      value[n - 1 - t] + static_cast<int>(t % block.x + t / block.x % block.y * 10 +
                                                          t / block.x / block.y * 100))
                << block.x << "x" << block.y << "x" << block.z << " thread " << t;
    }
}

// The counters are common, and live over places to which only some of the threads come.
TEST_P(Stretches, CommonCountersOfRoundsThatNotAllRun) {
    const DriverProgram program(
        source(R"(extern "C" __global__ void rounds(const int* x, int* y, int n, int rounds) {
        int factor = 3;
        for (int r = 0; r < rounds; ++r) {
            for (int i = threadIdx.x; i < n; i += blockDim.x)
                y[i] = y[i] * factor + x[i] + r;
            factor += r;
            __syncthreads();
            if (threadIdx.x >= n) continue;
            y[n + threadIdx.x] += factor;
        }
    })"));
    for (const unsigned threads : {1U, 32U, 100U, 256U})
        for (const int n : {0, 1, 31, 64, 100, 257, 1000}) {
            const auto size = static_cast<std::size_t>(n);
            const auto x = random_ints(size, threads, -9, 9);
            std::vector<unsigned> y(2 * size + threads), expected(2 * size + threads);
            unsigned factor = 3;
            for (unsigned r = 0; r < 5; ++r) {
                for (std::size_t i = 0; i < size; ++i)
                    expected[i] = expected[i] * factor + static_cast<unsigned>(x[i]) + r;
                factor += r;
                for (std::size_t i = 0; i < std::min<std::size_t>(size, threads); ++i)
                    expected[size + i] += factor;
            }
            ASSERT_EQ(program.launch("rounds", {{1}, {threads}, 0}, x.data(), y.data(), n, 5),
                      CUDA_SUCCESS);
            ASSERT_EQ(y, expected) << threads << " threads, n " << n;
        }
}

// Blocks that take their steps side by side: each with its own shared memory, done in its own time.
TEST_P(Stretches, BlocksThatStrideWithSharedMemory) {
    const DriverProgram program(
        source(R"(extern "C" __global__ void sums(const int* x, int* y, int n) {
        __shared__ int kept[64];
        extern __shared__ int more[];
        int sum = 0, first = blockIdx.x * blockIdx.x * 3 + threadIdx.x;
        for (int i = first; i < n; i += 640) sum += x[i];
        kept[threadIdx.x] = sum;
        if (threadIdx.x == 0) more[0] = blockIdx.x;
        __syncthreads();
        for (int step = 32; step > 0; step /= 2) {
            if (threadIdx.x < step) kept[threadIdx.x] += kept[threadIdx.x + step];
            __syncthreads();
        }
        if (threadIdx.x == 0) y[blockIdx.x] = kept[0] + more[0];
    })"));
    for (const unsigned blocks : {1U, 2U, 7U, 37U, 100U})
        for (const int n : {0, 5, 640, 30000}) {
            const auto x = random_ints(static_cast<std::size_t>(n), blocks, -99, 99);
            std::vector<int> y(blocks);
            ASSERT_EQ(program.launch("sums", {{blocks}, {64}, 4}, x.data(), y.data(), n),
                      CUDA_SUCCESS);
            for (unsigned b = 0; b < blocks; ++b) {
                int sum = static_cast<int>(b);
                for (std::size_t i = std::size_t{b} * b * 3; i < x.size(); ++i)
                    sum += (i - std::size_t{b} * b * 3) % 640 < 64 ? x[i] : 0;
                ASSERT_EQ(y[b], sum) << "block " << b << " of " << blocks << ", n " << n;
            }
        }
}

// Blocks that run as one row: the round in which threads part lies anywhere in it, and n anywhere
// up to shortly before the counter's end.
TEST_P(Stretches, GridStridesInLongRows) {
    const DriverProgram program(
        source(R"(extern "C" __global__ void fill(unsigned char* y, int first, int n, int step) {
        for (int i = first + (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += step)
            y[i - first] += 1 + i % 7;
    }
    extern "C" __global__ void spread(unsigned* y, unsigned n) {
        for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            y[i] = i ^ 0x55;
    })"));
    std::mt19937 engine(7);
    const auto draw = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(engine);
    };
    for (int launch = 0; launch < 60; ++launch) {
        const auto blocks = static_cast<unsigned>(draw(1, 90));
        const unsigned threads = std::vector{1U, 33U, 64U, 256U, 1000U}[launch % 5];
        const int all = static_cast<int>(blocks * threads);
        const int step = launch % 3 ? all : all + draw(0, 50);
        const int first = launch % 4 ? draw(-all, all) : 2147483647 - 4 * all - 100;
        const int count = draw(0, 3 * all);
        std::vector<unsigned char> y(static_cast<std::size_t>(count)), expected(y);
        for (int k = 0; k < count; ++k)
            if (k % step < all)
                expected[static_cast<std::size_t>(k)] =
                    static_cast<unsigned char>(1 + (first + k) % 7);
        ASSERT_EQ(
            program.launch("fill", {{blocks}, {threads}, 0}, y.data(), first, first + count, step),
            CUDA_SUCCESS);
        ASSERT_EQ(y, expected) << blocks << " x " << threads << ", " << first << " + " << count;
        std::vector<unsigned> z(static_cast<std::size_t>(count), 1);
        ASSERT_EQ(program.launch("spread", {{blocks}, {threads}, 0}, z.data(), count),
                  CUDA_SUCCESS);
        for (unsigned k = 0; k < z.size(); ++k)
            ASSERT_EQ(z[k], k ^ 0x55U);
    }
}

// Counters that go to their type's end: one step more would come round to 0.
TEST_P(Stretches, GridStridesToTheEndOfTheCounter) {
    const DriverProgram program(source(
        R"(extern "C" __global__ void mark(unsigned char* y, unsigned first, unsigned n, unsigned step) {
        unsigned i = first + blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        for (;;) {
            y[i - first] += 1 + i % 7;
            if (n - i <= step) break;
            i += step;
        }
    })"));
    std::mt19937 engine(8);
    const auto draw = [&](unsigned most) {
        return std::uniform_int_distribution<unsigned>(0, most)(engine);
    };
    for (const unsigned threads : {33U, 64U, 256U})
        for (const unsigned blocks : {1U, 5U, 70U})
            for (unsigned launch = 0; launch < 6; ++launch) {
                const unsigned all = blocks * threads, step = all + (launch % 2 ? draw(8) : 0);
                const unsigned count = all + draw(3 * all), n = 0xffffffffU - launch / 4;
                const unsigned first = n - count;
                std::vector<unsigned char> y(count), expected(y);
                for (unsigned k = 0; k < count; ++k)
                    if (k % step < all)
                        expected[k] = static_cast<unsigned char>(1 + (first + k) % 7);
                ASSERT_EQ(
                    program.launch("mark", {{blocks}, {threads}, 0}, y.data(), first, n, step),
                    CUDA_SUCCESS);
                ASSERT_EQ(y, expected) << blocks << " x " << threads << ", " << count;
            }
}

// Nobody else is there while a block counts in its shared memory: whatever the operation.
TEST_P(Stretches, AtomicsOnSharedMemory) {
    const DriverProgram program(
        source(R"(extern "C" __global__ void count(const int* x, int* y, int n) {
        __shared__ int kept[4];
        __shared__ float sum;
        __shared__ unsigned long long most;
        if (threadIdx.x == 0) kept[0] = kept[1] = kept[2] = 0, kept[3] = -1, sum = 0, most = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            atomicAdd(&kept[x[i] & 1], 1);
            atomicAdd(&sum, (float)x[i]);
            atomicMax(&most, (unsigned long long)x[i]);
            if (atomicCAS(&kept[3], -1, i) == -1) atomicExch(&kept[2], x[i]);
        }
        __syncthreads();
        if (threadIdx.x == 0)
            y[0] = kept[0], y[1] = kept[1], y[2] = kept[2] - x[kept[3]], y[3] = (int)sum, y[4] = (int)most;
    })"));
    for (const int n : {1, 31, 500}) {
        const auto x = random_ints(static_cast<std::size_t>(n), 9, 0, 99);
        std::vector<int> y(5), expected(5);
        for (const int value : x) {
            ++expected[static_cast<std::size_t>(value & 1)];
            expected[3] += value;
            expected[4] = std::max(expected[4], value);
        }
        ASSERT_EQ(program.launch("count", {{1}, {128}, 0}, x.data(), y.data(), n), CUDA_SUCCESS);
        ASSERT_EQ(y, expected) << n;
    }
}

} // namespace
} // namespace quern::test
