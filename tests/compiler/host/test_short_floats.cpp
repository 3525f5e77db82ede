// cuda_fp16.h and cuda_bf16.h against exact arithmetic: a double and the sign of what it leaves
// out, rounded once by the definition of rounding.
#include "compiler/base/kernel_facts.h"
#include "host_compiler.h"
#include <bit>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace quern::test {
namespace {

enum Mode { nearest, to_zero, up, down };

struct Format {
    std::string type, word, header;
    int digits, least; // bits of a significand, exponent of the last bit of a denormal
    unsigned short infinity;

    double value(unsigned short bits) const {
        const int exponent = (bits & 0x7fff) >> (digits - 1);
        const int fraction = bits & ((1 << (digits - 1)) - 1);
        const double sign = bits >> 15 ? -1.0 : 1.0;
        if ((bits & 0x7fff) >= infinity)
            return (bits & 0x7fff) > infinity ? std::nan("") : sign * INFINITY;
        return sign * (exponent ? std::ldexp(fraction + (1 << (digits - 1)), least + exponent - 1)
                                : std::ldexp(fraction, least));
    }
    bool is_nan(unsigned short bits) const { return (bits & 0x7fff) > infinity; }
};
const Format half{"__half", "half", "cuda_fp16.h", 11, -24, 0x7c00};
const Format bfloat{"__nv_bfloat16", "bfloat16", "cuda_bf16.h", 8, -133, 0x7f80};

// head + a tail too small for it, of which only the sign counts.
struct Exact {
    double head;
    int tail = 0;
};
int sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

Exact sum(double a, double b) {
    const double head = a + b;
    if (!std::isfinite(head))
        return {head};
    const double part = head - a;
    return {head, sign((a - (head - part)) + (b - part))};
}
Exact quotient(double a, double b) {
    const double head = a / b;
    return {head, std::isfinite(head) && b != 0 ? sign(std::fma(-head, b, a)) * sign(b) : 0};
}
Exact root(double a) {
    const double head = std::sqrt(a);
    return {head, std::isfinite(head) ? sign(std::fma(-head, head, a)) : 0};
}
Exact whole(long long x) {
    const auto head = static_cast<double>(x);
    return {head, static_cast<__int128>(x) > static_cast<__int128>(head)   ? 1
                  : static_cast<__int128>(x) < static_cast<__int128>(head) ? -1
                                                                           : 0};
}

unsigned short rounded(const Format& format, Exact exact, Mode mode = nearest) {
    if (std::isnan(exact.head))
        return 0x7fff;
    const bool negative = std::signbit(exact.head);
    const auto bits = [&](unsigned magnitude) {
        return static_cast<unsigned short>((negative ? 0x8000u : 0u) | magnitude);
    };
    if (std::isinf(exact.head))
        return bits(format.infinity);
    if (exact.head == 0)
        return bits(0);
    const double size = std::fabs(exact.head);
    const int tail = negative ? -exact.tail : exact.tail;
    int exponent = 0;
    std::frexp(size, &exponent);
    int last = std::max(exponent - format.digits, format.least);
    double units = std::floor(std::ldexp(size, -last));
    double rest = std::ldexp(size, -last) - units;
    if (rest == 0 && tail < 0) { // just below a whole number of units
        if (units == std::ldexp(1.0, format.digits - 1) && last > format.least) {
            units *= 2; // finer below a power of two
            --last;
        }
        units -= 1;
        rest = 0.75; // more than a half, whatever it is
    }
    const bool inexact = rest != 0 || tail != 0;
    const bool outwards = mode == up ? !negative : mode == down ? negative : false;
    const bool more = mode == nearest
                          ? rest > 0.5 || (rest == 0.5 && tail > 0) ||
                                (rest == 0.5 && tail == 0 && std::fmod(units, 2.0) == 1.0)
                          : outwards && inexact;
    const double result = std::ldexp(units + more, last);
    const double greatest = format.value(static_cast<unsigned short>(format.infinity - 1));
    if (result > greatest)
        return bits(mode == nearest || outwards ? format.infinity : format.infinity - 1u);
    for (unsigned low = 0, high = format.infinity;;) { // the pattern of that value
        const unsigned middle = (low + high) / 2;
        const double there = format.value(static_cast<unsigned short>(middle));
        if (there == result)
            return bits(middle);
        (there < result ? low : high) = middle;
    }
}

std::vector<unsigned short> patterns(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<unsigned short> all(count);
    for (auto& x : all)
        x = static_cast<unsigned short>(random());
    return all;
}

struct Case {
    std::string expression; // of A, B, C
    std::function<unsigned short(const Format&, unsigned short, unsigned short, unsigned short)>
        expected;
};

// One kernel per case; every result is two bytes.
void check(const Format& format, const std::vector<Case>& cases,
           const std::vector<unsigned short>& a, const std::vector<unsigned short>& b,
           const std::vector<unsigned short>& c) {
    std::string text = "#include <" + format.header + ">\n";
    for (std::size_t k = 0; k < cases.size(); ++k)
        text += "extern \"C\" __global__ void k" + std::to_string(k) + "(const " + format.type +
                "* a, const " + format.type + "* b, const " + format.type +
                "* c, unsigned short* out, int n) {\n    int i = blockIdx.x * blockDim.x + "
                "threadIdx.x;\n    if (i >= n) return;\n    " +
                format.type +
                " A = a[i], B = b[i], C = c[i];\n    out[i] = " + cases[k].expression + ";\n}\n";
    const Program program({text});
    std::vector<unsigned short> out(a.size());
    for (std::size_t k = 0; k < cases.size(); ++k) {
        program.launch("k" + std::to_string(k),
                       {static_cast<std::uint32_t>((a.size() + 255) / 256)}, {256}, a.data(),
                       b.data(), c.data(), out.data(), static_cast<int>(a.size()));
        int wrong = 0;
        for (std::size_t i = 0; i < a.size() && wrong < 3; ++i) {
            const unsigned short expected = cases[k].expected(format, a[i], b[i], c[i]);
            const bool same =
                out[i] == expected || (format.is_nan(out[i]) && format.is_nan(expected));
            wrong += !same;
            EXPECT_TRUE(same) << format.type << " " << cases[k].expression << " of " << std::hex
                              << a[i] << " " << b[i] << " " << c[i] << ": " << out[i] << ", not "
                              << expected;
        }
    }
}

std::string named(std::string text, const Format& format) { // @ is the word in __float2@
    for (std::size_t at; (at = text.find('@')) != text.npos;)
        text.replace(at, 1, format.word);
    return text;
}

unsigned short clamped(const Format& f, unsigned short bits) {
    const double x = f.value(bits);
    return std::isnan(x) || x <= 0 ? 0 : x > 1 ? rounded(f, {1.0}) : bits;
}

class ShortFloats : public testing::TestWithParam<Format> {};

TEST_P(ShortFloats, ArithmeticRoundsOnce) {
    const auto& format = GetParam();
    const auto bits = [&](const char* call) {
        return named("__@_as_ushort(" + std::string(call) + ")", format);
    };
    using S = unsigned short;
    const auto plus = [](const Format& f, S a, S b, S) {
        return rounded(f, sum(f.value(a), f.value(b)));
    };
    const auto minus = [](const Format& f, S a, S b, S) {
        return rounded(f, sum(f.value(a), -f.value(b)));
    };
    const auto times = [](const Format& f, S a, S b, S) {
        return rounded(f, {f.value(a) * f.value(b)});
    };
    const auto over = [](const Format& f, S a, S b, S) {
        return rounded(f, quotient(f.value(a), f.value(b)));
    };
    const auto fused = [](const Format& f, S a, S b, S c) {
        return rounded(f, sum(f.value(a) * f.value(b), f.value(c)));
    };
    const std::vector<Case> cases = {
        {bits("A + B"), plus},
        {bits("__hadd(A, B)"), plus},
        {bits("__hadd_rn(A, B)"), plus},
        {bits("A - B"), minus},
        {bits("__hsub_rn(A, B)"), minus},
        {bits("A * B"), times},
        {bits("__hmul_rn(A, B)"), times},
        {bits("A / B"), over},
        {bits("__hdiv(A, B)"), over},
        {bits("__hfma(A, B, C)"), fused},
        {bits("__hadd_sat(A, B)"),
         [=](auto& f, S a, S b, S c) { return clamped(f, plus(f, a, b, c)); }},
        {bits("__hmul_sat(A, B)"),
         [=](auto& f, S a, S b, S c) { return clamped(f, times(f, a, b, c)); }},
        {bits("__hfma_sat(A, B, C)"),
         [=](auto& f, S a, S b, S c) { return clamped(f, fused(f, a, b, c)); }},
        {bits("__hfma_relu(A, B, C)"),
         [=](auto& f, S a, S b, S c) {
             const S r = fused(f, a, b, c);
             return f.is_nan(r) || f.value(r) > 0 ? r : S{0};
         }},
        {bits("__high2@(__hfma2(__halves2@2(C, A), __halves2@2(B, B), __halves2@2(A, C)))"), fused},
        {bits("__low2@(__hadd2(__halves2@2(A, C), __halves2@2(B, C)))"), plus},
        {bits("(__halves2@2(C, A) * __halves2@2(C, B)).y"), times},
        {bits("hsqrt(A)"), [](auto& f, S a, S, S) { return rounded(f, root(f.value(a))); }},
        {bits("hrcp(A)"), [](auto& f, S a, S, S) { return rounded(f, quotient(1, f.value(a))); }},
        {bits("hfloor(A)"),
         [](auto& f, S a, S, S) { return rounded(f, {std::floor(f.value(a))}); }},
        {bits("hrint(A)"), [](auto& f, S a, S, S) { return rounded(f, {std::rint(f.value(a))}); }},
        {bits("-A"), [](auto& f, S a, S, S) { return rounded(f, {-f.value(a)}); }},
        {bits("__habs(A)"), [](auto& f, S a, S, S) { return rounded(f, {std::fabs(f.value(a))}); }},
        {bits("__hmax(A, B)"),
         [](auto& f, S a, S b, S) { return rounded(f, {std::fmax(f.value(a), f.value(b))}); }},
        {bits("__hmin_nan(A, B)"),
         [](auto& f, S a, S b, S) {
             return f.is_nan(a) || f.is_nan(b) ? S{0x7fff}
                                               : rounded(f, {std::fmin(f.value(a), f.value(b))});
         }},
    };
    auto a = patterns(20000, 1), b = patterns(20000, 2), c = patterns(20000, 3);
    std::mt19937 random(4);
    for (std::size_t i = 0; i < a.size(); i += 2) { // near each other, so that digits meet
        b[i] = static_cast<S>(a[i] ^ (random() & 0xff));
        c[i] = rounded(format, {-format.value(a[i]) * format.value(b[i])});
    }
    check(format, cases, a, b, c);
}

TEST_P(ShortFloats, FusedIsNotTwoRoundings) { // ties that the addend breaks from far below
    const auto& format = GetParam();
    const double unit = std::ldexp(1.0, 1 - format.digits);
    const auto bits = [&](double x) { return rounded(format, {x}); };
    std::vector<unsigned short> a, b, c;
    for (const double far : {std::ldexp(1.0, format.least), std::ldexp(1.0, -10), 0.0})
        for (const double side : {1.0, -1.0}) {
            a.push_back(bits(1 + unit)); // squared: 1 + 2 unit + unit^2; with 1 + unit/2 no tie
            b.push_back(bits(1 + unit));
            c.push_back(bits(side * far));
            a.push_back(bits(format.digits == 11 ? 65 : 9));  // 65 * 63 = 4095, a tie of 11 bits
            b.push_back(bits(format.digits == 11 ? 63 : 57)); // 9 * 57 = 513, a tie of 8
            c.push_back(bits(side * far));
        }
    check(format,
          {{named("__@_as_ushort(__hfma(A, B, C))", format),
            [](auto& f, auto x, auto y, auto z) {
                return rounded(f, sum(f.value(x) * f.value(y), f.value(z)));
            }}},
          a, b, c);
}

TEST_P(ShortFloats, ComparisonsKnowNan) {
    const auto& format = GetParam();
    using S = unsigned short;
    std::vector<Case> cases;
    const auto add = [&](const std::string& name, const std::string& sign, auto compare) {
        const auto ordered = [=](const Format& f, S a, S b, S) {
            return static_cast<S>(!f.is_nan(a) && !f.is_nan(b) && compare(f.value(a), f.value(b)));
        };
        const auto unordered = [=](const Format& f, S a, S b, S) {
            return static_cast<S>(f.is_nan(a) || f.is_nan(b) || compare(f.value(a), f.value(b)));
        };
        cases.push_back({"__h" + name + "(A, B)", ordered});
        cases.push_back({"__h" + name + "u(A, B)", unordered});
        cases.push_back({"A " + sign + " B", name == "ne" ? std::function(unordered) : ordered});
        cases.push_back(
            {named("__hb" + name + "2(__halves2@2(A, A), __halves2@2(B, B))", format), ordered});
        cases.push_back(
            {named("__h" + name + "u2_mask(__halves2@2(C, A), __halves2@2(C, B)) >> 31", format),
             unordered});
        cases.push_back(
            {named("__high2float(__h" + name + "2(__halves2@2(C, A), __halves2@2(C, B))) == 1.0f",
                   format),
             ordered});
    };
    add("eq", "==", std::equal_to<double>());
    add("ne", "!=", std::not_equal_to<double>());
    add("lt", "<", std::less<double>());
    add("le", "<=", std::less_equal<double>());
    add("gt", ">", std::greater<double>());
    add("ge", ">=", std::greater_equal<double>());
    cases.push_back({"__hisnan(A)", [](auto& f, S a, S, S) { return S{f.is_nan(a)}; }});
    cases.push_back({"__hisinf(A) + 1", [](auto& f, S a, S, S) {
                         return static_cast<S>(std::isinf(f.value(a)) ? sign(f.value(a)) + 1 : 1);
                     }});
    auto a = patterns(4096, 5), b = patterns(4096, 6);
    for (std::size_t i = 0; i < a.size(); i += 3)
        b[i] = a[i];
    a[0] = 0, b[0] = 0x8000;
    a[1] = 0x7fff, b[1] = 0x7fff;
    check(format, cases, a, b, a);
}

template <class T> void check_conversion(const Format& format, const std::string& type,
                                         const std::string& name, const std::vector<T>& values,
                                         const std::function<Exact(T)>& exact) {
    std::string text = "#include <" + format.header + ">\n";
    const char* modes[] = {"rn", "rz", "ru", "rd"};
    for (const char* mode : modes)
        text += named("extern \"C\" __global__ void " + std::string(mode) + "(const " + type +
                          "* a, unsigned short* out, int n) {\n    int i = blockIdx.x * blockDim.x "
                          "+ threadIdx.x;\n    if (i < n) out[i] = __@_as_ushort(__" +
                          name + "2@_" + mode + "(a[i]));\n}\n",
                      format);
    const Program program({text});
    std::vector<unsigned short> out(values.size());
    for (int mode = 0; mode < 4; ++mode) {
        program.launch(modes[mode], {static_cast<std::uint32_t>((values.size() + 255) / 256)},
                       {256}, values.data(), out.data(), static_cast<int>(values.size()));
        int wrong = 0;
        for (std::size_t i = 0; i < values.size() && wrong < 3; ++i) {
            const auto expected = rounded(format, exact(values[i]), static_cast<Mode>(mode));
            const bool same =
                out[i] == expected || (format.is_nan(out[i]) && format.is_nan(expected));
            wrong += !same;
            EXPECT_TRUE(same) << name << "2" << format.word << "_" << modes[mode] << " of "
                              << +values[i] << ": " << std::hex << out[i] << ", not " << expected;
        }
    }
}

TEST_P(ShortFloats, ConversionsInEveryDirection) {
    const auto& format = GetParam();
    std::mt19937_64 random(7);
    std::vector<float> floats{0.0f,     -0.0f,   INFINITY, -INFINITY, NAN,    65519.0f, 65520.0f,
                              65504.0f, 3.4e38f, -3.4e38f, 1e-30f,    -1e-8f, 1.0f};
    while (floats.size() < 20000) {
        floats.push_back(std::bit_cast<float>(static_cast<unsigned>(random())));
        const auto near = format.value(static_cast<unsigned short>(random())); // and ties
        floats.push_back(static_cast<float>(
            near * (1.0 + (static_cast<int>(random() % 5) - 2) * std::ldexp(1.0, -format.digits))));
    }
    check_conversion<float>(format, "float", "float", floats, [](float x) { return Exact{x}; });
    std::vector<long long> wholes{0,
                                  1,
                                  -1,
                                  65504,
                                  65519,
                                  65520,
                                  -65520,
                                  std::numeric_limits<long long>::min(),
                                  std::numeric_limits<long long>::max()};
    while (wholes.size() < 20000)
        wholes.push_back(static_cast<long long>(random()) >> (random() % 64));
    for (int shift = 8; shift < 62; ++shift) // a tie that the last bit breaks
        for (const int end : {-1, 0, 1})
            wholes.push_back((257LL << (shift - 8)) + end);
    check_conversion<long long>(format, "long long", "ll", wholes, whole);
    std::vector<int> ints;
    for (const long long x : wholes)
        ints.push_back(static_cast<int>(x));
    check_conversion<int>(format, "int", "int", ints, [](int x) { return Exact{double(x)}; });
    std::vector<unsigned short> shorts(65536);
    for (unsigned i = 0; i < 65536; ++i)
        shorts[i] = static_cast<unsigned short>(i);
    check_conversion<unsigned short>(format, "unsigned short", "ushort", shorts,
                                     [](unsigned short x) { return Exact{double(x)}; });
}

TEST_P(ShortFloats, BackToNumbers) {
    const auto& format = GetParam();
    const Program program({named(
        "#include <" + format.header + ">\nextern \"C\" __global__ void back(const " + format.type +
            R"(* a, float* f, int* i, short* s, unsigned* u, signed char* c, long long* l) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    f[k] = a[k];
    i[k] = __@2int_rn(a[k]);
    s[k] = __@2short_rd(a[k]);
    u[k] = __@2uint_ru(a[k]);
    c[k] = a[k];
    l[k] = __@2ll_rz(a[k]);
})",
        format)});
    std::vector<unsigned short> a(65536);
    for (unsigned k = 0; k < 65536; ++k)
        a[k] = static_cast<unsigned short>(k);
    std::vector<float> f(65536);
    std::vector<int> i(65536);
    std::vector<short> s(65536);
    std::vector<unsigned> u(65536);
    std::vector<signed char> c(65536);
    std::vector<long long> l(65536);
    program.launch("back", {256}, {256}, a.data(), f.data(), i.data(), s.data(), u.data(), c.data(),
                   l.data());
    const auto limited = [](double x, double least, double greatest) {
        return std::isnan(x) ? 0.0 : std::fmin(std::fmax(x, least), greatest);
    };
    for (unsigned k = 0; k < 65536; ++k) {
        const double x = format.value(a[k]);
        ASSERT_TRUE(f[k] == x || (std::isnan(f[k]) && std::isnan(x))) << k;
        ASSERT_EQ(i[k], limited(std::rint(x), -2147483648.0, 2147483647.0)) << k;
        ASSERT_EQ(s[k], limited(std::floor(x), -32768, 32767)) << k;
        ASSERT_EQ(u[k], limited(std::ceil(x), 0, 4294967295.0)) << k;
        ASSERT_EQ(c[k], limited(std::trunc(x), -128, 127)) << k;
        if (std::fabs(x) < 9e18) {
            ASSERT_EQ(static_cast<double>(l[k]), std::trunc(x)) << k;
        }
    }
}

