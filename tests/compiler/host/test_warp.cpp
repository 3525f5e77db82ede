// Every warp intrinsic, run by the host driver on random lanes, and compared with the CUDA
// programming guide's words about one thread at a time.
#include "kernels.h"
#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace quern::test {
namespace {

unsigned pick(std::mt19937& random, unsigned kinds) {
    return static_cast<unsigned>(random() % kinds);
}

// The threads of one block: which leave at once, and which lanes each of the others acts with.
struct Scene {
    Dim block;
    unsigned threads;
    std::vector<unsigned char> gone;
    std::vector<std::uint32_t> masks;

    Scene(Dim shape, unsigned seed) : block(shape), threads(shape.x * shape.y * shape.z) {
        std::mt19937 random(seed);
        gone.resize(threads);
        masks.resize(threads);
        const unsigned leaving = pick(random, 3); // nobody, some, most
        for (auto& left : gone)
            left = pick(random, 8) < 3 * leaving;
        for (unsigned first = 0; first < threads; first += 32) {
            const unsigned groups = seed % 4 == 0 ? 1 : 1 + pick(random, 4);
            std::vector<std::uint32_t> lanes(groups);
            std::vector<unsigned> group(32);
            for (unsigned lane = 0; lane < 32; ++lane) // lanes that left may be named
                lanes[group[lane] = pick(random, groups)] |= 1U << lane;
            for (unsigned lane = 0; lane < 32 && first + lane < threads; ++lane)
                masks[first + lane] = lanes[group[lane]];
        }
    }
    // The threads that act with thread t, in the order of their lanes.
    std::vector<unsigned> fellows(unsigned t) const {
        std::vector<unsigned> all;
        for (unsigned lane = 0; lane < 32; ++lane)
            if (const unsigned u = t / 32 * 32 + lane;
                u < threads && !gone[u] && (masks[t] >> lane & 1) != 0)
                all.push_back(u);
        return all;
    }
    std::uint32_t lanes(unsigned t) const {
        std::uint32_t bits = 0;
        for (unsigned u : fellows(t))
            bits |= 1U << u % 32;
        return bits;
    }
};

const std::vector<Dim> shapes = {{32},   {1},       {31},      {33},        {96},       {200},
                                 {1024}, {7, 9, 1}, {5, 3, 4}, {16, 16, 1}, {3, 50, 2}, {1, 1, 64}};

template <class Act> void each_scene(unsigned rounds, Act act) {
    unsigned seed = 1;
    for (unsigned round = 0; round < rounds; ++round)
        for (const Dim& shape : shapes)
            act(Scene(shape, seed++));
}

template <class T> std::vector<T> random_values(unsigned count, unsigned seed, unsigned kinds = 0) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (auto& value : values) {
        const std::uint64_t bits = kinds ? random() % kinds * 0x8000000080000001 : random();
        std::memcpy(&value, &bits, sizeof(T));
        if (value != value) // a NaN is equal to nothing here
            value = T(3);
    }
    return values;
}

