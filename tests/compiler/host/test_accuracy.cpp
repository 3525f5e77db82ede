// The math API, function by function and in both widths, against long double: within the error that
// CUDA's documentation promises for each, on random numbers of every size and on the edges.
#include "host_compiler.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace quern::test {
namespace {

using Long = long double;

Long by_bisection(Long y, Long low, Long high, Long (*rising)(Long)) {
    for (int i = 0; i < 90; ++i) {
        const Long mid = (low + high) / 2;
        (rising(mid) < y ? low : high) = mid;
    }
    return (low + high) / 2;
}
Long scaled_erfc(Long x) { // far out by its continued fraction
    if (x < 8)
        return std::exp(x * x) * std::erfc(x);
    Long f = 0;
    for (int k = 80; k > 0; --k)
        f = 0.5L * static_cast<Long>(k) / (x + f);
    return 1 / ((x + f) * std::sqrt(M_PIl));
}
// The tails in logarithms, which do not underflow.
Long log_erfc(Long x) { return x < 8 ? std::log(std::erfc(x)) : std::log(scaled_erfc(x)) - x * x; }
Long inverse_erfc(Long y) {
    if (y > 0.5L)
        return by_bisection(1 - y, -9, 9, [](Long x) { return std::erf(x); });
    return -by_bisection(std::log(y), -30, 9, [](Long x) { return log_erfc(-x); });
}
Long inverse_erf(Long y) {
    if (std::fabs(y) < 1e-6L)
        return y * std::sqrt(M_PIl) / 2 * (1 + M_PIl * y * y / 12);
    return by_bisection(y, -7, 7, [](Long x) { return std::erf(x); });
}
Long normal(Long x) { return std::erfc(-x * std::sqrt(0.5L)) / 2; }
Long inverse_normal(Long p) {
    return p < 0.4L ? -std::sqrt(2.0L) * inverse_erfc(2 * p)
                    : std::sqrt(2.0L) * inverse_erf(2 * p - 1);
}
// By the integral of exp(x cos t) cos(nt) over a period: the midpoint rule converges at once.
Long bessel_i(int order, Long x) {
    Long sum = 0;
    constexpr int steps = 400;
    for (int k = 0; k < steps; ++k) {
        const Long t = M_PIl * (k + 0.5L) / steps;
        sum += std::exp(x * std::cos(t)) * std::cos(order * t);
    }
    return sum / steps;
}
Long small_bessel_i1(Long x) { // where the integral cancels
    if (std::fabs(x) > 1)
        return bessel_i(1, x);
    Long sum = 0, term = x / 2;
    for (int k = 1; k < 20; term *= x * x / (4.0L * k * (k + 1)), ++k)
        sum += term;
    return sum;
}
// pi x reduced first: sin and cos of the rest are exact to the last place.
Long sin_pi(Long x) {
    const Long r = x - 2 * std::rint(x / 2);
    return std::fabs(r) <= 0.25L   ? std::sin(M_PIl * r)
           : std::fabs(r) <= 0.75L ? std::copysign(std::cos(M_PIl * (std::fabs(r) - 0.5L)), r)
                                   : std::copysign(std::sin(M_PIl * (1 - std::fabs(r))), r);
}
Long cos_pi(Long x) { // |r| - 1/2 loses nothing
    const Long r = std::fabs(x - 2 * std::rint(x / 2));
    return r <= 0.25L   ? std::cos(M_PIl * r)
           : r <= 0.75L ? std::sin(M_PIl * (0.5L - r))
                        : -std::cos(M_PIl * (1 - r));
}
// Places of error allowed to float and to double, as documented by CUDA. Loops go through glibc's
// vector library, which promises four places for what it has: those say `vector`.
struct Row {
    const char* name;
    double low, high;
    double single, twice;
    Long (*wanted)(Long);
};
constexpr double vector = 4;

// Ranges: where a function's error is given relative to its value.
const Row rows[] = {
    {"sqrt", 0, 1e30, 0, 0, std::sqrt},
    {"rsqrt", 1e-30, 1e30, 2, 1, [](Long x) { return 1 / std::sqrt(x); }},
    {"cbrt", -1e30, 1e30, 1, 1, std::cbrt},
    {"rcbrt", -1e30, 1e30, 1, 1, [](Long x) { return 1 / std::cbrt(x); }},
    {"exp", -80, 80, vector, vector, std::exp},
    {"exp2", -120, 120, vector, vector, std::exp2},
    {"exp10", -36, 36, vector, vector, [](Long x) { return std::pow(10.0L, x); }},
    {"expm1", -40, 80, vector, vector, std::expm1},
    {"log", 1e-36, 1e36, vector, vector, std::log},
    {"log2", 1e-36, 1e36, vector, vector, std::log2},
    {"log10", 1e-36, 1e36, vector, vector, std::log10},
    {"log1p", -0.999, 1e36, vector, vector, std::log1p},
    {"logb", 1e-36, 1e36, 0, 0, std::logb},
    {"sin", -1e5, 1e5, vector, vector, std::sin},
    {"cos", -1e5, 1e5, vector, vector, std::cos},
    {"tan", -1e5, 1e5, 4, vector, std::tan},
    {"sinpi", -1e5, 1e5, 1, 2, sin_pi},
    {"cospi", -1e5, 1e5, 1, 2, cos_pi},
    {"asin", -1, 1, vector, vector, std::asin},
    {"acos", -1, 1, vector, vector, std::acos},
    {"atan", -1e9, 1e9, vector, vector, std::atan},
    {"sinh", -80, 80, vector, vector, std::sinh},
    {"cosh", -80, 80, vector, vector, std::cosh},
    {"tanh", -30, 30, vector, vector, std::tanh},
    {"asinh", -1e18, 1e18, vector, vector, std::asinh},
    {"acosh", 1, 1e18, 4, vector, std::acosh},
    {"atanh", -0.9999, 0.9999, vector, vector, std::atanh},
    {"erf", -6, 6, vector, vector, std::erf},
    {"erfc", -6, 9, 4, 5, std::erfc},
    {"erfinv", -0.9999, 0.9999, 2, 5, inverse_erf},
    {"erfcinv", 1e-37, 1.9999, 4, 6, inverse_erfc},
    {"erfcx", -9, 1e18, 4, 4, scaled_erfc},
    {"normcdf", -13, 9, 5, 5, normal},
    {"normcdfinv", 1e-37, 0.9999, 5, 8, inverse_normal},
    {"tgamma", 0.01, 30, 5, 10, std::tgamma},
    {"lgamma", 0.01, 1e10, 6, 4, std::lgamma},
    {"cyl_bessel_i0", -80, 80, 6, 6, [](Long x) { return bessel_i(0, x); }},
    {"cyl_bessel_i1", -80, 80, 6, 6, small_bessel_i1},
    {"floor", -1e9, 1e9, 0, 0, std::floor},
    {"ceil", -1e9, 1e9, 0, 0, std::ceil},
    {"trunc", -1e9, 1e9, 0, 0, std::trunc},
    {"rint", -1e9, 1e9, 0, 0, std::rint},
    {"nearbyint", -1e9, 1e9, 0, 0, std::nearbyint},
    {"round", -1e9, 1e9, 0, 0, std::round},
    {"fabs", -1e30, 1e30, 0, 0, std::fabs},
    // Oscillating: the place is that of 1, since near a zero no relative error is promised.
    {"j0", -8, 8, 9, 7, [](Long x) { return ::j0l(x); }},
    {"j1", -8, 8, 9, 7, [](Long x) { return ::j1l(x); }},
    {"y0", 0.1, 8, 9, 7, [](Long x) { return ::y0l(x); }},
    {"y1", 0.5, 8, 9, 7, [](Long x) { return ::y1l(x); }},
};

// In units of the last place that a T near `wanted` has.
template <class T> double places_off(const Row& row, T got, Long wanted) {
    const T near = static_cast<T>(wanted);
    if (std::isnan(got) || std::isnan(near))
        return std::isnan(got) && std::isnan(near) ? 0 : 1e300;
    if (got == near)
        return 0;
    const bool swings = std::strchr("jy", row.name[0]) != nullptr;
    const Long size = std::max<Long>(std::fabs(wanted), swings ? 1 : std::numeric_limits<T>::min());
    const Long place = std::ldexp(1.0L, std::ilogb(size) - std::numeric_limits<T>::digits + 1);
    return static_cast<double>(std::fabs(static_cast<Long>(got) - wanted) / place);
}

// Half spread evenly, half by magnitude.
template <class T> std::vector<T> samples(const Row& row, std::size_t count) {
    std::mt19937 engine(7);
    std::uniform_real_distribution<double> range(row.low, row.high), part(0, 1);
    std::vector<T> x;
    const double least = row.low > 0 ? row.low : 1e-30;
    while (x.size() < count) {
        const double bound = row.low < 0 && part(engine) < 0.5 ? -row.low : row.high;
        const double magnitude = least * std::pow(bound / least, part(engine));
        const double value = part(engine) < 0.5  ? range(engine)
                             : bound == row.high ? magnitude
                                                 : -magnitude;
        const T narrow = static_cast<T>(value);
        if (narrow >= row.low && narrow <= row.high)
            x.push_back(narrow);
    }
    return x;
}

template <class T> void measure(const Program& program, const Row& row, double allowed) {
    constexpr bool is_float = sizeof(T) == 4;
    const auto x = samples<T>(row, 4000);
    std::vector<T> y(x.size()), overloaded(x.size());
    program.launch(row.name + std::string(is_float ? "_f" : "_d"), {32}, {128}, x.data(), y.data(),
                   overloaded.data(), static_cast<int>(x.size()));
    double worst = 0;
    T place = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double off = places_off(row, y[i], row.wanted(static_cast<Long>(x[i])));
        if (off > worst)
            worst = off, place = x[i];
        ASSERT_EQ(std::isnan(y[i]) ? T(0) : y[i], std::isnan(overloaded[i]) ? T(0) : overloaded[i])
            << row.name << " of " << x[i];
    }
    // A correctly rounded result may be half a place off.
    EXPECT_LE(worst, std::max(allowed, 0.5))
        << row.name << (is_float ? "f" : "") << " of " << place;
    if (std::getenv("QUERN_TEST_ACCURACY"))
        std::printf("%s%s %.3f of %.1f at %.17g\n", row.name, is_float ? "f" : "", worst, allowed,
                    double(place));
}

