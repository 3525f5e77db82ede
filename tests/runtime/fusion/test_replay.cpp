// Calls that are kept back, what they launch, and the same launched again, from C++ on the CPU
// device against plain loops.
#include "runtime/array/views.h"
#include "runtime/fusion/fusion.h"
#include "runtime/kernel/elementwise.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/reduction.h"
#include "runtime/stream/stream.h"
#include "tests/private_cache.h"
#include "tests/runtime/elements.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#if QUERN_HAS_LLVM

namespace quern {
namespace {

const auto* cache = testing::AddGlobalTestEnvironment(new PrivateCache);

class Fused : public testing::Test {
  protected:
    Device& cpu = find_device("cpu");
    ElementwiseKernel scale{text("float64 x, float64 by", "z = x * by", "scale")},
        add{text("float64 x, float64 y", "z = x + y", "add")};
    ReductionKernel sum{[] {
        ReductionText text;
        text.in_params = "float64 x";
        text.out_params = "float64 y";
        text.map_expr = "x";
        text.reduce_expr = "a + b";
        text.post_map_expr = "y = a";
        text.identity = "0";
        text.name = "total";
        return make_reduction_spec(text);
    }()};

    static ElementwiseText text(const char* params, const char* body, const char* name) {
        ElementwiseText made;
        made.in_params = params;
        made.out_params = "float64 z";
        made.operation = body;
        made.name = name;
        return made;
    }
    Array drawn(const Dims& shape) {
        const Array made = Array::empty(cpu, DType::float64, shape, nullptr);
        for (double& value : elements<double>(made))
            value = static_cast<double>(random_() % 1000) / 8;
        return made;
    }
    Array scaled(const Array& x, double by) {
        const std::array args{Argument::of(x), Argument::of(Scalar::of(by))};
        return scale(args).front();
    }
    Array added(const Array& x, const Array& y) {
        const std::array args{Argument::of(x), Argument::of(y)};
        return add(args).front();
    }
    Array rows_of(const Array& x) {
        ReductionCall call;
        call.all_axes = false;
        static constexpr std::array<std::int64_t, 1> axes{1};
        call.axes = axes;
        const std::array args{Argument::of(x)};
        return sum(args, call).front();
    }
    // What a fused function's body does, between its beginning and its end.
    template <class Body> static auto recorded(Fusion& fusion, const Body& body) {
        Pending* before = set_pending_work(&fusion);
        auto result = body();
        fusion.settle(nullptr);
        set_pending_work(before);
        return result;
    }
    static std::vector<const FusedLaunch*> launches(const Fusion& fusion) {
        std::vector<const FusedLaunch*> found;
        for (const FusedEvent& event : fusion.events())
            if (const auto* launch = std::get_if<FusedLaunch>(&event))
                found.push_back(launch);
        return found;
    }

