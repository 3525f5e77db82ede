// Raw kernels on a GPU that is not here: what the text and the symbol tell of parameters, what a
// launch is given, and drivers that fail or are too old to tell.
#include "compiler/base/error.h"
#include "runtime/kernel/cubin_params.h"
#include "runtime/kernel/raw.h"
#include "tests/private_cache.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>

namespace quern {
namespace {

constexpr const char* program = R"(
typedef float real;
extern "C" __global__ void mix(const real* __restrict__ x, real a, long long n, unsigned char b) {}
template <class T> __global__ void scale(T* x, T a) {}
extern "C" __global__ void nothing() {}
)";

class RawOnFake : public testing::Test {
  protected:
    RawOnFake() {
        install_drivers_for_test({&fake.driver()});
        set_current_device(find_device("cuda:0")); // QUERN_DEVICE may say another one
    }
    ~RawOnFake() override { install_drivers_for_test({}); }

    static std::unique_ptr<RawKernel> make(const std::string& name) {
        RawSource source;
        source.code = program;
        if (name.find('<') != name.npos)
            source.name_expressions = {name};
        return std::make_unique<RawKernel>(std::make_shared<RawProgram>(source, name), name);
    }
    static std::string complaint(ErrorKind kind, RawKernel& kernel,
                                 std::span<const Argument> args) {
        try {
            kernel(args, {});
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), kind) << error.what();
            return error.what();
        }
        ADD_FAILURE() << "nothing was refused";
        return {};
    }
    FakeDriver fake;
};

TEST_F(RawOnFake, ArgumentsBecomeWhatTheTextDeclares) {
    fake.set_param_bytes({8, 4, 8, 1});
    Array x = Array::empty(find_device("cuda:0"), DType::float32, {16}, nullptr);
    bool seen = false;
    fake.set_kernel([&](const FakeLaunch& launch) {
        seen = true;
        std::uint64_t address = 0;
        float a = 0;
        std::int64_t n = 0;
        unsigned char b = 0;
        std::memcpy(&address, launch.params[0], 8);
        std::memcpy(&a, launch.params[1], 4);
        std::memcpy(&n, launch.params[2], 8);
        std::memcpy(&b, launch.params[3], 1);
        EXPECT_EQ(address, x.address());
        EXPECT_EQ(a, 2.5f);
        EXPECT_EQ(n, -7);
        EXPECT_EQ(b, 200);
        EXPECT_EQ(launch.function, "mix");
        EXPECT_EQ(launch.grid[1], 3u);
        EXPECT_EQ(launch.shared_bytes, 64u);
    });
    const auto kernel = make("mix");
    const Argument args[] = {Argument::of(x), Argument::of(Scalar::of(2.5)),
                             Argument::of(Scalar::of(std::int64_t{-7})),
                             Argument::of(Scalar::of(std::int64_t{200}))};
    RawLaunch launch;
    launch.grid = {2, 3, 1};
    launch.shared_bytes = 64;
    (*kernel)(args, launch);
    EXPECT_TRUE(seen);
}

