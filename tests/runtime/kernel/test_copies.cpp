// Copies and joins on a stream that is not the arrays' own: their memory is not handed out before
// that stream has read it.
#include "runtime/array/views.h"
#include "runtime/kernel/concatenate.h"
#include "runtime/kernel/fill.h"
#include "runtime/stream/stream.h"
#include "tests/private_cache.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <vector>

namespace quern {
namespace {

class CopiesOnFake : public testing::Test {
  protected:
    CopiesOnFake() { install_drivers_for_test({&fake.driver()}); }
    ~CopiesOnFake() override { install_drivers_for_test({}); }
    Array empty(const Dims& shape) {
        return Array::empty(find_device("cuda:0"), DType::float32, shape, nullptr);
    }
    // Frees arrays while the stream is at work. How many of them wait for it?
    std::size_t fenced(std::vector<Array> arrays, const Stream& stream) {
        fake.set_busy(stream.handle(), true);
        fake.forget_calls();
        arrays.clear();
        fake.set_busy(stream.handle(), false);
        return fake.count("cuEventRecord");
    }
    FakeDriver fake;
};

TEST_F(CopiesOnFake, ACopyOnAnotherStreamKeepsBothArrays) {
    const Stream side(find_device("cuda:0"));
    std::vector<Array> arrays{empty({1000}), empty({1000})};
    copy_into(arrays[0], arrays[1], side.handle());
    EXPECT_EQ(fake.count("cuMemcpyDtoDAsync"), 1u);
    EXPECT_EQ(fenced(std::move(arrays), side), 2u);
}

TEST_F(CopiesOnFake, ManyPartsAreOneLaunch) {
    const Stream side(find_device("cuda:0"));
    std::vector<Array> parts;
    for (int k = 0; k < 20; ++k)
        parts.push_back(empty({1, 100}));
    ConcatenateCall call;
    call.axis = 0;
    set_current_stream(find_device("cuda:0"), side.handle());
    const Array joined = concatenate(parts, call);
    set_current_stream(find_device("cuda:0"), nullptr);
    EXPECT_EQ(joined.shape(), Dims({20, 100}));
    EXPECT_EQ(fake.count("cuLaunchKernel"), 1u);
    EXPECT_EQ(fake.count("cuMemcpyDtoDAsync"), 0u);
    EXPECT_EQ(fenced(std::move(parts), side), 20u);
}

TEST_F(CopiesOnFake, FewDensePartsAreOneLaunch) {
    const Stream side(find_device("cuda:0"));
    for (const int axis : {0, 1}) {
        std::vector<Array> parts;
        for (const int extent : {7, 300, 41})
            parts.push_back(empty(axis == 0 ? Dims{extent, 5} : Dims{5, extent}));
        fake.forget_calls();
        ConcatenateCall call;
        call.axis = axis;
        set_current_stream(find_device("cuda:0"), side.handle());
        const Array joined = concatenate(parts, call);
        set_current_stream(find_device("cuda:0"), nullptr);
        EXPECT_EQ(joined.shape(), axis == 0 ? Dims({348, 5}) : Dims({5, 348}));
        EXPECT_EQ(fake.count("cuLaunchKernel"), 1u);
        EXPECT_EQ(fake.count("cuMemcpyDtoDAsync"), 0u);
        EXPECT_EQ(fenced(std::move(parts), side), 3u);
    }
}

TEST_F(CopiesOnFake, LargeOrUnlikePartsAreCopiesOfTheDriver) {
    const auto copies = [&](const std::vector<Array>& parts) {
        fake.forget_calls();
        ConcatenateCall call;
        call.axis = 0;
        static_cast<void>(concatenate(parts, call));
        EXPECT_EQ(fake.count("cuLaunchKernel"), 0u);
        return fake.count("cuMemcpyDtoDAsync");
    };
    std::vector<Array> large, unlike;
    for (int k = 0; k < 12; ++k) {
        large.push_back(empty({1 << 20}));
        unlike.push_back(empty({100 + k}));
    }
    EXPECT_EQ(copies(large), 12u);
    EXPECT_EQ(copies(unlike), 12u);
}

} // namespace
} // namespace quern
