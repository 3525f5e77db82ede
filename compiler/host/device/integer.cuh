// Integer intrinsics: bit counting, wide products, averages, funnel shifts, byte permutation, and the SIMD-in-a-word
// operations on two halves or four bytes.
#pragma once
typedef unsigned long long __quern_u64;
__quern_fn constexpr int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
__quern_fn constexpr int __clzll(long long x) { return x ? __builtin_clzll((__quern_u64)x) : 64; }
__quern_fn constexpr int __ffs(int x) { return __builtin_ffs(x); }
__quern_fn constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }
__quern_fn constexpr int __popc(unsigned x) { return __builtin_popcount(x); }
__quern_fn constexpr int __popcll(__quern_u64 x) { return __builtin_popcountll(x); }
__quern_fn constexpr unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__quern_fn constexpr __quern_u64 __brevll(__quern_u64 x) { return __builtin_bitreverse64(x); }
__quern_fn unsigned __fns(unsigned mask, unsigned base, int offset) {
    if (offset == 0) return mask >> (base & 31) & 1 ? base : ~0u;
    int step = offset < 0 ? -1 : 1;
    for (int i = (int)base; i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) && (offset -= step) == 0) return (unsigned)i;
    return ~0u;
}
__quern_fn int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
__quern_fn unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((__quern_u64)a * b) >> 32); }
__quern_fn long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
__quern_fn __quern_u64 __umul64hi(__quern_u64 a, __quern_u64 b) { return (__quern_u64)(((unsigned __int128)a * b) >> 64); }
__quern_fn int __quern_low24(int x) { return (int)((unsigned)x << 8) >> 8; }
__quern_fn int __mul24(int a, int b) { return (int)((unsigned)__quern_low24(a) * (unsigned)__quern_low24(b)); }
__quern_fn unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
__quern_fn int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
__quern_fn int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
__quern_fn unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((__quern_u64)a + b) >> 1); }
__quern_fn unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((__quern_u64)a + b + 1) >> 1); }
__quern_fn unsigned __sad(int a, int b, unsigned c) { return (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c; }
__quern_fn unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
__quern_fn unsigned __quern_both(unsigned lo, unsigned hi, unsigned n) { return (unsigned)((((__quern_u64)hi << 32) | lo) >> n); }
__quern_fn unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return __quern_both(lo, hi, n & 31); }
__quern_fn unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) { return __quern_both(lo, hi, n < 32 ? n : 32); }
__quern_fn unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return __quern_both(lo, hi, 32 - (n & 31)); }
__quern_fn unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) { return __quern_both(lo, hi, 32 - (n < 32 ? n : 32)); }
__quern_fn unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    __quern_u64 all = (__quern_u64)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned byte = (unsigned)(all >> ((s >> (4 * i) & 7) * 8)) & 0xff;
        r |= (s >> (4 * i) & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
    }
    return r;
}
#define __quern_byte(T, x, i) ((T)((x) >> (8 * (i))))
#define __quern_dp4a(R, A, TA, TB)                                                                                     \
    __quern_fn R __dp4a(A a, A b, R c) {                                                                               \
        for (int i = 0; i < 4; ++i) c += (R)__quern_byte(TA, (unsigned)a, i) * (R)__quern_byte(TB, (unsigned)b, i);    \
        return c;                                                                                                      \
    }
__quern_dp4a(int, int, signed char, signed char)
__quern_dp4a(unsigned, unsigned, unsigned char, unsigned char)
__quern_fn int __dp4a(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
__quern_fn unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
    return c + (unsigned)(a.x * b.x) + (unsigned)(a.y * b.y) + (unsigned)(a.z * b.z) + (unsigned)(a.w * b.w);
}
#define __quern_dp2a(N, T, WORD, BYTE, SHIFT)                                                                              \
    __quern_fn T N(T a, T b, T c) {                                                                                    \
        for (int i = 0; i < 2; ++i)                                                                                    \
            c += (T)(WORD)((unsigned)a >> (16 * i)) * (T)(BYTE)((unsigned)b >> (SHIFT + 8 * i));                       \
        return c;                                                                                                      \
    }
__quern_dp2a(__dp2a_lo, int, short, signed char, 0) __quern_dp2a(__dp2a_hi, int, short, signed char, 16)
__quern_dp2a(__dp2a_lo, unsigned, unsigned short, unsigned char, 0)
__quern_dp2a(__dp2a_hi, unsigned, unsigned short, unsigned char, 16)
#define __quern_dp2a_vectors(N, R, A, B, LO, HI)                                                                       \
    __quern_fn R N(A a, B b, R c) { return c + (R)a.x * (R)b.LO + (R)a.y * (R)b.HI; }