TEST_F(RawOnFake, WhatDoesNotFitIsRefusedBeforeTheLaunch) {
    fake.set_param_bytes({8, 4, 8, 1});
    Device& device = find_device("cuda:0");
    Array x = Array::empty(device, DType::float32, {16}, nullptr),
          wide = Array::empty(device, DType::float64, {16}, nullptr);
    const auto kernel = make("mix");
    const auto call = [&](const Array& array, const Scalar& a, const Scalar& n, const Scalar& b) {
        return std::array{Argument::of(array), Argument::of(a), Argument::of(n), Argument::of(b)};
    };
    const Scalar one = Scalar::of(std::int64_t{1});
    Scalar numpy = Scalar::of(1.0);
    numpy.is_numpy = true;
    fake.forget_calls();
    std::string text = complaint(ErrorKind::type, *kernel, call(wide, one, one, one));
    EXPECT_NE(text.find("const real*__restrict__ x"), text.npos) << text;
    EXPECT_NE(text.find("float64 array, shape (16,)"), text.npos) << text;
    text = complaint(ErrorKind::type, *kernel, call(x, numpy, one, one));
    EXPECT_NE(text.find("argument 1 has 8 bytes, its parameter 4"), text.npos) << text;
    EXPECT_NE(text.find(">   1  real a"), text.npos) << text;
    (void)complaint(ErrorKind::type, *kernel, call(x, one, Scalar::of(1.5), one));
    text =
        complaint(ErrorKind::overflow, *kernel, call(x, one, one, Scalar::of(std::int64_t{256})));
    EXPECT_NE(text.find("uint8"), text.npos) << text;
    (void)complaint(ErrorKind::overflow, *kernel, call(x, Scalar::of(1e39), one, one));
    const std::array args = call(x, one, one, one);
    text = complaint(ErrorKind::type, *kernel, std::span(args).first(3));
    EXPECT_NE(text.find("takes 4 arguments, 3 were given"), text.npos) << text;
    EXPECT_EQ(fake.count("cuLaunchKernel"), 0u);
    RawLaunch silent;
    silent.strict = false;
    EXPECT_NO_THROW((*kernel)(call(wide, numpy, one, one), silent));
    EXPECT_NO_THROW((*kernel)(std::span(args).first(2), silent));
    EXPECT_EQ(fake.count("cuLaunchKernel"), 2u);
}

TEST_F(RawOnFake, ATemplatesSymbolTellsItsTypes) {
    fake.set_param_bytes({8, 8});
    Device& device = find_device("cuda:0");
    Array x = Array::empty(device, DType::float64, {16}, nullptr),
          narrow = Array::empty(device, DType::float32, {16}, nullptr);
    const auto kernel = make("scale<double>");
    fake.set_kernel([&](const FakeLaunch& launch) {
        EXPECT_EQ(launch.function, "_Z5scaleIdEvPT_S0_");
        double a = 0;
        std::memcpy(&a, launch.params[1], 8);
        EXPECT_EQ(a, 3.0);
    });
    const Argument three = Argument::of(Scalar::of(std::int64_t{3}));
    const std::array args{Argument::of(x), three}, wrong{Argument::of(narrow), three};
    (*kernel)(args, {});
    EXPECT_NE(complaint(ErrorKind::type, *kernel, wrong).find("double*"), std::string::npos);
}

TEST_F(RawOnFake, ATextThatDisagreesWithTheDriverIsNotBelieved) {
    fake.set_param_bytes({8, 8, 8, 1}); // `real` is double in the binary
    Array x = Array::empty(find_device("cuda:0"), DType::float64, {16}, nullptr);
    const auto kernel = make("mix");
    double a = 0;
    fake.set_kernel([&](const FakeLaunch& launch) { std::memcpy(&a, launch.params[1], 8); });
    const Scalar one = Scalar::of(std::int64_t{1});
    const std::array args{Argument::of(Scalar::of(std::uint64_t{64})),
                          Argument::of(Scalar::of(2.5)), Argument::of(one), Argument::of(one)};
    (*kernel)(args, {});
    EXPECT_EQ(a, 2.5);
}

TEST_F(RawOnFake, ManyArgumentsOfManyBytes) {
    constexpr std::size_t count = 200;
    std::string params;
    for (std::size_t k = 0; k < count; ++k)
        params += (k ? ", int a" : "int a") + std::to_string(k);
    RawSource source;
    source.code = "extern \"C\" __global__ void many(" + params + ") {}";
    RawKernel kernel(std::make_shared<RawProgram>(source, "many"), "many");
    fake.set_param_bytes(std::vector<std::size_t>(count, 4));
    std::vector<Argument> args;
    for (std::size_t k = 0; k < count; ++k)
        args.push_back(Argument::of(Scalar::of(static_cast<std::int64_t>(k))));
    std::size_t right = 0;
    fake.set_kernel([&](const FakeLaunch& launch) {
        for (std::size_t k = 0; k < count; ++k) {
            std::uint32_t value = 0;
            std::memcpy(&value, launch.params[k], 4);
            right += value == k;
        }
    });
    kernel(args, {});
    EXPECT_EQ(right, count);
}

