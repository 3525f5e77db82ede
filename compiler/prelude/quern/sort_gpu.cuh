// Sorts by blocks of many threads. A digit's pass ranks the values of a tile by which lanes of a warp have each digit; where
// several blocks share a row, a tile learns from those before it where its values of each digit go: all in one launch a digit.
#pragma once

namespace quern {

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
// its place in the tile; `to` is this place. The lanes that have a digit set their bits in its word, one after the other where
// many have the same: then, in tiles of few digits, the warp is asked for them.
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
    const bool crowded = __syncthreads_or(8 * total > static_cast<unsigned int>(sort_tile));
#pragma unroll
    for (int k = 0; k < sort_held; ++k) {
        const unsigned int digit = tile_digit(values[k], k, left, shift);
        unsigned int alike;
        if (crowded) {
            alike = __match_any_sync(all, digit);
        } else {
            atomicOr(&votes[digit], 1u << lane);
            __syncwarp();
            alike = votes[digit];
            __syncwarp();
        }
        const unsigned int before = __popc(alike & ((1u << lane) - 1));
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

#if QUERN_SORT_ROAD == 1

// In which digits of their keys the values of a row that a block holds are not all alike, a bit for each.
template <class T>
__device__ inline unsigned int live_digits(const T (&values)[sort_held], const T& one, long long length, unsigned int* shared) {
    typedef typename SortKey<T>::Key Key;
    const int first = first_of_thread();
    const Key key = SortKey<T>::of(one);
    Key differing = Key();
#pragma unroll
    for (int k = 0; k < sort_held; ++k)
        if (first + 32 * k < length) add_differing(differing, key, SortKey<T>::of(values[k]));
    unsigned int live = 0;
#pragma unroll
    for (int digit = 0; digit < static_cast<int>(sizeof(T)); ++digit) live |= (digit_of<8>(differing, 8 * digit) != 0 ? 1u : 0u) << digit;
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) live |= __shfl_xor_sync(0xffffffffu, live, lanes);
    if (threadIdx.x == 0) *shared = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0 && live) atomicOr(shared, live);
    __syncthreads();
    return *shared;
}

