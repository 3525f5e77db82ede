// Sorts of rows that blocks of one thread share: every block has a part of a row, counts what goes where, and moves it there.
#pragma once
#include "quern/cells_cpu.cuh"
#include "quern/parts_cpu.cuh"
#if QUERN_SORT_ROAD == 3
#include "quern/sort_cpu.cuh"
#endif

namespace quern {

// Counts lie by row, then by where values go, then by part: their sums in this order are the places.
__device__ inline void sort_offsets(SortCount* counts, long long entries) {
    SortCount before = 0, *const own = counts + blockIdx.x * entries;
    for (long long k = 0; k < entries; ++k) {
        const SortCount count = own[k];
        own[k] = before;
        before += count;
    }
}

#if QUERN_SORT_ROAD == 2 // by one digit of the keys after another, the lowest first

// A row needs a pass for each digit in which its keys differ; none at all where it stands in order or was merged. Values and
// places go from one room to the other and end where they are wanted.
template <class T> struct Passes {
    int standing, before = 0, after = 0; // passes beside this one
    bool needed;
    __device__ Passes(const Look<T>* looks, long long row, long long splits, int pass, int passes) {
        const Look<T>* const parts = looks + row * splits;
        typename SortKey<T>::Key differing = parts[0].differing, none = typename SortKey<T>::Key();
        for (long long part = 1; part < splits; ++part) add_differing(differing, parts[part].differing, none);
        const RowLook all(parts, splits);
        standing = all.standing;
        for (int k = 0; k < passes; ++k) {
            const bool has = digit_of<8>(differing, 8 * k) != 0;
            before += has && k < pass;
            after += has && k > pass;
            if (k == pass) needed = has && standing == 0 && !all.in_runs;
        }
    }
    template <class Room> __device__ Room* from(Room* first, Room* one, Room* other) const { return before == 0 ? first : after % 2 == 0 ? one : other; }
    template <class Room> __device__ Room* to(Room* one, Room* other, Room* last) const { return after == 0 ? last : after % 2 != 0 ? one : other; }
};

template <class T>
__device__ inline void sort_count(const T* in, long long length, long long splits, long long chunk, SortCount* counts, int shift) {
    const int tables = 4; // neighbours of one digit need not wait for each other
    SortCount own[tables][sort_digits] = {};
    const Part part(length, splits, chunk);
    const T* const row = in + part.row * length;
    const auto add = [&](int table, long long k) { ++own[table][digit_of<8>(SortKey<T>::of(row[k]), shift)]; };
    long long k = part.begin;
    for (; k + tables <= part.end; k += tables)
        for (int t = 0; t < tables; ++t) add(t, k + t);
    for (; k < part.end; ++k) add(0, k);
    for (int d = 0; d < sort_digits; ++d)
        counts[(part.row * sort_digits + d) * splits + part.number] = (own[0][d] + own[1][d]) + (own[2][d] + own[3][d]);
}

template <class T>
__device__ inline void sort_pass(const T* in, T* out, const Places& places, long long length, long long splits, long long chunk,
                                 const SortCount* counts, int shift) {
    SortCount start[sort_digits];
    const Part part(length, splits, chunk);
    const long long base = part.row * length;
    for (int d = 0; d < sort_digits; ++d) start[d] = counts[(part.row * sort_digits + d) * splits + part.number];
    for (long long k = part.begin; k < part.end; ++k) {
        const T value = in[base + k];
        const SortCount to = start[digit_of<8>(SortKey<T>::of(value), shift)]++;
        if (out) out[base + to] = value;
#if QUERN_SORT_PAIRS
        places.put(base, to, places.at(base, k));
#endif
    }
}

#else // dealt out at splitters into cells, each of which is then a row of its own, unless parts are of few runs

const int most_cells = 64, sampled = 16; // of a row; keys looked at for each cell
template <class T> struct Splitters {
    typedef typename SortKey<T>::Key Key;
    Key keys[most_cells - 1], least;
    unsigned long long range; // of keys from the least on, where values are counted rather than dealt out; else 0
    bool finds;               // false where a row need not be dealt out
    // Where a cell's keys begin then. Each part has its counts in the room of its row's cells.
    __device__ unsigned long long first(long long cell, long long cells) const { return range * static_cast<unsigned long long>(cell) / cells; }
};

// A row's splitters are every sixteenth of some keys, which stand about evenly along it.
template <class T>
__device__ inline void sort_splitters(const T* in, unsigned char* cell_of, const Look<T>* looks, Splitters<T>* splitters, long long length,
                                      long long splits, int cells) {
    typedef typename SortKey<T>::Key Key;
    Splitters<T>& made = splitters[blockIdx.x];
    made.range = 0;
    const RowLook row(looks + blockIdx.x * splits, splits);
    made.finds = row.standing == 0 && !row.in_runs;
    if (cells == 1 || !made.finds) return;
    Key keys[most_cells * sampled];
    const int count = cells * sampled;
    each_sampled(in + blockIdx.x * length, length, count, [&](long long k, const T& value) { keys[k] = SortKey<T>::of(value); });
    for (const int gap : {701, 301, 132, 57, 23, 10, 4, 1})
        for (int k = gap; k < count; ++k) {
            const Key key = keys[k];
            int at = k;
            for (; at >= gap && key < keys[at - gap]; at -= gap) keys[at] = keys[at - gap];
            keys[at] = key;
        }
    for (int c = 1; c < cells; ++c) made.keys[c - 1] = keys[c * sampled];
    if constexpr (IsCounted<T>::value) {
        const long long at = blockIdx.x * length;
        long long most;
        aligned_counts(cell_of + at, length, most);
        most = most / splits < length / 8 ? most / splits : length / 8;
        if (static_cast<unsigned long long>(keys[count - 1] - keys[0]) < static_cast<unsigned long long>(most))
            made.range = count_range(in + at, length, most, made.least);
    }
}

// The cell of each value of a part, as many as splitters are not above it, and how many values a cell has.
template <class T>
__device__ inline void sort_count(const T* in, unsigned char* cell_of, const Splitters<T>* splitters, SortCount* counts, long long length,
                                  long long splits, long long chunk, int cells) {
    const Part part(length, splits, chunk);
    unsigned char* const cell = cell_of + part.row * length;
    if (!splitters[part.row].finds) {
        for (int c = 0; c < cells; ++c) counts[(part.row * cells + c) * splits + part.number] = 0;
        return;
    }
    const Splitters<T> above = splitters[part.row];
    if constexpr (IsCounted<T>::value)
        if (above.range != 0) {
            long long room;
            SortCount* const own = aligned_counts(cell, length, room) + part.number * above.range;
            count_values(in + part.row * length, part.begin, part.end, above.least, above.range, own);
            for (int c = 0; c < cells; ++c) {
                SortCount all = 0;
                for (unsigned long long d = above.first(c, cells); d < above.first(c + 1, cells); ++d) all += own[d];
                counts[(part.row * cells + c) * splits + part.number] = all;
            }
            return;
        }
    SortCount reached[most_cells + 1] = {static_cast<SortCount>(part.end - part.begin)};
    count_reached<most_cells - 1>(in + part.row * length, part.begin, part.end, above.keys, cells - 1, reached + 1,
                                  [&](long long k, int count, const auto& found) {
                                      if (count == reached_width)
                                          for (int l = 0; l < reached_width; ++l) cell[k + l] = static_cast<unsigned char>(found[l]);
                                      else
                                          for (int l = 0; l < count; ++l) cell[k + l] = static_cast<unsigned char>(found[l]);
                                  });
    for (int c = 0; c < cells; ++c)
        counts[(part.row * cells + c) * splits + part.number] = reached[c] - (c + 1 < cells ? reached[c + 1] : 0);
}

template <class T>
__device__ inline void sort_deal(const T* in, const unsigned char* cell_of, const Splitters<T>* splitters, T* dealt, SortPlace* places,
                                  const SortCount* counts, long long length, long long splits, long long chunk, int cells) {
    SortCount start[most_cells];
    const Part part(length, splits, chunk);
    if (splitters[part.row].range != 0 || !splitters[part.row].finds) return;
    const long long base = part.row * length;
    for (int c = 0; c < cells; ++c) start[c] = counts[(part.row * cells + c) * splits + part.number];
    for (long long k = part.begin; k < part.end; ++k) {
        const SortCount to = start[cell_of[base + k]]++;
        dealt[base + to] = in[base + k];
#if QUERN_SORT_PAIRS
        places[base + to] = static_cast<SortPlace>(k);
#endif
    }
}

template <class T>
__device__ inline void sort_cells(const T* in, const T* dealt, unsigned char* cell_of, const Look<T>* looks, const Splitters<T>* splitters,
                                  const SortPlace* places, const SortRooms<T>& rooms, bool wanted, const long long* given, long long* result,
                                  const SortCount* counts, long long length, long long splits, int cells) {
    const long long row = blockIdx.x / cells, cell = blockIdx.x - row * cells, first = counts[blockIdx.x * splits],
                    end = cell + 1 < cells ? static_cast<long long>(counts[(blockIdx.x + 1) * splits]) : length, whole = row * length,
                    at = whole + first;
    const Splitters<T>& of = splitters[row];
    if (!of.finds) {
        if (const int stands = standing(looks + row * splits, splits))
            take_standing({in + whole, nullptr}, target_of(rooms, wanted, given, result, whole), length, stands, length * cell / cells,
                          length * (cell + 1) / cells);
        return;
    }
    if constexpr (IsCounted<T>::value) {
        long long room;
        const SortCount* const found = aligned_counts(cell_of + row * length, length, room);
        if (of.range != 0) {
            write_values(rooms.values + at, found, splits, of.range, of.least, of.first(cell, cells), of.first(cell + 1, cells));
            return;
        }
    }
    const SortRooms<T> own = rooms_before(rooms, at, 0);
    if (first < end)
        sort_row(dealt + at, places ? places + at : nullptr, own.values, wanted, own.spare, own.here, own.there, given ? given + whole : nullptr,
                 result ? result + at : nullptr, end - first);
}

#endif

} // namespace quern

