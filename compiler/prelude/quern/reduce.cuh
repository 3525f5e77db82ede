// What generated reductions share: slots in shared memory for any type, shuffles of any type, the threads of a row
// combined, and on the CPU sums of sums.
#pragma once

#ifdef __QUERN_HOST__
// Said once, before its loops: does a kernel go through more than the caches hold?
extern "C" __device__ void __quern_read_ahead(int);
extern "C" __device__ int __quern_vector_bytes(); // of the CPU; known before anything is optimised
#endif

namespace quern {

// Shared memory for `count` values of a type that may have constructors.
template <class T, int count> struct Slots {
    alignas(16) unsigned char bytes[count * sizeof(T)];
    __device__ T& operator[](unsigned int k) { return reinterpret_cast<T*>(bytes)[k]; }
};

#ifdef __QUERN_HOST__

// Loops that have too few turns to be worth what compiling them well would take.
#define QUERN_PLAIN _Pragma("clang loop vectorize(disable) unroll(disable)")

// Values folded two by two as they come, like the carries of a binary counter: rounding errors grow with the logarithm of
// their number. Where nothing is rounded (`exact`) one after another does.
template <class T, class Join, bool exact> struct Pairwise {
    const Join& join;
    T identity;
    unsigned long long count;
    T partial[48];
    __device__ Pairwise(const Join& how, const T& start) : join(how), identity(start), count(0) {}
    __device__ void add(T value) {
        int level = 0;
        QUERN_PLAIN
        for (unsigned long long rest = count++; rest & 1; rest >>= 1) value = join(partial[level++], value);
        partial[level] = value;
    }
    __device__ T total() const {
        T sum = identity;
        bool any = false;
        int level = 0;
        QUERN_PLAIN
        for (unsigned long long rest = count; rest; rest >>= 1, ++level)
            if (rest & 1) {
                sum = any ? join(partial[level], sum) : partial[level];
                any = true;
            }
        return sum;
    }
};

template <class T, class Join> struct Pairwise<T, Join, true> {
    const Join& join;
    T all;
    __device__ Pairwise(const Join& how, const T& start) : join(how), all(start) {}
    __device__ void add(const T& value) { all = join(all, value); }
    __device__ T total() const { return all; }
};

// The sum of all, two by two.
#define QUERN_FOLD _Pragma("clang loop unroll(disable)")
#define QUERN_FOLDED _Pragma("clang loop vectorize(enable) interleave_count(1) unroll(disable)")
template <int count, class T, class Join> __device__ inline T fold_lanes(T* lanes, const Join& join) {
    if (count <= 32) {
        for (int half = count / 2; half > 0; half /= 2)
            for (int k = 0; k < half; ++k) lanes[k] = join(lanes[k], lanes[k + half]);
        return lanes[0];
    }
    T sums[count / 2]; // a loop over the lanes themselves would keep them in memory in the loop before it
    for (int k = 0; k < count / 2; ++k) sums[k] = join(lanes[k], lanes[k + count / 2]);
    QUERN_FOLD
    for (int half = count / 4; half > 0; half /= 2) {
        QUERN_FOLDED
        for (int k = 0; k < half; ++k) sums[k] = join(sums[k], sums[k + half]);
    }
    return sums[0];
}

// The last elements of a line, fewer than twice `count`, where vectors have no masks for small ones (before AVX-512).
template <int count, int step, class One> __device__ inline void each_rest(long long k, long long end, const One& one) {
    if (end - k >= count * step) {
        QUERN_INDEPENDENT
        for (int l = 0; l < count * step; ++l) one(l, k + l);
        k += count * step;
    }
    if constexpr (count > 1)
        each_rest<count / 2, step>(k, end, one);
    else if (step > 1 && k < end)
        one(0, k);
}

// Elements [from, stop) of a line, `step` apart in it, for `count` lanes: one(l, k) is called for the k-th of the line, or
// where `together` is 4 four(l, k) for those at k and one, two and three `near` steps on, one of `parts` of the lanes at a
// time, so that memory is read in its order, in vectors of `vector` elements. What lies between counts too, in lanes of its own,
// so that every access is a whole vector.
template <int count, int step, int together, int vector = 8, int parts = 4, class One, class Four>
__device__ inline void each_lane(long long from, long long stop, const One& one, const Four& four) {
    const int width = count * step, near = width / parts;
    const long long end = (stop - 1) * step + 1;
    long long k = from * step;
    const auto take = [&](int part) {
        _Pragma("clang loop vectorize(assume_safety) vectorize_width(vector)")
        for (int l = 0; l < near; ++l) four(part * near + l, k + part * 4 * near + l);
    };
    for (; together == 4 && count > 8 && end - k >= 4 * width; k += 4 * width) {
        take(0);
        if (parts == 1) continue;
        take(1);
        take(2);
        take(3);
    }
    for (; end - k >= width; k += width) {
        QUERN_INDEPENDENT
        for (int l = 0; l < width; ++l) one(l, k + l);
    }
    if (k >= end) return;
    if (__quern_vector_bytes() < 64) {
        each_rest<count / 2, step>(k, end, one);
        return;
    }
    QUERN_INDEPENDENT
    for (int l = 0; l < width; ++l)
        if (l < end - k) one(l, k + l);
}

// Values side by side, as vectors like them: those of several parts part by part, many of them so that a vector lies in one line
// of the caches, and the k-th of one part not a multiple of 4096 bytes from that of another: a CPU takes stores and loads so
// far apart for one place (Zen 4, four parts: 2.7 to 6.2 GB/s, 10.0 apart).
template <class T, int width> constexpr int lines_apart() { return width * sizeof(T) % 4096 == 0 ? 256 / sizeof(T) : 0; }
template <class T, int width> struct SideBySide {
    alignas(64) T value[width];
    __device__ void put(long long l, const T& x) { value[l] = x; }
    __device__ T get(long long l) const { return value[l]; }
};
#ifdef QUERN_HAS_COMPLEX
template <class T, int width> struct SideBySide<complex<T>, width> {
    alignas(64) T real[width + lines_apart<T, width>()];
    alignas(64) T imag[width];
    __device__ void put(long long l, const complex<T>& x) { real[l] = x.real(), imag[l] = x.imag(); }
    __device__ complex<T> get(long long l) const { return complex<T>(real[l], imag[l]); }
};
#endif

// Elements of a vector of 256 bits: memory is read in less of an order in wider ones (compiler/host/streams.h).
// Complex numbers are two vectors.
template <class T> struct NarrowVector { static const int size = sizeof(T) < 16 ? 32 / sizeof(T) : 2; };
#ifdef QUERN_HAS_COMPLEX
template <class T> struct NarrowVector<complex<T>> : NarrowVector<T> {};
#endif

// Independent accumulators of one row, side by side in vectors, each for every count-th element; `dense(k)` is the k-th of the
// line. Sums are rounded less where four elements meet first; exact joins take memory in its order, which it likes best.
// Types whose parts are wanted side by side, or that can do with less than a join, have their own.
template <class T, int count, int step, bool exact> struct Lanes {
    static const long long limit = 128; // of packs, before they are folded into the others
    static const int width = count * step, near = width / 4;
    SideBySide<T, width> values;
    __device__ void clear(const T& identity) {
        for (int l = 0; l < width; ++l) values.put(l, identity);
    }
    __device__ void in_any_order(bool) {}
    __device__ void beyond_caches(bool) {}
    template <class Dense, class Join> __device__ void take(const Dense& dense, long long from, long long stop, const Join& join) {
        // Before AVX-512 long rows of integers are read a tenth faster so, by what is not in registers all the time.
        if (exact && __is_integral(T) && count * step * sizeof(T) >= 256 && __quern_vector_bytes() < 64 && stop - from >= 8 * width) {
            Lanes<T, count, step, false> sums;
            sums.values = values;
            sums.take(dense, from, stop, join);
            values = sums.values;
            return;
        }
        each_lane<count, step, exact ? 1 : 4, NarrowVector<T>::size>(
            from, stop, [&](int l, long long k) { values.put(l, join(values.get(l), dense(k))); },
            [&](int l, long long k) {
                values.put(l, join(values.get(l), join(join(dense(k), dense(k + near)), join(dense(k + 2 * near), dense(k + 3 * near)))));
            });
    }
    template <class Join> __device__ T fold(const Join& join) {
        T value[count];
        for (int l = 0; l < count; ++l) value[l] = values.get(l * step);
        return fold_lanes<count>(value, join);
    }
};

// Is there an element of a row that decides the result? `ends(k)` says so of the k-th of the line. The answer is looked for soon
// at first, then now and then.
template <int count, int step> struct Search {
    static const int words = (count * step + 7) / 8;
    unsigned char met[8 * words];
    long long taken, most;
    __device__ Search() : taken(0), most(4 * count) {
        for (int l = 0; l < 8 * words; ++l) met[l] = 0;
    }
    // True where no more elements are needed.
    template <class Ends> __device__ bool take(const Ends& ends, long long from, long long stop) {
        while (from < stop) {
            const long long room = most - taken, next = stop - from > room ? from + room : stop;
            const auto one = [&](int l, long long k) { met[l] |= ends(k) & (l % step == 0); }; // never ||, which may skip a load
            each_lane<count, step, 1>(from, next, one, one);
            taken += next - from;
            from = next;
            if (taken < most) continue;
            if (found()) return true;
            taken = 0;
            most = 128 * count;
        }
        return false;
    }
    __device__ bool found() const {
        unsigned long long any = 0, word;
        for (int k = 0; k < words; ++k) {
            memcpy(&word, met + 8 * k, 8);
            any |= word;
        }
        return any != 0;
    }
};

// Blocks that share a result tell each other that it is decided.
__device__ inline bool is_settled(const unsigned int* flag) { return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0; }
__device__ inline void settle(unsigned int* flag) { __atomic_store_n(flag, 1u, __ATOMIC_RELAXED); }

// `count` columns, each `step` behind the one before, become one, two by two.
template <class Columns, class Join>
__device__ inline auto fold_columns(Columns& columns, long long first, long long count, long long step, const Join& join) {
    for (; count > 1; count -= count / 2) {
        const long long half = count / 2, upper = first + (count - half) * step;
        for (long long j = 0; j < half * step; j += step) columns.put(first + j, join(columns.get(first + j), columns.get(upper + j)));
    }
    return columns.get(first);
}

// Results side by side, of `limit` rows before they join those before them.
template <class T, int most> struct Results {
    static const int limit = 128, passes = 1;
    SideBySide<T, most> values;
    __device__ void again(long long) {}
    __device__ void clear(long long count, const T& identity) {
        for (long long j = 0; j < count; ++j) put(j, identity);
    }
    template <class Join> __device__ void add(long long j, const T& x, const Join& join) { put(j, join(get(j), x)); }
    template <class Join> __device__ void absorb(const Results& other, long long count, const Join& join) {
        QUERN_INDEPENDENT
        for (long long j = 0; j < count; ++j) put(j, join(get(j), other.get(j)));
    }
    __device__ void put(long long j, const T& x) { values.put(j, x); }
    __device__ T get(long long j) const { return values.get(j); }
};

// The start of a row that comes next, far from the one before: its end is read ahead by itself.
template <class T> __device__ inline void ask_for_row(const T* row, long long count) {
    constexpr long long line = 64 / sizeof(T);
    if (count >= 64 * line)
#pragma unroll
        for (long long k = 0; k < 16 * line; k += line) __builtin_prefetch(row + k);
}

// Accumulators of neighbouring columns. Where there are more `passes` the same rows come again.
template <class T, int most, bool in_order = true> struct Columns : Results<T, most> {
    using Results<T, most>::add;
    template <class Join> __device__ void add(long long j, const T& a, const T& b, const T& c, const T& d, const Join& join) {
        this->put(j, join(this->get(j), join(join(a, b), join(c, d))));
    }
    template <class Join> __device__ T fold(long long first, long long count, long long step, const Join& join) {
        return fold_columns(*this, first, count, step, join);
    }
};

#endif

template <class T> __device__ inline T shuffle_down(const T& value, unsigned int offset) {
    const int words = (sizeof(T) + 3) / 4;
    unsigned int held[words];
    held[words - 1] = 0;
    memcpy(held, &value, sizeof(T));
#pragma unroll
    for (int k = 0; k < words; ++k) held[k] = __shfl_down_sync(0xffffffffu, held[k], offset);
    T moved = value;
    memcpy(&moved, held, sizeof(T));
    return moved;
}

// The values of 2^bits neighbouring threads, at most 32 or else the whole block; the first of them gets the result. Every
// thread of the block takes part.
template <class T, class Join, class Shared>
__device__ inline T join_threads(T value, unsigned int bits, const Join& join, Shared& slots) {
    for (unsigned int step = bits < 5 ? (1u << bits) / 2 : 16; step > 0; step /= 2)
        value = join(value, shuffle_down(value, step));
    if (bits <= 5) return value;
    const unsigned int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x % 32 == 0) slots[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = slots[threadIdx.x < warps ? threadIdx.x : 0];
        for (unsigned int step = warps / 2; step > 0; step /= 2) value = join(value, shuffle_down(value, step));
    }
    return value;
}

