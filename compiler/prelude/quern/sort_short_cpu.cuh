// Rows of at most 256 on the CPU: as many at once as a vector has lanes, or one after another by merges.
#pragma once
#include "quern/exchange_cpu.cuh"

namespace quern {

const int most_merged = 256;

// As many rows at once as keys fit 64 bytes: every exchange is that of two vectors.
#if !QUERN_SORT_PAIRS
// Only keys that are values again afterwards: false with a NaN or a -0.0 among floats, and nothing is written then.
template <class T> __device__ inline bool sort_lanes(const T* in, T* out, const long long*, long long*, int length) {
    typedef Ordered<T> Order;
    typedef typename Order::Key Key;
    const int lanes = 64 / sizeof(Key);
    alignas(64) Key keys[most_merged][lanes];
    Key found = 0;
    for (int lane = 0; lane < lanes; ++lane)
        for (int k = 0; k < length; ++k) {
            const Key key = Order::key(in[lane * length + k]);
            keys[k][lane] = key;
            found |= OneZero<Order::has_nan>::template loses<T>(key);
        }
    if (found) return false;
    exchange_all(length, [&](int first, int second) { exchange_lanes(keys[first], keys[second]); });
    for (int lane = 0; lane < lanes; ++lane)
        for (int k = 0; k < length; ++k) out[lane * length + k] = Order::value(keys[k][lane]);
    return true;
}
#ifdef QUERN_HAS_COMPLEX
template <class T> __device__ inline bool sort_lanes(const complex<T>*, complex<T>*, const long long*, long long*, int) { return false; }
#endif
template <class T> constexpr int lanes_of() { return 64 / static_cast<int>(sizeof(T)); }
#else
// A key with the place that it came from below it, for equal keys stay in their order: in one number, or side by side.
template <class Key, int bytes = sizeof(Key)> struct PlacedKeys {
    typedef unsigned long long Word;
    static const int lanes = 64 / sizeof(Word);
    alignas(64) Word words[most_merged][lanes];
    __device__ void put(int k, int lane, Key key) { words[k][lane] = static_cast<Word>(key) << 8 | k; }
    __device__ int place(int k, int lane) const { return static_cast<int>(words[k][lane] & 255); }
    __device__ void exchange(int first, int second) { exchange_lanes(words[first], words[second]); }
};
template <class Key> struct PlacedKeys<Key, 8> {
    static const int lanes = 64 / sizeof(Key);
    alignas(64) Key keys[most_merged][lanes];
    alignas(64) Key places[most_merged][lanes];
    __device__ void put(int k, int lane, Key key) { keys[k][lane] = key, places[k][lane] = static_cast<Key>(k); }
    __device__ int place(int k, int lane) const { return static_cast<int>(places[k][lane]); }
    __device__ void exchange(int first, int second) {
        Key *const a = keys[first], *const b = keys[second], *const from = places[first], *const to = places[second];
        QUERN_INDEPENDENT
        for (int lane = 0; lane < lanes; ++lane) {
            const Key one = a[lane], other = b[lane], p = from[lane], q = to[lane];
            const bool turn = (other < one) | ((other == one) & (q < p));
            a[lane] = turn ? other : one;
            b[lane] = turn ? one : other;
            from[lane] = turn ? q : p;
            to[lane] = turn ? p : q;
        }
    }
};
template <class Key> struct PlacedKeys<Key, 16> { static const int lanes = 1; }; // none

template <class T> constexpr int lanes_of() { return PlacedKeys<typename SortKey<T>::Key>::lanes; }
template <class T> __device__ inline bool sort_lanes(const T* in, T* out, const long long* given, long long* result, int length) {
    if constexpr (lanes_of<T>() == 1) {
        return false;
    } else {
        PlacedKeys<typename SortKey<T>::Key> keys;
        for (int lane = 0; lane < keys.lanes; ++lane)
            for (int k = 0; k < length; ++k) keys.put(k, lane, SortKey<T>::of(in[lane * length + k]));
        exchange_all(length, [&](int first, int second) { keys.exchange(first, second); });
        for (int lane = 0; lane < keys.lanes; ++lane) {
            const long long begin = static_cast<long long>(lane) * length;
            T row[most_merged]; // `out` may be `in`
            if (out)
                for (int k = 0; k < length; ++k) row[k] = in[begin + k];
            for (int k = 0; k < length; ++k) {
                const int place = keys.place(k, lane);
                if (out) out[begin + k] = row[place];
                result[begin + k] = given ? given[begin + place] : place;
            }
        }
        return true;
    }
}
#endif

// Rows of at most 256: runs of eight by insertion, then merged two by two.
template <class T>
__device__ inline void sort_short(const T* in, T* out, const long long* given, long long* result, long long rows, long long length,
                                  long long rows_per_block) {
    const int run = 8;
    T values[2][most_merged];
    typename SortKey<T>::Key keys[2][most_merged];
    unsigned char places[2][most_merged];
    const long long begin = blockIdx.x * rows_per_block, end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
    for (long long row = begin; row < end; ++row) {
        const int count = static_cast<int>(length);
        const long long at = row * length;
        if (end - row >= lanes_of<T>() &&
            sort_lanes(in + at, out ? out + at : nullptr, given ? given + at : nullptr, result ? result + at : nullptr, count)) {
            row += lanes_of<T>() - 1;
            continue;
        }
        const T* const from = in + row * length;
        for (int first = 0; first < count; first += run) {
            const int last = first + run < count ? first + run : count;
            for (int k = first; k < last; ++k) {
                const T value = from[k];
                const typename SortKey<T>::Key key = SortKey<T>::of(value);
                int at = k;
                for (; at > first && key < keys[0][at - 1]; --at) {
                    keys[0][at] = keys[0][at - 1];
                    values[0][at] = values[0][at - 1];
                    places[0][at] = places[0][at - 1];
                }
                keys[0][at] = key;
                values[0][at] = value;
                places[0][at] = static_cast<unsigned char>(k);
            }
        }
        int side = 0;
        for (int width = run; width < count; width *= 2, side = 1 - side)
            for (int first = 0; first < count; first += 2 * width) {
                const int middle = first + width < count ? first + width : count, last = first + 2 * width < count ? first + 2 * width : count;
                int a = first, b = middle;
                for (int k = first; k < last; ++k) {
                    const bool second = b < last && (a == middle || keys[side][b] < keys[side][a]);
                    const int taken = second ? b : a;
                    keys[1 - side][k] = keys[side][taken];
                    values[1 - side][k] = values[side][taken];
                    places[1 - side][k] = places[side][taken];
                    a += !second;
                    b += second;
                }
            }
        if (out)
            for (int k = 0; k < count; ++k) out[row * length + k] = values[side][k];
#if QUERN_SORT_PAIRS
        for (int k = 0; k < count; ++k) result[row * length + k] = given ? given[row * length + places[side][k]] : places[side][k];
#endif
    }
}

} // namespace quern

extern "C" __global__ void quern_sort_short(const QUERN_T0* in, QUERN_T0* out, const long long* given, long long* result, const long long rows,
                                            const long long length, const long long rows_per_block) {
    quern::sort_short(in, out, given, result, rows, length, rows_per_block);
}
