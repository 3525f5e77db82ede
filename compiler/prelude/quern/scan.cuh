// What generated scans share: what was joined so far, scans over the lanes of a warp, totals that tiles tell each other, and
// on the CPU several chains at a time.
#pragma once
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

// Elements [begin, end), at(j) each, joined in order behind `carry`; put(j, joined) where Puts. Long runs go by blocks: the
// chains of a block are independent, so that they run together, and what is before each is joined to it afterwards.
template <bool Puts, class T, class Index, class Join, class At, class Put>
__device__ inline void scan_run(Index begin, Index end, Prefix<T>& carry, const Join& join, const At& at, const Put& put) {
    const int chains = 8, steps = 32;
    Index j = begin;
    for (; end - j >= chains * steps; j += chains * steps) {
        T joined[chains][steps], last[chains];
#pragma unroll
        for (int c = 0; c < chains; ++c) joined[c][0] = last[c] = at(j + c * steps);
        for (int k = 1; k < steps; ++k)
#pragma unroll
            for (int c = 0; c < chains; ++c) joined[c][k] = last[c] = join(last[c], at(j + c * steps + k));
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
    for (; j < end; ++j) {
        carry.add(at(j), join);
        if (Puts) put(j, carry.value);
    }
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

// What tiles of one line tell those behind them. A value travels in 64-bit words, each with a mark above its 32 bits: what is
// marked is there, so that nothing has to be fenced. All words are zero before the launch.
// The association is fixed: 32 tiles make a group, 32 groups a range; what comes before a tile is what comes before its range,
// then the groups before its own, then the tiles of its group, each taken two by two.
template <class T> struct Chain {
    static const int words = (sizeof(T) + 3) / 4;
    typedef volatile unsigned long long Word;

    Word *tiles, *groups, *ranges;
    unsigned long long step; // words from a tile to the next one of the same line

    __device__ Chain(void* room, unsigned long long count, unsigned long long values, unsigned long long line) {
        step = values * words;
        tiles = reinterpret_cast<Word*>(static_cast<char*>(room) + 64) + line * words;
        groups = tiles + count * step;
        ranges = groups + (count + 31) / 32 * step;
    }
    static __device__ void tell(Word* place, const T& value) {
        unsigned int held[words];
        held[words - 1] = 0;
        memcpy(held, &value, sizeof(T));
#pragma unroll
        for (int k = 0; k < words; ++k) place[k] = 1ull << 32 | held[k];
    }
    struct Asked { // a value on its way
        unsigned long long word[words];
        __device__ void ask(Word* place) {
#pragma unroll
            for (int k = 0; k < words; ++k) word[k] = place[k];
        }
        __device__ T wait(Word* place) {
            unsigned int held[words];
#pragma unroll
            for (int k = 0; k < words; ++k) {
                while (!(word[k] >> 32)) word[k] = place[k];
                held[k] = static_cast<unsigned int>(word[k]);
            }
            T value = T();
            memcpy(&value, held, sizeof(T));
            return value;
        }
    };
    // The values of lanes below `count`, in order, at lane 0.
    template <class Join> static __device__ T fold(T value, unsigned int count, const Join& join) {
        const unsigned int lane = threadIdx.x & 31;
#pragma unroll
        for (unsigned int step = 1; step < 32; step *= 2) {
            const T below = value_below(value, step);
            if (lane + step < count) value = join(value, below);
        }
        return value;
    }
    __device__ void tell_total(unsigned long long tile, const T& total) { tell(tiles + tile * step, total); }
    // For a whole warp: what comes before `tile`, whose total was told, at lane 0.
    template <class Join> __device__ Prefix<T> look_back(unsigned long long tile, const T& total, const Join& join) {
        const unsigned int lane = threadIdx.x & 31, within = tile & 31, above = tile >> 5 & 31;
        const unsigned long long group = tile >> 5, range = tile >> 10;
        Word *of_tile = tiles + (tile - within + lane) * step, *of_group = groups + (group - above + lane) * step,
             *of_range = ranges + range * step;
        Asked one, some, many;
        if (lane < within) one.ask(of_tile);
        if (lane < above) some.ask(of_group);
        if (lane == 0 && range > 0) many.ask(of_range);
        T near = T();
        if (lane < within) near = one.wait(of_tile);
        near = fold(near, within, join);
        Prefix<T> in_group;
        if (within > 0) in_group.add(near, join);
        const T whole = in_group.before(total, join);
        if (within == 31 && lane == 0) tell(groups + group * step, whole);
        T far = T();
        if (lane < above) far = some.wait(of_group);
        far = fold(far, above, join);
        Prefix<T> before;
        if (lane == 0 && range > 0) before.add(many.wait(of_range), join);
        if (above > 0) before.add(far, join);
        if (within == 31 && above == 31 && lane == 0) tell(ranges + (range + 1) * step, before.before(whole, join));
        before.add(in_group, join);
        return before;
    }
};

} // namespace quern
