// Kernels that are compiled while their caller goes on: what became of one that failed.
#include "compiler/base/error.h"
#include "runtime/kernel/ahead.h"
#include "runtime/kernel/elementwise.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

ElementwiseSpec spec_of(const std::string& name, const char* operation) {
    ElementwiseText text;
    text.name = name + "_" + std::to_string(getpid()); // never met before
    text.in_params = "T x";
    text.out_params = "T y";
    text.operation = operation;
    return make_elementwise_spec(text);
}

TEST(Ahead, AFailureIsToldWhereSomebodyWaitsAndByTheNextCall) {
    start_going_ahead();
    if (!goes_ahead())
        GTEST_SKIP() << "one thread";
    Device& cpu = find_device("cpu");
    const Array x = Array::empty(cpu, DType::int32, {64}, nullptr);
    for (int& value : std::span(reinterpret_cast<int*>(x.address()), 64))
        value = 7;
    const Argument args[] = {Argument::of(x)};
    const auto waited = [&] { return cpu.api().cuStreamSynchronize(nullptr); };

    ElementwiseKernel broken(spec_of("broken", "y = x + nobody"), true);
    testing::internal::CaptureStderr();
    EXPECT_NO_THROW(broken(args));
    EXPECT_EQ(waited(), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("nobody"), std::string::npos);
    EXPECT_THROW(broken(args), CompileError); // made once more, where its caller hears of it
    EXPECT_THROW(broken(args), CompileError);
    EXPECT_EQ(waited(), CUDA_SUCCESS);

    ElementwiseKernel right(spec_of("right", "y = 3 * x"), true);
    const std::vector<Array> made = right(args), again = right(args);
    EXPECT_EQ(waited(), CUDA_SUCCESS);
    for (const Array& array : {made.at(0), again.at(0)})
        for (const int value : std::span(reinterpret_cast<const int*>(array.address()), 64))
            ASSERT_EQ(value, 21);

    stop_going_ahead();
    EXPECT_FALSE(goes_ahead());
    ElementwiseKernel late(spec_of("late", "y = x - 8"), true);
    const std::vector<Array> there = late(args); // nobody waits
    EXPECT_EQ(*reinterpret_cast<const int*>(there.at(0).address()), -1);
}

// A thread that was about to order it is none of the child's.
TEST(Ahead, AChildDoesNotWaitForWhatItsParentExpects) {
    Arrival arrival;
    EXPECT_TRUE(arrival.is_here());
    arrival.expect();
    EXPECT_FALSE(arrival.has_failed());
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        _exit(arrival.has_failed() && !arrival.is_here() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    arrival.settle(true);
    EXPECT_TRUE(arrival.is_here());
    EXPECT_FALSE(arrival.has_failed());
}

} // namespace
} // namespace quern

#endif