// A block takes a row that it can hold through all digits that are not alike.
template <class T>
__device__ inline void sort_rows(const T* in, T* out, const long long* given, long long* result, long long rows, long long length, int bits) {
    __shared__ __align__(16) SortTile<T> tile;
    __shared__ unsigned int digits;
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
        const unsigned int live = sizeof(T) < 4 ? ~0u : live_digits(values, in[row * length], length, &digits);
        for (int shift = 0; shift < bits; shift += 8) {
            if (!(live >> (shift / 8) & 1)) continue;
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

// In which digits of their keys the values of a row are not all alike, a bit for each; the first one, if all are.
__device__ inline void sort_live(const unsigned long long* totals, long long length, int passes, unsigned int* live) {
    unsigned int found = 0;
    for (int pass = 0; pass < passes; ++pass) {
        bool all = false;
        for (int digit = threadIdx.x; digit < 256; digit += sort_block)
            all |= totals[(blockIdx.x * static_cast<long long>(passes) + pass) * 256 + digit] == static_cast<unsigned long long>(length);
        if (!__syncthreads_or(all)) found |= 1u << pass;
    }
    if (threadIdx.x == 0) live[blockIdx.x] = found ? found : 1u;
}

// The buffers of a row's passes. The last pass over a live digit writes to the end, the one before it to `spare`, the one before
// that to `second`, and so on in turn.
template <class T> struct SortRoom {
    const T* start;
    T *end, *spare, *second;
    // What pass `pass` reads and writes.
    __device__ const T* from(unsigned int live, int pass) const {
        return !(live & ((1u << pass) - 1)) ? start : __popc(live >> pass) % 2 ? spare : second;
    }
    __device__ T* to(unsigned int live, int pass) const { return live >> pass <= 1 ? end : __popc(live >> pass) % 2 ? second : spare; }
};

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
__device__ inline void sort_pass(const SortRoom<T>& room, const SortRoom<SortPlace>& place_room, const long long* given, long long* result,
                                 long long length, long long splits, const unsigned long long* totals, const unsigned int* live,
                                 unsigned int* ticket, SortCount* told, SortCount* next, int shift, int passes) {
    __shared__ __align__(16) SortTile<T> tile;
    __shared__ unsigned int number;
    __shared__ SortCount offset[256]; // from a value's place in the tile to its place in the row, modulo the type
    if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
    __syncthreads();
    const long long row = number / splits, part = number - row * splits, begin = part * sort_tile, base = row * length;
    const long long left = length - begin;
    const int first = first_of_thread(), pass = shift / 8;
    const unsigned int live_here = live[row];
    const size_t word = static_cast<size_t>(number) * 256 + threadIdx.x;
    if (!(live_here >> pass & 1)) {
        if (threadIdx.x < 256) next[word] = 0;
        return;
    }
    const T* const from = room.from(live_here, pass) + base + begin;
    T* const out = room.to(live_here, pass);
#if QUERN_SORT_PAIRS
    const Places places = {place_room.from(live_here, pass), place_room.to(live_here, pass), given, result};
#endif
    T values[sort_held];
    if (left >= sort_tile) {
#pragma unroll
        for (int k = 0; k < sort_held; ++k) values[k] = from[first + 32 * k];
    } else {
#pragma unroll
        for (int k = 0; k < sort_held; ++k) values[k] = first + 32 * k < left ? from[first + 32 * k] : T();
    }
    unsigned short to[sort_held];
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

// Values of one byte do not move: a row is written anew from its counts, 16 values at a time.
template <class T, bool bytes> struct SortFill {
    static __device__ void run(T*, long long, long long, const unsigned long long*) {}
};
template <class T> struct SortFill<T, true> {
    static __device__ void run(T* out, long long length, long long splits, const unsigned long long* totals) {
        __shared__ unsigned long long upto[256], warp_totals[8];
        const long long row = blockIdx.x / splits, part = blockIdx.x - row * splits;
        const unsigned long long total = threadIdx.x < 256 ? totals[row * 256 + threadIdx.x] : 0, before = before_digit(total, warp_totals);
        if (threadIdx.x < 256) upto[threadIdx.x] = before + total;
        __syncthreads();
        T* const to = out + row * length;
        const long long ahead = static_cast<long long>(reinterpret_cast<size_t>(to) % 16); // so that whole packs are aligned
        for (long long k = (part * sort_block + threadIdx.x) * 16 - ahead; k < length; k += splits * sort_block * 16) {
            const unsigned long long start = k < 0 ? 0 : k;
            int digit = 0;
#pragma unroll
            for (int half = 128; half > 0; half /= 2) digit += upto[digit + half - 1] <= start ? half : 0;
            union {
                uint4 whole;
                T values[16];
            } pack;
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                while (digit < 255 && static_cast<long long>(upto[digit]) <= k + j) ++digit;
                pack.values[j] = Ordered<T>::value(static_cast<unsigned char>(digit));
            }
            if (k >= 0 && k + 16 <= length) {
                *reinterpret_cast<uint4*>(to + k) = pack.whole;
            } else {
#pragma unroll
                for (int j = 0; j < 16; ++j)
                    if (k + j >= 0 && k + j < length) to[k + j] = pack.values[j];
            }
        }
    }
};

#endif

} // namespace quern

#if QUERN_SORT_ROAD == 1
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
    quern_sort_live(const unsigned long long* totals, const long long length, const long long passes, unsigned int* live) {
    quern::sort_live(totals, length, static_cast<int>(passes), live);
}
extern "C" __global__ void __launch_bounds__(QUERN_SORT_BLOCK, 3) // three blocks with few registers do more than one with many
    quern_sort_pass(const QUERN_T0* in, QUERN_T0* out, QUERN_T0* spare, QUERN_T0* second, quern::SortPlace* here, quern::SortPlace* there,
                    const long long* given, long long* result, const long long length, const long long splits, const unsigned long long* totals,
                    const unsigned int* live, unsigned int* ticket, quern::SortCount* told, quern::SortCount* next, const long long shift,
                    const long long passes) {
    quern::sort_pass(quern::SortRoom<QUERN_T0>{in, out, spare, second}, quern::SortRoom<quern::SortPlace>{nullptr, nullptr, here, there},
                     given, result, length, splits, totals, live, ticket, told, next, static_cast<int>(shift), static_cast<int>(passes));
}
extern "C" __global__ void __launch_bounds__(QUERN_SORT_BLOCK)
    quern_sort_fill(QUERN_T0* out, const long long length, const long long splits, const unsigned long long* totals) {
    quern::SortFill<QUERN_T0, sizeof(QUERN_T0) == 1>::run(out, length, splits, totals);
}
#endif
