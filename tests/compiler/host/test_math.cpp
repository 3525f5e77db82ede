// The math library, function by function, against libm in double (or a formula of its own where
// libm has none).
#include "host_compiler.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace quern::test {
namespace {

TEST(Math, TwoOperandFunctionsAndMixedTypes) {
    const std::pair<const char*, double (*)(double, double)> functions[] = {
        {"pow", [](double a, double b) { return std::pow(a, b); }},
        {"atan2", [](double a, double b) { return std::atan2(a, b); }},
        {"fmod", [](double a, double b) { return std::fmod(a, b); }},
        {"remainder", [](double a, double b) { return std::remainder(a, b); }},
        {"hypot", [](double a, double b) { return std::hypot(a, b); }},
        {"fdim", [](double a, double b) { return std::fdim(a, b); }},
        {"fmin", [](double a, double b) { return std::fmin(a, b); }},
        {"fmax", [](double a, double b) { return std::fmax(a, b); }},
        {"min", [](double a, double b) { return std::fmin(a, b); }},
        {"max", [](double a, double b) { return std::fmax(a, b); }},
        {"copysign", [](double a, double b) { return std::copysign(a, b); }},
        {"nextafter", [](double a, double b) { return std::nextafter(a, b); }},
    };
    std::string text;
    for (auto [name, wanted] : functions)
        text += std::string("extern \"C\" __global__ void ") + name +
                "_k(const double* a, const double* b, double* y, float* f) { int i = threadIdx.x; "
                "y[i] = " +
                name + "(a[i], b[i]); f[i] = " + name + "((float)a[i], (float)b[i]); }\n";
    text += "#include <math.h>\nextern \"C\" __global__ void mixed(double* y) { y[0] = pow(2, 10); "
            "y[1] = sqrt(2); "
            "y[2] = pow(2.0f, 3); y[3] = fmod(7, 4.0f);"
            " y[4] = max(3, 5u); y[5] = min(-1LL, 2LL); y[6] = abs(-3); y[7] = isnan(NAN) + "
            "isinf(1); y[8] = atan2(1, 1.0);"
            " y[9] = sizeof(sin(1)) + sizeof(sin(1.0f)) + sizeof(pow(1.0f, 1.0f)) + "
            "sizeof(pow(1.0f, 1.0)); y[10] = fma(2.0f, 3.0f, 1.0f); y[11] = signbit(-0.0); }\n";
    const Program program({text});
    std::mt19937 engine(4);
    std::uniform_real_distribution<double> range(0.1, 9);
    std::vector<double> a(64), b(64), y(64);
    std::vector<float> f(64);
    for (int i = 0; i < 64; ++i)
        a[i] = static_cast<float>(range(engine)), b[i] = static_cast<float>(range(engine));
    for (auto [name, wanted] : functions) {
        program.launch(std::string(name) + "_k", {}, {64}, a.data(), b.data(), y.data(), f.data());
        for (int i = 0; i < 64; ++i) {
            ASSERT_NEAR(y[i], wanted(a[i], b[i]), 1e-15 * std::fabs(wanted(a[i], b[i]))) << name;
            ASSERT_NEAR(f[i], wanted(a[i], b[i]), 6e-7 * std::fabs(wanted(a[i], b[i]))) << name;
        }
    }
    std::vector<double> m(12);
    program.launch("mixed", {}, {}, m.data());
    EXPECT_EQ(m, (std::vector<double>{1024, std::sqrt(2.0), 8, 3, 5, -1, 3, 1, std::atan2(1, 1.0),
                                      24, 7, 1}));
}

TEST(Math, FunctionsWithOtherShapes) {
    const Program program({R"(extern "C" __global__ void shapes(double* y, const double* x) {
        int e, q; double s, c, w; float sf, cf, wf;
        y[0] = frexp(x[0], &e); y[1] = e; y[2] = modf(-x[0], &w); y[3] = w; y[4] = ldexp(x[0], 5); y[5] = scalbn(x[0], -3);
        y[6] = ilogb(x[0]); y[7] = remquo(x[0], 3.0, &q); y[8] = q & 7; sincos(x[0], &s, &c); y[9] = s; y[10] = c;
        sincospi(0.25, &s, &c); y[11] = s; y[12] = c; sincosf((float)x[0], &sf, &cf); y[13] = sf; y[14] = modff(2.5f, &wf) + wf;
        y[15] = lround(2.5) + 10 * lrint(2.5) + 100 * llround(-2.5) + 1000 * llrint(3.5f); y[16] = norm3d(1, 2, 2); y[17] = norm4d(1, 1, 1, 1);
        y[18] = rnorm3d(1, 2, 2); y[19] = rhypot(3.0, 4.0); y[20] = norm(2, x + 1); y[21] = jn(2, x[0]); y[22] = yn(2, x[0]);
        y[23] = erfcinv(0.5); y[24] = normcdfinv(0.975); y[25] = sinpi(1.0) + cospi(0.5); y[26] = __saturatef(3.0f) + __fdividef(1.0f, 4.0f) + __expf(0.0f);
        y[27] = pow(2.0, 5); y[28] = __saturatef(-1.0f); y[29] = erfinv(1e-10); y[30] = nanf("") != nanf("");
    })"});
    const std::vector<double> x = {10.75, 3, 4};
    std::vector<double> y(31);
    program.launch("shapes", {}, {}, y.data(), x.data());
    int e, q;
    const double f = std::frexp(10.75, &e), r = std::remquo(10.75, 3.0, &q);
    const std::vector<double> wanted = {f,
                                        double(e),
                                        -0.75,
                                        -10,
                                        344,
                                        10.75 / 8,
                                        3,
                                        r,
                                        double(q & 7),
                                        std::sin(10.75),
                                        std::cos(10.75),
                                        std::sqrt(0.5),
                                        std::sqrt(0.5),
                                        std::sin(10.75),
                                        2.5,
                                        3 + 20 - 300 + 4000,
                                        3,
                                        2,
                                        1 / 3.0,
                                        0.2,
                                        5,
                                        ::jn(2, 10.75),
                                        ::yn(2, 10.75),
                                        0.47693627620446987,
                                        1.959963984540054,
                                        0,
                                        2.25,
                                        32,
                                        0,
                                        8.862269254527581e-11,
                                        1};
    for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(y[i], wanted[i],
                    (i == 13 ? 1e-6 : 4e-16) * std::max(std::fabs(wanted[i]), 1e-9))
            << i;
}

TEST(Math, IntegerIntrinsics) {
    const Program program(
        {R"(extern "C" __global__ void bits(long long* y, unsigned a, int b, unsigned long long c) {
        y[0] = __clz(b); y[1] = __clz(0); y[2] = __clzll(c); y[3] = __popc(a); y[4] = __popcll(c); y[5] = __ffs(b); y[6] = __ffsll(0);
        y[7] = __brev(a); y[8] = (long long)__brevll(c); y[9] = __byte_perm(0x33221100, 0x77665544, 0x7531); y[10] = __mul24(b, -3); y[11] = __umul24(a, 7);
        y[12] = __mulhi(b, 1 << 30); y[13] = __umulhi(a, a); y[14] = (long long)__umul64hi(c, c); y[15] = __mul64hi(-5, 1LL << 62);
        y[16] = __hadd(-3, 2); y[17] = __rhadd(-3, 2); y[18] = __uhadd(0xffffffffu, 3); y[19] = __urhadd(0xffffffffu, 2); y[20] = __sad(-5, 7, 3); y[21] = __usad(9, 2, 1);
        y[22] = __funnelshift_l(0x80000001u, 0x12345678u, 4); y[23] = __funnelshift_r(0x80000001u, 0x12345678u, 4); y[24] = __funnelshift_lc(1u, 2u, 40); y[25] = __funnelshift_rc(1u, 2u, 40);
        y[26] = __dp4a(0x01020304, (int)0xff020304, 5); y[27] = __vadd4(0xff01ff01u, 0x01010101u); y[28] = __vaddus2(0xffff0001u, 0x00010001u); y[29] = __vcmpgtu4(0x05000500u, 0x01010101u);
        y[30] = __float_as_int(1.5f); y[31] = __double2hiint(1.5); y[32] = (long long)__hiloint2double(0x3ff80000, 0) * 2; y[33] = __float2int_rn(2.5f); y[34] = __float2int_ru(2.1f); y[35] = __float2int_rd(-2.1f);
        y[36] = __double2ll_rz(-7.9); y[37] = __float2uint_rz(-3.0f); y[38] = (long long)__int2float_ru(16777217); y[39] = (long long)__int2float_rz(16777217); y[40] = __float_as_int(__double2float_ru(0.1)); })"});
    const unsigned a = 0xdeadbeefu;
    const int b = 0x00012340;
    const std::uint64_t c = 0x123456789abcdefull;
    std::vector<long long> y(41);
    program.launch("bits", {}, {}, y.data(), a, b, c);
    unsigned reversed = 0;
    std::uint64_t reversed_wide = 0;
    for (int i = 0; i < 32; ++i)
        reversed |= (a >> i & 1) << (31 - i);
    for (int i = 0; i < 64; ++i)
        reversed_wide |= (c >> i & 1) << (63 - i);
    const std::vector<long long> wanted = {15,
                                           32,
                                           7,
                                           24,
                                           32,
                                           7,
                                           0,
                                           reversed,
                                           (long long)reversed_wide,
                                           0x77553311,
                                           b * -3LL,
                                           (a & 0xffffff) * 7u,
                                           b * (1LL << 30) >> 32,
                                           (long long)((std::uint64_t{a} * a) >> 32),
                                           (long long)(((unsigned __int128)c * c) >> 64),
                                           (long long)(((__int128)-5 * (1LL << 62)) >> 64),
                                           -1,
                                           0,
                                           0x80000001ll,
                                           0x80000001ll,
                                           15,
                                           8,
                                           0x23456788,
                                           0x88000000ll,
                                           1,
                                           2,
                                           4 * 4 + 3 * 3 + 2 * 2 - 1 + 5,
                                           0x00020002,
                                           0xffff0002ll,
                                           0xff00ff00ll,
                                           0x3fc00000,
                                           0x3ff80000,
                                           2,
                                           2,
                                           3,
                                           -3,
                                           -7,
                                           0,
                                           16777218,
                                           16777216,
                                           0x3dcccccd};
    for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(y[i], wanted[i]) << i;
}

} // namespace
} // namespace quern::test
