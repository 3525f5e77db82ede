// A row is divided at pivots, by one thread, until every wanted place has the value that a sort would put there.
// QUERN_PARTITION_PAIRS: the places of values travel with them. QUERN_PARTITION_VECTORS: the CPU has AVX2.
#pragma once
#include "quern/sort_key.cuh"
#if QUERN_PARTITION_VECTORS
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
#if QUERN_PARTITION_VECTORS
template <> struct HasVectors<int> { static const bool value = true; };
template <> struct HasVectors<unsigned int> { static const bool value = true; };
template <> struct HasVectors<long long> { static const bool value = true; };
template <> struct HasVectors<unsigned long long> { static const bool value = true; };
template <> struct HasVectors<float> { static const bool value = true; };
template <> struct HasVectors<double> { static const bool value = true; };
#endif

template <class T> struct Partition {
    typedef typename SortKey<T>::Key Key;
    typedef PartItems<T> Items;
    static const int few = 64;
    Items here, there; // both as long as the row; all ends `here`

    // The values of [begin, end) that belong in front to the front of the same part of `to`, the others behind them; where those
    // begin. Without places a value's place is where it stands.
    template <PartFront front>
    static __device__ __noinline__ long long divide(const Items& from, const Items& to, long long begin, long long end, const T& pivot) {
        long long low = begin, high = end, k = begin;
        const T* const values = from.values;
        T* const moved = to.values;
#if QUERN_PARTITION_VECTORS
        if constexpr (HasVectors<T>::value) {
            typedef Vector<T> V;
            const int lanes = V::lanes;
            const auto limit = V::all(pivot).v;
#if QUERN_PARTITION_PAIRS
            typedef unsigned int Places __attribute__((vector_size(4 * lanes)));
            Places standing;
            for (int lane = 0; lane < lanes; ++lane) standing[lane] = static_cast<unsigned int>(begin) + lane;
#endif
            for (; k + 2 * lanes <= end; k += lanes) { // both stores fit between what is there and what is left
                const V next = V::load(values + k);
                const unsigned int mask = V::mask_of(front == part_less ? next.v < limit : front == part_upto ? next.v <= limit : next.v == next.v);
                const V packed = next.packed(mask);
                packed.store(moved + low);
                packed.store(moved + high - lanes);
#if QUERN_PARTITION_PAIRS
                PackInts places = {};
                if (from.places)
                    memcpy(&places, from.places + k, sizeof standing);
                else
                    memcpy(&places, &standing, sizeof standing);
                standing += lanes;
                places = quern::packed<lanes, 1>(places, mask);
                memcpy(to.places + low, &places, sizeof standing);
                memcpy(to.places + high - lanes, &places, sizeof standing);
#endif
                const int chosen = __popc(mask);
                low += chosen;
                high -= lanes - chosen;
            }
        }
#endif
        const Key limit = SortKey<T>::of(pivot);
        for (; k < end; ++k) {
            const T next = values[k];
            const Key key = SortKey<T>::of(next);
            const bool chosen = front == part_upto ? !(limit < key) : key < limit;
            moved[low] = moved[high - 1] = next;
#if QUERN_PARTITION_PAIRS
            to.places[low] = to.places[high - 1] = from.places ? from.places[k] : static_cast<unsigned int>(k);
#endif
            low += chosen;
            high -= !chosen;
        }
        return low;
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
    __device__ inline void sort_few(const Items& from, long long begin, long long end) const {
        for (long long k = begin; k < end; ++k)
            insert(here.values, QUERN_PARTITION_PAIRS ? here.places : nullptr, from.values[k],
                   QUERN_PARTITION_PAIRS && from.places ? from.places[k] : static_cast<unsigned int>(k), begin, k);
    }

    // A value that about `share` of a sample come before, and a little more of them on the side that has more.
    static __device__ __noinline__ T pivot_of(const T* values, long long length, double share, unsigned int turn) {
        T seen[few];
        const int count = length >= 16 * few ? few : 9;
        const long long step = length / count;
        for (int k = 0; k < count; ++k) insert(seen, nullptr, values[k * step + static_cast<long long>((k + turn) * 0x9e3779b9u >> 5) % step], 0, 0, k);
        const double margin = sqrt(share * (1 - share) * count), at = share * count + (share < 0.5 ? margin : -margin);
        const int chosen = static_cast<int>(at + 0.5);
        return seen[chosen < 1 ? 1 : chosen < count - 1 ? chosen : count - 1];
    }

    // Puts the values of places wanted[0] to wanted[count], which rise, into [begin, end) of `from`.
    __device__ __noinline__ void divide_at(const Items& given, long long begin, long long end, const long long* wanted, long long count) {
        Items from = given;
        for (unsigned int turn = 0; count > 0 && end - begin > few; ++turn) {
            const Items to = from.values == here.values ? there : here;
            const double share = (static_cast<double>(wanted[count / 2] - begin) + 0.5) / static_cast<double>(end - begin);
            const T pivot = pivot_of(from.values + begin, end - begin, share, turn);
            bool alike = false; // what is in front, or behind
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
            middle = divide<part_less>(from, to, begin, end, pivot);
            if (middle == begin) { // nothing is less
                middle = divide<part_upto>(from, to, begin, end, pivot);
                alike = true;
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
