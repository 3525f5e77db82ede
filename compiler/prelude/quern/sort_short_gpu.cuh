// Short rows on GPUs: merged in shared memory, several by a block.
#pragma once

namespace quern {

// Where a tile's element stands in shared memory: a word is left free behind every 128 bytes, so that threads which read
// neighbouring stretches meet in no bank.
template <class T> __device__ inline int spaced(int at) {
    const int line = 128 / static_cast<int>(sizeof(T)), word = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
    return at + at / line * word;
}

// What a thread holds of a row: values with their keys, and which of the tile's elements each one was.
template <class T> struct SortStretch {
    typedef typename SortKey<T>::Key Key;
    T values[sort_held];
    Key keys[sort_held];
    unsigned short from[sort_held];

    __device__ void take(int k, const T* held, int at) {
        values[k] = held[spaced<T>(at)];
        keys[k] = SortKey<T>::of(values[k]);
        from[k] = static_cast<unsigned short>(at);
    }
    __device__ void fill(int k) { // with what goes behind all values
        values[k] = T();
        last_key(keys[k]);
        from[k] = 0;
    }
    // Neighbours change places while the second comes first: equal ones stay as they stand.
    __device__ void sort() {
#pragma unroll
        for (int round = 0; round < sort_held; ++round)
#pragma unroll
            for (int k = round % 2; k + 1 < sort_held; k += 2) {
                if (!(keys[k + 1] < keys[k])) continue;
                const T value = values[k];
                const Key key = keys[k];
                const unsigned short at = from[k];
                values[k] = values[k + 1], keys[k] = keys[k + 1], from[k] = from[k + 1];
                values[k + 1] = value, keys[k + 1] = key, from[k + 1] = at;
            }
    }
};

// How many of the first `diagonal` elements of two merged runs, `length` long and `other_length`, are the first run's.
template <class T>
__device__ inline int taken_of_first(const T* held, int first, int length, int second, int second_length, int diagonal) {
    int low = diagonal > second_length ? diagonal - second_length : 0, high = diagonal < length ? diagonal : length;
    while (low < high) {
        const int middle = (low + high) / 2;
        const typename SortKey<T>::Key there = SortKey<T>::of(held[spaced<T>(first + middle)]);
        if (SortKey<T>::of(held[spaced<T>(second + diagonal - 1 - middle)]) < there)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Several rows a block. A thread sorts a stretch of its row; then runs double, and a thread finds where its stretch of the
// merged run begins in both and merges from there on.
template <class T>
__device__ inline void sort_short(const T* in, T* out, const long long* given, long long* result, long long rows, long long length,
                                  long long rows_per_block) {
    const int line = 128 / static_cast<int>(sizeof(T)), slack = sort_tile / line * (sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1);
    __shared__ __align__(16) unsigned char room[(sort_tile + slack + 1) * sizeof(T)];
    T* const held = reinterpret_cast<T*>(room);
#if QUERN_SORT_PAIRS
    __shared__ unsigned short places[sort_tile];
#endif
    const long long top = static_cast<long long>(blockIdx.x) * rows_per_block, base = top * length;
    const int own_rows = static_cast<int>(rows - top < rows_per_block ? rows - top : rows_per_block);
    const int extent = static_cast<int>(length), count = own_rows * extent, thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const int at = k * sort_block + thread;
        if (at < count) held[spaced<T>(at)] = in[base + at];
    }
    __syncthreads();
    const int threads = (extent + sort_held - 1) / sort_held, row = thread / threads;
    const int begin = row * extent, within = (thread - row * threads) * sort_held; // the row's and the stretch's in it
    const int own = row >= own_rows ? 0 : extent - within < sort_held ? extent - within : sort_held;
    SortStretch<T> stretch;
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        if (k < own)
            stretch.take(k, held, begin + within + k);
        else
            stretch.fill(k);
    }
    stretch.sort();
    for (int width = sort_held;; width *= 2) {
#if QUERN_SORT_PAIRS
        unsigned short place[sort_held];
#pragma unroll
        for (int k = 0; k < sort_held; ++k)
            if (k < own) place[k] = width == sort_held ? static_cast<unsigned short>(stretch.from[k] - begin) : places[stretch.from[k]];
#endif
        __syncthreads();
#pragma unroll
        for (int k = 0; k < sort_held; ++k) {
            if (k >= own) continue;
            held[spaced<T>(begin + within + k)] = stretch.values[k];
#if QUERN_SORT_PAIRS
            places[begin + within + k] = place[k];
#endif
        }
        __syncthreads();
        if (width >= extent) break;
        if (own == 0) continue;
        const int start = within & -2 * width, middle = start + width < extent ? start + width : extent,
                  end = middle + width < extent ? middle + width : extent, diagonal = within - start;
        int first = begin + start + taken_of_first(held, begin + start, middle - start, begin + middle, end - middle, diagonal);
        int second = begin + middle + diagonal - (first - begin - start);
        const int first_end = begin + middle, second_end = begin + end;
        typename SortKey<T>::Key key, other_key;
        T value = held[spaced<T>(first)], other = held[spaced<T>(second)];
        key = SortKey<T>::of(value), other_key = SortKey<T>::of(other);
#pragma unroll
        for (int k = 0; k < sort_held; ++k) {
            if (k >= own) continue;
            const bool of_first = second >= second_end || (first < first_end && !(other_key < key));
            stretch.values[k] = of_first ? value : other;
            stretch.from[k] = static_cast<unsigned short>(of_first ? first : second);
            if (of_first)
                value = held[spaced<T>(++first)], key = SortKey<T>::of(value);
            else
                other = held[spaced<T>(++second)], other_key = SortKey<T>::of(other);
        }
    }
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const int at = k * sort_block + thread;
        if (at >= count) continue;
        if (out) out[base + at] = held[spaced<T>(at)];
#if QUERN_SORT_PAIRS
        result[base + at] = given ? given[base + at / extent * extent + places[at]] : places[at];
#endif
    }
}

} // namespace quern

extern "C" __global__ void __launch_bounds__(QUERN_SORT_BLOCK)
    quern_sort_short(const QUERN_T0* in, QUERN_T0* out, const long long* given, long long* result, const long long rows, const long long length,
                     const long long rows_per_block) {
    quern::sort_short(in, out, given, result, rows, length, rows_per_block);
}
