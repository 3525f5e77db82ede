// Sorts of longer rows by blocks of one thread.
#pragma once
#include "quern/exchange_cpu.cuh"
#include "quern/runs_cpu.cuh"
#if QUERN_VECTORS
#include "quern/sort_vectors_cpu.cuh"
#endif

namespace quern {

// A row from its leading digits down. What is long is dealt out into cells, and each of them again; what fits the nearest cache
// into 65536 by two passes, the lower digit first, and what they leave in disorder, mostly little, is put right by insertion on
// the way to its place. All of this keeps equal keys in their order.

// What moves: values as they are, or of floats among which there is no NaN and no -0.0 their keys.
template <class T, bool as_keys> struct Moved {
    typedef T Item;
    typedef typename SortKey<T>::Key Key;
    static __device__ Item of(const T& value) { return value; }
    static __device__ Key key(const Item& item) { return SortKey<T>::of(item); }
    static __device__ T value(const Item& item) { return item; }
};
template <class T> struct Moved<T, true> {
    typedef typename Ordered<T>::Key Item, Key;
    static const int top = 8 * sizeof(Key) - 1;
    static __device__ Item of(const T& value) {
        Key bits;
        memcpy(&bits, &value, sizeof bits);
        return static_cast<Key>(bits ^ ((static_cast<Key>(0) - (bits >> top)) | static_cast<Key>(1) << top));
    }
    static __device__ Key key(const Item& item) { return item; }
    static __device__ T value(const Item& item) { return Ordered<T>::value(item); }
};
template <class T> struct MovesKeys { static const bool worth = false; };
template <> struct MovesKeys<float> { static const bool worth = true; };
template <> struct MovesKeys<double> { static const bool worth = true; };

// The least and the greatest key of a row; false with a value that its key does not bring back.
template <class T, bool as_keys, class Key> __device__ inline bool find_range(const T* row, long long length, Key& least, Key& most) {
    typedef Moved<T, as_keys> Move;
    least = most = Move::key(Move::of(row[0]));
    bool minus_zero = false;
    for (long long k = 0; k < length; ++k) {
        const Key key = Move::key(Move::of(row[k]));
        least = key < least ? key : least;
        most = most < key ? key : most;
        if constexpr (as_keys) minus_zero |= key == static_cast<Key>(Ordered<T>::sign - 1);
    }
    if constexpr (as_keys) {
        const T infinity = static_cast<T>(__int_as_float(0x7f800000));
        return !minus_zero && Move::of(-infinity) <= least && most <= Move::of(infinity); // NaN lie outside
    }
    return true;
}

// Items with their places where QUERN_SORT_PAIRS says so, and a row with the places that it brings, or those where it stands.
template <class Move> struct Items {
    typename Move::Item* values;
    SortPlace* places;
    __device__ typename Move::Item item(long long k) const { return values[k]; }
    __device__ SortPlace place(long long k) const { return QUERN_SORT_PAIRS ? places[k] : 0; }
};
template <class T, class Move> struct Row {
    const T* values;
    const SortPlace* places;
    __device__ typename Move::Item item(long long k) const { return Move::of(values[k]); }
    __device__ SortPlace place(long long k) const { return places ? places[k] : static_cast<SortPlace>(k); }
};

// Cells in the order of keys: by the bits of keys, or by the values of a row of floats, which mostly spread better.
template <class Move> struct KeyCells {
    typename Move::Key least;
    int shift;
    __device__ unsigned int of_item(const typename Move::Item& item) const {
        return low_bits(shifted(difference(Move::key(item), least), shift));
    }
    template <class From> __device__ unsigned int of(const From& from, long long k) const { return of_item(from.item(k)); }
};
template <class T> struct ValueCells {
    T least, scale;
    // The last bits of a sum with a number so large that they count ones.
    template <class From> __device__ unsigned int of(const From& from, long long k) const {
        const T sum = (from.values[k] - least) * scale + static_cast<T>(sizeof(T) == 4 ? 8388608.0 : 4503599627370496.0);
        unsigned int low;
        memcpy(&low, &sum, sizeof low);
        return low & 0xffff;
    }
};
template <class T> __device__ inline bool spread(const T& least, const T& most, int cells, ValueCells<T>& made) {
    made.least = least;
    made.scale = (static_cast<T>(cells) - static_cast<T>(1.25)) / (most - least);
    return made.scale > 0 && made.scale - made.scale == 0; // neither the range nor the scale is infinite
}

template <class T, bool as_keys> struct RowSort {
    typedef Moved<T, as_keys> Move;
    typedef typename Move::Key Key;
    typedef typename Move::Item Item;
    typedef quern::Items<Move> Items;
    typedef quern::Row<T, Move> Row;
    static const int digits = 256, most_cells = 1024, few = 24, short_ones = 256,
                     fits = 32768 / sizeof(Item);

    Items here, there; // both as long as the row
    T* values;         // results, of which the values may lie where `here` does
    const long long* given;
    long long* places;

    __device__ inline void put(long long k, const Item& item, SortPlace place) const {
        values[k] = Move::value(item);
#if QUERN_SORT_PAIRS
        places[k] = given ? given[place] : static_cast<long long>(place);
#endif
    }
    template <class From> __device__ inline void finish(const From& from, long long begin, long long end) const {
        for (long long k = begin; k < end; ++k) put(k, from.item(k), from.place(k));
    }
    __device__ static inline void copy(const Items& from, const Items& to, long long begin, long long end) {
        QUERN_PLAIN_LOOP
        for (long long k = begin; k < end; ++k) to.values[k] = from.values[k];
#if QUERN_SORT_PAIRS
        QUERN_PLAIN_LOOP
        for (long long k = begin; k < end; ++k) to.places[k] = from.places[k];
#endif
    }

    // Counts become where their cells begin; the largest of them.
    __device__ static inline SortCount add_up(SortCount* counts, const SortCount* others, int cells, long long begin) {
        SortCount before = static_cast<SortCount>(begin), largest = 0;
        QUERN_PLAIN_LOOP
        for (int d = 0; d < cells; ++d) {
            const SortCount own = counts[d] + others[d];
            counts[d] = before;
            before += own;
            largest = largest < own ? own : largest;
        }
        return largest;
    }
    // Items to where their cells begin, by the bits of the cell's number above `shift` and below `mask`.
    template <class From, class Cells>
    __device__ static inline void deal(const From& from, const Items& to, long long begin, long long end, const Cells& cells, int shift,
                                       unsigned int mask, SortCount* starts) {
        for (long long k = begin; k < end; ++k) {
            const SortCount at = starts[cells.of(from, k) >> shift & mask]++;
            to.values[at] = from.item(k);
#if QUERN_SORT_PAIRS
            to.places[at] = from.place(k);
#endif
        }
    }

    // By insertion to their places; false where that takes more than `moves`, and then `from` is left as it was.
    template <class From> __device__ inline bool insert(const From& from, long long begin, long long end, long long moves) const {
        Key before = Move::key(from.item(begin));
        put(begin, from.item(begin), from.place(begin));
        for (long long k = begin + 1; k < end; ++k) {
            const Item item = from.item(k);
            const Key key = Move::key(item);
            long long at = k;
            if (key < before) {
                QUERN_PLAIN_LOOP
                for (; at > begin && key < Move::key(Move::of(values[at - 1])); --at) {
                    values[at] = values[at - 1];
#if QUERN_SORT_PAIRS
                    places[at] = places[at - 1];
#endif
                }
                moves -= k - at;
                if (moves < 0) return false;
            } else {
                before = key;
            }
            put(at, item, from.place(k));
        }
        return true;
    }

    // Sorts by way of some cells, of which each is sorted then. With `even` false, and nothing done, where one has too much.
    template <class From, class Cells>
    __device__ __noinline__ bool sort_long(const From& from, const Items& to, long long begin, long long end, const Cells& of, int cells, bool even,
                                           bool exact) {
        SortCount starts[most_cells], others[most_cells];
        QUERN_PLAIN_LOOP
        for (int d = 0; d < cells; ++d) starts[d] = others[d] = 0;
        for (long long k = begin; k + 1 < end; k += 2) { // two tables, so that neighbours of one cell need not wait for each other
            ++starts[of.of(from, k)];
            ++others[of.of(from, k + 1)];
        }
        if ((end - begin) % 2) ++starts[of.of(from, end - 1)];
        if (add_up(starts, others, cells, begin) > (end - begin) / 8 && even) return false;
        deal(from, to, begin, end, of, 0, ~0u, starts);
        if (exact)
            finish(to, begin, end);
        else
            QUERN_PLAIN_LOOP
            for (int d = 0; d < cells; ++d) {
                const long long first = d ? starts[d - 1] : begin, last = starts[d];
                if (first < last) sort(to, first, last);
            }
        return true;
    }

    // Likewise by way of 65536 cells, or as many as one pass has. The last pass goes `there`, insertion from there to the result.
    template <class From>
    __device__ inline void sort_near(const From& from, long long begin, long long end, const KeyCells<Move>& of, bool exact, int passes) {
        SortCount starts[digits], others[digits];
        if (passes == 1) {
            QUERN_PLAIN_LOOP
            for (int d = 0; d < digits; ++d) starts[d] = others[d] = 0;
            for (long long k = begin; k < end; ++k) ++starts[of.of(from, k)];
            add_up(starts, others, digits, begin);
            deal(from, there, begin, end, of, 0, ~0u, starts);
        } else {
            SortCount low[digits], more[digits];
            QUERN_PLAIN_LOOP
            for (int d = 0; d < digits; ++d) starts[d] = others[d] = low[d] = more[d] = 0;
            const auto count = [&](long long k, SortCount* lower, SortCount* higher) {
                const unsigned int cell = of.of(from, k);
                ++lower[cell & (digits - 1)];
                ++higher[cell >> 8];
            };
            for (long long k = begin; k + 1 < end; k += 2) {
                count(k, low, starts);
                count(k + 1, more, others);
            }
            if ((end - begin) % 2) count(end - 1, low, starts);
            add_up(low, more, digits, begin);
            add_up(starts, others, digits, begin);
            deal(from, here, begin, end, of, 0, digits - 1, low);
            deal(here, there, begin, end, of, 8, ~0u, starts);
        }
        if (exact) {
            finish(there, begin, end);
            return;
        }
        if (insert(there, begin, end, 4 * (end - begin))) return;
        QUERN_PLAIN_LOOP
        for (long long first = begin, last; first < end; first = last) {
            const unsigned int cell = of.of(there, first);
            QUERN_PLAIN_LOOP
            for (last = first + 1; last < end && of.of(there, last) == cell;) ++last;
            sort(there, first, last);
        }
    }

    struct Steps {
        int passes, bits; // no pass: by cells, of which each is sorted by itself
        __device__ Steps(long long length, int width) {
            passes = length > fits ? 0 : width <= 8 || length <= short_ones ? 1 : 2;
            bits = passes == 2 ? 16 : 8;
            while (passes == 0 && bits < 10 && length >> bits > fits / 8) ++bits;
        }
    };

    // [begin, end) of `here` or `there`.
    __device__ __noinline__ void sort(const Items& given_items, long long begin, long long end) {
        Items from = given_items;
        const long long length = end - begin;
        const bool from_here = from.values == here.values;
        if (length <= few && !from_here) {
            insert(from, begin, end, few * few);
            return;
        }
        Key least = Move::key(from.values[begin]), most = least;
        for (long long k = begin + 1; k < end; ++k) {
            const Key key = Move::key(from.values[k]);
            least = key < least ? key : least;
            most = most < key ? key : most;
        }
        const int width = bits_of(difference(most, least));
        if (width == 0) {
            finish(from, begin, end);
            return;
        }
        const Steps steps(length, width);
        const KeyCells<Move> cells = {least, width > steps.bits ? width - steps.bits : 0};
        if (steps.passes == 0) {
            sort_long(from, from_here ? there : here, begin, end, cells, 1 << steps.bits, false, width <= steps.bits);
            return;
        }
        if (from_here == (steps.passes == 2)) {
            const Items other = from_here ? there : here;
            copy(from, other, begin, end);
            from = other;
        }
        sort_near(from, begin, end, cells, width <= steps.bits, steps.passes);
    }

    __device__ inline void sort_row(const Row& from, long long length, const Key& least, const Key& most) {
        const int width = bits_of(difference(most, least));
        if (width == 0) {
            finish(from, 0, length);
            return;
        }
        const Steps steps(length, width);
        const KeyCells<Move> cells = {least, width > steps.bits ? width - steps.bits : 0};
        if (steps.passes > 0) {
            sort_near(from, 0, length, cells, width <= steps.bits, steps.passes);
            return;
        }
        if constexpr (as_keys) {
            ValueCells<T> by_value;
            if (spread(Move::value(least), Move::value(most), 1 << steps.bits, by_value) &&
                sort_long(from, there, 0, length, by_value, 1 << steps.bits, true, false))
                return;
        }
        sort_long(from, there, 0, length, cells, 1 << steps.bits, false, width <= steps.bits);
    }
};

// Values that their keys bring back are counted and written anew where there are few.
template <class T> struct IsCounted { static const bool value = false; };
#if !QUERN_SORT_PAIRS
#define QUERN_COUNTED(T)                                                                                                       \
    template <> struct IsCounted<T> { static const bool value = true; };
QUERN_COUNTED(bool)
QUERN_COUNTED(signed char)
QUERN_COUNTED(unsigned char)
QUERN_COUNTED(short)
QUERN_COUNTED(unsigned short)
QUERN_COUNTED(int)
QUERN_COUNTED(unsigned int)
QUERN_COUNTED(long long)
QUERN_COUNTED(unsigned long long)
#undef QUERN_COUNTED
#endif

// How many keys there are from the least to the greatest of a row's; 0 where they are more than `most`.
template <class T> __device__ inline unsigned long long count_range(const T* in, long long length, long long most, typename Ordered<T>::Key& least) {
    typedef typename Ordered<T>::Key Key;
    Key greatest = least = Ordered<T>::key(in[0]);
    const auto look = [&](long long begin, long long end) { // 0: all that 64 bits have
        for (long long k = begin; k < end; ++k) {
            const Key key = Ordered<T>::key(in[k]);
            least = key < least ? key : least;
            greatest = greatest < key ? key : greatest;
        }
        const unsigned long long range = static_cast<unsigned long long>(greatest - least) + 1;
        return range <= static_cast<unsigned long long>(most) ? range : 0;
    };
    return look(0, length < 64 ? length : 64) ? look(0, length) : 0;
}
const int few_values = 256; // of which counts lie beside each other in the nearest cache

// How often in[begin, end) has each of `range` keys from `least` on.
template <class T>
__device__ inline void count_values(const T* in, long long begin, long long end, typename Ordered<T>::Key least, unsigned long long range,
                                    SortCount* counts) {
    typedef typename Ordered<T>::Key Key;
    const int tables = 4;
    const auto at = [&](long long k) { return static_cast<Key>(Ordered<T>::key(in[k]) - least); };
    if (range > few_values) {
        for (unsigned long long d = 0; d < range; ++d) counts[d] = 0;
        for (long long k = begin; k < end; ++k) ++counts[at(k)];
        return;
    }
    SortCount apart[tables][few_values]; // so that neighbours of one value, and blocks, need not wait for each other
    for (int t = 0; t < tables; ++t)
        for (unsigned long long d = 0; d < range; ++d) apart[t][d] = 0;
    long long k = begin;
    for (; k + tables <= end; k += tables)
        for (int t = 0; t < tables; ++t) ++apart[t][at(k + t)];
    for (; k < end; ++k) ++apart[0][at(k)];
    for (unsigned long long d = 0; d < range; ++d) counts[d] = (apart[0][d] + apart[1][d]) + (apart[2][d] + apart[3][d]);
}
// Those of some parts, each with counts of its own behind the others', for keys [first, end) of `range`.
template <class T>
__device__ inline void write_values(T* out, const SortCount* counts, long long parts, unsigned long long range, typename Ordered<T>::Key least,
                                    unsigned long long first, unsigned long long end) {
    typedef typename Ordered<T>::Key Key;
    for (unsigned long long d = first; d < end; ++d) {
        const T value = Ordered<T>::value(static_cast<Key>(least + static_cast<Key>(d)));
        SortCount count = 0;
        for (long long part = 0; part < parts; ++part) count += counts[part * range + d];
        for (SortCount c = 0; c < count; ++c) out[c] = value;
        out += count;
    }
}
template <class T> __device__ inline bool write_counted(const T* in, T* out, T* spare, long long length) {
    SortCount own[few_values];
    long long most;
    SortCount* const room = aligned_counts(spare, length * static_cast<long long>(sizeof(T)), most);
    if (most < few_values) most = few_values;
    typename Ordered<T>::Key least;
    const unsigned long long range = count_range(in, length, most < length / 8 ? most : length / 8, least);
    if (range == 0) return false;
    SortCount* const counts = range <= few_values ? own : room;
    count_values(in, 0, length, least, range, counts);
    write_values(out, counts, 1, range, least, 0, range);
    return true;
}

// One row. `in` stays as it is; `spare`, and with places `here` and `there`, are as long as it is, as are `values`, whether they
// are wanted or not.
template <class T>
__device__ inline void sort_row(const T* in, const SortPlace* places, T* values, bool wanted, T* spare, SortPlace* here, SortPlace* there,
                                const long long* given, long long* result, long long length) {
    const SortSource<T> from = {in, places};
    const SortTarget<T> to = {wanted ? values : nullptr, nullptr, given, result};
    if (const int stands = standing(in, length, 0, length)) {
        take_standing(from, to, length, stands, 0, length);
        return;
    }
#if QUERN_SORT_ROAD == 1 // cells are of rows that were looked at
    SortPlace* const astray = astray_room(spare);
    Runs runs;
    find_runs(in, 0, length, runs, astray);
    if (runs.count > 0) {
        sort_runs(from, runs, astray, {values, spare, here, there}, to);
        return;
    }
    if (settle_near(from, 0, length, values, here)) {
        to.take_places(0, length, here, Onward{0});
        return;
    }
#endif
    if constexpr (IsCounted<T>::value)
        if (write_counted(in, values, spare, length)) return;
#if QUERN_VECTORS
    VectorSort<T>{values, spare}.sort(in, length);
#else
    const auto run = [&](auto moves_keys) {
        typedef RowSort<T, decltype(moves_keys)::worth> Sort;
        typedef typename Sort::Item Item;
        typename Sort::Key least, most;
        if (!find_range<T, decltype(moves_keys)::worth>(in, length, least, most)) return false;
        Sort{{reinterpret_cast<Item*>(values), here}, {reinterpret_cast<Item*>(spare), there}, values, given, result}.sort_row(
            {in, places}, length, least, most);
        return true;
    };
    if (!run(MovesKeys<T>())) run(MovesKeys<void>());
#endif
}

#if QUERN_SORT_ROAD == 1

template <class T>
__device__ inline void sort_rows(const T* in, T* out, T* spare, T* second, SortPlace* here, SortPlace* there, const long long* given,
                                 long long* result, long long rows, long long length, long long rows_per_block) {
    const long long begin = blockIdx.x * rows_per_block, end = begin + rows_per_block < rows ? begin + rows_per_block : rows,
                    own = blockIdx.x * length; // of the block's room
    for (long long row = begin; row < end; ++row) {
        const long long at = row * length;
        sort_row(in + at, nullptr, out ? out + at : second + own, out != nullptr, spare + own, here ? here + own : nullptr, there ? there + own : nullptr,
                 given ? given + at : nullptr, result ? result + at : nullptr, length);
    }
}

#endif

} // namespace quern

#if QUERN_SORT_ROAD == 1
extern "C" __global__ void quern_sort_rows(const QUERN_T0* in, QUERN_T0* out, QUERN_T0* spare, QUERN_T0* second, quern::SortPlace* here,
                                           quern::SortPlace* there, const long long* given, long long* result, const long long rows,
                                           const long long length, const long long rows_per_block) {
    quern::sort_rows(in, out, spare, second, here, there, given, result, rows, length, rows_per_block);
}
#endif
