// Eight bools become the bits of a byte.
#pragma once

namespace quern {

// Which of 32 bytes are not 0, a bit for each: the first of each eight is the highest of its byte where `big`, or the lowest.
template <bool big> __device__ inline unsigned int bits_of_32(const unsigned char* from) {
#ifdef __QUERN_HOST__
    typedef unsigned char Bytes __attribute__((ext_vector_type(32)));
    typedef bool Bits __attribute__((ext_vector_type(32)));
    Bytes bytes;
    memcpy(&bytes, from, 32);
    if constexpr (big)
        bytes = __builtin_shufflevector(bytes, bytes, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 23, 22, 21, 20, 19, 18, 17, 16,
                                        31, 30, 29, 28, 27, 26, 25, 24);
    const Bits set = __builtin_convertvector(bytes, Bits);
    unsigned int bits;
    memcpy(&bits, &set, 4);
    return bits;
#else
    unsigned long long words[4];
    if (reinterpret_cast<size_t>(from) % 16 == 0) {
        for (int k = 0; k < 2; ++k) reinterpret_cast<ulonglong2*>(words)[k] = reinterpret_cast<const ulonglong2*>(from)[k];
    } else {
        memcpy(words, from, 32);
    }
    unsigned int bits = 0;
    for (int k = 0; k < 4; ++k) { // a product moves each byte's bit into the highest byte
        const unsigned long long low = 0x7f7f7f7f7f7f7f7full, set = (((words[k] & low) + low) | words[k]) >> 7 & 0x0101010101010101ull;
        bits |= static_cast<unsigned int>(set * (big ? 0x8040201008040201ull : 0x0102040810204080ull) >> 56) << 8 * k;
    }
    return bits;
#endif
}

template <bool big> __device__ inline unsigned long long bits_of_64(const unsigned char* from) {
    return bits_of_32<big>(from) | static_cast<unsigned long long>(bits_of_32<big>(from + 32)) << 32;
}

// The unit-th 64 of a row of `count` bools at `row`; what is missing of the last is 0.
template <bool big> __device__ inline unsigned long long packed_bits(const bool* row, long long count, long long unit) {
    const unsigned char* from = reinterpret_cast<const unsigned char*>(row) + 64 * unit;
    const long long left = count - 64 * unit;
    if (left >= 64) return bits_of_64<big>(from);
    alignas(16) unsigned char few[64] = {};
    for (int k = 0; k < left; ++k) few[k] = from[k];
    return bits_of_64<big>(few);
}

} // namespace quern