TEST(Accuracy, OneOperandFunctions) {
    std::string text;
    for (const auto& row : rows) {
        const std::string name = row.name;
        const auto kernel = [&](const std::string& suffix, const std::string& type,
                                const std::string& call) {
            text += "extern \"C\" __global__ void " + name + suffix + "(const " + type + "* x, " +
                    type + "* y, " + type +
                    "* o, int n) { int i = threadIdx.x + blockIdx.x * "
                    "blockDim.x; if (i < n) { y[i] = " +
                    call + "(x[i]); o[i] = " + name + "(x[i]); } }\n";
        };
        kernel("_d", "double", name);
        kernel("_f", "float", name + "f");
    }
    const Program program({text});
    for (const auto& row : rows) {
        measure<float>(program, row, row.single);
        measure<double>(program, row, row.twice);
    }
}

struct PairRow {
    const char* name;
    double single, twice;
    Long (*wanted)(Long, Long);
};
const PairRow pair_rows[] = {
    {"pow", 8, vector, [](Long a, Long b) { return std::pow(std::fabs(a), b); }},
    {"atan2", vector, vector, std::atan2},
    {"fmod", 0, 0, std::fmod},
    {"remainder", 0, 0, std::remainder},
    {"hypot", vector, vector, std::hypot},
    {"rhypot", 2, 1, [](Long a, Long b) { return 1 / std::hypot(a, b); }},
    {"fdim", 0, 0, std::fdim},
    {"fmin", 0, 0, std::fmin},
    {"fmax", 0, 0, std::fmax},
    {"copysign", 0, 0, std::copysign},
    {"norm3d", 3, 2, [](Long a, Long b) { return std::sqrt(a * a + b * b + 2.25L); }},
    {"rnorm3d", 2, 1, [](Long a, Long b) { return 1 / std::sqrt(a * a + b * b + 2.25L); }},
    {"norm4d", 3, 2, [](Long a, Long b) { return std::sqrt(2 * a * a + b * b + 2.25L); }},
    {"rnorm4d", 2, 1, [](Long a, Long b) { return 1 / std::sqrt(2 * a * a + b * b + 2.25L); }},
    {"norm", 3, 2, [](Long a, Long b) { return std::sqrt(a * a + b * b); }},
    {"rnorm", 2, 1, [](Long a, Long b) { return 1 / std::sqrt(a * a + b * b); }},
};