__quern_dp2a_vectors(__dp2a_lo, int, short2, char4, x, y) __quern_dp2a_vectors(__dp2a_hi, int, short2, char4, z, w)
__quern_dp2a_vectors(__dp2a_lo, unsigned, ushort2, uchar4, x, y)
__quern_dp2a_vectors(__dp2a_hi, unsigned, ushort2, uchar4, z, w)
#undef __quern_dp2a_vectors
#undef __quern_dp4a
#undef __quern_dp2a
#undef __quern_byte

// Two halves or four bytes at a time. W: bits of a lane; T: the lane's type; x, y: its values, widened to int.
#define __quern_lanes(N, W, T, EXPRESSION)                                                                             \
    __quern_fn unsigned N(unsigned a, unsigned b) {                                                                    \
        unsigned r = 0;                                                                                                \
        for (int i = 0; i < 32; i += W) {                                                                              \
            int x = (T)(a >> i), y = (T)(b >> i);                                                                      \
            r |= ((unsigned)(EXPRESSION) & (W == 8 ? 0xffu : 0xffffu)) << i;                                           \
        }                                                                                                              \
        return r;                                                                                                      \
    }
#define __quern_clampi(v, lo, hi) ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v))
#define __quern_lane_family(K, W, S, U, SMIN, SMAX, UMAX)                                                              \
    __quern_lanes(__vadd##K, W, U, x + y) __quern_lanes(__vsub##K, W, U, x - y)                                        \
    __quern_lanes(__vaddss##K, W, S, __quern_clampi(x + y, SMIN, SMAX))                                                \
    __quern_lanes(__vaddus##K, W, U, __quern_clampi(x + y, 0, UMAX))                                                   \
    __quern_lanes(__vsubss##K, W, S, __quern_clampi(x - y, SMIN, SMAX))                                                \
    __quern_lanes(__vsubus##K, W, U, __quern_clampi(x - y, 0, UMAX))                                                   \
    __quern_lanes(__vabsdiffs##K, W, S, x > y ? x - y : y - x) __quern_lanes(__vabsdiffu##K, W, U, x > y ? x - y : y - x) \
    __quern_lanes(__vavgs##K, W, S, (x + y + (x + y >= 0)) >> 1) __quern_lanes(__vavgu##K, W, U, (x + y + 1) >> 1)     \
    __quern_lanes(__vhaddu##K, W, U, (x + y) >> 1)                                                                     \
    __quern_lanes(__vmaxs##K, W, S, x > y ? x : y) __quern_lanes(__vmaxu##K, W, U, x > y ? x : y)                      \
    __quern_lanes(__vmins##K, W, S, x < y ? x : y) __quern_lanes(__vminu##K, W, U, x < y ? x : y)                      \
    __quern_lanes(__vcmpeq##K, W, U, -(x == y)) __quern_lanes(__vcmpne##K, W, U, -(x != y))                            \
    __quern_lanes(__vcmpges##K, W, S, -(x >= y)) __quern_lanes(__vcmpgeu##K, W, U, -(x >= y))                          \
    __quern_lanes(__vcmpgts##K, W, S, -(x > y)) __quern_lanes(__vcmpgtu##K, W, U, -(x > y))                            \
    __quern_lanes(__vcmples##K, W, S, -(x <= y)) __quern_lanes(__vcmpleu##K, W, U, -(x <= y))                          \
    __quern_lanes(__vcmplts##K, W, S, -(x < y)) __quern_lanes(__vcmpltu##K, W, U, -(x < y))                            \
    __quern_lanes(__vseteq##K, W, U, x == y) __quern_lanes(__vsetne##K, W, U, x != y)                                  \
    __quern_lanes(__vsetges##K, W, S, x >= y) __quern_lanes(__vsetgeu##K, W, U, x >= y)                                \
    __quern_lanes(__vsetgts##K, W, S, x > y) __quern_lanes(__vsetgtu##K, W, U, x > y)                                  \
    __quern_lanes(__vsetles##K, W, S, x <= y) __quern_lanes(__vsetleu##K, W, U, x <= y)                                \
    __quern_lanes(__vsetlts##K, W, S, x < y) __quern_lanes(__vsetltu##K, W, U, x < y)                                  \
    __quern_fn unsigned __vneg##K(unsigned a) { return __vsub##K(0, a); }                                              \
    __quern_fn unsigned __vnegss##K(unsigned a) { return __vsubss##K(0, a); }                                          \
    __quern_fn unsigned __vabs##K(unsigned a) { return __vabsdiffs##K(a, 0); }                                         \
    __quern_fn unsigned __vabsss##K(unsigned a) { return __vmaxs##K(a, __vsubss##K(0, a)); }                           \
    __quern_fn unsigned __vsads##K(unsigned a, unsigned b) {                                                           \
        unsigned d = __vabsdiffs##K(a, b), r = 0;                                                                      \
        for (int i = 0; i < 32; i += W) r += (U)(d >> i);                                                              \
        return r;                                                                                                      \
    }                                                                                                                  \
    __quern_fn unsigned __vsadu##K(unsigned a, unsigned b) {                                                           \
        unsigned d = __vabsdiffu##K(a, b), r = 0;                                                                      \
        for (int i = 0; i < 32; i += W) r += (U)(d >> i);                                                              \
        return r;                                                                                                      \
    }
__quern_lane_family(2, 16, short, unsigned short, -32768, 32767, 65535)
__quern_lane_family(4, 8, signed char, unsigned char, -128, 127, 255)
#undef __quern_lane_family
#undef __quern_lanes
#undef __quern_clampi

// Least and greatest of sums and of three, of whole words and of their halves; _relu keeps nothing below zero. The b
// forms also tell whether the first operand won.
__quern_fn constexpr int __quern_relu(int x) { return x < 0 ? 0 : x; }
#define __quern_pick3(M, OP)                                                                                           \
    __quern_fn int __vi##M##3_s32(int a, int b, int c) { return M(M(a, b), c); }                                       \
    __quern_fn unsigned __vi##M##3_u32(unsigned a, unsigned b, unsigned c) { return M(M(a, b), c); }                   \
    __quern_fn int __vi##M##3_s32_relu(int a, int b, int c) { return __quern_relu(M(M(a, b), c)); }                    \
    __quern_fn int __vi##M##_s32_relu(int a, int b) { return __quern_relu(M(a, b)); }                                  \
    __quern_fn int __viadd##M##_s32(int a, int b, int c) { return M((int)((unsigned)a + (unsigned)b), c); }            \
    __quern_fn unsigned __viadd##M##_u32(unsigned a, unsigned b, unsigned c) { return M(a + b, c); }                   \
    __quern_fn int __viadd##M##_s32_relu(int a, int b, int c) { return __quern_relu(__viadd##M##_s32(a, b, c)); }      \
    __quern_fn unsigned __vi##M##3_s16x2(unsigned a, unsigned b, unsigned c) { return __v##M##s2(__v##M##s2(a, b), c); } \
    __quern_fn unsigned __vi##M##3_u16x2(unsigned a, unsigned b, unsigned c) { return __v##M##u2(__v##M##u2(a, b), c); } \
    __quern_fn unsigned __vi##M##3_s16x2_relu(unsigned a, unsigned b, unsigned c) { return __vmaxs2(__vi##M##3_s16x2(a, b, c), 0); } \
    __quern_fn unsigned __vi##M##_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__v##M##s2(a, b), 0); }         \
    __quern_fn unsigned __viadd##M##_s16x2(unsigned a, unsigned b, unsigned c) { return __v##M##s2(__vadd2(a, b), c); } \
    __quern_fn unsigned __viadd##M##_u16x2(unsigned a, unsigned b, unsigned c) { return __v##M##u2(__vadd2(a, b), c); } \
    __quern_fn unsigned __viadd##M##_s16x2_relu(unsigned a, unsigned b, unsigned c) { return __vmaxs2(__viadd##M##_s16x2(a, b, c), 0); } \
    __quern_fn int __vib##M##_s32(int a, int b, bool* first) { return (*first = a OP b) ? a : b; }                     \
    __quern_fn unsigned __vib##M##_u32(unsigned a, unsigned b, bool* first) { return (*first = a OP b) ? a : b; }      \
    __quern_fn unsigned __vib##M##_s16x2(unsigned a, unsigned b, bool* high, bool* low) {                              \
        *high = (short)(a >> 16) OP (short)(b >> 16);                                                                  \
        *low = (short)a OP (short)b;                                                                                   \
        return __v##M##s2(a, b);                                                                                       \
    }                                                                                                                  \
    __quern_fn unsigned __vib##M##_u16x2(unsigned a, unsigned b, bool* high, bool* low) {                              \
        *high = (a >> 16) OP (b >> 16);                                                                                \
        *low = (a & 0xffff) OP (b & 0xffff);                                                                           \
        return __v##M##u2(a, b);                                                                                       \
    }
__quern_pick3(max, >=) __quern_pick3(min, <=)
#undef __quern_pick3
