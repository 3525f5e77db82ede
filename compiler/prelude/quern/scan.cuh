// What generated scans share: what was joined so far, scans over the lanes of a warp, the totals of tiles and who joins them,
// and on the CPU several chains at a time.
#pragma once
#include "quern/elementwise.cuh"
#include "quern/reduce.cuh"

namespace quern {

// What has been joined so far: nothing at first, so that no identity is ever joined to a value.
template <class T> struct Prefix {
    T value;
    bool any;
    __device__ Prefix() : value(), any(false) {}
    template <class Join> __device__ T before(const T& next, const Join& join) const { return any ? join(value, next) : next; }
    template <class Join> __device__ void add(const T& next, const Join& join) {
        value = before(next, join);
        any = true;
    }
    template <class Join> __device__ void add(const Prefix& next, const Join& join) {
        if (next.any) add(next.value, join);
    }
};

#ifdef __QUERN_HOST__

// A loop over the columns of a row: one vector at a time, for few columns are common.
#define QUERN_COLUMNS _Pragma("clang loop vectorize(assume_safety) interleave_count(1)")

// Lines are cut into tiles, which threads take one after another: each tells what is joined up to its end, and whoever takes the next
// waits for that. The room has the number of the next tile, a word for each that says whether it told, and what it told. Tiles
// are taken in order, so the one that is waited for has been begun.
extern "C" __device__ __attribute__((nothrow)) void __quern_wait_for(const unsigned int* word);
template <class T> struct SharedTiles {
    unsigned long long* next;
    unsigned int* told;
    T* joined;
    __device__ SharedTiles(void* room, unsigned long long count)
        : next(static_cast<unsigned long long*>(room)), told(reinterpret_cast<unsigned int*>(next + 8)),
          joined(reinterpret_cast<T*>(told + (count + 15) / 16 * 16)) {}
    __device__ unsigned long long take() const { return __atomic_fetch_add(next, 1ull, __ATOMIC_RELAXED); }
    __device__ void wait(unsigned long long tile) const { __quern_wait_for(told + tile); }
    __device__ void tell(unsigned long long tile) const { __atomic_store_n(told + tile, 1u, __ATOMIC_RELEASE); }
};

// Elements [begin, end), at(j) each, joined in order behind `carry`; put(j, joined) where Puts. Long runs of slow joins, which
// call functions, go by blocks: the chains of a block are independent, so that they run together, and what is before each is
// joined to it afterwards. A sum or product alone is ready before a block is filled.
template <bool Puts, bool Slow, class T, class Index, class Join, class At, class Put>
__device__ inline void scan_run(Index begin, Index end, Prefix<T>& carry, const Join& join, const At& at, const Put& put) {
    const int chains = 8, steps = 32;
    Index j = begin;
    for (; Slow && end - j >= chains * steps; j += chains * steps) {
        T joined[chains][steps], last[chains];
        for (int k = 0; k < chains * steps; ++k) joined[k / steps][k % steps] = at(j + k); // memory in its order
#pragma unroll
        for (int c = 0; c < chains; ++c) last[c] = joined[c][0];
        for (int k = 1; k < steps; ++k)
#pragma unroll
            for (int c = 0; c < chains; ++c) joined[c][k] = last[c] = join(last[c], joined[c][k]);
        for (int c = 0; c < chains; ++c) {
            if (Puts) {
                const T ahead = carry.value;
                if (carry.any) {
                    QUERN_INDEPENDENT
                    for (int k = 0; k < steps; ++k) put(j + c * steps + k, join(ahead, joined[c][k]));
                } else {
                    QUERN_INDEPENDENT
                    for (int k = 0; k < steps; ++k) put(j + c * steps + k, joined[c][k]);
                }
            }
            carry.add(last[c], join);
        }
    }
    if (j == end) return;
    carry.add(at(j), join);
    T last = carry.value;
    if (Puts) put(j, last);
    while (++j < end) {
        last = join(last, at(j));
        if (Puts) put(j, last);
    }
    carry.value = last;
}

#endif

// Calls of CUDA's shuffles for values of any size.
template <class T, class Move> __device__ inline T move_words(const T& value, const Move& move) {
    const int words = (sizeof(T) + 3) / 4;
    unsigned int held[words];
    held[words - 1] = 0;
    memcpy(held, &value, sizeof(T));
#pragma unroll
    for (int k = 0; k < words; ++k) held[k] = move(held[k]);
    T moved = value;
    memcpy(&moved, held, sizeof(T));
    return moved;
}
template <class T> __device__ inline T value_above(const T& value, unsigned int offset) {
    return move_words(value, [=](unsigned int word) { return __shfl_up_sync(0xffffffffu, word, offset); });
}
template <class T> __device__ inline T value_below(const T& value, unsigned int offset) {
    return move_words(value, [=](unsigned int word) { return __shfl_down_sync(0xffffffffu, word, offset); });
}
template <class T> __device__ inline T value_of(const T& value, unsigned int lane) {
    return move_words(value, [=](unsigned int word) { return __shfl_sync(0xffffffffu, word, lane); });
}

// Threads `first`, 2 * `first`, ... apart, below `count` a power of two: each gets the values up to its own, joined.
template <class T, class Join>
__device__ inline T scan_lanes(T value, unsigned int first, unsigned int count, unsigned int lane, const Join& join) {
    for (unsigned int step = first; step < count; step *= 2) {
        const T above = value_above(value, step);
        if (lane >= step) value = join(above, value);
    }
    return value;
}

// The totals of `count` groups lie `step` apart: what comes before group `mine`, and the total of all.
template <class T, class Join, class Shared>
__device__ inline Prefix<T> before_group(Shared& slots, unsigned int first, unsigned int step, unsigned int mine, unsigned int count,
                                         T& total, const Join& join) {
    Prefix<T> all, before;
    for (unsigned int k = 0; k < count; ++k) {
        if (k == mine) before = all;
        all.add(slots[first + k * step], join);
    }
    total = all.value;
    return before;
}

// What tiles tell of themselves, and what they are told in return. A value travels in 64-bit words, each with a mark above its
// 32 bits: what is marked is there, so that nothing has to be fenced. All words are zero before the launch.
// The room holds `values` chains of `steps` tiles. One warp joins a chain's totals, 32 tiles at a time and these two by two, so
// that the association is fixed; a tile learns what is before it as soon as all before it have told.
template <class T> struct Ledger {
    static const int words = (sizeof(T) + 3) / 4, windows = words > 2 ? 2 : 4;
    typedef volatile unsigned long long Word;

    Word *totals, *befores;

    __device__ Ledger(void* room, unsigned long long steps, unsigned long long values, unsigned long long value)
        : totals(reinterpret_cast<Word*>(static_cast<char*>(room) + 64) + value * steps * words), befores(totals + values * steps * words) {}
    static __device__ void tell(Word* place, const T& value) {
        unsigned int held[words];
        held[words - 1] = 0;
        memcpy(held, &value, sizeof(T));
#pragma unroll
        for (int k = 0; k < words; ++k) place[k] = 1ull << 32 | held[k];
    }
    __device__ bool has_told(unsigned long long step) const { // its last word, at least
        return totals[step * words + words - 1] >> 32;
    }
    __device__ void wait_total(unsigned long long step) const {
        unsigned long long word;
        do word = totals[step * words + words - 1];
        while (!(word >> 32));
    }
    __device__ void tell_total(unsigned long long step, const T& total) const { tell(totals + step * words, total); }
    __device__ T wait_before(unsigned long long step) const {
        unsigned int held[words];
#pragma unroll
        for (int k = 0; k < words; ++k) {
            unsigned long long word;
            do word = befores[step * words + k];
            while (!(word >> 32));
            held[k] = static_cast<unsigned int>(word);
        }
        T value = T();
        memcpy(&value, held, sizeof(T));
        return value;
    }
    // For a whole warp: takes the chain on from tile `first`, behind `carry`, as far as tiles have told. `by_tiles`: of one line,
    // whose first tile has nothing before it.
    template <class Index, class Lines, class Join>
    __device__ void advance(Index& first, T& carry, Index steps, const Lines& by_tiles, const Join& join) const {
        const unsigned int lane = threadIdx.x & 31;
        T joined[windows];
        unsigned int told[windows];
        unsigned long long word[windows][words];
#pragma unroll
        for (int w = 0; w < windows; ++w) {
            const Index step = first + w * 32 + lane;
#pragma unroll
            for (int k = 0; k < words; ++k) word[w][k] = step < steps ? totals[static_cast<unsigned long long>(step) * words + k] : ~0ull;
        }
#pragma unroll
        for (int w = 0; w < windows; ++w) {
            const Index step = first + w * 32 + lane, within = step - by_tiles.divide(step) * by_tiles.divisor;
            unsigned int held[words];
            bool here = true;
#pragma unroll
            for (int k = 0; k < words; ++k) {
                here = here && word[w][k] >> 32;
                held[k] = static_cast<unsigned int>(word[w][k]);
            }
            told[w] = __ballot_sync(0xffffffffu, here);
            memcpy(&joined[w], held, sizeof(T));
#pragma unroll
            for (unsigned int above = 1; above < 32; above *= 2) {
                const T value = value_above(joined[w], above);
                if (lane >= above && within >= above) joined[w] = join(value, joined[w]);
            }
        }
#pragma unroll
        for (int w = 0; w < windows; ++w) {
            const Index step = first + lane, within = step - by_tiles.divide(step) * by_tiles.divisor;
            const unsigned int known = told[w] == 0xffffffffu ? 32 : __ffs(~told[w]) - 1;
            const T above = value_above(joined[w], 1);
            if (lane <= known && within > 0 && step < steps)
                tell(befores + static_cast<unsigned long long>(step) * words, lane == 0 ? carry : within > lane ? join(carry, above) : above);
            if (known < 32) return;
            if (within > lane) joined[w] = join(carry, joined[w]);
            carry = value_of(joined[w], 31);
            first += 32;
        }
    }
    // For a whole warp: chains [value, past), at most 32, each to its end. A lane keeps the state of one.
    template <class Index, class Lines, class Join>
    static __device__ void scan(void* room, Index steps, Index values, Index value, Index past, const Lines& by_tiles, const Join& join) {
        const unsigned int lane = threadIdx.x & 31, count = static_cast<unsigned int>(past - value);
        Index first = steps;
        if (lane < count) first = 0;
        T carry = T();
#ifdef __QUERN_HOST__
        Index seen = first;
#endif
        while (__any_sync(0xffffffffu, first < steps)) {
#ifdef __QUERN_HOST__ // A block that only looks makes way for those that have not begun; one whose lanes talk does not.
            const Ledger own(room, steps, values, value + (lane < count ? lane : 0));
            if (seen < steps) own.wait_total(seen);
            while (seen < steps && own.has_told(seen)) ++seen;
#endif
            for (unsigned int k = 0; k < count; ++k) {
                Index from = value_of(first, k);
                if (from >= steps) continue;
                T behind = value_of(carry, k);
                Ledger(room, steps, values, value + k).advance(from, behind, steps, by_tiles, join);
                if (lane == k) {
                    first = from;
                    carry = behind;
                }
            }
        }
    }
};

} // namespace quern