class Warp : public Tiers {
  protected:
    const DriverProgram& warp() const { return program("warp.cu"); }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Warp, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

// Which thread `t` reads from, by width segments; none where CUDA leaves it open.
enum Way { from_lane, from_below, from_above, from_exclusive_or };
int source_of(const Scene& scene, unsigned t, Way way, int operand, int width) {
    const int lane = static_cast<int>(t % 32), first = lane / width * width;
    const int by = operand & 31; // five bits reach the instruction
    int from = lane;
    switch (way) {
    case from_lane:
        from = first + by % width;
        break;
    case from_below:
        from = lane - by >= first ? lane - by : lane;
        break;
    case from_above:
        from = lane + by < first + width ? lane + by : lane;
        break;
    case from_exclusive_or: // earlier segments may be read, later ones not
        from = (lane ^ by) < first + width ? lane ^ by : lane;
        break;
    }
    return scene.lanes(t) >> from & 1 ? static_cast<int>(t) - lane + from : -1;
}

constexpr const char* tiers[] = {"fibers", "regions"};

template <class T> class Shuffles : public testing::Test {};
template <class T> constexpr const char* type_name = nullptr;
template <> constexpr const char* type_name<int> = "int";
template <> constexpr const char* type_name<unsigned> = "unsigned";
template <> constexpr const char* type_name<long> = "long";
template <> constexpr const char* type_name<unsigned long> = "ulong";
template <> constexpr const char* type_name<long long> = "llong";
template <> constexpr const char* type_name<unsigned long long> = "ullong";
template <> constexpr const char* type_name<float> = "float";
template <> constexpr const char* type_name<double> = "double";
using Types = testing::Types<int, unsigned, long, unsigned long, long long, unsigned long long,
                             float, double>;
TYPED_TEST_SUITE(Shuffles, Types);

TYPED_TEST(Shuffles, ReadTheLaneThatTheGuideNames) {
    using T = TypeParam;
    unsigned seed = 100, compared = 0;
    each_scene(2, [&](const Scene& scene) {
        const auto x = random_values<T>(scene.threads, ++seed);
        std::mt19937 random(seed);
        std::vector<int> operands(scene.threads);
        for (auto& operand : operands)
            operand = static_cast<int>(pick(random, 80)) - 8;
        for (int kind = 0; kind < 12; ++kind) {
            const int width = 1 << kind / 2;
            const auto& program = program_of("warp.cu", tiers[kind % 2]);
            std::vector<T> out(4 * scene.threads);
            ASSERT_EQ(program.launch(std::string("shuffle_") + type_name<T>, {{1}, scene.block},
                                     x.data(), scene.masks.data(), scene.gone.data(),
                                     operands.data(), width, out.data()),
                      CUDA_SUCCESS);
            for (unsigned t = 0; t < scene.threads; ++t)
                for (int way = 0; way < 4 && !scene.gone[t]; ++way)
                    if (const int from = source_of(scene, t, Way(way), operands[t], width);
                        from >= 0) {
                        ASSERT_EQ(out[4 * t + way], x[from])
                            << "thread " << t << " way " << way << " by " << operands[t]
                            << " width " << width << " seed " << seed;
                        ++compared;
                    }
        }
    });
    EXPECT_GT(compared, 10000U);
}

TYPED_TEST(Shuffles, MatchesCompareBits) {
    using T = TypeParam;
    unsigned seed = 200, all_equal = 0;
    each_scene(4, [&](const Scene& scene) {
        ++seed;
        const auto x = random_values<T>(scene.threads, seed, 1 + seed % 3);
        std::vector<unsigned> out(3 * scene.threads);
        const auto& program = program_of("warp.cu", tiers[seed / 12 % 2]); // by rounds
        ASSERT_EQ(program.launch(std::string("match_") + type_name<T>, {{1}, scene.block}, x.data(),
                                 scene.masks.data(), scene.gone.data(), out.data()),
                  CUDA_SUCCESS);
        for (unsigned t = 0; t < scene.threads; ++t) {
            if (scene.gone[t])
                continue;
            unsigned same = 0;
            for (unsigned u : scene.fellows(t))
                same |= static_cast<unsigned>(std::memcmp(&x[t], &x[u], sizeof(T)) == 0) << u % 32;
            const bool all = same == scene.lanes(t);
            all_equal += all;
            ASSERT_EQ(out[3 * t], same) << t << " seed " << seed;
            ASSERT_EQ(out[3 * t + 1], all ? same : 0) << t << " seed " << seed;
            ASSERT_EQ(out[3 * t + 2], all) << t << " seed " << seed;
        }
    });
    EXPECT_GT(all_equal, 100U);
}

TEST_P(Warp, Votes) {
    unsigned seed = 300;
    each_scene(4, [&](const Scene& scene) {
        std::mt19937 random(++seed);
        std::vector<int> x(scene.threads);
        const int high = seed % 2 ? 60 : 45;
        for (auto& value : x)
            value = static_cast<int>(pick(random, 100)) - 100 + high;
        if (seed % 3 == 0)
            for (auto& value : x)
                value |= pick(random, 4) == 0 ? 256 : 0;
        std::vector<unsigned> out(4 * scene.threads);
        ASSERT_EQ(warp().launch("votes", {{1}, scene.block}, x.data(), scene.masks.data(),
                                scene.gone.data(), out.data()),
                  CUDA_SUCCESS);
        for (unsigned t = 0; t < scene.threads; ++t) {
            if (scene.gone[t])
                continue;
            unsigned positive = 0, marked = 0;
            bool any = false, all = true;
            for (unsigned u : scene.fellows(t)) {
                positive |= static_cast<unsigned>(x[u] > 0) << u % 32;
                marked |= static_cast<unsigned>((x[u] & 256) != 0) << u % 32;
                any |= x[u] > 40;
                all &= x[u] < 40;
            }
            ASSERT_EQ(out[4 * t], positive) << t << " seed " << seed;
            ASSERT_EQ(out[4 * t + 1], any) << t << " seed " << seed;
            ASSERT_EQ(out[4 * t + 2], all) << t << " seed " << seed;
            ASSERT_EQ(out[4 * t + 3], marked) << t << " seed " << seed;
        }
    });
}

TEST_P(Warp, Reductions) {
    unsigned seed = 400;
    each_scene(4, [&](const Scene& scene) {
        const auto x = random_values<int>(scene.threads, ++seed);
        std::vector<unsigned> out(9 * scene.threads);
        ASSERT_EQ(warp().launch("reductions", {{1}, scene.block}, x.data(), scene.masks.data(),
                                scene.gone.data(), out.data()),
                  CUDA_SUCCESS);
        for (unsigned t = 0; t < scene.threads; ++t) {
            if (scene.gone[t])
                continue;
            unsigned sum = 0, least = ~0U, most = 0, every = ~0U, some = 0, odd = 0;
            int low = INT32_MAX, high = INT32_MIN;
            for (unsigned u : scene.fellows(t)) {
                const auto bits = static_cast<unsigned>(x[u]);
                sum += bits;
                least = std::min(least, bits);
                most = std::max(most, bits);
                low = std::min(low, x[u]);
                high = std::max(high, x[u]);
                every &= bits;
                some |= bits;
                odd ^= bits;
            }
            const unsigned expected[] = {
                sum,   sum,  least, most, static_cast<unsigned>(low), static_cast<unsigned>(high),
                every, some, odd};
            for (unsigned k = 0; k < 9; ++k)
                ASSERT_EQ(out[9 * t + k], expected[k]) << t << " op " << k << " seed " << seed;
        }
    });
}

TEST_P(Warp, LanesThatLeaveAreNotWaitedFor) {
    for (unsigned threads : {1U, 32U, 40U, 128U}) {
        std::mt19937 random(threads);
        std::vector<int> x(threads), rounds(threads), out(threads * 20, -1), expected = out;
        for (unsigned t = 0; t < threads; ++t) {
            x[t] = static_cast<int>(pick(random, 1000));
            rounds[t] = static_cast<int>(pick(random, 20));
        }
        for (unsigned t = 0; t < threads; ++t)
            for (int round = 0; round < rounds[t]; ++round) {
                int sum = 0;
                for (unsigned u = t / 32 * 32; u < std::min(threads, t / 32 * 32 + 32); ++u)
                    sum += rounds[u] > round ? x[u] + round : 0;
                expected[static_cast<unsigned>(round) * threads + t] = sum;
            }
        ASSERT_EQ(warp().launch("shrinking", {{1}, {threads}}, x.data(), rounds.data(), out.data()),
                  CUDA_SUCCESS);
        EXPECT_EQ(out, expected) << threads;
    }
}

TEST_P(Warp, SyncwarpOrdersMemory) {
    for (unsigned threads : {32U, 50U, 256U}) {
        auto x = random_values<int>(threads, threads);
        for (auto& value : x)
            value &= 0xffff;
        auto expected = x;
        for (int step = 0; step < 9; ++step)
            for (unsigned first = 0; first < threads; first += 32) {
                const auto begin = expected.begin() + first,
                           end = expected.begin() + std::min(threads, first + 32);
                std::rotate(begin, begin + 1, end);
                std::for_each(begin, end, [&](int& value) { value += step; });
            }
        ASSERT_EQ(warp().launch("rotate", {{1}, {threads}}, x.data(), 9), CUDA_SUCCESS);
        EXPECT_EQ(x, expected) << threads;
    }
}

TEST_P(Warp, LanesTogetherTakeEachTicketOnce) {
    const unsigned blocks = 6, threads = 100, all = blocks * threads;
    const auto x = random_values<int>(all, 9);
    std::vector<int> taken(all, -1), sorted;
    std::vector<unsigned> together(all);
    int count = 0;
    ASSERT_EQ(warp().launch("tickets", {{blocks}, {threads}}, x.data(), &count, taken.data(),
                            together.data()),
              CUDA_SUCCESS);
    for (unsigned i = 0; i < all; ++i) {
        const unsigned lane = i % threads % 32, first = i - lane;
        ASSERT_EQ(taken[i] >= 0, x[i] % 3 == 0);
        if (taken[i] < 0)
            continue;
        sorted.push_back(taken[i]);
        EXPECT_TRUE(together[i] >> lane & 1);
        for (unsigned other = 0; other < 32; ++other)
            if (together[i] >> other & 1) {
                EXPECT_EQ(together[first + other], together[i]);
            }
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> expected(sorted.size());
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(sorted, expected);
    EXPECT_EQ(count, static_cast<int>(sorted.size()));
}

TEST_P(Warp, LanesCallEachOtherUntilNobodyIsLeft) {
    for (const Dim& shape : {Dim{32}, Dim{45}, Dim{16, 16}, Dim{7, 9}}) {
        const unsigned threads = shape.x * shape.y;
        std::mt19937 random(threads);
        std::vector<int> x(threads);
        for (int& key : x)
            key = static_cast<int>(pick(random, 6));
        std::vector<unsigned> out(threads);
        ASSERT_EQ(warp().launch("peers", {{1}, shape}, x.data(), out.data()), CUDA_SUCCESS);
        for (unsigned t = 0; t < threads; ++t) {
            unsigned same = 0;
            for (unsigned u = t / 32 * 32; u < std::min(threads, t / 32 * 32 + 32); ++u)
                same |= static_cast<unsigned>(x[u] == x[t]) << u % 32;
            ASSERT_EQ(out[t], same) << t << " of " << threads;
        }
    }
}

TEST_P(Warp, NarrowTypes) {
    const auto x = random_values<int>(64, 77);
    std::vector<int> out(6 * 64);
    ASSERT_EQ(warp().launch("narrow", {{1}, {64}}, x.data(), out.data()), CUDA_SUCCESS);
    for (unsigned t = 0; t < 64; ++t) {
        const unsigned lane = t % 32, first = t - lane;
        int sum = 0;
        unsigned same = 0;
        for (unsigned u = first; u < first + 32; ++u) {
            sum += static_cast<signed char>(x[u]);
            same |= static_cast<unsigned>(static_cast<short>(x[u]) == static_cast<short>(x[t]))
                    << u % 32;
        }
        const int expected[] = {static_cast<signed char>(x[first + (lane + 1) % 32]),
                                static_cast<unsigned char>(x[lane < 2 ? t : t - 2]),
                                static_cast<short>(x[first + (lane ^ 3)]),
                                x[lane > 27 ? t : t + 4] & 1,
                                sum,
                                static_cast<int>(same)};
        for (unsigned k = 0; k < 6; ++k)
            ASSERT_EQ(out[6 * t + k], expected[k]) << t << " fact " << k;
    }
}

} // namespace
} // namespace quern::test