// Within one place of the exact value, and mostly on it.
TEST_P(ShortFloats, Functions) {
    const auto& format = GetParam();
    struct Function {
        const char* name;
        double (*exact)(double);
    };
    const Function functions[] = {{"hexp", [](double x) { return std::exp(x); }},
                                  {"hexp2", [](double x) { return std::exp2(x); }},
                                  {"hexp10", [](double x) { return std::pow(10.0, x); }},
                                  {"hlog", [](double x) { return std::log(x); }},
                                  {"hlog2", [](double x) { return std::log2(x); }},
                                  {"hlog10", [](double x) { return std::log10(x); }},
                                  {"hsin", [](double x) { return std::sin(x); }},
                                  {"hcos", [](double x) { return std::cos(x); }},
                                  {"htanh", [](double x) { return std::tanh(x); }},
                                  {"hrsqrt", [](double x) { return 1 / std::sqrt(x); }}};
    std::string text = "#include <" + format.header + ">\n";
    for (const auto& function : functions)
        text +=
            "extern \"C\" __global__ void " + std::string(function.name) + "_(const " +
            format.type + "* a, " + format.type +
            "* out) { int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = " + function.name +
            "(a[i]); }\n";
    const Program program({text});
    std::vector<unsigned short> a(65536), out(65536);
    for (unsigned i = 0; i < 65536; ++i)
        a[i] = static_cast<unsigned short>(i);
    for (const auto& function : functions) {
        program.launch(std::string(function.name) + "_", {256}, {256}, a.data(), out.data());
        int off = 0;
        for (unsigned i = 0; i < 65536; ++i) {
            const unsigned short expected = rounded(format, {function.exact(format.value(a[i]))});
            if (out[i] == expected || (format.is_nan(out[i]) && format.is_nan(expected)))
                continue;
            ++off;
            ASSERT_LE(std::abs(static_cast<int>(out[i]) - static_cast<int>(expected)), 1)
                << function.name << " of " << format.value(a[i]);
        }
        EXPECT_LT(off, 20) << function.name;
    }
}

