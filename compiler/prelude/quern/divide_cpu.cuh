// Parts of rows of a CPU divided at a pivot, vector by vector where QUERN_VECTORS tells their bytes.
#pragma once
#include "quern/sort_key.cuh"
#if QUERN_VECTORS
#include "quern/pack_cpu.cuh"
#endif

namespace quern {

template <class T> struct PartItems {
    T* values;
    unsigned int* places;
};

// What goes to the front: what comes before a pivot, and what is equal to it, or whatever is no NaN.
enum PartFront { part_less, part_upto, part_numbers };

template <class T> struct HasVectors { static const bool value = false; };
#if QUERN_VECTORS
template <> struct HasVectors<int> { static const bool value = true; };
template <> struct HasVectors<unsigned int> { static const bool value = true; };
template <> struct HasVectors<long long> { static const bool value = true; };
template <> struct HasVectors<unsigned long long> { static const bool value = true; };
template <> struct HasVectors<float> { static const bool value = true; };
template <> struct HasVectors<double> { static const bool value = true; };

template <PartFront front, class T> __device__ inline unsigned int chosen_lanes(const Vector<T>& next, const typename Vector<T>::Values& limit) {
    return Vector<T>::mask_of(front == part_less ? next.v < limit : front == part_upto ? next.v <= limit : next.v == next.v);
}
#endif

// The values of [begin, end) that belong in front to the front of the same part of `to`, in their order, the others behind them from
// the last to the first; where those begin. With `pairs` their places travel with them; without places a value's place is where it
// stands.
template <PartFront front, bool pairs, class T>
__device__ __noinline__ long long divide_part(const PartItems<T>& from, const PartItems<T>& to, long long begin, long long end, const T& pivot) {
    long long low = begin, high = end, k = begin;
    const T* const values = from.values;
    T* const moved = to.values;
#if QUERN_VECTORS
    if constexpr (HasVectors<T>::value) {
        typedef Vector<T> V;
        const int lanes = V::lanes;
        const auto limit = V::all(pivot).v;
        typedef unsigned int Places __attribute__((vector_size(4 * lanes)));
        Places standing;
        for (int lane = 0; lane < lanes; ++lane) standing[lane] = static_cast<unsigned int>(begin) + lane;
        for (; k + 2 * lanes <= end; k += lanes) { // both stores fit between what is there and what is left
            const V next = V::load(values + k);
            const unsigned int mask = chosen_lanes<front>(next, limit);
            const V packed = next.packed(mask);
            packed.store(moved + low);
            packed.store(moved + high - lanes);
            if constexpr (pairs) {
                Places places = standing;
                if (from.places) memcpy(&places, from.places + k, sizeof places);
                standing += lanes;
                places = quern::packed<lanes>(places, mask);
                memcpy(to.places + low, &places, sizeof places);
                memcpy(to.places + high - lanes, &places, sizeof places);
            }
            const int chosen = __popc(mask);
            low += chosen;
            high -= lanes - chosen;
        }
    }
#endif
    const typename SortKey<T>::Key limit = SortKey<T>::of(pivot);
    for (; k < end; ++k) {
        const T next = values[k];
        bool chosen;
        if constexpr (HasVectors<T>::value) {
            chosen = front == part_less ? next < pivot : front == part_upto ? next <= pivot : next == next;
        } else {
            const typename SortKey<T>::Key key = SortKey<T>::of(next);
            chosen = front == part_upto ? !(limit < key) : key < limit;
        }
        moved[low] = moved[high - 1] = next;
        if constexpr (pairs) to.places[low] = to.places[high - 1] = from.places ? from.places[k] : static_cast<unsigned int>(k);
        low += chosen;
        high -= !chosen;
    }
    return low;
}

} // namespace quern
