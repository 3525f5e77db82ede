// Indices of 8 and 16 bits for tests: arithmetic with `int` and `unsigned int` wraps in this width, as that of a 32-bit index
// wraps in 32 bits, so that small arrays show what 2^31 elements would.
#pragma once

namespace quern {

template <class V> class Narrow {
  public:
    typedef V value_type;
    Narrow() = default;
    template <class U> __device__ Narrow(U value) : value_(static_cast<V>(value)) {}
    __device__ operator V() const { return value_; }
    __device__ Narrow operator-() const { return Narrow(-static_cast<int>(value_)); }
    __device__ Narrow& operator++() { return *this = Narrow(value_ + 1); }
    template <class U> __device__ Narrow& operator+=(U by) { return *this = Narrow(*this + by); }
    template <class U> __device__ Narrow& operator-=(U by) { return *this = Narrow(*this - by); }
    template <class U> __device__ Narrow& operator/=(U by) { return *this = Narrow(*this / by); }
    friend __device__ inline Narrow min(Narrow a, Narrow b) { return a.value_ < b.value_ ? a : b; }

  private:
    V value_;
};

// What an index and another operand meet in: the index's width, unsigned if either is; 64 bits beside 64 bits.
template <class V, bool is_unsigned> struct NarrowSign { typedef V type; };
template <> struct NarrowSign<short, true> { typedef unsigned short type; };
template <> struct NarrowSign<signed char, true> { typedef unsigned char type; };
template <class V, class U> struct NarrowMeeting {};
#define QUERN_MEETS(U, is_unsigned) \
    template <class V> struct NarrowMeeting<V, U> { typedef Narrow<typename NarrowSign<V, is_unsigned>::type> type; };
QUERN_MEETS(bool, false)
QUERN_MEETS(int, false)
QUERN_MEETS(unsigned int, true)
#undef QUERN_MEETS
#define QUERN_MEETS_WIDE(U) \
    template <class V> struct NarrowMeeting<V, U> { typedef U type; };
QUERN_MEETS_WIDE(long)
QUERN_MEETS_WIDE(unsigned long)
QUERN_MEETS_WIDE(long long)
QUERN_MEETS_WIDE(unsigned long long)
#undef QUERN_MEETS_WIDE
template <class V, class W> struct NarrowMeeting<V, Narrow<W>> {
    typedef Narrow<typename NarrowSign<V, (static_cast<W>(-1) > 0)>::type> type;
};

template <class T> __device__ inline T narrow_value(T x) { return x; }
template <class V> __device__ inline V narrow_value(Narrow<V> x) { return x; }

#define QUERN_NARROW(op, Result)                                                                                 \
    template <class V, class U>                                                                                  \
    __device__ inline Result operator op(Narrow<V> a, U b) {                                                     \
        typedef typename NarrowMeeting<V, U>::type M;                                                            \
        return static_cast<Result>(narrow_value(static_cast<M>(a)) op narrow_value(static_cast<M>(b)));          \
    }                                                                                                            \
    template <class V, class U>                                                                                  \
    __device__ inline typename NarrowOther<U, Result>::type operator op(U a, Narrow<V> b) {                      \
        typedef typename NarrowMeeting<V, U>::type M;                                                            \
        return static_cast<Result>(narrow_value(static_cast<M>(a)) op narrow_value(static_cast<M>(b)));          \
    }
template <class U, class R> struct NarrowOther { typedef R type; };
template <class V, class R> struct NarrowOther<Narrow<V>, R> {}; // two indices: the first form
#define QUERN_ARITHMETIC typename NarrowMeeting<V, U>::type
#define QUERN_COMPARISON typename NarrowTruth<typename NarrowMeeting<V, U>::type>::type
template <class M> struct NarrowTruth { typedef bool type; };
QUERN_NARROW(+, QUERN_ARITHMETIC)
QUERN_NARROW(-, QUERN_ARITHMETIC)
QUERN_NARROW(*, QUERN_ARITHMETIC)
QUERN_NARROW(/, QUERN_ARITHMETIC)
QUERN_NARROW(%, QUERN_ARITHMETIC)
QUERN_NARROW(&, QUERN_ARITHMETIC)
QUERN_NARROW(<<, QUERN_ARITHMETIC)
QUERN_NARROW(>>, QUERN_ARITHMETIC)
QUERN_NARROW(<, QUERN_COMPARISON)
QUERN_NARROW(<=, QUERN_COMPARISON)
QUERN_NARROW(>, QUERN_COMPARISON)
QUERN_NARROW(>=, QUERN_COMPARISON)
QUERN_NARROW(==, QUERN_COMPARISON)
QUERN_NARROW(!=, QUERN_COMPARISON)
#undef QUERN_COMPARISON
#undef QUERN_ARITHMETIC
#undef QUERN_NARROW

// Of Divisor.
template <class V> __device__ inline Narrow<V> high_product(Narrow<V> a, Narrow<V> b) {
    return Narrow<V>((static_cast<unsigned int>(narrow_value(a)) * narrow_value(b)) >> (8 * sizeof(V)));
}

} // namespace quern