// Of `blocks` blocks that share a counter, which is zero before and afterwards: true in the last one, which sees what all of
// them wrote before.
__device__ inline bool arrives_last(unsigned int* counter, unsigned int blocks) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(counter, blocks - 1) == blocks - 1;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

// parts[first], parts[first + step], ... below `count`, each `pitch` apart; several loads in flight.
template <class T, class Index, class Join>
__device__ inline T join_parts(const T* parts, Index first, Index count, unsigned int step, unsigned int pitch, T total, const Join& join) {
    const int batch = sizeof(T) <= 8 ? 8 : sizeof(T) <= 16 ? 4 : 2;
    for (Index from = first; from < count; from += batch * step) {
        T held[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k) held[k] = parts[static_cast<size_t>(min(from + k * step, count - 1)) * pitch];
#pragma unroll
        for (int k = 0; k < batch; ++k)
            if (from + k * step < count) total = join(total, held[k]);
    }
    return total;
}

// `count` rows of `places` values lie behind one another, `places` a power of two: the threads of a block join them down each
// column, and put(place, joined) is called once for each.
template <class T, class Index, class Join, class Shared, class Put>
__device__ inline void join_columns(const T* parts, Index count, unsigned int places, const T& start, const Join& join, Shared& slots,
                                    const Put& put) {
    const unsigned int subs = places < blockDim.x ? blockDim.x / places : 1, sub = threadIdx.x / places;
    for (unsigned int place = threadIdx.x & (places - 1); place < places; place += blockDim.x) {
        T total = join_parts(parts + place, static_cast<Index>(subs > 1 ? sub : 0), count, subs, places, start, join);
        if (subs > 1) {
            slots[threadIdx.x] = total;
            for (unsigned int half = subs / 2; half > 0; half /= 2) {
                __syncthreads();
                if (sub < half) slots[threadIdx.x] = total = join(total, slots[threadIdx.x + half * places]);
            }
        }
        if (subs == 1 || sub == 0) put(place, total);
    }
}

