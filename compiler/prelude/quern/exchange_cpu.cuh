// Sorting networks on the CPU, a row in each lane of a vector.
#pragma once

namespace quern {

// Loops that would gain nothing from vectors or turns side by side, but take long to compile.
#define QUERN_PLAIN_LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")

// Batcher's odd-even merges: exchange(a, b) puts what is at two places in order, always the same places. Runs of `width` are in
// order already.
template <class Exchange> __device__ inline void exchange_all(int length, const Exchange& exchange, int width = 1) {
    for (; width < length; width *= 2)
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
template <class Word, int bytes> struct WordLanes {
    typedef Word Values __attribute__((vector_size(bytes)));
    Values v;
    static __device__ inline WordLanes load(const Word* from) {
        WordLanes made;
        memcpy(&made.v, from, bytes);
        return made;
    }
    __device__ inline void store(Word* to) const { memcpy(to, &v, bytes); }
};
template <int lanes, class Word> __device__ inline void exchange_lanes(Word (&a)[lanes], Word (&b)[lanes]) {
    typedef WordLanes<Word, sizeof a> Lanes;
    Lanes one = Lanes::load(a), other = Lanes::load(b);
    exchange_vectors(one.v, other.v);
    one.store(a);
    other.store(b);
}

// Each lane of `rows` in order, from the first row to the last.
template <int lanes, class Word> __device__ inline void sort_lanes_of(Word (*rows)[lanes], int length) {
    const int eight = 8, steps = 19;
    const unsigned char first[steps] = {0, 2, 4, 6, 0, 1, 4, 5, 1, 5, 0, 1, 2, 3, 2, 3, 1, 3, 5},
                        second[steps] = {1, 3, 5, 7, 2, 3, 6, 7, 2, 6, 4, 5, 6, 7, 4, 5, 2, 4, 6};
    int k = 0;
    for (; k + eight <= length; k += eight) {
        const int part = sizeof(Word[lanes]) < 32 ? sizeof(Word[lanes]) : 32; // what registers hold eight of
        typedef WordLanes<Word, part> Part;
        for (int lane = 0; lane < lanes; lane += part / sizeof(Word)) {
            Part held[eight];
#pragma unroll
            for (int r = 0; r < eight; ++r) held[r] = Part::load(&rows[k + r][lane]);
#pragma unroll
            for (int step = 0; step < steps; ++step) exchange_vectors(held[first[step]].v, held[second[step]].v);
#pragma unroll
            for (int r = 0; r < eight; ++r) held[r].store(&rows[k + r][lane]);
        }
    }
    exchange_all(length - k, [&](int a, int b) { exchange_lanes(rows[k + a], rows[k + b]); });
    exchange_all(length, [&](int a, int b) { exchange_lanes(rows[a], rows[b]); }, eight);
}

} // namespace quern
