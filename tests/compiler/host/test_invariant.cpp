// What a loop asks about its values: which of them all of its elements share.
#include "host_compiler.h"
#include <gtest/gtest.h>

namespace quern::test {
namespace {

constexpr const char* source = R"(
extern "C" __device__ __attribute__((const)) bool __quern_is_invariant(unsigned long long x);
__device__ inline int asked(long long x) { return __quern_is_invariant(static_cast<unsigned long long>(x)) ? 1 : 2; }
extern "C" __global__ void loop(const long long* x, long long by, int* of_by, int* of_more, int* of_x, int* of_i, long long n) {
    for (long long i = 0; i < n; ++i) {
        of_by[i] = asked(by);
        of_more[i] = asked(by == 0 ? 1 : by * 3 + n);
        of_x[i] = asked(x[i]);
        of_i[i] = asked(i * by);
    }
}
extern "C" __global__ void rows(int* found, long long n) {
    for (long long i = 0; i < n; ++i)
        for (long long j = 0; j < n; ++j) found[i * n + j] = 10 * asked(i) + asked(j);
}
extern "C" __global__ void by_thread(int* found, long long by) { found[threadIdx.x] = asked(by); }
)";

TEST(Invariant, WhatALoopChangesIsNot) {
    for (const std::string& arch : {std::string(), std::string("x86-64"), this_cpu()}) {
        const Program program({source, {}, {}, {}, arch});
        constexpr std::size_t count = 100;
        std::vector<long long> x(count, 7);
        std::vector<int> by(count), more(count), element(count), index(count);
        program.launch("loop", {}, {}, x.data(), 7LL, by.data(), more.data(), element.data(),
                       index.data(), static_cast<long long>(count));
        EXPECT_EQ(by, std::vector<int>(count, 1));
        EXPECT_EQ(more, std::vector<int>(count, 1));
        EXPECT_EQ(element, std::vector<int>(count, 2));
        EXPECT_EQ(index, std::vector<int>(count, 2));
    }
}

TEST(Invariant, TheInnermostLoopIsMeant) {
    const Program program({source, {}, {}, {}, this_cpu()});
    std::vector<int> found(100);
    program.launch("rows", {}, {}, found.data(), 10LL);
    EXPECT_EQ(found, std::vector<int>(100, 12));
}

TEST(Invariant, WithoutALoopThereIsAnAnswerToo) {
    const Program program({source, {}, {}, {}, this_cpu()});
    std::vector<int> found(32);
    program.launch("by_thread", {}, {32}, found.data(), 7LL);
    for (const int each : found)
        EXPECT_TRUE(each == 1 || each == 2) << each;
}

} // namespace
} // namespace quern::test