// `splits` blocks share the `places` results of a tile, and this one, its `part`, has left its own at parts + part * places.
// The last of each group of `fan` blocks joins what the group left, behind the parts, and the last of these blocks what the groups
// left; put(place, joined) is called in that one. A counter for each group and one for all, zero before and afterwards.
template <class T, class Index, class Join, class Shared, class Put>
__device__ inline void finish(T* parts, unsigned int* tickets, Index part, Index splits, Index fan, unsigned int places, const T& start, const Join& join,
                              Shared& slots, const Put& put) {
    const Index groups = (splits + fan - 1) / fan;
    if (groups > 1) {
        const Index group = part / fan, first = group * fan, members = min(splits - first, fan);
        if (!arrives_last(tickets + group, static_cast<unsigned int>(members))) return;
        T* const joined = parts + static_cast<size_t>(splits + group) * places;
        join_columns(parts + static_cast<size_t>(first) * places, members, places, start, join, slots,
                     [&](unsigned int place, const T& total) { joined[place] = total; });
        parts += static_cast<size_t>(splits) * places;
    }
    if (!arrives_last(tickets + groups, static_cast<unsigned int>(groups > 1 ? groups : splits))) return;
    join_columns(parts, groups > 1 ? groups : splits, places, start, join, slots, put);
}

} // namespace quern
