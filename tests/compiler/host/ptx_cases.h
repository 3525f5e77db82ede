// Many asm statements over the same operands: one program with a kernel for each, run on random
// operands and edge values, and compared bit by bit with what an oracle in C++ says.
#pragma once
#include "host_compiler.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <tuple>

namespace quern::test {

template <class T> struct PtxOperand;
template <> struct PtxOperand<std::uint16_t> {
    static constexpr const char *type = "unsigned short", *letter = "h";
};
template <> struct PtxOperand<std::uint32_t> {
    static constexpr const char *type = "unsigned", *letter = "r";
};
template <> struct PtxOperand<std::uint64_t> {
    static constexpr const char *type = "unsigned long long", *letter = "l";
};
template <> struct PtxOperand<float> {
    static constexpr const char *type = "float", *letter = "f";
};
template <> struct PtxOperand<double> {
    static constexpr const char *type = "double", *letter = "d";
};

template <class T> std::vector<T> ptx_values(std::size_t count, unsigned seed) {
    std::mt19937_64 engine(seed);
    std::vector<T> edges, values;
    if constexpr (std::is_integral_v<T>) {
        constexpr unsigned bits = sizeof(T) * 8;
        for (std::uint64_t small = 0; small < 72; ++small)
            edges.push_back(static_cast<T>(small));
        for (unsigned at : {bits - 2, bits - 1})
            for (int step : {-1, 0, 1})
                edges.push_back(static_cast<T>((std::uint64_t{1} << at) + step));
        for (std::uint64_t pattern :
             {~0ull, ~1ull, ~7ull, 0x5555555555555555ull, 0xff00ff00ff00ff00ull})
            edges.push_back(static_cast<T>(pattern));
    } else {
        using Limits = std::numeric_limits<T>;
        for (T sign : {T(1), T(-1)})
            for (T size : {T(0),
                           T(1),
                           T(0.5),
                           T(1.5),
                           T(2.5),
                           T(3),
                           T(0.999),
                           T(127.5),
                           T(255.5),
                           T(65504),
                           T(65520),
                           T(2147483648.0),
                           T(4294967296.0),
                           T(9.3e18),
                           T(1.9e19),
                           T(1e30),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           Limits::infinity(),
                           Limits::quiet_NaN(),
                           T(1e-41),
                           T(1e-7)})
                edges.push_back(sign * size);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (engine() % 3 == 0) {
            values.push_back(edges[engine() % edges.size()]);
        } else if constexpr (std::is_integral_v<T>) {
            values.push_back(static_cast<T>(engine() >> (engine() % 2 ? 0 : engine() % 64)));
        } else {
            std::normal_distribution<double> near(0, engine() % 2 ? 1 : 1000);
            values.push_back(static_cast<T>(near(engine)));
        }
    }
    return values;
}

template <class R, class... A> struct PtxCase {
    std::string text; // %0 is the result, %1 and so on the operands
    std::function<R(A...)> oracle;
};

template <class T> bool ptx_same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(a) || std::isnan(b))
            return std::isnan(a) && std::isnan(b);
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class R, class... A> void check_ptx(const std::vector<PtxCase<R, A...>>& cases,
                                              std::size_t count = 1500,
                                              std::function<bool(R, R)> same = ptx_same<R>) {
    const std::string types[] = {PtxOperand<A>::type...}, letters[] = {PtxOperand<A>::letter...};
    std::string source;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        std::string params, operands;
        for (std::size_t k = 0; k < sizeof...(A); ++k) {
            const auto name = std::string("x") + std::to_string(k);
            params += "const " + types[k] + "* " + name + ", ";
            operands += (k ? ", \"" : " \"") + letters[k] + "\"(" + name + "[i])";
        }
        source += "extern \"C\" __global__ void k" + std::to_string(i) + "(" + params +
                  PtxOperand<R>::type +
                  "* out, int n) {\n  int i = blockIdx.x * blockDim.x + "
                  "threadIdx.x;\n  if (i >= n) return;\n  " +
                  PtxOperand<R>::type + " r;\n  asm(\"" + cases[i].text +
                  "\" : \"=" + PtxOperand<R>::letter + "\"(r) :" + operands +
                  ");\n  out[i] = r;\n}\n";
    }
    const Program program({source});
    auto next_seed = [seed = 0u]() mutable { return ++seed; };
    const std::tuple<std::vector<A>...> inputs{ptx_values<A>(count, next_seed())...};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        std::vector<R> out(count);
        std::apply(
            [&](const auto&... x) {
                program.launch("k" + std::to_string(i),
                               {static_cast<std::uint32_t>((count + 63) / 64)}, {64}, x.data()...,
                               out.data(), static_cast<int>(count));
                for (std::size_t k = 0; k < count; ++k) {
                    const R expected = cases[i].oracle(x[k]...);
                    ASSERT_TRUE(same(out[k], expected))
                        << cases[i].text << "\n  of "
                        << ::testing::PrintToString(std::tuple(+x[k]...)) << "\n  gave " << +out[k]
                        << " instead of " << +expected;
                }
            },
            inputs);
    }
}

} // namespace quern::test
