// Selection by blocks of one thread. A sample tells between which keys each wanted rank will lie; what lies below is counted, what
// lies between is listed, and the lists, which are short, are divided at pivots. Short rows are divided as they are.
#pragma once
#include "quern/bits.cuh"
#include "quern/cells_cpu.cuh"
#include "quern/partition_cpu.cuh"
#include "quern/select.cuh"

namespace quern {

__device__ inline void heap_sort(long long* values, long long count) {
    const auto sink = [&](long long at, long long end) {
        const long long value = values[at];
        for (long long child = 2 * at + 1; child < end; at = child, child = 2 * at + 1) {
            child += child + 1 < end && values[child] < values[child + 1];
            if (values[child] <= value) break;
            values[at] = values[child];
        }
        values[at] = value;
    };
    for (long long at = count / 2 - 1; at >= 0; --at) sink(at, count);
    for (long long end = count - 1; end > 0; --end) {
        const long long most = values[0];
        values[0] = values[end];
        values[end] = most;
        sink(0, end);
    }
}

const int most_brackets = 16, most_edges = 4 * most_brackets + 1; // of a row

// Four edges a bracket, that rise: what lies between the first two is alike, so is what lies between the last two, and what lies
// between the second and the third is listed. Where there is NaN its key is the last edge.
template <class T> struct Brackets {
    typedef typename SortKey<T>::Key Key;
    long long count; // edges
    Key edges[most_edges];
    __device__ void add(Key key) {
        edges[count] = count > 0 && key < edges[count - 1] ? edges[count - 1] : key;
        ++count;
    }
};
enum CellKind { cell_outside, cell_first, cell_listed, cell_last };
__device__ inline CellKind kind_of(int cell) { return static_cast<CellKind>(cell % 4); }

// What a block found in its part.
struct PartFound {
    long long listed;
    unsigned long long reached[most_edges];
};

// The two ranks of each place, all in order.
__device__ inline void wanted_ranks(long long* wanted, const double* q, long long places, double n, int method) {
    for (long long k = 0; k < places; ++k) {
        const Place place = place_of(method, n, q[k]);
        wanted[2 * k] = place.low;
        wanted[2 * k + 1] = place.high;
    }
    heap_sort(wanted, 2 * places);
}

// From `sampled` values of a row, by way of `here` and `there`.
template <class T>
__device__ inline void find_brackets(const T* row, long long length, const double* q, long long places, int method, bool skip_nan,
                                     Brackets<T>& brackets, T* here, T* there, long long* wanted, long long sampled) {
    typedef typename SortKey<T>::Key Key;
    long long nans = 0;
    each_sampled(row, length, sampled, [&](long long k, const T& value) {
        here[k] = value;
        if (Ordered<T>::has_nan) nans += value != value;
    });
    const double n = skip_nan ? static_cast<double>(length) * (1 - static_cast<double>(nans) / sampled) : static_cast<double>(length);
    wanted_ranks(wanted, q, places, n, method);
    long long bounds[2 * most_brackets], begun = 0; // of the sample: where brackets begin and end
    for (long long k = 0; k < 2 * places; ++k) {
        const double share = (static_cast<double>(wanted[k]) + 0.5) / static_cast<double>(length), at = share * sampled;
        const double margin = 4 * sqrt(at * (share < 1 ? 1 - share : 0)) + 1; // four standard deviations
        const long long low = static_cast<long long>(floor(at - margin)), high = static_cast<long long>(ceil(at + margin));
        if (begun > 0 && low <= bounds[2 * begun - 1]) {
            bounds[2 * begun - 1] = high;
            continue;
        }
        bounds[2 * begun] = low;
        bounds[2 * begun + 1] = high;
        ++begun;
    }
    const bool from_least = bounds[0] < 0, to_most = bounds[2 * begun - 1] >= sampled;
    Partition<T>{{here, nullptr}, {there, nullptr}}.divide_at({here, nullptr}, 0, sampled, bounds + from_least,
                                                             2 * begun - from_least - to_most);
    Key last;
    last_key(last);
    brackets.count = 0;
    for (long long b = 0; b < begun; ++b) {
        const bool closed_below = bounds[2 * b] >= 0, closed_above = bounds[2 * b + 1] < sampled;
        const Key low = closed_below ? SortKey<T>::of(here[bounds[2 * b]]) : Key();
        brackets.add(low);
        if (closed_below && low == last) break;
        brackets.add(static_cast<Key>(low + closed_below));
        if (!closed_above && !Ordered<T>::has_nan) break;
        const Key high = closed_above ? SortKey<T>::of(here[bounds[2 * b + 1]]) : last;
        const bool alike = closed_below && high == low;
        brackets.add(static_cast<Key>(high + alike));
        if (high == last) break;
        brackets.add(static_cast<Key>(high + 1));
    }
    if (Ordered<T>::has_nan) {
        while (brackets.count % 4 != 0) brackets.add(last);
        brackets.add(last);
    }
}

// Counts and lists the values of row[begin, end).
template <class T>
__device__ inline void list_between(const T* row, long long begin, long long end, const Brackets<T>& brackets, PartFound& part, T* list) {
    T* next = list;
    count_reached<most_edges>(row, begin, end, brackets.edges, static_cast<int>(brackets.count), part.reached,
                              [&](long long k, int count, const auto& found) {
                                  unsigned char listed[reached_width];
                                  for (int l = 0; l < reached_width; ++l) listed[l] = (found[l] & 3) == cell_listed;
                                  unsigned int bits = bits_of_32<false>(listed);
                                  if (count < reached_width) bits &= (1u << count) - 1;
                                  for (; bits; bits &= bits - 1) *next++ = row[k + __ffs(static_cast<int>(bits)) - 1];
                              });
    part.listed = next - list;
}

// The results of a row: from its `splits` lists, each `chunk` behind the one before in `here`, or without `brackets` from the row
// as it is. `ranked`: of how many values `wanted` has the ranks, or -1.
template <class T, class R>
__device__ inline void finish_row(const T* row, long long length, const double* q, long long places, R* out, long long step, int method,
                                  bool skip_nan, const Brackets<T>* brackets, const PartFound* parts, long long splits, long long chunk,
                                  T* here, T* there, long long* wanted, long long& ranked) {
    typedef typename SortKey<T>::Key Key;
    const int count = brackets ? static_cast<int>(brackets->count) : 0;
    // The rank where each cell begins, and of those that are listed where they begin in the list.
    long long begins[most_edges + 2], listed_at[most_edges + 1], listed = 0, nans = 0;
    begins[0] = 0;
    begins[count + 1] = length;
    for (int e = 0; e < count; ++e) {
        begins[e + 1] = length;
        for (long long p = 0; p < splits; ++p) begins[e + 1] -= static_cast<long long>(parts[p].reached[e]);
    }
    for (int c = 0; c <= count; ++c) {
        listed_at[c] = listed;
        if (kind_of(c) == cell_listed) listed += begins[c + 1] - begins[c];
    }
    const auto cell_of = [&](long long rank) {
        int cell = 0;
        while (cell < count && begins[cell + 1] <= rank) ++cell;
        return cell;
    };
    if (Ordered<T>::has_nan && brackets)
        nans = length - begins[count];
    else if (Ordered<T>::has_nan)
        for (long long k = 0; k < length; ++k) nans += row[k] != row[k];
    const long long n = length - (skip_nan ? nans : 0);
    const bool is_nan = skip_nan ? n == 0 : nans > 0;
    bool divided = !brackets; // or where a rank is missed by its bracket
    if (!is_nan) {
        const Partition<T> partition = {{here, nullptr}, {there, nullptr}};
        const long long all = 2 * places;
        if (ranked != n) wanted_ranks(wanted, q, places, static_cast<double>(n), method);
        ranked = brackets ? -1 : n;
        for (long long k = 0; k < all; ++k) divided |= kind_of(cell_of(wanted[k])) == cell_outside;
        if (divided) {
            partition.divide_at({const_cast<T*>(row), nullptr}, 0, length, wanted, all);
        } else {
            long long kept = 0;
            for (long long k = 0; k < all; ++k) {
                const int cell = cell_of(wanted[k]);
                if (kind_of(cell) == cell_listed) wanted[kept++] = listed_at[cell] + wanted[k] - begins[cell];
            }
            T* next = here;
            for (long long p = 0; p < splits; ++p) {
                const T* const list = here + p * chunk;
                for (long long k = 0; k < parts[p].listed; ++k) *next++ = list[k];
            }
            partition.divide_at({here, nullptr}, 0, listed, wanted, kept);
        }
    }
    const auto key_at = [&](long long rank) {
        if (is_nan) return Key();
        if (divided) return SortKey<T>::of(here[rank]);
        const int cell = cell_of(rank);
        return kind_of(cell) == cell_listed ? SortKey<T>::of(here[listed_at[cell] + rank - begins[cell]]) : brackets->edges[cell - 1];
    };
    for (long long k = 0; k < places; ++k) {
        const Place place = place_of(method, static_cast<double>(n), q[k]);
        out[k * step] = quantile<T, R>(key_at(place.low), key_at(place.high), place.part, method, is_nan);
    }
}

// A block takes a row after the other. No value `sampled`: rows are divided as they are.
template <class T, class R>
__device__ inline void select_rows(const T* data, long long rows, long long length, const double* q, long long places, R* out, int method,
                                   bool skip_nan, T* room, long long* ranks, long long sampled) {
    T *const here = room + 2 * blockIdx.x * length, *const there = here + length;
    long long* const wanted = ranks + 2 * blockIdx.x * places;
    Brackets<T> brackets;
    PartFound found;
    long long ranked = -1;
    for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
        const T* const row = data + r * length;
        if (sampled) {
            find_brackets(row, length, q, places, method, skip_nan, brackets, here, there, wanted, sampled);
            list_between(row, 0, length, brackets, found, here);
        }
        finish_row(row, length, q, places, out + r, rows, method, skip_nan, sampled ? &brackets : nullptr, &found, sampled ? 1 : 0, length, here,
                   there, wanted, ranked);
    }
}

