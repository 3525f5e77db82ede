// Accumulators and joins of NumPy's reductions: ranges of types, sums with a count.
#pragma once
#include "quern/order.cuh"

namespace quern {

// The ends of a type's range: infinities where it has them.
template <class T> struct Limits { // floats
    static __device__ T high() { return T(__uint_as_float(0x7f800000u)); }
    static __device__ T low() { return T(__uint_as_float(0xff800000u)); }
};
template <> struct Limits<bool> {
    static __device__ bool high() { return true; }
    static __device__ bool low() { return false; }
};
#define QUERN_LIMITS(T, Unsigned)                                                                     \
    template <> struct Limits<T> {                                                                    \
        static __device__ T high() { return static_cast<T>(static_cast<Unsigned>(~static_cast<Unsigned>(0)) >> 1); } \
        static __device__ T low() { return static_cast<T>(-high() - 1); }                             \
    };                                                                                                \
    template <> struct Limits<Unsigned> {                                                             \
        static __device__ Unsigned high() { return static_cast<Unsigned>(~static_cast<Unsigned>(0)); }             \
        static __device__ Unsigned low() { return 0; }                                                \
    };
QUERN_LIMITS(signed char, unsigned char)
QUERN_LIMITS(short, unsigned short)
QUERN_LIMITS(int, unsigned int)
QUERN_LIMITS(long long, unsigned long long)
#undef QUERN_LIMITS
#ifdef QUERN_HAS_COMPLEX
template <class T> struct Limits<complex<T>> {
    static __device__ complex<T> high() { return complex<T>(Limits<T>::high(), Limits<T>::high()); }
    static __device__ complex<T> low() { return complex<T>(Limits<T>::low(), Limits<T>::low()); }
};
#endif

// What fmax and fmin start from: NaN, which any number replaces; for a type without it, the end of its range.
template <class T> __device__ inline T passed_over(const T& end) {
    const T apart = static_cast<T>(end - end);
    return apart != apart ? apart : end;
}

template <class T> struct Span {
    T low, high;
    __device__ Span() : low(Limits<T>::high()), high(Limits<T>::low()) {}
    __device__ explicit Span(const T& x) : low(x), high(x) {}
};
template <class T> __device__ inline Span<T> widened(const Span<T>& a, const Span<T>& b) {
    Span<T> both;
    both.low = lowest(a.low, b.low);
    both.high = highest(a.high, b.high);
    return both;
}

#ifdef __QUERN_HOST__
template <class T, int width> struct SideBySide<Span<T>, width> {
    alignas(64) T low[width + lines_apart<T, width>()];
    alignas(64) T high[width];
    __device__ void put(long long l, const Span<T>& x) { low[l] = x.low, high[l] = x.high; }
    __device__ Span<T> get(long long l) const {
        Span<T> x;
        x.low = low[l], x.high = high[l];
        return x;
    }
};
#endif

#ifdef __QUERN_HOST__
// A count of single elements: of a few packs in bytes, as many at a time as a vector has.
struct Tally {
    int count;
    __device__ Tally() : count(0) {}
    __device__ explicit Tally(long long x) : count(static_cast<int>(x)) {}
    __device__ explicit operator long long() const { return count; }
};
__device__ inline Tally operator+(const Tally& a, const Tally& b) { return Tally(a.count + b.count); }
template <int count, int step> struct Lanes<Tally, count, step, true> {
    int all;
    __device__ void clear(const Tally&) { all = 0; }
    __device__ void in_any_order(bool) {}
    __device__ void beyond_caches(bool) {}
    template <class Dense, class Join> __device__ void take(const Dense& dense, long long from, long long stop, const Join&) {
        const int width = count * step;
        while (stop - from > count) { // nothing may stand behind the last element
            const long long packs = (stop - from - 1) / count, end = from + (packs < 255 ? packs : 255) * count;
            unsigned char few[width];
            for (int l = 0; l < width; ++l) few[l] = 0;
            for (; from < end; from += count) {
                QUERN_INDEPENDENT
                for (int l = 0; l < width; ++l) few[l] += static_cast<unsigned char>(dense(from * step + l).count);
            }
            for (int l = 0; l < count; ++l) all += few[l * step];
        }
        for (; from < stop; ++from) all += dense(from * step).count;
    }
    template <class Join> __device__ Tally fold(const Join&) { return Tally(all); }
};
#endif

// A sum over a count that is a number of the same kind.
template <class T> __device__ inline T ratio(const T& sum, long long count) { return sum / static_cast<T>(count); }
#ifdef QUERN_HAS_COMPLEX
template <class T> __device__ inline complex<T> ratio(const complex<T>& sum, long long count) {
    return complex<T>(sum.real() / static_cast<T>(count), sum.imag() / static_cast<T>(count));
}
#endif

template <class T> struct Counted {
    T sum;
    long long count;
    __device__ Counted() : sum(T(0)), count(0) {}
    template <class U> __device__ explicit Counted(const U& x) : sum(static_cast<T>(x)), count(1) {}
    __device__ T mean() const { return ratio(sum, count); }
    __device__ Counted operator+(const Counted& other) const {
        Counted both;
        both.sum = sum + other.sum;
        both.count = count + other.count;
        return both;
    }
};

// A product of integers of a byte: four at a time in 32 bits, then all in `Whole`, where products wrap.
template <class Whole, class Part> struct ByteProduct {
    Whole whole;
    Part part;
    int taken;
    __device__ ByteProduct() : whole(1), part(1), taken(0) {}
    __device__ explicit ByteProduct(Whole start) : whole(start), part(1), taken(0) {}
    template <class T> __device__ explicit ByteProduct(T x) : whole(1), part(static_cast<Part>(x)), taken(1) {}
    __device__ explicit operator Whole() const { return whole * static_cast<Whole>(part); }
    __device__ ByteProduct operator*(const ByteProduct& b) const {
        ByteProduct both;
        both.whole = whole * b.whole;
        if (taken + b.taken > 4) {
            both.whole = both.whole * static_cast<Whole>(part);
            both.part = b.part;
            both.taken = b.taken;
        } else {
            both.part = part * b.part;
            both.taken = taken + b.taken;
        }
        if (both.taken == 4) { // in loops of packs that is known beforehand
            both.whole = both.whole * static_cast<Whole>(both.part);
            both.part = Part(1);
            both.taken = 0;
        }
        return both;
    }
};

} // namespace quern
