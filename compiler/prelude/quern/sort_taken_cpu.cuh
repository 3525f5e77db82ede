// Where sorts on a CPU take values from, and where they put them.
#pragma once
#include "quern/standing_cpu.cuh"

namespace quern {

// A row with the places that it brings, or those where its values stand.
template <class T> struct SortSource {
    const T* values;
    const SortPlace* places;
};
// One after the other.
struct Onward {
    long long first;
    __device__ long long operator[](long long k) const { return first + k; }
};
struct Backward {
    long long first;
    __device__ long long operator[](long long k) const { return first - k; }
};

// Rooms for values and places, or results: null is not wanted. What has places as results may have what they stand for. Calls, for
// there are many; what loops read lies in their own variables.
template <class T> struct SortTarget {
    T* values;
    SortPlace* room;
    const long long* given;
    long long* result;
    // Values of a source to [at, at + count).
    template <class Index> __device__ __noinline__ void take(long long at, long long count, const SortSource<T> from, const Index index) const {
        T* const out = values;
        const T* const in = from.values;
        if (out)
            for (long long k = 0; k < count; ++k) out[at + k] = in[index[k]];
        take_places(at, count, from.places, index);
    }
    template <class Index>
    __device__ __noinline__ void take_places(long long at, long long count, const SortPlace* places, const Index index) const {
#if QUERN_SORT_PAIRS
        if (places)
            put(at, count, [=](long long k) { return places[index[k]]; });
        else
            put(at, count, [=](long long k) { return index[k]; });
#endif
    }
    template <class Place> __device__ inline void put(long long at, long long count, const Place place) const {
        SortPlace* const own = room;
        const long long* const stood_for = given;
        long long* const found = result;
        if (own)
            for (long long k = 0; k < count; ++k) own[at + k] = static_cast<SortPlace>(place(k));
        else if (stood_for)
            for (long long k = 0; k < count; ++k) found[at + k] = stood_for[static_cast<long long>(place(k))];
        else
            for (long long k = 0; k < count; ++k) found[at + k] = static_cast<long long>(place(k));
    }
};

// The results [begin, end) of a row that stands in order, or in the opposite one.
template <class T>
__device__ inline void take_standing(const SortSource<T>& from, const SortTarget<T>& to, long long length, int standing, long long begin, long long end) {
    if (standing > 0)
        to.take(begin, end - begin, from, Onward{begin});
    else
        to.take(begin, end - begin, from, Backward{length - 1 - begin});
}

// From where on counts, or places, may lie in a room.
__device__ inline char* aligned(void* room) {
    return static_cast<char*>(room) + (0ull - reinterpret_cast<unsigned long long>(room)) % sizeof(SortCount);
}
// Room for counts among so many bytes, and how many there are.
__device__ inline SortCount* aligned_counts(void* room, long long bytes, long long& count) {
    char* const counts = aligned(room);
    const long long past = counts - static_cast<char*>(room);
    count = bytes > past ? (bytes - past) / static_cast<long long>(sizeof(SortCount)) : 0;
    return reinterpret_cast<SortCount*>(counts);
}

} // namespace quern
