// A kernel call on a driver that fails: the right error, and nothing lost; what the launch was
// given, byte for byte.
#include "compiler/base/error.h"
#include "runtime/kernel/elementwise.h"
#include "tests/private_cache.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <cstring>

namespace quern {
namespace {

ElementwiseText axpy() {
    ElementwiseText text;
    text.name = "axpy";
    text.in_params = "T a, T x, T y";
    text.out_params = "T z";
    text.operation = "z = a * x + y";
    return text;
}

class OnFake : public testing::Test {
  protected:
    OnFake() { install_drivers_for_test({&fake.driver()}); }
    ~OnFake() override { install_drivers_for_test({}); }
    FakeDriver fake;
};

TEST_F(OnFake, ParametersArePackedAsTheTextDeclaresThem) {
    Device& device = find_device("cuda:0");
    ElementwiseKernel kernel(axpy());
    Array x = Array::empty(device, DType::float32, {1000}, nullptr),
          y = Array::empty(device, DType::float32, {1000}, nullptr);
    bool seen = false;
    std::uint64_t addresses[3] = {};
    float a = 0;
    std::uint32_t nest[2] = {};
    fake.set_kernel([&](const FakeLaunch& launch) {
        seen = true;
        EXPECT_EQ(launch.block[0], 128u);
        EXPECT_EQ(launch.grid[0], 2u); // 250 packs of four
        std::memcpy(&a, launch.params[0], 4);
        for (int k = 0; k < 3; ++k)
            std::memcpy(&addresses[k], launch.params[1 + k], 8);
        std::memcpy(nest, launch.params[4], sizeof nest);
    });
    const Argument args[] = {Argument::of(Scalar::of(2.5)), Argument::of(x), Argument::of(y)};
    const std::vector<Array> made = kernel(args);
    ASSERT_TRUE(seen);
    EXPECT_EQ(a, 2.5f);
    EXPECT_EQ(addresses[0], x.address());
    EXPECT_EQ(addresses[1], y.address());
    EXPECT_EQ(addresses[2], made.at(0).address());
    EXPECT_EQ(nest[0], 250u);
    EXPECT_EQ(nest[1], 1000u);
}

TEST_F(OnFake, AnySingleFailingDriverCallIsAnErrorAndNothingMore) {
    Device& device = find_device("cuda:0");
    Array x = Array::empty(device, DType::float32, {1000}, nullptr);
    const Argument args[] = {Argument::of(Scalar::of(2.5)), Argument::of(x), Argument::of(x)};
    for (int nth = 1; nth <= 12; ++nth) {
        ElementwiseKernel kernel(axpy());
        fake.fail("", nth, CUDA_ERROR_UNKNOWN);
        bool failed = false;
        try {
            static_cast<void>(kernel(args));
        } catch (const Error& error) {
            failed = true;
            EXPECT_TRUE(error.kind() == ErrorKind::driver || error.kind() == ErrorKind::memory)
                << error.what();
        }
        fake.stop_failing();
        const std::size_t modules = fake.live_modules(), launches = fake.launches().size();
        EXPECT_NO_THROW(static_cast<void>(kernel(args)))
            << "after call " << nth << " failed: " << failed;
        EXPECT_EQ(fake.launches().size(), launches + 1);
        EXPECT_LE(fake.live_modules(), modules + 1);
    }
}

TEST_F(OnFake, AFailedLaunchTellsTheDeedAndTheDriversName) {
    Device& device = find_device("cuda:0");
    Array x = Array::empty(device, DType::float32, {8}, nullptr);
    const Argument args[] = {Argument::of(Scalar::of(1.0)), Argument::of(x), Argument::of(x)};
    ElementwiseKernel kernel(axpy());
    fake.fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    try {
        static_cast<void>(kernel(args));
        FAIL() << "the launch failed and nobody said so";
    } catch (const DriverError& error) {
        EXPECT_NE(std::string(error.what()).find("launch kernel 'axpy'"), std::string::npos)
            << error.what();
        EXPECT_EQ(error.code(), static_cast<int>(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
    }
}

TEST_F(OnFake, ModulesGoWithTheirKernel) {
    Device& device = find_device("cuda:0");
    {
        Array x = Array::empty(device, DType::float32, {8}, nullptr);
        const Argument args[] = {Argument::of(Scalar::of(1.0)), Argument::of(x), Argument::of(x)};
        ElementwiseKernel kernel(axpy());
        static_cast<void>(kernel(args));
        static_cast<void>(kernel(args));
        EXPECT_EQ(fake.live_modules(), 1u);
    }
    EXPECT_EQ(fake.live_modules(), 0u);
}

TEST(OnTwoFakes, ArraysOfTwoDevicesAreRefusedByName) {
    FakeDriver fake(2);
    install_drivers_for_test({&fake.driver()});
    {
        const Array x = Array::empty(find_device("cuda:0"), DType::float32, {8}, nullptr);
        const Array y = Array::empty(find_device("cuda:1"), DType::float32, {8}, nullptr);
        const Argument args[] = {Argument::of(Scalar::of(1.0)), Argument::of(x), Argument::of(y)};
        ElementwiseKernel kernel(axpy());
        try {
            static_cast<void>(kernel(args));
            FAIL() << "it ran";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::value);
            EXPECT_EQ(std::string(error.what()),
                      "kernel 'axpy': 'x' is on device cuda:0 and 'y' is on device cuda:1\n"
                      "    T a, T x, T y -> T z\n"
                      "         ^    ^\n"
                      "    help: move one of them with quern.asarray(x, device=...)");
        }
        EXPECT_TRUE(fake.launches().empty());
    }
    install_drivers_for_test({});
}

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new PrivateCache);

} // namespace
} // namespace quern
