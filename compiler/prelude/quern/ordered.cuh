// Keys: unsigned integers that order as values do. What selects and what sorts looks at their digits.
#pragma once

namespace quern {

// Unsigned integers in the order of values, NaN behind all others.
template <class T> struct Ordered;
#define QUERN_ORDERED(T, Unsigned, flipped)                                                            \
    template <> struct Ordered<T> {                                                                    \
        typedef Unsigned Key;                                                                          \
        static const bool has_nan = false;                                                             \
        static __device__ Key key(T value) { return static_cast<Key>(static_cast<Key>(value) ^ static_cast<Key>(flipped)); } \
        static __device__ T value(Key key) { return static_cast<T>(static_cast<Key>(key ^ static_cast<Key>(flipped))); }     \
    };
QUERN_ORDERED(bool, unsigned char, 0)
QUERN_ORDERED(signed char, unsigned char, 0x80)
QUERN_ORDERED(short, unsigned short, 0x8000)
QUERN_ORDERED(int, unsigned int, 0x80000000u)
QUERN_ORDERED(long long, unsigned long long, 0x8000000000000000ull)
QUERN_ORDERED(unsigned char, unsigned char, 0)
QUERN_ORDERED(unsigned short, unsigned short, 0)
QUERN_ORDERED(unsigned int, unsigned int, 0)
QUERN_ORDERED(unsigned long long, unsigned long long, 0)
#undef QUERN_ORDERED

template <class Unsigned> struct OrderedBits {
    typedef Unsigned Key;
    static const bool has_nan = true;
    static const Unsigned sign = static_cast<Unsigned>(static_cast<Unsigned>(1) << (8 * sizeof(Unsigned) - 1));
    static __device__ Key key(Key bits, bool is_nan) {
        const Key ordered = static_cast<Key>(bits & sign ? ~bits : bits | sign);
        return is_nan ? static_cast<Key>(~static_cast<Key>(0)) : ordered;
    }
    static __device__ Key bits(Key key) { return static_cast<Key>(key & sign ? key ^ sign : ~key); }
};
template <> struct Ordered<float> : OrderedBits<unsigned int> {
    static __device__ Key key(float value) { return OrderedBits::key(__float_as_uint(value), value != value); }
    static __device__ float value(Key key) { return __uint_as_float(bits(key)); }
};
template <> struct Ordered<double> : OrderedBits<unsigned long long> {
    static __device__ Key key(double value) {
        return OrderedBits::key(static_cast<Key>(__double_as_longlong(value)), value != value);
    }
    static __device__ double value(Key key) { return __longlong_as_double(static_cast<long long>(bits(key))); }
};
#if defined(QUERN_HAS_HALF) || defined(QUERN_HAS_BFLOAT16)
template <class Format> struct Ordered<SmallFloat<Format>> : OrderedBits<unsigned short> {
    typedef OrderedBits<unsigned short> Bits;
    static __device__ unsigned short key(SmallFloat<Format> value) { return Bits::key(value.bits, value.isnan()); }
    static __device__ SmallFloat<Format> value(unsigned short key) { return SmallFloat<Format>::from_bits(Bits::bits(key)); }
};
#endif

} // namespace quern