TEST_P(ShortFloats, AtomicSumsKeepBothHalves) {
    const auto& format = GetParam();
    const Program program(
        {named("#include <" + format.header + ">\nextern \"C\" __global__ void add(" + format.type +
                   "* one, " + format.type + "2* two) {\n" + R"(
    atomicAdd(one, __float2@(1.0f));
    atomicAdd(two, __floats2@2_rn(0.5f, -1.0f));
    ::atomicAdd(&two->x, __float2@(0.5f));
})",
               format)});
    unsigned short one = 0, two[2] = {0, 0};
    program.launch("add", {4}, {32}, &one, &two[0]);
    EXPECT_EQ(format.value(one), 128);
    EXPECT_EQ(format.value(two[0]), 128);
    EXPECT_EQ(format.value(two[1]), -128);
}

// The code generator takes vectors of halves apart to compare them, unless they are floats by then.
TEST_P(ShortFloats, ComparisonsTakeNoMoreCodeThanFloats) {
    const auto text = [](const std::string& type, const std::string& header) {
        return header + "extern \"C\" __global__ void k(const " + type + "* a, const " + type +
               "* b, bool* out, " + type + R"(* most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    )" + type + R"( x = a[i], y = b[i];
    out[i] = x < y, out[n + i] = x >= y, out[2 * n + i] = x == y, out[3 * n + i] = x != y;
    most[i] = x > y ? x : y;
})";
    };
    const auto& format = GetParam();
    const auto shorts = compile({text(format.type, "#include <" + format.header + ">\n")}),
               floats = compile({text("float", "")});
    ASSERT_EQ(shorts.status, QUERN_CC_OK) << shorts.log;
    EXPECT_LT(shorts.object.size(), 2 * floats.object.size());
}

