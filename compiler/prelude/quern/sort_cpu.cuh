// Sorts by blocks of one thread. Digits that all keys of a row share are passed over.
#pragma once

namespace quern {

// What a row's passes look at. Floats of which none is NaN or -0.0 become their keys in the first pass and values again in the
// last one.
template <class T, bool careful> struct CpuKey {
    typedef typename SortKey<T>::Key Key;
    static __device__ Key of(const T& value, bool) { return SortKey<T>::of(value); }
    static __device__ T moved(const T& value, const Key&, bool) { return value; }
};
template <class T, class Bits> struct PlainKey {
    typedef Bits Key;
    static const int top = 8 * sizeof(Bits) - 1;
    static __device__ Bits of(const T& value, bool first) {
        Bits bits;
        memcpy(&bits, &value, sizeof bits);
        return first ? static_cast<Bits>(bits ^ ((static_cast<Bits>(0) - (bits >> top)) | static_cast<Bits>(1) << top)) : bits;
    }
    static __device__ T moved(const T&, Bits key, bool last) {
        if (last) key = static_cast<Bits>(key ^ (((key >> top) - static_cast<Bits>(1)) | static_cast<Bits>(1) << top));
        T value;
        memcpy(&value, &key, sizeof value);
        return value;
    }
};
template <> struct CpuKey<float, false> : PlainKey<float, unsigned int> {};
template <> struct CpuKey<double, false> : PlainKey<double, unsigned long long> {};
template <class T> __device__ inline bool wants_care(const T*, long long) { return false; }
template <class Bits, class T> __device__ inline bool has_special(const T* values, long long length) {
    const Bits minus_zero = static_cast<Bits>(1) << (8 * sizeof(Bits) - 1);
    Bits found = 0;
    for (long long k = 0; k < length; ++k) {
        Bits bits;
        memcpy(&bits, values + k, sizeof bits);
        found |= static_cast<Bits>(bits == minus_zero) | static_cast<Bits>(values[k] != values[k]);
    }
    return found;
}
__device__ inline bool wants_care(const float* values, long long length) { return has_special<unsigned int>(values, length); }
__device__ inline bool wants_care(const double* values, long long length) { return has_special<unsigned long long>(values, length); }

#if QUERN_SORT_ROAD == 0

const int most_merged = 256;

#if !QUERN_SORT_PAIRS
// As many rows at once as keys fit 64 bytes, by Batcher's odd-even merges: every exchange is that of two vectors. Only keys
// that are values again afterwards: false with a NaN or a -0.0 among floats, and nothing is written then.
template <class T> __device__ inline bool sort_lanes(const T* in, T* out, int length) {
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
    for (int width = 1; width < length; width *= 2)
        for (int apart = width; apart > 0; apart /= 2)
            for (int first = apart % width; first + apart < length; first += 2 * apart)
                for (int k = first; k < first + apart && k + apart < length; ++k) {
                    if ((k & -2 * width) != ((k + apart) & -2 * width)) continue;
                    Key *const a = keys[k], *const b = keys[k + apart];
                    for (int lane = 0; lane < lanes; ++lane) {
                        const Key one = a[lane], other = b[lane];
                        a[lane] = one < other ? one : other;
                        b[lane] = one < other ? other : one;
                    }
                }
    for (int lane = 0; lane < lanes; ++lane)
        for (int k = 0; k < length; ++k) out[lane * length + k] = Order::value(keys[k][lane]);
    return true;
}
#ifdef QUERN_HAS_COMPLEX
template <class T> __device__ inline bool sort_lanes(const complex<T>*, complex<T>*, int) { return false; }
#endif
template <class T> constexpr int lanes_of() { return 64 / static_cast<int>(sizeof(T)); }
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
#if !QUERN_SORT_PAIRS
        if (end - row >= lanes_of<T>() && sort_lanes(in + row * length, out + row * length, count)) {
            row += lanes_of<T>() - 1;
            continue;
        }
#endif
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

#elif QUERN_SORT_ROAD == 1

// One pass over a row: values to where their digits begin, in order.
template <class T, bool careful, bool first, bool last>
__device__ inline void move_digit(const T* in, T* out, const Places& places, long long row, long long length, int shift, SortCount* start) {
    typedef CpuKey<T, careful> Keys;
    const T* const from = in + row;
    T* const values = out + row;
    for (long long k = 0; k < length; ++k) {
        const T value = from[k];
        const typename Keys::Key key = Keys::of(value, first);
        const SortCount to = start[digit_of<QUERN_SORT_DIGIT_BITS>(key, shift)]++;
        if (!QUERN_SORT_PAIRS || out) values[to] = Keys::moved(value, key, last);
#if QUERN_SORT_PAIRS
        places.put(row, to, places.at(row, k));
#endif
    }
}

template <class T> constexpr int sort_most_passes() { return (8 * static_cast<int>(sizeof(T)) + QUERN_SORT_DIGIT_BITS - 1) / QUERN_SORT_DIGIT_BITS; }

// Sorts a row that nearly is; false if it is not, and then it is left anyhow.
template <class T> __device__ inline bool tidy(T* values, long long length) {
    long long moves = 4 * length;
    typename SortKey<T>::Key before = SortKey<T>::of(values[0]);
    for (long long k = 1; k < length; ++k) {
        const T value = values[k];
        const typename SortKey<T>::Key key = SortKey<T>::of(value);
        if (!(key < before)) {
            before = key;
            continue;
        }
        long long at = k;
        for (; at > 0 && key < SortKey<T>::of(values[at - 1]); --at) values[at] = values[at - 1];
        values[at] = value;
        moves -= k - at;
        if (moves < 0) return false;
    }
    return true;
}

// A row through all digits that its keys do not share; with `hasty` not through the lowest ones where those above them tell
// nearly all values apart, as is likely if digits do not depend on each other, and then it is tidied up. `out` gets the values, and `result` the places, in the last pass; the
// others go by `spare` and `second` in turn.
template <class T, bool careful>
__device__ inline void sort_row(const T* in, T* out, T* spare, T* second, SortPlace* here, SortPlace* there, const long long* given,
                                long long* result, long long row, long long length, int passes, SortCount (*start)[sort_digits],
                                SortCount (*other)[sort_digits], bool hasty) {
    // Two tables, so that neighbours of one digit need not wait for each other.
    for (int pass = 0; pass < passes; ++pass)
        for (int d = 0; d < sort_digits; ++d) start[pass][d] = other[pass][d] = 0;
    const auto count_digits = [&](long long k, SortCount(*counts)[sort_digits]) {
        const typename CpuKey<T, careful>::Key key = CpuKey<T, careful>::of(in[row + k], true);
#pragma unroll
        for (int pass = 0; pass < sort_most_passes<T>(); ++pass)
            if (pass < passes) ++counts[pass][digit_of<QUERN_SORT_DIGIT_BITS>(key, pass * QUERN_SORT_DIGIT_BITS)];
    };
    for (long long k = 0; k + 1 < length; k += 2) {
        count_digits(k, start);
        count_digits(k + 1, other);
    }
    if (length % 2) count_digits(length - 1, start);
    int worth[16], count = 0, skipped = 0;
    double alike[16]; // how likely two values share a digit
    for (int pass = 0; pass < passes; ++pass) {
        SortCount before = 0;
        double squares = 0;
        for (int d = 0; d < sort_digits; ++d) {
            const SortCount own = start[pass][d] + other[pass][d];
            const double part = static_cast<double>(own) / static_cast<double>(length);
            squares += part * part;
            start[pass][d] = before;
            before += own;
        }
        alike[count] = squares;
        if (squares < 1) worth[count++] = pass;
    }
    if (count == 0) {
        if (out)
            for (long long k = 0; k < length; ++k) out[row + k] = in[row + k];
#if QUERN_SORT_PAIRS
        for (long long k = 0; k < length; ++k) result[row + k] = given ? given[row + k] : k;
#endif
        return;
    }
#if !QUERN_SORT_PAIRS
    if (hasty && count > 4) {
        double neighbours = static_cast<double>(length);
        for (skipped = count; skipped > 0 && neighbours > 0.25;) neighbours *= alike[--skipped];
    }
#endif
    const T* from = in;
    const SortPlace* from_places = nullptr;
    for (int k = skipped; k < count; ++k) {
        const bool last = k + 1 == count, odd = (count - k) % 2;
        T* const to = last ? out : odd ? second : spare;
        SortPlace* const to_places = last ? nullptr : odd ? there : here;
        const Places places = {from_places, to_places, given, result};
        const int shift = worth[k] * QUERN_SORT_DIGIT_BITS;
        SortCount* const starts = start[worth[k]];
        if (k == skipped && last)
            move_digit<T, careful, true, true>(from, to, places, row, length, shift, starts);
        else if (k == skipped)
            move_digit<T, careful, true, false>(from, to, places, row, length, shift, starts);
        else if (last)
            move_digit<T, careful, false, true>(from, to, places, row, length, shift, starts);
        else
            move_digit<T, careful, false, false>(from, to, places, row, length, shift, starts);
        from = to;
        from_places = to_places;
    }
    if (skipped > 0 && !tidy(out + row, length))
        sort_row<T, careful>(in, out, spare, second, here, there, given, result, row, length, passes, start, other, false);
}

template <class T>
__device__ inline void sort_rows(const T* in, T* out, T* spare, T* second, SortPlace* here, SortPlace* there, const long long* given,
                                 long long* result, long long rows, long long length, long long rows_per_block, int passes) {
    __shared__ SortCount start[sort_most_passes<T>()][sort_digits], other[sort_most_passes<T>()][sort_digits];
    const long long begin = blockIdx.x * rows_per_block, end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
    for (long long row = begin; row < end; ++row)
        if (wants_care(in + row * length, length))
            sort_row<T, true>(in, out, spare, second, here, there, given, result, row * length, length, passes, start, other, true);
        else
            sort_row<T, false>(in, out, spare, second, here, there, given, result, row * length, length, passes, start, other, true);
}

#else

// A block's part of a row, counted by digit, and then moved to where that digit of that part begins. Counts lie by row, digit
// and part: their sums in this order are the places.
struct Part {
    long long row, number, begin, end;
    __device__ Part(long long length, long long splits, long long chunk)
        : row(blockIdx.x / splits), number(blockIdx.x - row * splits), begin(number * chunk), end(begin + chunk < length ? begin + chunk : length) {}
};

template <class T> __device__ inline void sort_count(const T* in, long long length, long long splits, long long chunk, SortCount* counts, int shift) {
    SortCount own[sort_digits];
    const Part part(length, splits, chunk);
    for (int d = 0; d < sort_digits; ++d) own[d] = 0;
    for (long long k = part.begin; k < part.end; ++k) ++own[digit_of<QUERN_SORT_DIGIT_BITS>(SortKey<T>::of(in[part.row * length + k]), shift)];
    for (int d = 0; d < sort_digits; ++d) counts[(part.row * sort_digits + d) * splits + part.number] = own[d];
}

__device__ inline void sort_offsets(SortCount* counts, long long splits) {
    SortCount before = 0, *const own = counts + blockIdx.x * sort_digits * splits;
    for (long long k = 0; k < sort_digits * splits; ++k) {
        const SortCount count = own[k];
        own[k] = before;
        before += count;
    }
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
        const SortCount to = start[digit_of<QUERN_SORT_DIGIT_BITS>(SortKey<T>::of(value), shift)]++;
        if (out) out[base + to] = value;
#if QUERN_SORT_PAIRS
        places.put(base, to, places.at(base, k));
#endif
    }
}

