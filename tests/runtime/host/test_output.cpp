// What kernels print: CUDA's formats, what printf returns, and that nothing is torn or lost.
#include "runtime/host/host_driver.h"
#include "tests/runtime/host/objects.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

namespace quern::host {
namespace {

std::string printed, complained;
void collect(bool error, const char* text, std::size_t bytes) {
    (error ? complained : printed).append(text, bytes);
}

class OutputTest : public test::HostTest {
  protected:
    CUresult launch(CUfunction function, unsigned blocks, void* argument) {
        void* params[] = {argument};
        return api.cuLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
    }
    void SetUp() override {
        test::HostTest::SetUp();
        printed.clear();
        complained.clear();
        set_host_text_sink(&collect);
    }
    void TearDown() override {
        set_host_text_sink(nullptr);
        test::HostTest::TearDown();
    }
};

// The C library formats the same values, but for what only CUDA says.
TEST_F(OutputTest, FormatsAsCudaDoes) {
    std::vector<int> counts(9);
    int* place = counts.data();
    ASSERT_EQ(launch(kernel("print_formats"), 1, &place), CUDA_SUCCESS);
    char wanted[2000];
    int at = std::snprintf(wanted, sizeof wanted,
                           "plain, 100%%, no more %%\n%d|%5i|%-6u|%+d|% d|%05d|%x|%#X|%o\n", -1, 42,
                           7u, 8, 9, 10, 255u, 255u, 8u);
    at += std::snprintf(wanted + at, sizeof wanted - static_cast<std::size_t>(at),
                        "-3|65535|-6|-5000000000|7|-8|9\n%f|%.2e|%G|%a|%*.*f|%-*d|\n", 1.5,
                        12345.678, 1e-10, 0.5, 8, 3, 3.14159, 4, 1);
    at += std::snprintf(wanted + at, sizeof wanted - static_cast<std::size_t>(at),
                        "text|     right|cu|x|(null)|0x10\n%%y5\n%300d|%f\n", 1, 1e300);
    EXPECT_EQ(printed, wanted);
    EXPECT_EQ(counts, (std::vector<int>{0, 9, 7, 9, 6, -1, 2, 2, 0}));
}

TEST_F(OutputTest, BlocksDoNotTearAndThreadsComeInOrder) {
    constexpr int threads = 40;
    int count = threads;
    ASSERT_EQ(launch(kernel("print_blocks"), 500, &count), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    std::istringstream lines(printed);
    std::map<int, int> next;
    for (std::string line; std::getline(lines, line);) {
        int block = -1, thread = -1;
        ASSERT_EQ(std::sscanf(line.c_str(), "block %d thread %d", &block, &thread), 2) << line;
        EXPECT_EQ(next[block]++, thread);
    }
    EXPECT_EQ(next.size(), 500u);
    EXPECT_TRUE(
        std::all_of(next.begin(), next.end(), [](auto& row) { return row.second == threads; }));
}

TEST_F(OutputTest, FailedAssertionIsToldOnTheErrorStream) {
    int fail = 1;
    ASSERT_EQ(launch(kernel("fail_if"), 1, &fail), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ASSERT);
    EXPECT_EQ(complained,
              "test.cu:7: fail_if: block: [4,5,6], thread: [1,2,3] Assertion `never` failed.\n");
    EXPECT_EQ(printed, "");
}

} // namespace
} // namespace quern::host