template <class T> void measure(const Program& program, const PairRow& row, double allowed) {
    constexpr bool is_float = sizeof(T) == 4;
    const std::string name = row.name;
    const Row first{row.name, name == "pow" ? 1e-8 : -1e12, name == "pow" ? 1e8 : 1e12, 0, 0,
                    nullptr};
    const Row second{row.name, name == "pow" ? -4.0 : -1e12, name == "pow" ? 4.0 : 1e12, 0, 0,
                     nullptr};
    const auto x = samples<T>(first, 4000);
    auto z = samples<T>(second, 4000);
    std::shuffle(z.begin(), z.end(), std::mt19937(9));
    std::vector<T> y(x.size());
    program.launch(name + (is_float ? "_f" : "_d"), {32}, {128}, x.data(), z.data(), y.data(),
                   static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Long wanted = row.wanted(static_cast<Long>(x[i]), static_cast<Long>(z[i]));
        ASSERT_LE(places_off(first, y[i], wanted), std::max(allowed, 0.5))
            << row.name << (is_float ? "f" : "") << " of " << x[i] << ", " << z[i];
    }
}

TEST(Accuracy, TwoOperandFunctions) {
    std::string text;
    for (const auto& row : pair_rows) {
        const std::string name = row.name;
        const auto kernel = [&](const std::string& suffix, const std::string& type,
                                const std::string& called) {
            const std::string rest = name.find("3d") != name.npos     ? "(a[i], b[i], 1.5)"
                                     : name.find("4d") != name.npos   ? "(a[i], b[i], 1.5, a[i])"
                                     : name.find("norm") != name.npos ? "(2, both)"
                                                                      : "(a[i], b[i])";
            text += "extern \"C\" __global__ void " + name + suffix + "(const " + type +
                    "* a, const " + type + "* b, " + type +
                    "* y, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; "
                    "if (i < n) { " +
                    type + " both[2] = {a[i], b[i]}; y[i] = " + called + rest + "; } }\n";
        };
        kernel("_d", "double", name);
        kernel("_f", "float", name + "f");
    }
    const Program program({text});
    for (const auto& row : pair_rows) {
        measure<float>(program, row, row.single);
        measure<double>(program, row, row.twice);
    }
}

