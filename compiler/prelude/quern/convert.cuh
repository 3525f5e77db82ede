// convert<To>(value): a cast between any two element types, as NumPy's astype makes it.
#pragma once

namespace quern {
template <class To, class From> struct Convert {
    static __device__ To of(const From& value) { return static_cast<To>(value); }
};
template <class From> struct Convert<bool, From> {
    static __device__ bool of(const From& value) { return value != From(0); }
};
// Two-byte floats are read as float first, whatever comes after.
template <class From> struct Read {
    typedef From type;
};
#ifdef QUERN_HAS_HALF
template <> struct Read<float16> {
    typedef float type;
};
#endif
#ifdef QUERN_HAS_BFLOAT16
template <> struct Read<bfloat16> {
    typedef float type;
};
#endif
#ifdef QUERN_HAS_COMPLEX
template <class To, class From> struct Convert<To, complex<From>> { // a real number takes the real part
    static __device__ To of(const complex<From>& value) { return Convert<To, From>::of(value.real()); }
};
template <class From> struct Convert<bool, complex<From>> {
    static __device__ bool of(const complex<From>& value) { return (value.real() != 0) | (value.imag() != 0); }
};
template <class To, class From> struct Convert<complex<To>, From> {
    static __device__ complex<To> of(const From& value) { return complex<To>(Convert<To, From>::of(value)); }
};
template <class To, class From> struct Convert<complex<To>, complex<From>> {
    static __device__ complex<To> of(const complex<From>& value) {
        return complex<To>(static_cast<To>(value.real()), static_cast<To>(value.imag()));
    }
};
#endif
// float to a narrower or unsigned integer goes through a wider signed one, as NumPy's C casts do: 300.0 to uint8 is 44,
// -1.0 to uint32 is 4294967295.
#define QUERN_THROUGH(To, Wide, From)                                                                                  \
    template <> struct Convert<To, From> {                                                                             \
        static __device__ To of(const From& value) { return static_cast<To>(static_cast<Wide>(value)); }               \
    };
#define QUERN_NARROW_ALL(From)                                                                                         \
    QUERN_THROUGH(signed char, int, From) QUERN_THROUGH(unsigned char, int, From) QUERN_THROUGH(short, int, From)      \
    QUERN_THROUGH(unsigned short, int, From) QUERN_THROUGH(unsigned int, long long, From)                              \
    template <> struct Convert<unsigned long long, From> {                                                             \
        static __device__ unsigned long long of(const From& value) {                                                   \
            return value < 0 ? static_cast<unsigned long long>(static_cast<long long>(value))                          \
                             : static_cast<unsigned long long>(value);                                                 \
        }                                                                                                              \
    };
QUERN_NARROW_ALL(float)
QUERN_NARROW_ALL(double)
#undef QUERN_NARROW_ALL
#undef QUERN_THROUGH
template <class To, class From> struct Cast {
    static __device__ To of(const From& value) { return Convert<To, typename Read<From>::type>::of(value); }
};
template <class T> struct Cast<T, T> { // not through float and back
    static __device__ T of(const T& value) { return value; }
};
template <class To, class From> __device__ inline To convert(const From& value) {
    return Cast<To, From>::of(value);
}
} // namespace quern