extern "C" __global__ void quern_sort_offsets(quern::SortCount* counts, const long long entries) { quern::sort_offsets(counts, entries); }

#if QUERN_SORT_ROAD == 2
typedef quern::Passes<QUERN_T0> QuernPasses;
extern "C" __global__ void quern_sort_count(const QUERN_T0* in, const QUERN_T0* spare, const QUERN_T0* second, const QuernLook* looks,
                                            const long long length, const long long splits, const long long chunk, quern::SortCount* counts,
                                            const long long pass, const long long passes) {
    const QuernPasses own(looks, blockIdx.x / splits, splits, static_cast<int>(pass), static_cast<int>(passes));
    if (own.needed) quern::sort_count(own.from(in, spare, second), length, splits, chunk, counts, static_cast<int>(8 * pass));
}
extern "C" __global__ void quern_sort_pass(const QUERN_T0* in, QUERN_T0* values, QUERN_T0* spare, QUERN_T0* second, quern::SortPlace* here,
                                           quern::SortPlace* there, const long long* given, long long* result, const QuernLook* looks,
                                           const long long length, const long long splits, const long long chunk,
                                           const quern::SortCount* counts, const long long pass, const long long passes) {
    const QuernPasses own(looks, blockIdx.x / splits, splits, static_cast<int>(pass), static_cast<int>(passes));
    if (own.needed) {
        quern::SortPlace* const none = nullptr;
        quern::sort_pass<QUERN_T0>(own.from(in, const_cast<const QUERN_T0*>(spare), const_cast<const QUERN_T0*>(second)), own.to(spare, second, values),
                                   quern::Places{own.from(none, here, there), own.to(here, there, none), given, result}, length, splits, chunk,
                                   counts, static_cast<int>(8 * pass));
    } else if (own.standing != 0 && pass + 1 == passes) {
        const quern::Part part(length, splits, chunk);
        const long long at = part.row * length;
        const quern::SortTarget<QUERN_T0> to = {values ? values + at : nullptr, nullptr, given ? given + at : nullptr, result ? result + at : nullptr};
        quern::take_standing({in + at, nullptr}, to, length, own.standing, part.begin, part.end);
    }
}
#else
typedef quern::Splitters<QUERN_T0> QuernSplitters;
extern "C" __global__ void quern_sort_splitters(const QUERN_T0* in, unsigned char* cell_of, const QuernLook* looks, QuernSplitters* splitters,
                                                const long long length, const long long splits, const long long cells) {
    quern::sort_splitters(in, cell_of, looks, splitters, length, splits, static_cast<int>(cells));
}
extern "C" __global__ void quern_sort_count(const QUERN_T0* in, unsigned char* cell_of, const QuernSplitters* splitters, quern::SortCount* counts,
                                            const long long length, const long long splits, const long long chunk, const long long cells) {
    quern::sort_count(in, cell_of, splitters, counts, length, splits, chunk, static_cast<int>(cells));
}
extern "C" __global__ void quern_sort_deal(const QUERN_T0* in, const unsigned char* cell_of, const QuernSplitters* splitters, QUERN_T0* dealt,
                                           quern::SortPlace* places, const quern::SortCount* counts, const long long length,
                                           const long long splits, const long long chunk, const long long cells) {
    quern::sort_deal(in, cell_of, splitters, dealt, places, counts, length, splits, chunk, static_cast<int>(cells));
}
extern "C" __global__ void quern_sort_cells(const QUERN_T0* in, const QUERN_T0* dealt, unsigned char* cell_of, const QuernLook* looks,
                                            const QuernSplitters* splitters, const quern::SortPlace* places, QUERN_T0* values,
                                            const long long wanted, QUERN_T0* spare, quern::SortPlace* here, quern::SortPlace* there,
                                            const long long* given, long long* result, const quern::SortCount* counts, const long long length,
                                            const long long splits, const long long cells) {
    quern::sort_cells<QUERN_T0>(in, dealt, cell_of, looks, splitters, places, {values, spare, here, there}, wanted != 0, given, result, counts,
                                length, splits, static_cast<int>(cells));
}
#endif