// Infinities, NaN, zeros of both signs, the smallest and the largest numbers.
TEST(Accuracy, Edges) {
    const double inf = std::numeric_limits<double>::infinity(), tiny = 4.9406564584124654e-324;
    const double nan = std::numeric_limits<double>::quiet_NaN(), most = 1.7976931348623157e308;
    struct Edge {
        const char* call;
        double wanted;
    };
    const Edge edges[] = {
        {"rsqrt(0.0)", inf},
        {"rsqrt(-0.0)", -inf},
        {"rsqrt(1e400)", 0},
        {"rsqrt(-1.0)", nan},
        {"rsqrt(4.9406564584124654e-324)", 1 / std::sqrt(tiny)},
        {"cbrt(-0.0)", -0.0},
        {"cbrt(-1e400)", -inf},
        {"cbrt(4.9406564584124654e-324)", std::cbrt(tiny)},
        {"cbrt(1.7976931348623157e308)", std::cbrt(most)},
        {"rcbrt(0.0)", inf},
        {"rcbrt(-0.0)", -inf},
        {"rcbrt(-1e400)", -0.0},
        {"sinpi(-0.0)", -0.0},
        {"sinpi(3.0)", 0},
        {"sinpi(-3.0)", -0.0},
        {"sinpi(1e400)", nan},
        {"sinpi(1e300)", 0},
        {"cospi(0.5)", 0},
        {"cospi(-1.5)", 0},
        {"cospi(1e300)", 1},
        {"cospi(1.0)", -1},
        {"cospi(-1e400)", nan},
        {"sinpi(0.5)", 1},
        {"norm3d(1e400, nan(\"\"), 1.0)", inf},
        {"norm3d(1.0, nan(\"\"), 1.0)", nan},
        {"norm3d(0.0, 0.0, 0.0)", 0},
        {"rnorm3d(0.0, 0.0, 0.0)", inf},
        {"rnorm4d(1.0, -1e400, 0.0, nan(\"\"))", 0},
        {"rhypot(0.0, -0.0)", inf},
        {"rhypot(1e400, 1.0)", 0},
        {"norm4d(1e308, 1e308, 1e308, 0.0)", 1.7320508075688772e308},
        {"norm4d(1e308, 1e308, 1e308, 1e308)", inf},
        {"norm3d(3e-324, 4.9406564584124654e-324, 0.0)", std::hypot(3e-324, tiny)},
        {"rnorm3d(3e-320, 4e-320, 0.0)", inf},
        {"rnorm3d(3e-300, 4e-300, 0.0)", 2e299},
        {"normcdf(-1e400)", 0},
        {"normcdf(1e400)", 1},
        {"normcdf(nan(\"\"))", nan},
        {"normcdf(0.0)", 0.5},
        {"normcdfinv(0.0)", -inf},
        {"normcdfinv(-0.0)", -inf},
        {"normcdfinv(1.0)", inf},
        {"normcdfinv(0.5)", 0},
        {"normcdfinv(2.0)", nan},
        {"erfinv(-0.0)", -0.0},
        {"erfinv(1.0)", inf},
        {"erfinv(-1.0)", -inf},
        {"erfinv(1.5)", nan},
        {"erfcinv(0.0)", inf},
        {"erfcinv(2.0)", -inf},
        {"erfcinv(1.0)", 0},
        {"erfcinv(-1.0)", nan},
        {"erfcx(1e400)", 0},
        {"erfcx(-1e400)", inf},
        {"erfcx(-30.0)", inf},
        {"erfcx(0.0)", 1},
        {"cyl_bessel_i0(0.0)", 1},
        {"cyl_bessel_i0(-1e400)", inf},
        {"cyl_bessel_i1(-0.0)", -0.0},
        {"cyl_bessel_i1(-1e400)", -inf},
        {"tgamma(0.0)", inf},
        {"tgamma(-0.0)", -inf},
        {"tgamma(-2.0)", nan},
        {"tgamma(171.7)", inf},
        {"lgamma(0.0)", inf},
        {"lgamma(-3.0)", inf},
        {"lgamma(-1e400)", inf},
        {"y0(0.0)", -inf},
        {"y1(-1.0)", nan},
        {"jn(-1, 1.0)", nan},
        {"yn(-1, 1.0)", nan},
        {"logb(0.0)", -inf},
        {"logb(-1e400)", inf},
        {"ilogb(0.0)", -2147483648.0},
        {"ilogb(1e400)", 2147483647.0},
        {"ilogb(nan(\"\"))", -2147483648.0},
        {"__saturatef(nan(\"\"))", 0},
        {"__saturatef(-1.0f)", 0},
        {"fmin(nan(\"\"), 2.0)", 2},
        {"max(nan(\"\"), 2.0)", 2},
        {"fdim(1e400, 1e400)", 0},
        {"round(-0.4)", -0.0},
        {"round(0.49999999999999994)", 0},
        {"rint(2.5)", 2},
        {"lround(-2.5)", -3},
        {"llrint(3.5)", 4},
        {"modf(-1e400, d)", -0.0},
        {"frexp(0.0, p)", 0},
        {"remquo(5.0, 3.0, p) + 10.0 * *p", 19},
        {"ldexp(1.0, -1074)", tiny},
        {"scalbln(1.0, 2000l)", inf},
        {"nextafter(0.0, -1.0)", -tiny},
        {"pow(-1.0, 1e400)", 1},
        {"pow(0.0, -1.0)", inf},
        {"copysign(nan(\"\"), -1.0) != 0", 1},
        {"__fdividef(1.0f, 0.0f)", inf},
        {"exp10(400.0)", inf},
        {"(double)__frsqrt_rn(4.0f)", 0.5},
    };
    std::string text = "extern \"C\" __global__ void edges(double* y, double* d, int* p) {\n";
    for (std::size_t i = 0; i < std::size(edges); ++i)
        text += "y[" + std::to_string(i) + "] = " + edges[i].call + ";\n";
    const Program program({text + "}"});
    std::vector<double> y(std::size(edges)), d(1);
    std::vector<int> p(1);
    program.launch("edges", {}, {}, y.data(), d.data(), p.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
        if (std::isnan(edges[i].wanted)) {
            EXPECT_TRUE(std::isnan(y[i])) << edges[i].call << " is " << y[i];
            continue;
        }
        EXPECT_DOUBLE_EQ(y[i], edges[i].wanted) << edges[i].call;
        EXPECT_EQ(std::signbit(y[i]), std::signbit(edges[i].wanted)) << edges[i].call;
    }
}