std::string loop_of(const Format& format, const std::string& statement) {
    return named("#include <" + format.header + ">\nextern \"C\" __global__ void k(const " +
                     format.type + "* a, " + format.type + R"(* b, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = __@2float(a[i]);
    )" + statement + "\n}",
                 format);
}

// As many at a time as floats: the optimiser thinks little of conversions of more than four.
TEST_P(ShortFloats, LoopsTakeWholeVectors) {
    for (const auto* value : {"((1.1f * x + 2) * x + 3) * x", "sqrtf(x)", "fmaxf(x, -x)",
                              "floorf(x)", "rintf(x) + truncf(x)"}) {
        const auto text = loop_of(GetParam(), std::string("b[i] = __float2@(") + value + ");");
        const auto made = compile({text, {}, {}, {}, "x86-64-v3"});
        ASSERT_EQ(made.status, QUERN_CC_OK) << made.log;
        EXPECT_GE(read_kernel_facts(made.facts).front().vector_bits, 256U) << value;
    }
}

// One by one each number would be taken out of its vector and put back.
TEST_P(ShortFloats, WholeNumbersTakeNoMoreCodeThanFloats) {
    const auto shorts = compile({loop_of(GetParam(), "b[i] = __float2@(ceilf(x));")}),
               floats = compile({R"(extern "C" __global__ void k(const float* a, float* b, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = ceilf(a[i]);
})"});
    ASSERT_EQ(shorts.status, QUERN_CC_OK) << shorts.log;
    EXPECT_LT(shorts.object.size(), 2 * floats.object.size());
}