// Or several blocks share a row: one samples it, each lists its part, and one goes on with the lists.
template <class T>
__device__ inline void select_brackets(const T* data, long long length, const double* q, long long places, int method, bool skip_nan,
                                       unsigned char* searches, T* room, long long* ranks, long long sampled) {
    const long long row = blockIdx.x;
    T* const here = room + 2 * row * length;
    find_brackets(data + row * length, length, q, places, method, skip_nan, reinterpret_cast<Brackets<T>*>(searches)[row], here, here + length,
                  ranks + 2 * row * places, sampled);
}
template <class T>
__device__ inline void select_gather(const T* data, long long length, long long splits, long long chunk, const unsigned char* searches,
                                     PartFound* parts, T* room) {
    const Part part(length, splits, chunk);
    const Brackets<T> brackets = reinterpret_cast<const Brackets<T>*>(searches)[part.row];
    list_between(data + part.row * length, part.begin, part.end, brackets, parts[blockIdx.x], room + 2 * part.row * length + part.begin);
}
template <class T, class R>
__device__ inline void select_finish(const T* data, long long rows, long long length, const double* q, long long places, R* out, int method,
                                     bool skip_nan, const unsigned char* searches, const PartFound* parts, long long splits, long long chunk,
                                     T* room, long long* ranks) {
    const long long row = blockIdx.x;
    T* const here = room + 2 * row * length;
    long long ranked = -1;
    finish_row(data + row * length, length, q, places, out + row, rows, method, skip_nan, reinterpret_cast<const Brackets<T>*>(searches) + row,
               parts + row * splits, splits, chunk, here, here + length, ranks + 2 * row * places, ranked);
}

} // namespace quern