// libmvec has each function in three widths; the widest is for CPUs that lose no clock by it.
TEST(Accuracy, VectorsAsWideAsTheCpuLikes) {
    const Source source{"extern \"C\" __global__ void k(const float* x, float* y, int n) {\n"
                        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                        "    if (i < n) y[i] = expf(x[i]);\n}\n"};
    const auto calls = [&](const char* arch, const char* symbol) {
        auto wanted = source;
        wanted.arch = arch;
        const auto made = compile(wanted);
        EXPECT_EQ(made.status, QUERN_CC_OK) << made.log;
        return made.object.find(symbol) != std::string::npos;
    };
    if (!calls("x86-64", "_ZGVbN4v_expf"))
        GTEST_SKIP() << "this system has no libmvec";
    EXPECT_TRUE(calls("x86-64-v3", "_ZGVdN8v_expf"));
    EXPECT_TRUE(calls("x86-64-v4", "_ZGVdN8v_expf"));
    EXPECT_FALSE(calls("x86-64-v4", "_ZGVeN16v_expf"));
    EXPECT_TRUE(calls("x86-64-v4+avx512vpopcntdq", "_ZGVeN16v_expf"));
}

// Two floats go by value as one short vector; a loop that hands them on is vectorised all the same.
TEST(Accuracy, VectorsOfSmallStructures) {
    const auto compiled = [](const std::string& type, const std::string& body) {
        return compile({"struct Pair { float a, b; };\n"
                        "__device__ Pair of(Pair p) { return Pair{expf(p.a), expf(p.b)}; }\n"
                        "__device__ float of(float p) { return expf(p); }\n"
                        "extern \"C\" __global__ void k(const " +
                        type + "* x, " + type +
                        "* y, int n) {\n"
                        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                        body + "}\n"});
    };
    const auto calls = [](const Compiled& made) {
        EXPECT_EQ(made.status, QUERN_CC_OK) << made.log;
        return made.object.find("_ZGV") != std::string::npos;
    };
    if (!calls(compiled("float", "    if (i < n) y[i] = of(x[i]);\n")))
        GTEST_SKIP() << "this system has no libmvec";
    EXPECT_TRUE(calls(compiled("Pair", "    if (i < n) y[i] = of(x[i]);\n")));
    EXPECT_TRUE(calls(compiled("Pair", "    if (i < n) { const Pair p = x[i]; y[i] = of(p); }\n")));
}

} // namespace
} // namespace quern::test
