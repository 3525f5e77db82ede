// What comes first: NumPy's order of numbers, in which NaN spreads and complex ones go by the real part.
#pragma once

namespace quern {

template <class T> __device__ inline bool is_nan(const T& x) { return x != x; }
template <class T> __device__ inline bool above(const T& a, const T& b) { return a > b; }
template <class T> __device__ inline bool same(const T& a, const T& b) { return a == b; }
#ifdef QUERN_HAS_COMPLEX
template <class T> __device__ inline bool is_nan(const complex<T>& x) { return (x.real() != x.real()) | (x.imag() != x.imag()); }
template <class T> __device__ inline bool above(const complex<T>& a, const complex<T>& b) { // by real part, then imaginary
    return ((a.real() > b.real()) & (a.imag() == a.imag()) & (b.imag() == b.imag())) | ((a.real() == b.real()) & (a.imag() > b.imag()));
}
template <class T> __device__ inline bool same(const complex<T>& a, const complex<T>& b) {
    return (a.real() == b.real()) & (a.imag() == b.imag());
}
#endif

#if defined(__QUERN_HOST__) && (defined(QUERN_HAS_HALF) || defined(QUERN_HAS_BFLOAT16)) // by their bits, which vectors compare
template <class Format> __device__ inline bool is_nan(const SmallFloat<Format>& x) { return x.isnan(); }
template <class Format> __device__ inline bool same(const SmallFloat<Format>& a, const SmallFloat<Format>& b) {
    return ((a.bits == b.bits) & !a.isnan()) | (((a.bits | b.bits) & 0x7fff) == 0);
}
#endif

// A NaN is another value than a NaN, unless all are taken as one.
template <class T> __device__ inline bool differ(const T& a, const T& b, bool one_nan) { return !(same(a, b) || (one_nan && is_nan(a) && is_nan(b))); }

template <class T> __device__ inline T chosen(bool first, const T& a, const T& b) { return first ? a : b; }
#ifdef QUERN_HAS_COMPLEX
template <class T> __device__ inline complex<T> chosen(bool first, const complex<T>& a, const complex<T>& b) { // in vectors
    return complex<T>(first ? a.real() : b.real(), first ? a.imag() : b.imag());
}
#endif

#ifdef __QUERN_HOST__ // one instruction for the larger one, one for NaN
template <class T> __device__ inline T maximum(const T& a, const T& b) { return chosen(is_nan(a), a, chosen(above(a, b), a, b)); }
template <class T> __device__ inline T minimum(const T& a, const T& b) { return chosen(is_nan(a), a, chosen(above(b, a), a, b)); }
// A NaN and whatever make that NaN. Said so, the two choices stay two instructions; two choices of `a` become one of masks.
#define QUERN_EXTREMES(T)                                                                                             \
    template <> __device__ inline T maximum(const T& a, const T& b) { return is_nan(a) ? a + b : above(a, b) ? a : b; } \
    template <> __device__ inline T minimum(const T& a, const T& b) { return is_nan(a) ? a + b : above(b, a) ? a : b; }
QUERN_EXTREMES(float)
QUERN_EXTREMES(double)
#undef QUERN_EXTREMES
#else
template <class T> __device__ inline T maximum(const T& a, const T& b) { return above(a, b) || is_nan(a) ? a : b; }
template <class T> __device__ inline T minimum(const T& a, const T& b) { return above(b, a) || is_nan(a) ? a : b; }
#endif

#ifdef QUERN_HAS_COMPLEX
// Of equals the first, as NumPy has it of complex numbers.
template <class T> __device__ inline complex<T> maximum(const complex<T>& a, const complex<T>& b) {
    return chosen(is_nan(a) | !(is_nan(b) | above(b, a)), a, b);
}
template <class T> __device__ inline complex<T> minimum(const complex<T>& a, const complex<T>& b) {
    return chosen(is_nan(a) | !(is_nan(b) | above(a, b)), a, b);
}
#endif

// The same of many, in whatever order they come: which of equals, such as zeros, and which NaN is left open. A GPU has one
// instruction for it.
template <class T> __device__ inline T highest(const T& a, const T& b) { return maximum(a, b); }
template <class T> __device__ inline T lowest(const T& a, const T& b) { return minimum(a, b); }
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
#define QUERN_EXTREME(name, T, instruction, kind, bits)                                      \
    template <> __device__ inline T name(const T& a, const T& b) {                           \
        T found;                                                                             \
        asm(instruction " %0, %1, %2;" : "=" kind(found bits) : kind(a bits), kind(b bits)); \
        return found;                                                                        \
    }
QUERN_EXTREME(highest, float, "max.NaN.f32", "f", )
QUERN_EXTREME(lowest, float, "min.NaN.f32", "f", )
#ifdef QUERN_HAS_HALF
QUERN_EXTREME(highest, float16, "max.NaN.f16", "h", .bits)
QUERN_EXTREME(lowest, float16, "min.NaN.f16", "h", .bits)
#endif
#ifdef QUERN_HAS_BFLOAT16
QUERN_EXTREME(highest, bfloat16, "max.NaN.bf16", "h", .bits)
QUERN_EXTREME(lowest, bfloat16, "min.NaN.bf16", "h", .bits)
#endif
#undef QUERN_EXTREME
#endif

} // namespace quern