  private:
    std::mt19937 random_{11};
};

TEST_F(Fused, CallsOverOneShapeAreOneLaunchThatStoresWhatIsHeld) {
    const Array x = drawn({40, 30}), y = drawn({30});
    Fusion fusion("one");
    fusion.watch();
    const Array z = recorded(fusion, [&] { return added(scaled(x, 3), scaled(added(x, y), 2)); });
    const auto ran = launches(fusion);
    ASSERT_EQ(ran.size(), 1u);
    EXPECT_EQ(ran[0]->written, z.nbytes());
    EXPECT_EQ(ran[0]->read, x.nbytes() + y.nbytes());
    for (std::size_t k = 0; k < elements<double>(z).size(); ++k)
        ASSERT_EQ(elements<double>(z)[k],
                  3 * elements<double>(x)[k] +
                      2 * (elements<double>(x)[k] + elements<double>(y)[k % 30]));
}

TEST_F(Fused, WhatElseUsesTheDeviceFindsAllDone) {
    const Array x = drawn({100});
    Fusion fusion("cut");
    fusion.watch();
    const double seen = recorded(fusion, [&] {
        const Array twice = scaled(x, 2);
        cpu.make_current();
        return elements<double>(twice)[7];
    });
    EXPECT_EQ(seen, 2 * elements<double>(x)[7]);
    ASSERT_EQ(fusion.events().size(), 2u);
    EXPECT_TRUE(std::holds_alternative<FusedCut>(fusion.events()[1]));
}

TEST_F(Fused, OtherViewsOfWhatWasMadeAreTheSameLaunch) {
    const Array x = drawn({24, 10}), y = drawn({10, 24}), flat = drawn({240});
    Fusion fusion("views");
    fusion.watch();
    const auto [turned, joined] = recorded(fusion, [&] {
        const Array z = scaled(x, 2);
        return std::pair(added(transpose(z), y), added(*reshape_view(z, {240}), flat));
    });
    EXPECT_EQ(launches(fusion).size(), 1u);
    for (std::size_t i = 0; i < 24; ++i)
        for (std::size_t j = 0; j < 10; ++j) {
            const double z = 2 * elements<double>(x)[i * 10 + j];
            ASSERT_EQ(elements<double>(turned)[j * 24 + i], z + elements<double>(y)[j * 24 + i]);
            ASSERT_EQ(elements<double>(joined)[i * 10 + j], z + elements<double>(flat)[i * 10 + j]);
        }
}

TEST_F(Fused, ATraceIsLaunchedAgainOnOtherArrays) {
    const Array x = drawn({50, 20});
    const std::array<const Array*, 1> given{&x};
    const auto body = [&](const Array& a) {
        const Array rows = rows_of(scaled(a, 0.5));
        return std::vector{rows, scaled(rows, 3)};
    };
    Trace trace(given);
    Fusion fusion("again");
    fusion.note_in(trace);
    const std::vector<Array> first = recorded(fusion, [&] { return body(x); });
    const std::array<const Array*, 2> results{&first[0], &first[1]};
    const std::optional<Replay> replay = trace.finish(results);
    ASSERT_TRUE(replay);
    for (int turn = 0; turn < 3; ++turn) {
        const Array other = drawn({50, 20});
        const std::array<const Array*, 1> now{&other};
        std::vector<Array> found;
        replay->run(now, found, nullptr);
        ASSERT_EQ(found.size(), 2u);
        EXPECT_NE(found[0].address(), first[0].address());
        for (std::size_t k = 0; k < 50; ++k) {
            const auto row = elements<double>(other).subspan(20 * k, 20);
            const double total = 0.5 * std::accumulate(row.begin(), row.end(), 0.0);
            ASSERT_NEAR(elements<double>(found[0])[k], total, 1e-9);
            ASSERT_NEAR(elements<double>(found[1])[k], 3 * total, 1e-9);
        }
    }
}

TEST_F(Fused, ReplaysWriteWhereTheTraceWrote) {
    const Array whole = drawn({60}), view = slice(whole, 0, {10, 2, 20});
    const std::array<const Array*, 2> given{&whole, &view};
    Trace trace(given);
    Fusion fusion("into");
    fusion.note_in(trace);
    const auto body = [&](const Array& into) {
        const std::array args{Argument::of(into), Argument::of(Scalar::of(-1.0)),
                              Argument::of(into)};
        return scale(args).size();
    };
    recorded(fusion, [&] { return body(view); });
    const auto replay = trace.finish({});
    ASSERT_TRUE(replay);
    const Array other = drawn({60}), part = slice(other, 0, {10, 2, 20});
    const std::vector<double> before(elements<double>(other).begin(),
                                     elements<double>(other).end());
    const std::array<const Array*, 2> now{&other, &part};
    std::vector<Array> none;
    replay->run(now, none, nullptr);
    for (std::size_t k = 0; k < 60; ++k) {
        const bool written = k >= 10 && k < 50 && k % 2 == 0;
        EXPECT_EQ(elements<double>(other)[k], written ? -before[k] : before[k]) << k;
    }
}

TEST_F(Fused, ATraceThatSawAnythingElseIsRefused) {
    const Array x = drawn({30}), outside = drawn({30});
    const std::array<const Array*, 1> given{&x};
    const auto finished = [&](const auto& body) {
        Trace trace(given);
        Fusion fusion("other");
        fusion.note_in(trace);
        const Array result = recorded(fusion, body);
        const std::array<const Array*, 1> results{&result};
        return trace.finish(results).has_value();
    };
    EXPECT_TRUE(finished([&] { return scaled(x, 2); }));
    EXPECT_TRUE(finished([&] { return slice(x, 0, {0, 2, 15}); }));
    EXPECT_FALSE(finished([&] {
        cpu.make_current(); // as whatever is no fused launch does
        return scaled(x, 2);
    }));
    EXPECT_FALSE(finished([&] { return added(x, outside); })); // which no replay is given
    EXPECT_FALSE(finished([&] {
        const Array made = Array::empty(cpu, DType::float64, {30}, nullptr);
        return added(x, made); // nobody wrote it
    }));
}

TEST_F(Fused, LayoutsTellArraysApartThatLieOtherwise) {
    const Array x = drawn({8, 6}), y = drawn({8, 6});
    const auto key_of = [](const Array& a, const Array& b) {
        std::string key;
        const std::array<const Array*, 2> given{&a, &b};
        EXPECT_TRUE(add_layouts(given, key));
        return key;
    };
    EXPECT_EQ(key_of(x, y), key_of(y, x));
    EXPECT_NE(key_of(x, y), key_of(x, x));
    EXPECT_NE(key_of(x, y), key_of(x, transpose(y)));
    EXPECT_NE(key_of(x, slice(x, 0, {0, 1, 4})), key_of(x, slice(x, 0, {4, 1, 4})));
    EXPECT_NE(key_of(x, slice(x, 0, {0, 1, 4})), key_of(x, slice(y, 0, {0, 1, 4})));
}

} // namespace
} // namespace quern

#endif
