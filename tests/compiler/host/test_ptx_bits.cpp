// Inline PTX: bits, fields and bytes, against the manual's own pseudocode, bit by bit.
#include "ptx_cases.h"
#include <bit>

namespace quern::test {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

TEST(PtxBits, EveryTableOfLop3) {
    std::string source =
        "extern \"C\" __global__ void k(const unsigned* a, const unsigned* b, const "
        "unsigned* c, unsigned* out) {\n  int i = threadIdx.x;\n";
    for (int table = 0; table < 256; ++table) {
        const auto number = std::to_string(table);
        source += "  asm(\"lop3.b32 %0, %1, %2, %3, " + number + ";\" : \"=r\"(out[i * 256 + " +
                  number + "]) : \"r\"(a[i]), \"r\"(b[i]), \"r\"(c[i]));\n";
    }
    const Program program({source + "}"});
    const auto a = ptx_values<u32>(64, 1), b = ptx_values<u32>(64, 2), c = ptx_values<u32>(64, 3);
    std::vector<u32> out(64 * 256);
    program.launch("k", {1}, {64}, a.data(), b.data(), c.data(), out.data());
    for (u32 k = 0; k < 64; ++k)
        for (u32 table = 0; table < 256; ++table) {
            u32 expected = 0;
            for (int i = 0; i < 32; ++i) {
                const u32 at = (a[k] >> i & 1) << 2 | (b[k] >> i & 1) << 1 | (c[k] >> i & 1);
                expected |= (table >> at & 1) << i;
            }
            ASSERT_EQ(out[k * 256 + table], expected) << table;
        }
}

template <class T> T shifted(T a, u32 amount, bool left, bool arithmetic) {
    constexpr unsigned bits = sizeof(T) * 8;
    T result = 0;
    for (unsigned i = 0; i < bits; ++i) {
        const std::int64_t from = left ? std::int64_t{i} - amount : std::int64_t{i} + amount;
        const bool inside = from >= 0 && from < bits;
        const bool bit = inside ? a >> from & 1 : arithmetic && a >> (bits - 1) & 1;
        result = static_cast<T>(result | T(bit) << i);
    }
    return result;
}

TEST(PtxBits, ShiftsClampTheirAmount) {
    check_ptx<u32, u32, u32>({
        {"shl.b32 %0, %1, %2;", [](u32 a, u32 n) { return shifted(a, n, true, false); }},
        {"shr.u32 %0, %1, %2;", [](u32 a, u32 n) { return shifted(a, n, false, false); }},
        {"shr.b32 %0, %1, %2;", [](u32 a, u32 n) { return shifted(a, n, false, false); }},
        {"shr.s32 %0, %1, %2;", [](u32 a, u32 n) { return shifted(a, n, false, true); }},
        {"shl.b32 %0, %1, 32;", [](u32, u32) { return 0u; }},
        {"shr.s32 %0, %1, 0x40;", [](u32 a, u32) { return 0 - (a >> 31); }},
        {"not.b32 %0, %1;", [](u32 a, u32) { return ~a; }},
        {"cnot.b32 %0, %1;", [](u32 a, u32) { return u32{a == 0}; }},
        {"xor.b32 %0, %1, %2;", [](u32 a, u32 b) { return a ^ b; }},
        {"and.b32 %0, %1, ~0xff;", [](u32 a, u32) { return a & ~0xffu; }},
    });
    check_ptx<u64, u64, u32>({
        {"shl.b64 %0, %1, %2;", [](u64 a, u32 n) { return shifted(a, n, true, false); }},
        {"shr.u64 %0, %1, %2;", [](u64 a, u32 n) { return shifted(a, n, false, false); }},
        {"shr.s64 %0, %1, %2;", [](u64 a, u32 n) { return shifted(a, n, false, true); }},
    });
    check_ptx<u16, u16, u32>({
        {"shl.b16 %0, %1, %2;", [](u16 a, u32 n) { return shifted(a, n, true, false); }},
        {"shr.s16 %0, %1, %2;", [](u16 a, u32 n) { return shifted(a, n, false, true); }},
    });
    const auto funnel = [](u32 a, u32 b, u32 n, bool left, bool wraps) {
        n = wraps ? n & 31 : std::min(n, 32u);
        const u64 both = u64{b} << 32 | a;
        return left ? u32((n ? both << n : both) >> 32) : u32(both >> n);
    };
    check_ptx<u32, u32, u32, u32>({
        {"shf.l.wrap.b32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 n) { return funnel(a, b, n, true, true); }},
        {"shf.l.clamp.b32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 n) { return funnel(a, b, n, true, false); }},
        {"shf.r.wrap.b32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 n) { return funnel(a, b, n, false, true); }},
        {"shf.r.clamp.b32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 n) { return funnel(a, b, n, false, false); }},
    });
}

template <class T> T field(T a, u32 b, u32 c, bool is_signed) {
    const int msb = sizeof(T) * 8 - 1, pos = b & 0xff, len = c & 0xff;
    bool fill = false;
    if (is_signed && len != 0)
        fill = a >> std::min(pos + len - 1, msb) & 1;
    T d = 0;
    for (int i = 0; i <= msb; ++i)
        d |= T(i < len && pos + i <= msb ? (a >> (pos + i) & 1) : T(fill)) << i;
    return d;
}

template <class T> T with_field(T a, T b, u32 c, u32 d) {
    const int msb = sizeof(T) * 8 - 1, pos = c & 0xff, len = d & 0xff;
    T f = b;
    for (int i = 0; i < len && pos + i <= msb; ++i)
        f = (f & ~(T{1} << (pos + i))) | (a >> i & 1) << (pos + i);
    return f;
}

TEST(PtxBits, Fields) {
    check_ptx<u32, u32, u32, u32>({
        {"bfe.u32 %0, %1, %2, %3;", [](u32 a, u32 b, u32 c) { return field(a, b, c, false); }},
        {"bfe.s32 %0, %1, %2, %3;", [](u32 a, u32 b, u32 c) { return field(a, b, c, true); }},
        {"bfe.u32 %0, %1, 4, 8;", [](u32 a, u32, u32) { return a >> 4 & 0xff; }},
        {"bfi.b32 %0, %1, %2, %3, 5;", [](u32 a, u32 b, u32 c) { return with_field(a, b, c, 5); }},
        {"bfi.b32 %0, %1, %2, 3, %3;", [](u32 a, u32 b, u32 c) { return with_field(a, b, 3, c); }},
    });
    check_ptx<u64, u64, u32, u32>({
        {"bfe.u64 %0, %1, %2, %3;", [](u64 a, u32 b, u32 c) { return field(a, b, c, false); }},
        {"bfe.s64 %0, %1, %2, %3;", [](u64 a, u32 b, u32 c) { return field(a, b, c, true); }},
        {"bfi.b64 %0, %1, 0x123456789abcdef, %2, %3;",
         [](u64 a, u32 b, u32 c) { return with_field<u64>(a, 0x123456789abcdef, b, c); }},
    });
    const auto mask = [](u32 at, u32 length) {
        u32 bits = 0;
        for (u64 i = at; i < u64{at} + length && i < 32; ++i)
            bits |= 1u << i;
        return bits;
    };
    const auto low = [](u32 a, u32 n, bool is_signed) {
        if (n == 0)
            return 0u;
        return n >= 32 ? a : field(a, 0, n, is_signed);
    };
    check_ptx<u32, u32, u32>({
        {"bmsk.clamp.b32 %0, %1, %2;", [=](u32 a, u32 b) { return mask(a, b); }},
        {"bmsk.wrap.b32 %0, %1, %2;", [=](u32 a, u32 b) { return mask(a & 31, b & 31); }},
        {"szext.clamp.u32 %0, %1, %2;", [=](u32 a, u32 b) { return low(a, b, false); }},
        {"szext.clamp.s32 %0, %1, %2;", [=](u32 a, u32 b) { return low(a, b, true); }},
        {"szext.wrap.s32 %0, %1, %2;", [=](u32 a, u32 b) { return low(a, b & 31, true); }},
    });
}

TEST(PtxBits, Counts) {
    const auto highest = [](u64 a, int bits, bool is_signed, bool amount) -> u32 {
        const bool sign = is_signed && (a >> (bits - 1) & 1);
        for (int i = bits - 1; i >= 0; --i)
            if ((a >> i & 1) != sign)
                return u32(amount ? bits - 1 - i : i);
        return ~0u;
    };
    check_ptx<u32, u32>({
        {"popc.b32 %0, %1;", [](u32 a) { return u32(std::popcount(a)); }},
        {"clz.b32 %0, %1;", [](u32 a) { return u32(std::countl_zero(a)); }},
        {"bfind.u32 %0, %1;", [=](u32 a) { return highest(a, 32, false, false); }},
        {"bfind.s32 %0, %1;", [=](u32 a) { return highest(a, 32, true, false); }},
        {"bfind.shiftamt.u32 %0, %1;", [=](u32 a) { return highest(a, 32, false, true); }},
        {"bfind.shiftamt.s32 %0, %1;", [=](u32 a) { return highest(a, 32, true, true); }},
        {"brev.b32 %0, %1;",
         [](u32 a) {
             u32 r = 0;
             for (int i = 0; i < 32; ++i)
                 r |= (a >> i & 1) << (31 - i);
             return r;
         }},
    });
    check_ptx<u32, u64>({
        {"popc.b64 %0, %1;", [](u64 a) { return u32(std::popcount(a)); }},
        {"clz.b64 %0, %1;", [](u64 a) { return u32(std::countl_zero(a)); }},
        {"bfind.u64 %0, %1;", [=](u64 a) { return highest(a, 64, false, false); }},
        {"bfind.s64 %0, %1;", [=](u64 a) { return highest(a, 64, true, false); }},
    });
    check_ptx<u32, u32, u32>({
        {"{ .reg .u32 at; and.b32 at, %2, 31; fns.b32 %0, %1, at, 2; }",
         [](u32 a, u32 b) {
             int left = 2;
             for (u32 i = b & 31; i < 32; ++i)
                 if ((a >> i & 1) && --left == 0)
                     return i;
             return ~0u;
         }},
    });
}

TEST(PtxBits, EveryModeOfPrmt) {
    const auto pick = [](u32 a, u32 b, std::array<unsigned, 4> selectors) {
        const u64 all = u64{b} << 32 | a;
        u32 result = 0;
        for (int i = 0; i < 4; ++i) {
            u32 byte = u32(all >> (8 * (selectors[i] & 7))) & 0xff;
            if (selectors[i] & 8)
                byte = byte & 0x80 ? 0xff : 0;
            result |= byte << (8 * i);
        }
        return result;
    };
    // As the manual's formulas say it: byte i of the result for each mode, from its setting c.
    using Formula = std::function<int(int, int)>;
    const std::pair<const char*, Formula> modes[] = {
        {"f4e", [](int c, int i) { return c + i; }},
        {"b4e", [](int c, int i) { return (c - i) & 7; }},
        {"rc8", [](int c, int) { return c; }},
        {"ecl", [](int c, int i) { return std::max(c, i); }},
        {"ecr", [](int c, int i) { return std::min(c, i); }},
        {"rc16", [](int c, int i) { return 2 * (c & 1) + (i & 1); }},
    };
    std::vector<PtxCase<u32, u32, u32, u32>> cases = {
        {"prmt.b32 %0, %1, %2, %3;",
         [=](u32 a, u32 b, u32 c) {
             return pick(a, b, {c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15});
         }},
        {"prmt.b32 %0, %1, %2, 0x0123;", [](u32 a, u32, u32) { return __builtin_bswap32(a); }},
    };
    for (const auto& [name, formula] : modes)
        cases.push_back({std::string("prmt.b32.") + name + " %0, %1, %2, %3;",
                         [=, formula = formula](u32 a, u32 b, u32 c) {
                             std::array<unsigned, 4> selectors{};
                             for (int i = 0; i < 4; ++i)
                                 selectors[i] = static_cast<unsigned>(formula(c & 3, i));
                             return pick(a, b, selectors);
                         }});
    check_ptx<u32, u32, u32, u32>(cases);
}

} // namespace
} // namespace quern::test
