// Inline PTX as published programs use it (kernels/ptx.cu), against the same algorithms in plain
// C++.
#include "driver_program.h"
#include "kernels.h"
#include "ptx_cases.h"
#include <algorithm>
#include <bit>
#include <numeric>

namespace quern::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

const DriverProgram& program() {
    static const DriverProgram compiled({read_kernels("ptx.cu")});
    return compiled;
}

// The fractional parts of the cube roots (and square roots) of the first primes, as the standard
// defines its constants.
std::vector<u32> fractions(int count, bool cubes) {
    std::vector<u32> result;
    for (int n = 2; std::ssize(result) < count; ++n) {
        bool prime = true;
        for (int d = 2; d * d <= n; ++d)
            prime &= n % d != 0;
        if (!prime)
            continue;
        const long double root =
            cubes ? std::cbrt(static_cast<long double>(n)) : std::sqrt(static_cast<long double>(n));
        result.push_back(static_cast<u32>((root - std::floor(root)) * 4294967296.0L));
    }
    return result;
}

std::vector<u32> sha256(const u32* block, std::vector<u32> h, const std::vector<u32>& k) {
    std::vector<u32> w(64);
    for (int t = 0; t < 16; ++t)
        w[t] = __builtin_bswap32(block[t]);
    for (int t = 16; t < 64; ++t) {
        const u32 a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[t - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto s = h;
    for (int t = 0; t < 64; ++t) {
        const u32 x = s[4], y = s[0];
        const u32 first = s[7] + (std::rotr(x, 6) ^ std::rotr(x, 11) ^ std::rotr(x, 25)) +
                          ((x & s[5]) ^ (~x & s[6])) + k[t] + w[t];
        const u32 second = (std::rotr(y, 2) ^ std::rotr(y, 13) ^ std::rotr(y, 22)) +
                           ((y & s[1]) ^ (y & s[2]) ^ (s[1] & s[2]));
        std::rotate(s.begin(), s.end() - 1, s.end());
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < 8; ++i)
        h[i] += s[i];
    return h;
}

TEST(PtxPrograms, Sha256) {
    const auto constants = fractions(64, true), start = fractions(8, false);
    const int n = 100;
    auto blocks = ptx_values<u32>(16 * n, 1);
    std::fill_n(blocks.begin(), 16, 0u); // the first is "abc", whose hash everybody knows
    blocks[0] = 0x80636261, blocks[15] = 0x18000000;
    std::vector<u32> states;
    for (int i = 0; i < n; ++i)
        states.insert(states.end(), start.begin(), start.end());
    ASSERT_EQ(
        program().launch("sha256", {{4}, {32}}, blocks.data(), constants.data(), states.data(), n),
        CUDA_SUCCESS);
    EXPECT_EQ(states[0], 0xba7816bfu);
    EXPECT_EQ(states[7], 0xf20015adu);
    for (int i = 0; i < n; ++i) {
        const auto expected = sha256(&blocks[16 * i], start, constants);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), &states[8 * i])) << i;
    }
}

TEST(PtxPrograms, Keccak) {
    std::vector<u64> constants; // by the linear register of the standard
    for (int round = 0, bits = 1; round < 24; ++round) {
        u64 constant = 0;
        for (int j = 0; j < 7; ++j) {
            constant |= u64(bits & 1) << ((1 << j) - 1);
            bits = bits << 1 ^ (bits & 0x80 ? 0x171 : 0);
        }
        constants.push_back(constant);
    }
    const int n = 50, rounds = 24;
    auto states = ptx_values<u64>(25 * n, 2), expected = states;
    std::fill_n(states.begin(), 25, u64{0});
    std::fill_n(expected.begin(), 25, u64{0});
    ASSERT_EQ(program().launch("keccak", {{2}, {32}}, states.data(), constants.data(), rounds, n),
              CUDA_SUCCESS);
    EXPECT_EQ(states[0], 0xf1258f7940e1dde7ull); // of a state of zeros, as published
    for (int i = 0; i < n; ++i) {
        u64* a = &expected[25 * i];
        for (int round = 0; round < rounds; ++round) {
            u64 c[5], b[25];
            for (int x = 0; x < 5; ++x)
                c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
            for (int k = 0; k < 25; ++k)
                a[k] ^= c[(k + 4) % 5] ^ std::rotl(c[(k + 1) % 5], 1);
            int turn[25] = {};
            for (int t = 0, x = 1, y = 0; t < 24; ++t) {
                turn[x + 5 * y] = (t + 1) * (t + 2) / 2 % 64;
                const int next = (2 * x + 3 * y) % 5;
                x = y, y = next;
            }
            for (int x = 0; x < 5; ++x)
                for (int y = 0; y < 5; ++y)
                    b[y + 5 * ((2 * x + 3 * y) % 5)] = std::rotl(a[x + 5 * y], turn[x + 5 * y]);
            for (int k = 0; k < 25; ++k)
                a[k] = b[k] ^ (~b[k / 5 * 5 + (k + 1) % 5] & b[k / 5 * 5 + (k + 2) % 5]);
            a[0] ^= constants[round];
        }
        ASSERT_TRUE(std::equal(a, a + 25, &states[25 * i])) << i;
    }
}

