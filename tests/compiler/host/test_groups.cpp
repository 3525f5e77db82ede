// Cooperative groups run by the host driver. A group is a list of threads here; what each thread of
// it must find is worked out from that list.
#include "kernels.h"
#include "random_ints.h"
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace quern::test {
namespace {

using Long = long long;
constexpr unsigned fact_count = 33;

struct Group {
    std::vector<unsigned> threads; // by rank
    unsigned meta_rank = 0, meta_size = 1;
};

class Groups : public Tiers {
  protected:
    const DriverProgram& groups() const { return program("groups.cu"); }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Groups, testing::Values("fibers", "regions"),
                         [](const auto& tier) { return std::string(tier.param); });

// What thread `rank` of the group writes in the kernels' facts().
std::vector<Long> facts(const Group& group, unsigned rank, const std::vector<int>& x,
                        const std::vector<int>& operands) {
    const auto size = static_cast<unsigned>(group.threads.size());
    const auto at = [&](unsigned r) { return x[group.threads[r]]; };
    const auto bits = [&](auto holds) {
        Long mask = 0;
        for (unsigned r = 0; r < size; ++r)
            mask |= Long{holds(at(r))} << r;
        return mask;
    };
    const auto fold = [&](unsigned first, unsigned last, Long start, auto op) {
        Long result = start;
        for (unsigned r = first; r < last; ++r)
            result = op(result, Long{at(r)});
        return result;
    };
    const auto larger = [](Long a, Long b) { return std::max(a, b); };
    const auto smaller = [](Long a, Long b) { return std::min(a, b); };
    const int mine = at(rank), operand = operands[group.threads[rank]];
    const unsigned from = static_cast<unsigned>(operand) % size,
                   by = static_cast<unsigned>(operand) % 33;
    const Long all = (Long{1} << size) - 1, halves = bits([&](int v) { return v % 2 == mine % 2; });
    const Long before = fold(0, rank, 0, std::plus<>()), least = INT64_MIN;
    const Long product = fold(0, size, 1, [](Long a, Long b) { return a * (b & 1023) % 1009; });
    const int other = at(from);
    return {
        rank,
        size,
        group.meta_rank,
        group.meta_size,
        other,
        rank >= by ? at(rank - by) : mine,
        rank + by < size ? at(rank + by) : mine,
        bits([](int v) { return v > 40; }) != 0,
        bits([](int v) { return v < 40; }) == all,
        bits([](int v) { return v > 0; }),
        bits([&](int v) { return v % 3 == mine % 3; }),
        halves == all ? all : 0,
        halves == all,
        fold(0, size, 0, std::plus<>()),
        fold(0, size, INT64_MAX, [](Long a, Long b) { return std::min(a, b * (Long{1} << 33)); }),
        fold(0, size, 0, [](Long a, Long b) { return std::max(a, b & 0xffffffff); }),
        size == 1 ? mine & 1023 : product,
        fold(0, size, 0, [](Long a, Long b) { return a ^ (b & 0xffffffff); }),
        fold(0, size, 0, std::plus<>()),
        before + mine,
        before,
        fold(0, rank + 1, least, larger),
        rank == 0 ? 0 : fold(0, rank, least, larger),
        before,
        static_cast<short>(other) + other + static_cast<unsigned char>(other) + 1,
        Long{other} * 3 + group.threads[from],
        other,
        fold(0, size, INT64_MAX, smaller),
        fold(0, size, least, larger),
        fold(0, size, INT64_MAX, [](Long a, Long b) { return std::min(a, b & 0xffffffff); }),
        fold(0, size, 0xffffffff, std::bit_and<>()),
        fold(0, size, 0, std::bit_or<>()),
        1,
    };
}

using Cut = std::function<std::vector<Group>(unsigned threads, const std::vector<int>& x)>;

struct Input {
    Dim block;
    unsigned threads;
    std::vector<int> x, operands;
    Input(Dim shape, unsigned seed)
        : block(shape), threads(shape.x * shape.y * shape.z),
          x(random_ints(threads, seed, seed % 3 == 0 ? 0 : -100, seed % 3 == 1 ? 30 : 100)),
          operands(random_ints(threads, seed + 1000, 0, 1000000)) {
        if (seed % 5 == 0) // now and then all agree
            for (int& value : x)
                value = 2 * (value / 2);
    }
};

void expect_facts(const std::vector<Group>& made, const Input& input, const std::vector<Long>& out,
                  const std::string& what) {
    std::size_t seen = 0;
    for (const Group& group : made)
        for (unsigned rank = 0; rank < group.threads.size(); ++rank, ++seen) {
            const auto expected = facts(group, rank, input.x, input.operands);
            ASSERT_EQ(expected.size(), fact_count);
            for (unsigned k = 0; k < fact_count; ++k)
                ASSERT_EQ(out[fact_count * group.threads[rank] + k], expected[k])
                    << what << ": fact " << k << " of thread " << group.threads[rank] << ", rank "
                    << rank << " of " << group.threads.size();
        }
    ASSERT_EQ(seen, input.threads);
}

template <class... More> void check(const DriverProgram& program, const std::string& kernel,
                                    const std::vector<Dim>& shapes, const Cut& cut, More... more) {
    unsigned seed = 0;
    for (const Dim& shape : shapes)
        for (int round = 0; round < 3; ++round) {
            const Input input(shape, ++seed);
            std::vector<Long> out(fact_count * input.threads, -77);
            ASSERT_EQ(program.launch(kernel, {{1}, shape}, input.x.data(), input.operands.data(),
                                     more..., out.data()),
                      CUDA_SUCCESS);
            expect_facts(cut(input.threads, input.x), input, out,
                         kernel + " of " + std::to_string(input.threads));
        }
}

// Neighbours, `size` at a time.
std::vector<Group> rows(unsigned threads, unsigned size) {
    std::vector<Group> made((threads + size - 1) / size);
    for (unsigned t = 0; t < threads; ++t)
        made[t / size].threads.push_back(t);
    for (unsigned i = 0; i < made.size(); ++i) {
        made[i].meta_rank = i;
        made[i].meta_size = static_cast<unsigned>(made.size());
    }
    return made;
}

// Each of `from`, its members sorted by a label; the order is that of first members.
std::vector<Group> sorted(const std::vector<Group>& from,
                          const std::function<int(unsigned)>& label) {
    std::vector<Group> made;
    for (const Group& parent : from) {
        std::vector<int> labels;
        std::vector<Group> parts;
        for (unsigned t : parent.threads) {
            const auto found = std::find(labels.begin(), labels.end(), label(t));
            const auto index = static_cast<std::size_t>(found - labels.begin());
            if (found == labels.end()) {
                labels.push_back(label(t));
                parts.emplace_back();
            }
            parts[index].threads.push_back(t);
        }
        for (unsigned i = 0; i < parts.size(); ++i) {
            parts[i].meta_rank = i;
            parts[i].meta_size = static_cast<unsigned>(parts.size());
        }
        made.insert(made.end(), parts.begin(), parts.end());
    }
    return made;
}

std::vector<Group> parts_of(const std::vector<Group>& from, unsigned size) {
    std::vector<Group> made;
    for (const Group& parent : from) {
        if (parent.threads.size() <= size) { // stays as it is
            made.push_back(parent);
            continue;
        }
        auto parts = rows(static_cast<unsigned>(parent.threads.size()), size);
        for (Group& part : parts)
            for (unsigned& t : part.threads)
                t = parent.threads[t];
        made.insert(made.end(), parts.begin(), parts.end());
    }
    return made;
}

std::vector<Group> warps(unsigned threads) {
    auto made = rows(threads, 32);
    for (Group& group : made)
        group.meta_rank = 0, group.meta_size = 1;
    return made;
}

const std::vector<Dim> whole = {{32}, {64}, {512}, {8, 4, 2}, {16, 6}, {3, 32, 1}, {1024}};
const std::vector<Dim> any_shape = {{32}, {1}, {45}, {200}, {7, 9}, {5, 3, 4}, {1000}};

TEST_P(Groups, TilesOfEverySize) {
    for (unsigned size = 1; size <= 32; size *= 2) {
        unsigned seed = 50;
        for (const Dim& shape : whole) {
            const Input input(shape, ++seed);
            std::vector<Long> out(fact_count * input.threads), crossed(input.threads);
            ASSERT_EQ(groups().launch("tile_" + std::to_string(size), {{1}, shape}, input.x.data(),
                                      input.operands.data(), out.data(), crossed.data()),
                      CUDA_SUCCESS);
            expect_facts(rows(input.threads, size), input, out, "tile " + std::to_string(size));
            for (unsigned t = 0; t < input.threads; ++t)
                ASSERT_EQ(crossed[t],
                          input.x[t ^ (static_cast<unsigned>(input.operands[t]) % size)]);
        }
    }
}

TEST_P(Groups, TilesOfTiles) {
    check(groups(), "tile_of_tile", whole, [](unsigned threads, const std::vector<int>&) {
        std::vector<Group> made;
        for (const Group& warp : rows(threads, 32))
            for (const Group& part : parts_of({warp}, 8))
                made.push_back(part);
        return made;
    });
}

TEST_P(Groups, CoalescedThreads) {
    check(groups(), "whole_warps", any_shape,
          [](unsigned threads, const std::vector<int>&) { return warps(threads); });
    check(groups(), "branches", any_shape, [](unsigned threads, const std::vector<int>& x) {
        auto made = sorted(warps(threads), [&](unsigned t) { return x[t] % 2 == 0; });
        for (Group& group : made)
            group.meta_rank = 0, group.meta_size = 1;
        return made;
    });
}

TEST_P(Groups, PartsOfCoalescedGroups) {
    for (int size = 1; size <= 32; size *= 2)
        check(
            groups(), "parts", any_shape,
            [&](unsigned threads, const std::vector<int>&) {
                return parts_of(warps(threads), static_cast<unsigned>(size));
            },
            size);
}

TEST_P(Groups, BinaryPartition) {
    check(groups(), "halves", whole, [](unsigned threads, const std::vector<int>& x) {
        auto made = sorted(rows(threads, 32), [&](unsigned t) { return x[t] > 0; });
        for (Group& group : made)
            if (group.meta_size == 2) // the predicate's number is the rank
                group.meta_rank = x[group.threads[0]] > 0;
        return made;
    });
}

TEST_P(Groups, LabeledPartition) {
    for (int kinds : {1, 2, 5, 100})
        check(
            groups(), "labels", whole,
            [&](unsigned threads, const std::vector<int>& x) {
                return sorted(rows(threads, 32), [&](unsigned t) { return x[t] % kinds; });
            },
            kinds);
    for (int size : {1, 4, 16})
        check(
            groups(), "parts_of_labels", any_shape,
            [&](unsigned threads, const std::vector<int>& x) {
                return parts_of(sorted(warps(threads), [&](unsigned t) { return x[t] % 3; }),
                                static_cast<unsigned>(size));
            },
            3, size);
}

TEST_P(Groups, KindsKnownOnlyAtRunTime) {
    for (const Dim& shape : any_shape)
        for (int size = 1; size <= 32; size *= 2) {
            const Input input(shape, shape.x + static_cast<unsigned>(size));
            const auto width = static_cast<unsigned>(size);
            std::vector<Long> out(4 * input.threads);
            ASSERT_EQ(groups().launch("any_group", {{1}, shape}, input.x.data(), size, out.data()),
                      CUDA_SUCCESS);
            const auto sum = [&](unsigned first, unsigned count) {
                const auto last = std::min(first + count, input.threads);
                return std::accumulate(input.x.begin() + first, input.x.begin() + last, Long{0});
            };
            for (unsigned t = 0; t < input.threads; ++t) {
                const unsigned first = t / width * width;
                const unsigned left = std::min(width, input.threads - first);
                const unsigned pair = std::min(2U, left); // of the part's threads
                const unsigned begin = left <= 2 ? first : first + (t - first) / 2 * 2;
                const unsigned count = std::min(pair, first + left - begin);
                ASSERT_EQ(out[4 * t], sum(0, input.threads));
                ASSERT_EQ(out[4 * t + 1], sum(first, left)) << t << " " << size;
                ASSERT_EQ(out[4 * t + 2], sum(begin, count)) << t << " " << size;
                ASSERT_EQ(out[4 * t + 3], Long{input.x[t]} + 1000 * (t - first) + count);
            }
        }
}

TEST_P(Groups, TilesOfSeveralWarps) {
    for (unsigned size : {64U, 128U, 256U, 512U})
        for (const Dim& shape : {Dim{size}, Dim{1024}, Dim{32, 8, 4}, Dim{size, 1, 1}}) {
            const Input input(shape, size + shape.y);
            if (input.threads % size != 0)
                continue;
            std::vector<Long> out(16 * input.threads);
            ASSERT_EQ(groups().launch("large_" + std::to_string(size), {{1}, shape}, input.x.data(),
                                      input.operands.data(), out.data()),
                      CUDA_SUCCESS);
            for (unsigned t = 0; t < input.threads; ++t) {
                const unsigned first = t / size * size, rank = t - first;
                const auto begin = input.x.begin() + first, end = begin + size, own = begin + rank;
                Long product = 1;
                for (auto it = begin; it != end; ++it)
                    product = product * (*it & 1023) % 1009;
                const Long before = std::accumulate(begin, own, Long{0});
                const Long expected[] = {rank,
                                         t / size,
                                         input.threads / size,
                                         rank / 32 * 100 + size / 32,
                                         begin[37],
                                         std::any_of(begin, end, [](int v) { return v > 95; }),
                                         std::all_of(begin, end, [](int v) { return v > -95; }),
                                         std::accumulate(begin, end, Long{0}),
                                         *std::max_element(begin, end),
                                         product,
                                         before + *own,
                                         before,
                                         rank == 0 ? 0 : *std::max_element(begin, own),
                                         begin[static_cast<unsigned>(input.operands[t]) % size],
                                         *begin};
                for (unsigned k = 0; k < std::size(expected); ++k)
                    ASSERT_EQ(out[16 * t + k], expected[k])
                        << "fact " << k << " of thread " << t << ", tile " << size;
            }
        }
}

TEST_P(Groups, TilesOfTwoSizesMeetAtOnce) {
    for (unsigned size : {128U, 256U, 512U})
        for (unsigned part = 64; part < size; part *= 2) {
            const auto x = random_ints(1024, size + part, 0, 1000);
            auto expected = x;
            for (unsigned round = 0; round < 5; ++round) {
                for (unsigned step = 0; step < 3; ++step) {
                    const auto before = expected;
                    for (unsigned t = 0; t < 1024; ++t)
                        if ((t % size / part + t / size + round) % 2 == 0)
                            expected[t] += before[t / part * part + (t + 1) % part];
                }
                const auto before = expected;
                for (unsigned t = 0; t < 1024; ++t)
                    expected[t] =
                        (before[t] + before[t / size * size + (t + 77) % size]) & 0xffffff;
            }
            std::vector<int> out(1024);
            const auto name = "_Z9two_sizesILi" + std::to_string(size) + "ELi" +
                              std::to_string(part) + "EEvPKiPi";
            ASSERT_EQ(groups().launch(name, {{1}, {1024}}, x.data(), out.data()), CUDA_SUCCESS);
            EXPECT_EQ(out, expected) << size << " and " << part;
        }
}

TEST_P(Groups, GridsScanAndSayWhereTheyAre) {
    for (const auto& [grid, block] : std::vector<std::pair<Dim, Dim>>{
             {{1}, {32}}, {{7}, {128}}, {{3, 2, 2}, {32, 2, 2}}, {{2, 5}, {16, 4}}}) {
        const unsigned threads = block.x * block.y * block.z, blocks = grid.x * grid.y * grid.z;
        const auto x = random_ints(threads * blocks, threads, -100, 100);
        std::vector<int> y(x.size()), expected(x.size()), of_block(blocks);
        std::vector<unsigned long long> where(8 * x.size());
        std::partial_sum(x.begin(), x.end(), expected.begin());
        ASSERT_EQ(groups().launch("grid_scan", {grid, block, 0, true}, x.data(), y.data(),
                                  of_block.data(), where.data()),
                  CUDA_SUCCESS);
        EXPECT_EQ(y, expected);
        for (unsigned i = 0; i < x.size(); ++i) {
            const unsigned b = i / threads, t = i % threads;
            const unsigned bx = b % grid.x, by = b / grid.x % grid.y, bz = b / grid.x / grid.y;
            const unsigned tx = t % block.x, ty = t / block.x % block.y;
            const unsigned long long found[] = {1,
                                                1000001ULL * x.size(),
                                                grid.x + 1000ULL * grid.y + 1000000ULL * grid.z,
                                                bx + 1000ULL * by + 1000000ULL * bz,
                                                bx * block.x + tx + 1000ULL * (by * block.y + ty) +
                                                    1000000ULL * grid.x * block.x,
                                                bx + 1000ULL * ty + 1000000ULL * block.x,
                                                block.y + 1000ULL * threads,
                                                b};
            for (unsigned k = 0; k < 8; ++k)
                ASSERT_EQ(where[8 * i + k], found[k]) << "fact " << k << " of thread " << i;
        }
    }
}

TEST_P(Groups, OnlyCooperativeLaunchesWaitForTheGrid) {
    for (const bool cooperative : {true, false}) {
        std::vector<int> out(64, -1);
        ASSERT_EQ(groups().launch("ask_grid", {{2}, {64}, 0, cooperative}, out.data()),
                  CUDA_SUCCESS);
        EXPECT_EQ(out, std::vector<int>(64, cooperative));
        EXPECT_EQ(groups().launch("wait_for_grid", {{2}, {64}, 0, cooperative}, out.data()),
                  cooperative ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
        EXPECT_EQ(out, std::vector<int>(64, cooperative));
    }
}

TEST_P(Groups, AClusterIsABlock) {
    std::vector<int> out(3 * 96);
    ASSERT_EQ(groups().launch("cluster", {{3}, {96}}, out.data()), CUDA_SUCCESS);
    for (int i = 0; i < 3 * 96; ++i)
        EXPECT_EQ(out[i], (95 - i % 96) * 3 + 1000 + 1);
}

TEST_P(Groups, CopiesAndWhatOneThreadDoes) {
    const int n = 700;
    const auto x = random_ints(n, 3, -1000, 1000);
    std::vector<int> y(n + 21), expected;
    for (int first = 0; first < n; first += 300)
        expected.insert(expected.end(), x.rend() - std::min(n, first + 300), x.rend() - first);
    expected.insert(expected.end(), x.begin(), x.begin() + 10);
    expected.insert(expected.end(), x.begin() + 1, x.begin() + 11);
    expected.push_back(31 + 4);
    ASSERT_EQ(groups().launch("copies", {{1}, {64}}, x.data(), y.data(), n), CUDA_SUCCESS);
    EXPECT_EQ(y, expected);
}

} // namespace
} // namespace quern::test
