// Sorting networks on the CPU, a row in each lane of a vector.
#pragma once

namespace quern {

// Loops that would gain nothing from vectors or turns side by side, but take long to compile.
#define QUERN_PLAIN_LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")

// Batcher's odd-even merges: exchange(a, b) puts what is at two places in order, always the same places.
template <class Exchange> __device__ inline void exchange_all(int length, const Exchange& exchange) {
    for (int width = 1; width < length; width *= 2)
        for (int apart = width; apart > 0; apart /= 2)
            for (int begin = 0; begin + width < length; begin += 2 * width) {
                const int end = begin + 2 * width < length ? begin + 2 * width : length;
                for (int first = begin + apart % width; first + apart < end; first += 2 * apart) {
                    const int last = first + 2 * apart < end ? first + apart : end - apart;
                    for (int k = first; k < last; ++k) exchange(k, k + apart);
                }
            }
}

// The smaller of each lane to `a`, the greater to `b`. Vectors as such, for loops over 64 bits are not made into them.
template <class Lanes> __device__ inline void exchange_vectors(Lanes& a, Lanes& b) {
    const Lanes one = a, other = b;
    a = one < other ? one : other;
    b = one < other ? other : one;
}
template <int lanes, class Word> __device__ inline void exchange_lanes(Word (&a)[lanes], Word (&b)[lanes]) {
    typedef Word Values __attribute__((vector_size(sizeof a)));
    Values one, other;
    memcpy(&one, a, sizeof one);
    memcpy(&other, b, sizeof other);
    exchange_vectors(one, other);
    memcpy(a, &one, sizeof one);
    memcpy(b, &other, sizeof other);
}

} // namespace quern