TEST(PtxPrograms, NumbersOf128Bits) {
    using Wide = unsigned __int128;
    const int n = 500;
    const auto a = ptx_values<u64>(2 * n, 1), b = ptx_values<u64>(2 * n, 2);
    std::vector<u64> sum(2 * n), difference(2 * n), product(2 * n);
    ASSERT_EQ(program().launch("wide", {{8}, {64}}, a.data(), b.data(), sum.data(),
                               difference.data(), product.data(), n),
              CUDA_SUCCESS);
    const auto at = [](const std::vector<u64>& x, int i) {
        return Wide{x[2 * i + 1]} << 64 | x[2 * i];
    };
    for (int i = 0; i < n; ++i) {
        ASSERT_TRUE(at(sum, i) == at(a, i) + at(b, i)) << i;
        ASSERT_TRUE(at(difference, i) == at(a, i) - at(b, i)) << i;
        ASSERT_TRUE(at(product, i) == at(a, i) * at(b, i)) << i;
    }
}

TEST(PtxPrograms, DigitsOfSortKeys) {
    const int n = 3000;
    const auto x = ptx_values<float>(n, 3);
    for (int bit : {0, 8, 24}) {
        std::vector<u32> counts(256), expected(256);
        ASSERT_EQ(program().launch("digits", {{3}, {256}}, x.data(), counts.data(), n, bit),
                  CUDA_SUCCESS);
        for (float value : x) {
            const u32 bits = std::bit_cast<u32>(value);
            const u32 key = bits >> 31 ? ~bits : bits | 0x80000000;
            ++expected[key >> bit & 255];
        }
        EXPECT_EQ(counts, expected) << bit;
    }
}

TEST(PtxPrograms, LanesTogetherTakeOneTicket) {
    const int n = 1000;
    const auto random = ptx_values<u32>(n, 4);
    std::vector<int> x(random.begin(), random.end()), out(n, -1), expected;
    std::copy_if(x.begin(), x.end(), std::back_inserter(expected), [](int v) { return v >= 0; });
    u32 length = 0;
    ASSERT_EQ(program().launch("compact", {{8}, {128}}, x.data(), out.data(), &length, n),
              CUDA_SUCCESS);
    ASSERT_EQ(length, expected.size());
    out.resize(length);
    std::sort(out.begin(), out.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(out, expected);
}

TEST(PtxPrograms, StreamsAndPipelines) {
    const int n = 300, rounds = 10;
    const auto from = ptx_values<u32>(4 * n, 5);
    std::vector<u32> to(4 * n);
    std::vector<u64> times(n, ~u64{0});
    ASSERT_EQ(program().launch("stream", {{5}, {64}}, from.data(), to.data(), times.data(), n),
              CUDA_SUCCESS);
    EXPECT_EQ(to, from);
    EXPECT_LT(*std::max_element(times.begin(), times.end()), u64{60'000'000'000});
    std::vector<int> in(64 * rounds), out(64 * rounds);
    std::iota(in.begin(), in.end(), 0);
    ASSERT_EQ(program().launch("pipeline", {{1}, {128}}, in.data(), out.data(), rounds),
              CUDA_SUCCESS);
    for (int k = 0; k < rounds; ++k)
        for (int t = 0; t < 64; ++t)
            ASSERT_EQ(out[64 * k + t], 2 * in[64 * k + 63 - t] + 1);
}

} // namespace
} // namespace quern::test
