// What sorts compare: keys under which equal values are equal, zeros of both signs too, NaN last, complex numbers by their
// real parts and then their imaginary ones.
#pragma once
#include "quern/ordered.cuh"

namespace quern {

// 128 bits: of complex128.
struct WideKey {
    unsigned long long high, low;
    __device__ bool operator<(const WideKey& other) const { return high < other.high || (high == other.high && low < other.low); }
    __device__ bool operator==(const WideKey& other) const { return high == other.high && low == other.low; }
};

template <bool zeros> struct OneZero { // of the two zeros' keys
    template <class T, class Key> static __device__ Key key(Key key) { return key; }
    template <class T, class Key> static __device__ Key loses(Key) { return 0; }
};
template <> struct OneZero<true> {
    template <class T, class Key> static __device__ Key key(Key key) {
        return static_cast<Key>(key + (key == static_cast<Key>(Ordered<T>::sign - 1)));
    }
    // Does the value behind a key of `Ordered` not come back from it, or not in order? A -0.0, and a NaN.
    template <class T, class Key> static __device__ Key loses(Key key) {
        return key == static_cast<Key>(Ordered<T>::sign - 1) || key == static_cast<Key>(~static_cast<Key>(0));
    }
};

template <class T> struct SortKey {
    typedef typename Ordered<T>::Key Key;
    static __device__ Key of(const T& value) { return OneZero<Ordered<T>::has_nan>::template key<T>(Ordered<T>::key(value)); }
};

#ifdef QUERN_HAS_COMPLEX
// With a NaN in one part numbers stand behind all others, by the part that is none: real before imaginary before neither.
template <class T, class Key> __device__ inline void complex_key(const complex<T>& value, Key behind, Key& high, Key& low) {
    const Key real = SortKey<T>::of(value.real()), imag = SortKey<T>::of(value.imag());
    const bool no_real = value.real() != value.real(), no_imag = value.imag() != value.imag();
    high = no_real || no_imag ? static_cast<Key>(behind + 2 * no_real + no_imag) : real;
    low = no_real ? (no_imag ? Key() : imag) : no_imag ? real : imag;
}
template <> struct SortKey<complex<float> > {
    typedef unsigned long long Key;
    static __device__ Key of(const complex<float>& value) {
        unsigned int high, low;
        complex_key(value, 0xfff00000u, high, low);
        return static_cast<Key>(high) << 32 | low;
    }
};
template <> struct SortKey<complex<double> > {
    typedef WideKey Key;
    static __device__ Key of(const complex<double>& value) {
        WideKey key;
        complex_key(value, 0xfff8000000000000ull, key.high, key.low);
        return key;
    }
};
#endif

template <class T> __device__ inline bool sorts_before(const T& a, const T& b) { return SortKey<T>::of(a) < SortKey<T>::of(b); }
#ifdef __QUERN_HOST__ // in fewer instructions
template <> __device__ inline bool sorts_before(const float& a, const float& b) { return (a < b) | ((a == a) & (b != b)); }
template <> __device__ inline bool sorts_before(const double& a, const double& b) { return (a < b) | ((a == a) & (b != b)); }
#endif

// The greatest key there is.
template <class Key> __device__ inline void last_key(Key& key) { key = static_cast<Key>(~static_cast<Key>(0)); }
__device__ inline void last_key(WideKey& key) { key.high = key.low = ~0ull; }

// Where bits of two keys differ, beside those of `found`.
template <class Key> __device__ inline void add_differing(Key& found, const Key& a, const Key& b) { found = static_cast<Key>(found | (a ^ b)); }
__device__ inline void add_differing(WideKey& found, const WideKey& a, const WideKey& b) {
    found.high |= a.high ^ b.high;
    found.low |= a.low ^ b.low;
}

// How far a key lies from a smaller one, how many bits that has, and which are left from `shift` up.
template <class Key> __device__ inline Key difference(const Key& key, const Key& least) { return static_cast<Key>(key - least); }
template <class Key> __device__ inline int bits_of(const Key& key) { return 64 - __clzll(static_cast<long long>(key)); }
template <class Key> __device__ inline Key shifted(const Key& key, int shift) { return static_cast<Key>(key >> shift); }
template <class Key> __device__ inline unsigned int low_bits(const Key& key) { return static_cast<unsigned int>(key); }
__device__ inline unsigned int low_bits(const WideKey& key) { return static_cast<unsigned int>(key.low); }
__device__ inline WideKey difference(const WideKey& key, const WideKey& least) {
    return {key.high - least.high - (key.low < least.low), key.low - least.low};
}
__device__ inline int bits_of(const WideKey& key) { return key.high ? 128 - __clzll(static_cast<long long>(key.high)) : bits_of(key.low); }
__device__ inline WideKey shifted(const WideKey& key, int shift) {
    return shift == 0 ? key : shift < 64 ? WideKey{key.high >> shift, key.high << (64 - shift) | key.low >> shift} : WideKey{0, key.high >> (shift - 64)};
}

// `bits` bits of a key from `shift` up.
template <int bits, class Key> __device__ inline unsigned int digit_of(const Key& key, int shift) {
    return static_cast<unsigned int>(key >> shift) & ((1u << bits) - 1);
}
template <int bits> __device__ inline unsigned int digit_of(const WideKey& key, int shift) {
    return digit_of<bits>(shift < 64 ? key.low : key.high, shift & 63);
}

} // namespace quern
