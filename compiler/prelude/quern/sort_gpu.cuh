// Sorts by blocks of many threads. A digit's pass ranks the values of a tile by which lanes of a warp have each digit; where
// several blocks share a row, a tile learns from those before it where its values of each digit go: all in one launch a digit.
#pragma once

namespace quern {

const int sort_held = QUERN_SORT_HELD, sort_block = QUERN_SORT_BLOCK, sort_warps = sort_block / 32, sort_tile = sort_held * sort_block;

// Sums of the 256 values before each of the first 256 threads; every thread of the block takes part.
template <class Count> __device__ inline Count before_digit(Count own, Count* warp_totals) {
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Count upto = own;
#pragma unroll
    for (unsigned int step = 1; step < 32; step *= 2) {
        const Count other = __shfl_up_sync(0xffffffffu, upto, step);
        if (lane >= step) upto += other;
    }
    if (lane == 31 && warp < 8) warp_totals[warp] = upto;
    __syncthreads();
    Count before = upto - own;
    for (unsigned int k = 0; k < warp && k < 8; ++k) before += warp_totals[k];
    __syncthreads();
    return before;
}

// A tile in shared memory: counts of digits by warp, and the values in their new order.
template <class T> struct SortTile {
    unsigned int counts[sort_warps][256];
    unsigned int start[256]; // of a digit in the tile
    unsigned long long warp_totals[8];
    static const int bytes = sort_tile * static_cast<int>(sizeof(T) > sizeof(SortPlace) || !QUERN_SORT_PAIRS ? sizeof(T) : sizeof(SortPlace));
    // First the lanes that have a digit, by warp.
    __align__(16) unsigned char moved[bytes < 1024 * sort_warps ? 1024 * sort_warps : bytes];
};

// A thread's first element in a tile; the others lie 32 apart, so that a warp's lie one after the other.
__device__ inline int first_of_thread() { return (threadIdx.x / 32) * (32 * sort_held) + threadIdx.x % 32; }

// The digit of a thread's k-th value; those past the row's end come last.
template <class T> __device__ inline unsigned int tile_digit(const T& value, int k, long long left, int shift) {
    return first_of_thread() + 32 * k < left ? digit_of<8>(SortKey<T>::of(value), shift) : 255u;
}

// Counts first, and tells the first 256 threads how many values have the thread's digit: tell(count). Then moves every value to
// its place in the tile; `to` is this place.
template <class T, class Tell>
__device__ inline void rank_tile(const T (&values)[sort_held], long long left, int shift, unsigned short (&to)[sort_held], SortTile<T>& tile,
                                 const Tell& tell) {
    const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int *const own = tile.counts[warp], *const votes = reinterpret_cast<unsigned int*>(tile.moved) + 256 * warp;
#pragma unroll
    for (int k = 0; k < 256; k += 32) own[k + lane] = votes[k + lane] = 0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < sort_held; ++k) atomicAdd(&own[tile_digit(values[k], k, left, shift)], 1u);
    __syncthreads();
    unsigned int total = 0;
    if (threadIdx.x < 256) {
#pragma unroll
        for (int w = 0; w < sort_warps; ++w) total += tile.counts[w][threadIdx.x];
        tell(total);
    }
    unsigned int start = before_digit(total, reinterpret_cast<unsigned int*>(tile.warp_totals));
    if (threadIdx.x < 256) {
        tile.start[threadIdx.x] = start;
#pragma unroll
        for (int w = 0; w < sort_warps; ++w) {
            const unsigned int count = tile.counts[w][threadIdx.x];
            tile.counts[w][threadIdx.x] = start;
            start += count;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const unsigned int digit = tile_digit(values[k], k, left, shift);
        atomicOr(&votes[digit], 1u << lane);
        __syncwarp();
        const unsigned int alike = votes[digit], before = __popc(alike & ((1u << lane) - 1));
        __syncwarp();
        unsigned int place = 0;
        if (before == 0) {
            place = own[digit];
            own[digit] = place + __popc(alike);
            votes[digit] = 0;
        }
        to[k] = static_cast<unsigned short>(__shfl_sync(all, place, __ffs(alike) - 1) + before);
        __syncwarp();
    }
    __syncthreads();
    T* const moved = reinterpret_cast<T*>(tile.moved);
#pragma unroll
    for (int k = 0; k < sort_held; ++k) moved[to[k]] = values[k];
}

#if QUERN_SORT_ROAD == 0

// Several rows a block: runs of each row double as every value finds its place among those of the neighbouring run.
template <class T>
__device__ inline void sort_short(const T* in, T* out, const long long* given, long long* result, long long rows, long long length,
                                  long long rows_per_block) {
    __shared__ __align__(16) unsigned char room[sort_tile * sizeof(T)];
    T* const held = reinterpret_cast<T*>(room);
#if QUERN_SORT_PAIRS
    __shared__ unsigned short places[sort_tile];
#endif
    const long long first = static_cast<long long>(blockIdx.x) * rows_per_block, base = first * length;
    const int own_rows = static_cast<int>(rows - first < rows_per_block ? rows - first : rows_per_block);
    const int extent = static_cast<int>(length), count = own_rows * extent;
    T values[sort_held];
    int row[sort_held];
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const int at = k * sort_block + threadIdx.x;
        row[k] = at / extent * extent;
        if (at < count) {
            held[at] = values[k] = in[base + at];
#if QUERN_SORT_PAIRS
            places[at] = static_cast<unsigned short>(at - row[k]);
#endif
        }
    }
    __syncthreads();
    for (int width = 1; width < extent; width *= 2) {
        int to[sort_held];
#if QUERN_SORT_PAIRS
        unsigned short place[sort_held];
#endif
#pragma unroll
        for (int k = 0; k < sort_held; ++k) {
            const int at = k * sort_block + threadIdx.x;
            if (at >= count) continue;
            values[k] = held[at];
#if QUERN_SORT_PAIRS
            place[k] = places[at];
#endif
            const int within = at - row[k], run = within & -width;
            const bool second = run & width;
            int low = row[k] + (run ^ width), high = low + width < row[k] + extent ? low + width : row[k] + extent;
            const int other = low;
            const typename SortKey<T>::Key key = SortKey<T>::of(values[k]);
            while (low < high) { // how many of the other run come first; of equal ones those of the first run do
                const int middle = (low + high) / 2;
                const typename SortKey<T>::Key there = SortKey<T>::of(held[middle]);
                if (second ? !(key < there) : there < key)
                    low = middle + 1;
                else
                    high = middle;
            }
            to[k] = second ? at - width + (low - other) : at + (low > other ? low - other : 0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < sort_held; ++k) {
            if (k * sort_block + static_cast<int>(threadIdx.x) >= count) continue;
            held[to[k]] = values[k];
#if QUERN_SORT_PAIRS
            places[to[k]] = place[k];
#endif
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const int at = k * sort_block + threadIdx.x;
        if (at >= count) continue;
        if (out) out[base + at] = held[at];
#if QUERN_SORT_PAIRS
        result[base + at] = given ? given[base + row[k] + places[at]] : places[at];
#endif
    }
}

#elif QUERN_SORT_ROAD == 1

// A block takes a row that it can hold through all digits.
template <class T>
__device__ inline void sort_rows(const T* in, T* out, const long long* given, long long* result, long long rows, long long length, int bits) {
    __shared__ __align__(16) SortTile<T> tile;
    const int first = first_of_thread();
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const Places places = {nullptr, nullptr, given, result};
        T values[sort_held];
#pragma unroll
        for (int k = 0; k < sort_held; ++k) values[k] = first + 32 * k < length ? in[row * length + first + 32 * k] : T();
#if QUERN_SORT_PAIRS
        SortPlace place[sort_held];
#pragma unroll
        for (int k = 0; k < sort_held; ++k) place[k] = first + 32 * k < length ? places.at(row * length, first + 32 * k) : 0;
#endif
        for (int shift = 0; shift < bits; shift += 8) {
            unsigned short to[sort_held];
            rank_tile(values, length, shift, to, tile, [](unsigned int) {});
            const T* const moved = reinterpret_cast<const T*>(tile.moved);
            __syncthreads();
#pragma unroll
            for (int k = 0; k < sort_held; ++k) values[k] = moved[first + 32 * k];
            __syncthreads();
#if QUERN_SORT_PAIRS
            SortPlace* const moved_places = reinterpret_cast<SortPlace*>(tile.moved);
#pragma unroll
            for (int k = 0; k < sort_held; ++k) moved_places[to[k]] = place[k];
            __syncthreads();
#pragma unroll
            for (int k = 0; k < sort_held; ++k) place[k] = moved_places[first + 32 * k];
            __syncthreads();
#endif
        }
#pragma unroll
        for (int k = 0; k < sort_held; ++k) {
            if (first + 32 * k >= length) continue;
            if (out) out[row * length + first + 32 * k] = values[k];
#if QUERN_SORT_PAIRS
            places.put(row * length, first + 32 * k, place[k]);
#endif
        }
    }
}

#else

// Counts all digits of a row's keys in one reading. Several counters of each digit keep a warp's lanes from waiting at one.
template <class T> __device__ inline void sort_count(const T* in, long long length, long long splits, unsigned long long* totals, int bits) {
    const int most = sizeof(T), copies = most > 8 ? 2 : most > 4 ? 4 : 8;
    __shared__ unsigned int counts[most][256][copies];
    const int passes = (bits + 7) / 8;
    const long long row = blockIdx.x / splits, part = blockIdx.x - row * splits;
    const long long chunk = (length + splits - 1) / splits, end = part * chunk + chunk < length ? part * chunk + chunk : length;
    unsigned int* const flat = &counts[0][0][0];
    for (int k = threadIdx.x; k < passes * 256 * copies; k += sort_block) flat[k] = 0;
    __syncthreads();
    const T* const values = in + row * length;
    const int copy = threadIdx.x % copies, batch = 8;
    for (long long k = part * chunk + threadIdx.x; k < end; k += batch * sort_block) {
        T held[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (k + b * sort_block < end) held[b] = values[k + b * sort_block];
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (k + b * sort_block < end) {
                const typename SortKey<T>::Key key = SortKey<T>::of(held[b]);
#pragma unroll
                for (int pass = 0; pass < most; ++pass)
                    if (pass < passes) atomicAdd(&counts[pass][digit_of<8>(key, 8 * pass)][copy], 1u);
            }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < passes * 256; k += sort_block) {
        unsigned int total = 0;
        for (int c = 0; c < copies; ++c) total += flat[k * copies + c];
        if (total) atomicAdd(&totals[row * passes * 256 + k], static_cast<unsigned long long>(total));
    }
}

// A tile's word for each digit: how many values it has, or all up to it, behind a mark.
const int sort_mark = 8 * sizeof(SortCount) - 2;
const SortCount sort_own = static_cast<SortCount>(1) << sort_mark, sort_upto = static_cast<SortCount>(2) << sort_mark, sort_number = sort_own - 1;

// The sum of one digit over the `part` tiles before a word: back to the first that tells all up to itself, several words in
// flight.
__device__ inline SortCount look_back(const volatile SortCount* word, long long part) {
    const int batch = 8;
    SortCount before = 0;
    for (;;) {
        SortCount there[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b) there[b] = b < part ? word[-256 * (b + 1)] : 0;
        int taken = 0;
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            if (taken != b || there[b] == 0) continue;
            before += there[b] & sort_number;
            if (there[b] & sort_upto) return before;
            ++taken;
        }
        word -= 256 * taken;
        part -= taken;
    }
}

// One digit's pass. Tiles are numbered as blocks start, so that a tile only waits for blocks that have started. `told` is zero
// before; the tile clears its words of `next` for the next pass.
template <class T>
__device__ inline void sort_pass(const T* in, T* out, const Places& places, long long length, long long splits,
                                 const unsigned long long* totals, unsigned int* ticket, SortCount* told, SortCount* next, int shift,
                                 int passes) {
    __shared__ __align__(16) SortTile<T> tile;
    __shared__ unsigned int number;
    __shared__ SortCount offset[256]; // from a value's place in the tile to its place in the row, modulo the type
    if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
    __syncthreads();
    const long long row = number / splits, part = number - row * splits, begin = part * sort_tile, base = row * length;
    const long long left = length - begin;
    const int first = first_of_thread();
    const T* const from = in + base + begin;
    T values[sort_held];
    if (left >= sort_tile) {
#pragma unroll
        for (int k = 0; k < sort_held; ++k) values[k] = from[first + 32 * k];
    } else {
#pragma unroll
        for (int k = 0; k < sort_held; ++k) values[k] = first + 32 * k < left ? from[first + 32 * k] : T();
    }
    unsigned short to[sort_held];
    const size_t word = static_cast<size_t>(number) * 256 + threadIdx.x;
    volatile SortCount* const words = told;
    SortCount own = 0;
    rank_tile(values, left, shift, to, tile, [&](unsigned int count) {
        own = count;
        if (part > 0) words[word] = sort_own | own;
        next[word] = 0;
    });
    SortCount before = 0;
    if (part == 0) {
        const unsigned long long total =
            threadIdx.x < 256 ? totals[(row * passes + shift / 8) * 256 + threadIdx.x] : 0;
        before = static_cast<SortCount>(before_digit(total, tile.warp_totals));
    }
    if (threadIdx.x < 256) {
        if (part > 0) before = look_back(words + word, part);
        words[word] = sort_upto | (before + own);
        offset[threadIdx.x] = before - tile.start[threadIdx.x];
    }
    const T* const moved = reinterpret_cast<const T*>(tile.moved);
    __syncthreads();
    SortCount target[sort_held];
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const int at = k * sort_block + threadIdx.x;
        const T value = moved[at];
        target[k] = offset[at < left ? digit_of<8>(SortKey<T>::of(value), shift) : 255u] + at;
        if (out && at < left) out[base + target[k]] = value;
    }
#if QUERN_SORT_PAIRS
    __syncthreads();
    SortPlace* const moved_places = reinterpret_cast<SortPlace*>(tile.moved);
#pragma unroll
    for (int k = 0; k < sort_held; ++k)
        if (first + 32 * k < left) moved_places[to[k]] = places.at(base, begin + first + 32 * k);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const int at = k * sort_block + threadIdx.x;
        if (at < left) places.put(base, target[k], moved_places[at]);
    }
