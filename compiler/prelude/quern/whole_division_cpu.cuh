// Division of whole numbers on the CPU, floored, in loops that become vectors, which have no instruction for it.
#pragma once
#include "quern/near_parts.cuh"
#include "quern/ufunc_plain.cuh"

extern "C" __device__ __attribute__((const)) bool __quern_is_invariant(unsigned long long x); // of the loop around it

namespace quern {
namespace whole {

// By the inverse of b. In floats of so many more digits half a unit more keeps what is whole from being rounded below it, and is
// less than what any other quotient lacks.
template <class T, class F> __device__ inline T quotient_of_short(T a, T b) {
    const F inverse = F(1) / static_cast<F>(b), ratio = ::fma(static_cast<F>(a), inverse, F(0.5) * ::fabs(inverse));
    return static_cast<T>(near::Whole<F>(::floor(ratio)).integer);
}
// Of 8 bytes, of which AVX2 has no conversions: halves of an integer are last bits of doubles.
struct Halves { // small integers are the last bits of shift + a; they wrap
    static constexpr double shift = 0x1.8p52;
    typedef near::Bits<double> B;
    typedef unsigned long long U;
    static __device__ U last(double moved) { return static_cast<U>(B::of(moved)) - static_cast<U>(B::of(shift)); }
    static __device__ double small(U a) { return B::value(static_cast<long long>(a + static_cast<U>(B::of(shift)))) - shift; } // from -2^51 to 2^51
    template <class T> static __device__ double high(T a) { // floor(a / 2^32)
        const U sign = ufunc::Integer<T>::is_signed ? 0x80000000u : 0, ones = 0x4330000000000000ull;
        return B::value(static_cast<long long>((static_cast<U>(a) >> 32 ^ sign) | ones)) - (0x1p52 + static_cast<double>(sign));
    }
};
// By a divisor beyond 2^50: the quotient has few bits, which those of the halves that are above tell but for 1.
template <class T> __device__ inline T quotient_of_large(T a, T b) {
    typedef unsigned long long U;
    const U nearest = static_cast<U>(near::Whole<double>(Halves::high(a) / Halves::high(b)).integer);
    const long long left = static_cast<long long>(static_cast<U>(a) - nearest * static_cast<U>(b));
    if (ufunc::Integer<T>::is_signed) return static_cast<T>(nearest - U((left != 0) & ((left ^ static_cast<long long>(b)) < 0)));
    return static_cast<T>(U(b) >> 63 ? U(a >= b) : nearest - U(left < 0));
}
QUERN_SELDOM_OF_ANY(quotient, (T usual, T x, T y, bool wanted), (usual, x, y, wanted), quotient_of_large<T>(x, y))
// What the upper half of a gives, in halves, leaves less than 2^51, and a quotient of that, the nearest, less than 1.
template <class T> __device__ inline T quotient_of_long(T a, T b) {
    typedef unsigned long long U;
    const U limit = U(1) << 50, apart = ufunc::Integer<T>::is_signed ? static_cast<U>(b) + limit : static_cast<U>(b);
    const bool large = apart > (ufunc::Integer<T>::is_signed ? 2 * limit : limit);
    const double by = Halves::small(static_cast<U>(b)), inverse = 1.0 / by, high = Halves::high(a);
    const double upper = ::fma(high, inverse, Halves::shift), rest_of_upper = ::fma(high, inverse, -(upper - Halves::shift));
    const U first = (Halves::last(upper) << 32) + Halves::last(::fma(rest_of_upper, 0x1p32, Halves::shift));
    const double left = Halves::small(static_cast<U>(a) - first * static_cast<U>(b)), lower = ::fma(left, inverse, Halves::shift);
    const double over = ::fma(-(lower - Halves::shift), by, left);
    const bool past = ufunc::Integer<T>::is_signed ? over * by < 0.0 : over < 0.0;
    return seldom_quotient(static_cast<T>(first + Halves::last(lower) - U(past)), a, b, large);
}
// By the same divisor for many numbers: a product with 2^64 / by, rounded up, which for some takes a bit more than there are
// (T. Granlund, P. Montgomery, Division by invariant integers using multiplication, 1994).
template <class U> struct Inverse;
template <> struct Inverse<unsigned long long> {
    typedef unsigned long long U;
    U times;
    int first, second;
    __device__ explicit Inverse(U by) {
        typedef unsigned __int128 Wide;
        const int power = by > 1 ? 64 - __clzll(static_cast<long long>(by - 1)) : 0; // the first of 2 that is not less
        times = static_cast<U>((((Wide(1) << power) - by) << 64) / by + 1);
        first = power > 0;
        second = power > 0 ? power - 1 : 0;
    }
    __device__ U quotient(U n) const {
        const U ones = 0xffffffff, low = n & ones, high = n >> 32, by_low = times & ones, by_high = times >> 32;
        const U upper = high * by_low + (low * by_low >> 32), lower = low * by_high + (upper & ones);
        const U product = high * by_high + (upper >> 32) + (lower >> 32); // n * times / 2^64; __umul64hi is no vector's
        return (product + ((n - product) >> first)) >> second;
    }
};
template <> struct Inverse<unsigned char> { // rounded down, which lacks less than 1: no product has more than 16 bits
    typedef unsigned short U;
    U by, times;
    __device__ explicit Inverse(unsigned char b) : by(b), times(256 / b) {}
    __device__ unsigned char quotient(unsigned char n) const {
        const U product = static_cast<U>(n * times), found = static_cast<U>(product >> 8);
        const U left = static_cast<U>(n - static_cast<U>(found * by)), more = left >= by;
        return static_cast<unsigned char>(found + more);
    }
};
// -1 - n of a negative n is not negative, and its quotient likewise.
template <class T, class U> __device__ inline T quotient_of_many(T a, T b) {
    const int last = 8 * sizeof(T) - 1;
    const U minus = b < T(0) ? static_cast<U>(~U(0)) : U(0);
    const auto with_sign = [](U n, U sign) { return static_cast<U>(static_cast<U>(n ^ sign) - sign); };
    const Inverse<U> inverse(with_sign(static_cast<U>(b), minus));
    const U n = with_sign(static_cast<U>(a), minus), below = static_cast<U>(n & ~(static_cast<U>(a) & minus)); // also of the least a
    const U sign = ufunc::Integer<T>::is_signed && (below >> last) != 0 ? static_cast<U>(~U(0)) : U(0);
    return static_cast<T>(static_cast<U>(inverse.quotient(static_cast<U>(n ^ sign)) ^ sign));
}
// Unsigned, and a float with more bits.
template <int bytes> struct Types;
template <> struct Types<1> { typedef unsigned char U; typedef float F; };
template <> struct Types<2> { typedef unsigned short U; typedef float F; };
template <> struct Types<4> { typedef unsigned int U; typedef double F; };
template <> struct Types<8> { typedef unsigned long long U; typedef double F; };
// a = quotient * b + rest; b is not 0.
template <class T> struct Floored {
    typedef typename Types<sizeof(T)>::U U;
    T quotient, rest;
    __device__ Floored(T a, T b) : quotient(quotient_of(a, b)) {
        rest = static_cast<T>(static_cast<U>(a) - static_cast<U>(quotient) * static_cast<U>(b));
    }
    static __device__ T quotient_of(T a, T b) {
        if constexpr (sizeof(T) == 8 || sizeof(T) == 1) // of others products take as long, or longer
            if (__quern_is_invariant(static_cast<unsigned long long>(b))) return quotient_of_many<T, U>(a, b);
        if constexpr (sizeof(T) == 8)
            return quotient_of_long(a, b);
        else
            return quotient_of_short<T, typename Types<sizeof(T)>::F>(a, b);
    }
};

} // namespace whole
} // namespace quern