// With operators left out a program may bring its own; types, sizes and constants stay.
TEST_P(ShortFloats, OperatorsCanBeLeftOut) {
    const auto& format = GetParam();
    const std::string text =
        "#include <" + format.header + ">\n__device__ " + format.type + " operator+(" +
        format.type + " a, " + format.type + " b) { return __hsub(a, b); }\n" + R"(
static_assert(sizeof(half2) == 4 && alignof(half2) == 4 && sizeof(__half) == 2);
extern "C" __global__ void k(float* out, )" +
        format.type + "* a) { out[0] = a[0] + a[1]; out[1] = __half2float(CUDART_ONE_FP16); }";
    const Program program(
        {text, {"-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_BFLOAT16_OPERATORS__"}});
    const unsigned short a[2] = {rounded(format, {3.0}), rounded(format, {1.0})};
    float out[2] = {};
    program.launch("k", {1}, {1}, &out[0], &a[0]);
    EXPECT_EQ(out[0], 2.0f);
    EXPECT_EQ(out[1], 1.0f);
    EXPECT_EQ(compile({text}).status, QUERN_CC_ERROR); // two operators+ of the same
}

INSTANTIATE_TEST_SUITE_P(Both, ShortFloats, testing::Values(half, bfloat),
                         [](const auto& info) { return info.param.word; });

} // namespace
} // namespace quern::test