#endif

} // namespace quern

#if QUERN_SORT_ROAD == 0
extern "C" __global__ void quern_sort_short(const QUERN_T0* in, QUERN_T0* out, const long long* given, long long* result, const long long rows,
                                            const long long length, const long long rows_per_block) {
    quern::sort_short(in, out, given, result, rows, length, rows_per_block);
}
#elif QUERN_SORT_ROAD == 1
extern "C" __global__ void quern_sort_rows(const QUERN_T0* in, QUERN_T0* out, QUERN_T0* spare, QUERN_T0* second, quern::SortPlace* here,
                                           quern::SortPlace* there, const long long* given, long long* result, const long long rows,
                                           const long long length, const long long rows_per_block, const long long passes) {
    quern::sort_rows(in, out, spare, second, here, there, given, result, rows, length, rows_per_block, static_cast<int>(passes));
}
#else
extern "C" __global__ void quern_sort_count(const QUERN_T0* in, const long long length, const long long splits, const long long chunk,
                                            quern::SortCount* counts, const long long shift) {
    quern::sort_count(in, length, splits, chunk, counts, static_cast<int>(shift));
}
extern "C" __global__ void quern_sort_offsets(quern::SortCount* counts, const long long splits) { quern::sort_offsets(counts, splits); }
extern "C" __global__ void quern_sort_pass(const QUERN_T0* in, QUERN_T0* out, const quern::SortPlace* from, quern::SortPlace* to,
                                           const long long* given, long long* result, const long long length, const long long splits,
                                           const long long chunk, const quern::SortCount* counts, const long long shift) {
    quern::sort_pass(in, out, quern::Places{from, to, given, result}, length, splits, chunk, counts, static_cast<int>(shift));
}
#endif
