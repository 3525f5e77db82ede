// Inline PTX: integer arithmetic, carries, and SIMD in a word, against 128-bit arithmetic in C++.
#include "ptx_cases.h"

namespace quern::test {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using i128 = __int128;

s32 s(u32 x) { return static_cast<s32>(x); }
s64 s(u64 x) { return static_cast<s64>(x); }
u32 clamp32(i128 x) {
    return static_cast<u32>(
        std::clamp<i128>(x, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max()));
}
i128 low24(u32 x, bool is_signed) { return is_signed ? i128{s(x << 8) >> 8} : i128{x & 0xffffff}; }

TEST(PtxInteger, TwoWords) {
    check_ptx<u32, u32, u32>({
        {"add.u32 %0, %1, %2;", [](u32 a, u32 b) { return a + b; }},
        {"add.s32 %0, %1, %2;", [](u32 a, u32 b) { return a + b; }},
        {"add.sat.s32 %0, %1, %2;", [](u32 a, u32 b) { return clamp32(i128{s(a)} + s(b)); }},
        {"sub.s32 %0, %1, %2;", [](u32 a, u32 b) { return a - b; }},
        {"sub.sat.s32 %0, %1, %2;", [](u32 a, u32 b) { return clamp32(i128{s(a)} - s(b)); }},
        {"mul.lo.u32 %0, %1, %2;", [](u32 a, u32 b) { return a * b; }},
        {"mul.hi.u32 %0, %1, %2;", [](u32 a, u32 b) { return u32(u64{a} * b >> 32); }},
        {"mul.hi.s32 %0, %1, %2;", [](u32 a, u32 b) { return u32(s64{s(a)} * s(b) >> 32); }},
        {"mul24.lo.u32 %0, %1, %2;",
         [](u32 a, u32 b) { return u32(low24(a, false) * low24(b, false)); }},
        {"mul24.hi.u32 %0, %1, %2;",
         [](u32 a, u32 b) { return u32(low24(a, false) * low24(b, false) >> 16); }},
        {"mul24.lo.s32 %0, %1, %2;",
         [](u32 a, u32 b) { return u32(low24(a, true) * low24(b, true)); }},
        {"mul24.hi.s32 %0, %1, %2;",
         [](u32 a, u32 b) { return u32(low24(a, true) * low24(b, true) >> 16); }},
        {"div.u32 %0, %1, %2;", [](u32 a, u32 b) { return b ? a / b : ~0u; }},
        {"rem.u32 %0, %1, %2;", [](u32 a, u32 b) { return b ? a % b : ~0u; }},
        {"div.s32 %0, %1, %2;", [](u32 a, u32 b) { return b ? u32(s64{s(a)} / s(b)) : ~0u; }},
        {"rem.s32 %0, %1, %2;", [](u32 a, u32 b) { return b ? u32(s64{s(a)} % s(b)) : ~0u; }},
        {"min.u32 %0, %1, %2;", [](u32 a, u32 b) { return std::min(a, b); }},
        {"max.u32 %0, %1, %2;", [](u32 a, u32 b) { return std::max(a, b); }},
        {"min.s32 %0, %1, %2;", [](u32 a, u32 b) { return u32(std::min(s(a), s(b))); }},
        {"max.s32 %0, %1, %2;", [](u32 a, u32 b) { return u32(std::max(s(a), s(b))); }},
        {"max.s32.relu %0, %1, %2;",
         [](u32 a, u32 b) {
             return u32(std::max({s(a), s(b), 0}));
         }},
        {"add.u16x2 %0, %1, %2;",
         [](u32 a, u32 b) { return ((a & 0xffff0000) + (b & 0xffff0000)) | ((a + b) & 0xffff); }},
        {"{ .reg .u32 t; neg.s32 t, %1; abs.s32 %0, t; add.u32 %0, %0, %2; }",
         [](u32 a, u32 b) { return (s(a) < 0 ? 0 - a : a) + b; }},
    });
}

TEST(PtxInteger, TwoLongWords) {
    check_ptx<u64, u64, u64>({
        {"add.u64 %0, %1, %2;", [](u64 a, u64 b) { return a + b; }},
        {"sub.s64 %0, %1, %2;", [](u64 a, u64 b) { return a - b; }},
        {"mul.lo.s64 %0, %1, %2;", [](u64 a, u64 b) { return a * b; }},
        {"mul.hi.u64 %0, %1, %2;",
         [](u64 a, u64 b) { return u64(static_cast<unsigned __int128>(a) * b >> 64); }},
        {"mul.hi.s64 %0, %1, %2;", [](u64 a, u64 b) { return u64(i128{s(a)} * s(b) >> 64); }},
        {"div.s64 %0, %1, %2;", [](u64 a, u64 b) { return b ? u64(i128{s(a)} / s(b)) : ~u64{0}; }},
        {"rem.u64 %0, %1, %2;", [](u64 a, u64 b) { return b ? a % b : ~u64{0}; }},
        {"min.s64 %0, %1, %2;", [](u64 a, u64 b) { return u64(std::min(s(a), s(b))); }},
        {"max.u64 %0, %1, %2;", [](u64 a, u64 b) { return std::max(a, b); }},
        {"abs.s64 %0, %1;", [](u64 a, u64) { return s(a) < 0 ? 0 - a : a; }},
        {"neg.s64 %0, %2;", [](u64, u64 b) { return 0 - b; }},
        {"sad.u64 %0, %1, %2, 7;", [](u64 a, u64 b) { return 7 + (a > b ? a - b : b - a); }},
    });
    check_ptx<u64, u32, u32>({
        {"mul.wide.u32 %0, %1, %2;", [](u32 a, u32 b) { return u64{a} * b; }},
        {"mul.wide.s32 %0, %1, %2;", [](u32 a, u32 b) { return u64(s64{s(a)} * s(b)); }},
    });
    check_ptx<u32, u16, u16>({
        {"mul.wide.u16 %0, %1, %2;", [](u16 a, u16 b) { return u32{a} * b; }},
        {"mul.wide.s16 %0, %1, %2;",
         [](u16 a, u16 b) { return u32(s32{std::int16_t(a)} * std::int16_t(b)); }},
    });
    check_ptx<u16, u16, u16>({
        {"add.u16 %0, %1, %2;", [](u16 a, u16 b) { return u16(a + b); }},
        {"mul.lo.u16 %0, %1, %2;", [](u16 a, u16 b) { return u16(u32{a} * b); }},
        {"mul.hi.u16 %0, %1, %2;", [](u16 a, u16 b) { return u16(u32{a} * b >> 16); }},
        {"max.s16 %0, %1, %2;",
         [](u16 a, u16 b) { return u16(std::max(std::int16_t(a), std::int16_t(b))); }},
    });
}

u32 bytes(u32 a, u32 b, u32 c, bool first_signed, bool second_signed) {
    for (int i = 0; i < 32; i += 8) {
        const int x = first_signed ? std::int8_t(a >> i) : std::uint8_t(a >> i);
        const int y = second_signed ? std::int8_t(b >> i) : std::uint8_t(b >> i);
        c += u32(x * y);
    }
    return c;
}

u32 halves(u32 a, u32 b, u32 c, bool is_signed, bool high) {
    for (int i = 0; i < 2; ++i) {
        const u32 part = b >> ((high ? 16 : 0) + 8 * i);
        const s64 x = is_signed ? std::int16_t(a >> (16 * i)) : u16(a >> (16 * i));
        const s64 y = is_signed ? s64{std::int8_t(part)} : s64{std::uint8_t(part)};
        c += u32(x * y);
    }
    return c;
}

TEST(PtxInteger, ThreeWords) {
    check_ptx<u32, u32, u32, u32>({
        {"mad.lo.u32 %0, %1, %2, %3;", [](u32 a, u32 b, u32 c) { return a * b + c; }},
        {"mad.hi.u32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return u32(u64{a} * b >> 32) + c; }},
        {"mad.hi.s32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return u32(s64{s(a)} * s(b) >> 32) + c; }},
        {"mad.hi.sat.s32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return clamp32((i128{s(a)} * s(b) >> 32) + s(c)); }},
        {"mad24.lo.s32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return u32(low24(a, true) * low24(b, true)) + c; }},
        {"mad24.hi.u32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return u32(low24(a, false) * low24(b, false) >> 16) + c; }},
        {"sad.u32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return c + (a > b ? a - b : b - a); }},
        {"sad.s32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return c + (s(a) > s(b) ? a - b : b - a); }},
        {"dp4a.u32.u32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return bytes(a, b, c, false, false); }},
        {"dp4a.s32.s32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return bytes(a, b, c, true, true); }},
        {"dp4a.s32.u32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return bytes(a, b, c, true, false); }},
        {"dp2a.lo.u32.u32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return halves(a, b, c, false, false); }},
        {"dp2a.hi.s32.s32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u32 c) { return halves(a, b, c, true, true); }},
    });
    check_ptx<u64, u32, u32, u64>({
        {"mad.wide.u32 %0, %1, %2, %3;", [](u32 a, u32 b, u64 c) { return u64{a} * b + c; }},
        {"mad.wide.s32 %0, %1, %2, %3;",
         [](u32 a, u32 b, u64 c) { return u64(s64{s(a)} * s(b)) + c; }},
    });
}

// Element by element, in 64 bits; c is added to the sum where `adds`.
template <class Op>
u32 elements(u32 a, u32 b, u32 c, int width, bool is_signed, bool saturates, bool adds, Op op) {
    u32 word = 0;
    for (int i = 0; i < 32; i += width) {
        const auto piece = [&](u32 x) -> s64 {
            const u32 part = (x >> i) & ((1u << width) - 1);
            return is_signed && part >> (width - 1) ? s64{part} - (1 << width) : s64{part};
        };
        s64 value = op(piece(a), piece(b));
        if (saturates)
            value = std::clamp<s64>(value, is_signed ? -(1 << (width - 1)) : 0,
                                    (1 << (is_signed ? width - 1 : width)) - 1);
        if (adds)
            c += u32(value);
        word |= (u32(value) & ((1u << width) - 1)) << i;
    }
    return adds ? c : word;
}

TEST(PtxInteger, ElementsOfAWord) {
    const auto sum = [](s64 x, s64 y) { return x + y; };
    const auto difference = [](s64 x, s64 y) { return x - y; };
    const auto distance = [](s64 x, s64 y) { return std::abs(x - y); };
    const auto least = [](s64 x, s64 y) { return std::min(x, y); };
    check_ptx<u32, u32, u32, u32>({
        {"vadd4.u32.u32.u32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 c) { return elements(a, b, c, 8, false, false, false, sum); }},
        {"vadd4.s32.s32.s32.sat %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 c) { return elements(a, b, c, 8, true, true, false, sum); }},
        {"vsub2.u32.u32.u32.sat %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 c) {
             return elements(a, b, c, 16, false, true, false, difference);
         }},
        {"vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 c) { return elements(a, b, c, 8, false, false, true, distance); }},
        {"vabsdiff2.s32.s32.s32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 c) { return elements(a, b, c, 16, true, false, false, distance); }},
        {"vmin4.s32.s32.s32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 c) { return elements(a, b, c, 8, true, false, false, least); }},
    });
}

// --- carries ---

TEST(PtxCarry, OneStatement) {
    check_ptx<u64, u64, u64>({
        {"{ .reg .u32 a, b, c, d; mov.b64 {a, b}, %1; mov.b64 {c, d}, %2;"
         "  add.cc.u32 a, a, c; addc.u32 b, b, d; mov.b64 %0, {a, b}; }",
         [](u64 a, u64 b) { return a + b; }},
        {"{ .reg .u32 a<2>; .reg .u32 b<2>; mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2;"
         "  sub.cc.u32 a0, a0, b0; subc.u32 a1, a1, b1; mov.b64 %0, {a0, a1}; }",
         [](u64 a, u64 b) { return a - b; }},
        {"{ .reg .u64 t; add.cc.u64 t, %1, %2; addc.u64 %0, 0, 0; }",
         [](u64 a, u64 b) { return u64{a + b < a}; }},
        {"{ .reg .u64 t; sub.cc.u64 t, %1, %2; subc.u64 %0, 0, 0; }",
         [](u64 a, u64 b) { return 0 - u64{a < b}; }},
        {"{ .reg .u64 t; mad.lo.cc.u64 t, %1, %2, %1; madc.hi.u64 %0, %1, %2, 0; }",
         [](u64 a, u64 b) { return u64((static_cast<unsigned __int128>(a) * b + a) >> 64); }},
    });
}

template <unsigned words> using Wide = std::array<u32, words>;

template <unsigned words> Wide<words> random_wide(std::mt19937_64& engine) {
    Wide<words> value;
    for (auto& word : value)
        word = engine() % 4 == 0 ? (engine() % 2 ? ~0u : 0u) : static_cast<u32>(engine());
    return value;
}

// As elliptic-curve code does it: one instruction per function, a carry that passes between them.
TEST(PtxCarry, FunctionsOfOneInstructionEach) {
    const Program program({R"(
#define OP3(NAME, TEXT) __device__ __forceinline__ unsigned NAME(unsigned a, unsigned b) { \
    unsigned r; asm volatile(TEXT " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
#define OP4(NAME, TEXT) __device__ unsigned NAME(unsigned a, unsigned b, unsigned c) { \
    unsigned r; asm volatile(TEXT " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
OP3(add_cc, "add.cc.u32") OP3(addc_cc, "addc.cc.u32") OP3(addc, "addc.u32")
OP3(sub_cc, "sub.cc.u32") OP3(subc_cc, "subc.cc.u32") OP3(subc, "subc.u32")
OP4(mad_lo_cc, "mad.lo.cc.u32") OP4(madc_lo_cc, "madc.lo.cc.u32") OP4(madc_hi_cc, "madc.hi.cc.u32")
OP4(mad_hi_cc, "mad.hi.cc.u32") OP4(madc_hi, "madc.hi.u32")
struct Number { unsigned limb[8]; };
extern "C" __global__ void sum(const Number* a, const Number* b, Number* r, unsigned* over, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    r[i].limb[0] = add_cc(a[i].limb[0], b[i].limb[0]);
    for (int k = 1; k < 8; ++k) r[i].limb[k] = addc_cc(a[i].limb[k], b[i].limb[k]);
    over[i] = addc(0, 0);
}
extern "C" __global__ void difference(const Number* a, const Number* b, Number* r, unsigned* over, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    r[i].limb[0] = sub_cc(a[i].limb[0], b[i].limb[0]);
#pragma unroll
    for (int k = 1; k < 8; ++k) r[i].limb[k] = subc_cc(a[i].limb[k], b[i].limb[k]);
    over[i] = subc(0, 0);
}
extern "C" __global__ void product(const Number* a, const Number* b, Number* low, Number* high, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    unsigned r[16] = {};
    for (int i = 0; i < 8; ++i) {
        unsigned x = b[t].limb[i];
        r[i] = mad_lo_cc(a[t].limb[0], x, r[i]);
        for (int j = 1; j < 8; ++j) r[i + j] = madc_lo_cc(a[t].limb[j], x, r[i + j]);
        r[i + 8] = addc(0, 0);
        r[i + 1] = mad_hi_cc(a[t].limb[0], x, r[i + 1]);
        for (int j = 1; j < 7; ++j) r[i + j + 1] = madc_hi_cc(a[t].limb[j], x, r[i + j + 1]);
        r[i + 8] = madc_hi(a[t].limb[7], x, r[i + 8]);
    }
    for (int k = 0; k < 8; ++k) low[t].limb[k] = r[k], high[t].limb[k] = r[k + 8];
}
)"});
    std::mt19937_64 engine(3);
    const int n = 300;
    std::vector<Wide<8>> a, b, r(n), low(n), high(n);
    std::vector<u32> over(n);
    for (int i = 0; i < n; ++i) {
        a.push_back(random_wide<8>(engine));
        b.push_back(random_wide<8>(engine));
    }
    program.launch("sum", {5}, {64}, a.data(), b.data(), r.data(), over.data(), n);
    for (int i = 0; i < n; ++i) {
        u64 carry = 0;
        for (int k = 0; k < 8; ++k) {
            carry += u64{a[i][k]} + b[i][k];
            ASSERT_EQ(r[i][k], u32(carry)) << i << " limb " << k;
            carry >>= 32;
        }
        ASSERT_EQ(over[i], carry);
    }
    program.launch("difference", {5}, {64}, a.data(), b.data(), r.data(), over.data(), n);
    for (int i = 0; i < n; ++i) {
        s64 borrow = 0;
        for (int k = 0; k < 8; ++k) {
            borrow += s64{a[i][k]} - s64{b[i][k]};
            ASSERT_EQ(r[i][k], u32(borrow)) << i << " limb " << k;
            borrow >>= 32;
        }
        ASSERT_EQ(over[i], u32(borrow));
    }
    program.launch("product", {5}, {64}, a.data(), b.data(), low.data(), high.data(), n);
    for (int i = 0; i < n; ++i) {
        u32 expected[16] = {};
        for (int k = 0; k < 8; ++k) {
            u64 carry = 0;
            for (int j = 0; j < 8; ++j) {
                carry += u64{a[i][j]} * b[i][k] + expected[k + j];
                expected[k + j] = u32(carry);
                carry >>= 32;
            }
            expected[k + 8] = u32(carry);
        }
        for (int k = 0; k < 8; ++k) {
            ASSERT_EQ(low[i][k], expected[k]) << i << " limb " << k;
            ASSERT_EQ(high[i][k], expected[k + 8]) << i << " limb " << k + 8;
        }
    }
}

// Whether the flag is written may hang on a predicate, and branches keep it.
TEST(PtxCarry, PredicatesAndBranches) {
    check_ptx<u32, u32, u32, u32>({
        {"{ .reg .pred p; .reg .u32 t; setp.lt.u32 p, %3, 32; add.cc.u32 t, 0, 0;"
         "  @p add.cc.u32 t, %1, %2; addc.u32 %0, 0, 0; }",
         [](u32 a, u32 b, u32 c) { return u32{c < 32 && a + b < a}; }},
        {"{ .reg .pred p; .reg .u32 t; setp.lt.u32 p, %3, 32; add.cc.u32 t, 0, 0;"
         "  @!p bra SKIP; add.cc.u32 t, %1, %2; SKIP: addc.u32 %0, 0, 0; }",
         [](u32 a, u32 b, u32 c) { return u32{c < 32 && a + b < a}; }},
    });
}

} // namespace
} // namespace quern::test
