// A row is divided at pivots, by one thread, until every wanted place has the value that a sort would put there.
// QUERN_PARTITION_PAIRS: the places of values travel with them.
#pragma once
#include "quern/divide_cpu.cuh"
#include "quern/standing_cpu.cuh"
#if QUERN_VECTORS && !QUERN_PARTITION_PAIRS
#include "quern/sort_vectors_cpu.cuh"
#endif

namespace quern {

template <class T> struct Partition {
    typedef typename SortKey<T>::Key Key;
    typedef PartItems<T> Items;
    static const int most_seen = 64; // of a sample
    Items here, there; // both as long as the row; all ends `here`

    template <PartFront front>
    static __device__ inline long long divide(const Items& from, const Items& to, long long begin, long long end, const T& pivot) {
#if QUERN_VECTORS && !QUERN_PARTITION_PAIRS
        if constexpr (HasVectors<T>::value)
            if (from.values == to.values) return begin + VectorSort<T>::template divide<front>(to.values + begin, end - begin, pivot);
#endif
        return divide_part<front, QUERN_PARTITION_PAIRS != 0>(from, to, begin, end, pivot);
    }
    __device__ inline void finish(const Items& from, long long begin, long long end) const {
        if (from.values == here.values) return;
        for (long long k = begin; k < end; ++k) here.values[k] = from.values[k];
#if QUERN_PARTITION_PAIRS
        for (long long k = begin; k < end; ++k) here.places[k] = from.places ? from.places[k] : static_cast<unsigned int>(k);
#endif
    }

    static __device__ inline void insert(T* values, unsigned int* places, const T value, unsigned int place, long long begin, long long k) {
        const Key key = SortKey<T>::of(value);
        for (; k > begin && key < SortKey<T>::of(values[k - 1]); --k) {
            values[k] = values[k - 1];
            if (places) places[k] = places[k - 1];
        }
        values[k] = value;
        if (places) places[k] = place;
    }
    // What is sorted rather than divided.
    static __device__ constexpr int few() {
#if QUERN_VECTORS && !QUERN_PARTITION_PAIRS
        if constexpr (HasVectors<T>::value) return VectorSort<T>::most;
#endif
        return 64;
    }
    __device__ inline void sort_few(const Items& from, long long begin, long long end) const {
#if QUERN_VECTORS && !QUERN_PARTITION_PAIRS
        if constexpr (HasVectors<T>::value)
            return VectorSort<T>{here.values + begin, there.values + begin}.sort(from.values + begin, end - begin);
#endif
        for (long long k = begin; k < end; ++k)
            insert(here.values, QUERN_PARTITION_PAIRS ? here.places : nullptr, from.values[k],
                   QUERN_PARTITION_PAIRS && from.places ? from.places[k] : static_cast<unsigned int>(k), begin, k);
    }

    // A value that about `share` of a sample come before, and a little more of them on the side that has more; does the sample
    // have it more than once?
    static __device__ __noinline__ T pivot_of(const T* values, long long length, double share, unsigned int turn, bool& repeated) {
        T seen[most_seen];
        const int count = length >= 16 * most_seen ? most_seen : 9;
        const long long step = length / count;
        for (int k = 0; k < count; ++k) insert(seen, nullptr, values[k * step + static_cast<long long>((k + turn) * 0x9e3779b9u >> 5) % step], 0, 0, k);
        const double margin = sqrt(share * (1 - share) * count), at = share * count + (share < 0.5 ? margin : -margin);
        const int rounded = static_cast<int>(at + 0.5), chosen = rounded < 1 ? 1 : rounded < count - 1 ? rounded : count - 1;
        const Key key = SortKey<T>::of(seen[chosen]);
        repeated = key == SortKey<T>::of(seen[chosen - 1]) || (chosen + 1 < count && key == SortKey<T>::of(seen[chosen + 1]));
        return seen[chosen];
    }
    // Do all stand on one side of the pivot, or with it: none less, or with `above` none greater?
    template <bool above> static __device__ inline bool none(const T* values, long long begin, long long end, const T& pivot) {
        const int width = 64;
        Before<T, above> before;
        before.set(pivot);
        const auto any = [&](long long k, int count) {
            unsigned int found = 0;
            for (int l = 0; l < count; ++l) found |= before(values[k + l]) != above ? 1 : 0;
            return found != 0;
        };
        long long k = begin;
        for (; k + width <= end; k += width)
            if (any(k, width)) return false;
        return !any(k, static_cast<int>(end - k));
    }

    // Puts the values of places wanted[0] to wanted[count], which rise, into [begin, end) of `from`.
    __device__ __noinline__ void divide_at(const Items& given, long long begin, long long end, const long long* wanted, long long count) const {
        const bool in_place = HasVectors<T>::value && !QUERN_PARTITION_PAIRS;
        Items from = given;
        for (unsigned int turn = 0; count > 0 && end - begin > few(); ++turn) {
            const Items to = from.values == here.values && !in_place ? there : here;
            const double share = (static_cast<double>(wanted[count / 2] - begin) + 0.5) / static_cast<double>(end - begin);
            bool repeated, alike = false; // what is in front, or behind
            const T pivot = pivot_of(from.values + begin, end - begin, share, turn, repeated);
            long long middle;
            if (HasVectors<T>::value && pivot != pivot) { // vectors know no order of NaN, and those have one key
                middle = divide<part_numbers>(from, to, begin, end, pivot);
                from = to;
                long long low = 0;
                while (low < count && wanted[low] < middle) ++low;
                finish(from, middle, end);
                end = middle;
                count = low;
                continue;
            }
            middle = repeated && none<false>(from.values, begin, end, pivot) ? begin : divide<part_less>(from, to, begin, end, pivot);
            if (middle == begin) { // nothing is less
                alike = true;
                if (repeated && none<true>(from.values, begin, end, pivot)) {
                    finish(from, begin, end);
                    return;
                }
                middle = divide<part_upto>(from, to, begin, end, pivot);
            }
            from = to;
            long long low = 0;
            while (low < count && wanted[low] < middle) ++low;
            if (alike || low == 0)
                finish(from, begin, middle);
            else
                divide_at(from, begin, middle, wanted, low);
            begin = middle;
            wanted += low;
            count -= low;
        }
        if (count == 0)
            finish(from, begin, end);
        else
            sort_few(from, begin, end);
    }
};

} // namespace quern