#endif
}

#endif

} // namespace quern

#if QUERN_SORT_ROAD == 0
extern "C" __global__ void __launch_bounds__(QUERN_SORT_BLOCK)
    quern_sort_short(const QUERN_T0* in, QUERN_T0* out, const long long* given, long long* result, const long long rows, const long long length,
                     const long long rows_per_block) {
    quern::sort_short(in, out, given, result, rows, length, rows_per_block);
}
#elif QUERN_SORT_ROAD == 1
extern "C" __global__ void __launch_bounds__(QUERN_SORT_BLOCK)
    quern_sort_rows(const QUERN_T0* in, QUERN_T0* out, const long long* given, long long* result, const long long rows, const long long length,
                    const long long bits) {
    quern::sort_rows(in, out, given, result, rows, length, static_cast<int>(bits));
}
#else
extern "C" __global__ void __launch_bounds__(QUERN_SORT_BLOCK)
    quern_sort_count(const QUERN_T0* in, const long long length, const long long splits, unsigned long long* totals, const long long bits) {
    quern::sort_count(in, length, splits, totals, static_cast<int>(bits));
}
extern "C" __global__ void __launch_bounds__(QUERN_SORT_BLOCK)
    quern_sort_pass(const QUERN_T0* in, QUERN_T0* out, const quern::SortPlace* from, quern::SortPlace* to, const long long* given,
                    long long* result, const long long length, const long long splits, const unsigned long long* totals, unsigned int* ticket,
                    quern::SortCount* told, quern::SortCount* next, const long long shift, const long long passes) {
    quern::sort_pass(in, out, quern::Places{from, to, given, result}, length, splits, totals, ticket, told, next, static_cast<int>(shift),
                     static_cast<int>(passes));
}
#endif
