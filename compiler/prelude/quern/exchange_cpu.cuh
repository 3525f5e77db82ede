// Sorting networks on the CPU, a row in each lane of a vector.
#pragma once

namespace quern {

// Batcher's odd-even merges: exchange(a, b) puts what is at two places in order, always the same places.
template <class Exchange> __device__ inline void exchange_all(int length, const Exchange& exchange) {
    for (int width = 1; width < length; width *= 2)
        for (int apart = width; apart > 0; apart /= 2)
            for (int first = apart % width; first + apart < length; first += 2 * apart)
                for (int k = first; k < first + apart && k + apart < length; ++k)
                    if ((k & -2 * width) == ((k + apart) & -2 * width)) exchange(k, k + apart);
}

// The smaller of each lane to `a`, the greater to `b`.
template <int lanes, class Word> __device__ inline void exchange_lanes(Word (&a)[lanes], Word (&b)[lanes]) {
    QUERN_INDEPENDENT
    for (int lane = 0; lane < lanes; ++lane) {
        const Word one = a[lane], other = b[lane];
        a[lane] = one < other ? one : other;
        b[lane] = one < other ? other : one;
    }
}

} // namespace quern