// Calls that are refused show up in tools that watch the driver: none is needed to know how many
// parameters there are, on drivers that count them as on those that do not.
TEST_F(RawOnFake, NoParameterIsAskedForThatIsNotThere) {
    static int refused;
    static decltype(DriverApi::cuFuncGetParamInfo) real;
    auto& api = const_cast<DriverApi&>(fake.driver().api);
    real = api.cuFuncGetParamInfo;
    api.cuFuncGetParamInfo = [](CUfunction function, std::size_t index, std::size_t* offset,
                                std::size_t* bytes) {
        const CUresult status = real(function, index, offset, bytes);
        refused += status != CUDA_SUCCESS;
        return status;
    };
    const auto counting = api.cuFuncGetParamCount;
    for (const auto count : {counting, decltype(counting){nullptr}}) {
        api.cuFuncGetParamCount = count;
        refused = 0;
        fake.set_param_bytes({8, 4, 8, 1});
        EXPECT_EQ(make("mix")->on(find_device("cuda:0")).params.size(), 4u);
        fake.set_param_bytes({8, 4});
        EXPECT_EQ(make("scale<float>")->on(find_device("cuda:0")).params.size(), 2u);
        fake.set_param_bytes({});
        EXPECT_EQ(make("nothing")->on(find_device("cuda:0")).params.size(), 0u);
        EXPECT_EQ(refused, 0);
    }
}

TEST(CubinParams, AreReadFromWhatNvrtcWrites) {
    std::string params;
    for (int count = 0; count < 40; count += 13) {
        RawSource source;
        source.code = "struct Wide { double x[5]; };\nextern \"C\" __global__ void k(" + params +
                      ") {}\nextern \"C\" __global__ void k2(Wide a, char b) {}";
        for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
            const auto made = compile_raw(source, {Target::gpu, arch}, "k", "");
            const std::span image(made.binary.image);
            EXPECT_EQ(count_cubin_params(image, "k"), static_cast<std::size_t>(count)) << arch;
            EXPECT_EQ(count_cubin_params(image, "k2"), 2u) << arch;
            EXPECT_EQ(count_cubin_params(image, "k3"), std::nullopt);
            // Whatever is cut off or overwritten, nothing outside the image is read.
            for (std::size_t size = 0; size < image.size(); size += 7)
                (void)count_cubin_params(image.first(size), "k2");
            auto broken = made.binary.image;
            for (std::size_t at = 0; at < broken.size(); at += 5) {
                const auto kept = std::exchange(broken[at], std::byte{0xff});
                (void)count_cubin_params(broken, "k2");
                broken[at] = kept;
            }
        }
        for (int k = count; k < count + 13; ++k)
            params += (k ? ", int a" : "int a") + std::to_string(k);
    }
    EXPECT_EQ(count_cubin_params({}, "k"), std::nullopt);
}

TEST_F(RawOnFake, AnySingleFailingDriverCallIsAnErrorAndNothingMore) {
    fake.set_param_bytes({8, 8});
    Array x = Array::empty(find_device("cuda:0"), DType::float64, {16}, nullptr);
    const std::array args{Argument::of(x), Argument::of(Scalar::of(1.0))};
    for (const char* name : {"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel"}) {
        const auto kernel = make("scale<double>");
        fake.fail(name, 1, CUDA_ERROR_UNKNOWN);
        EXPECT_THROW((*kernel)(args, {}), DriverError) << name;
        fake.stop_failing();
        EXPECT_NO_THROW((*kernel)(args, {})) << name;
    }
    EXPECT_EQ(fake.live_modules(), 0u);
}

} // namespace
} // namespace quern
