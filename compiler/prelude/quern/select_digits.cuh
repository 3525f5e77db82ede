// Selection by threads of a GPU: keys that order as values do, and tables that count the digits of keys from the top down.
// Several ranks share each reading of a row.
#pragma once
#include "quern/select.cuh"

namespace quern {

// The search for several ranks of one row. All zero: nothing is known, and one table counts all.
template <class Key, int targets> struct RankSearch {
    unsigned long long nans;
    int opened, unused;
    long long rank[targets];         // among the keys that begin as found so far
    unsigned long long prefix[targets]; // digits found so far
    unsigned long long open[targets];   // the prefix that each table counts below
    int slot[targets];               // the table of a target
    int leads[targets];              // no target before has the same prefix
};

template <class T> struct alignas(16) SelectPack { T values[16 / sizeof(T)]; };

// visit(element) for data[begin, end), the threads of a block side by side, in packs of 16 bytes, four in flight.
template <class T, class Visit> __device__ inline void each_element(const T* data, long long begin, long long end, const Visit& visit) {
    const int lanes = 16 / sizeof(T), batch = 4;
    const long long skew = static_cast<long long>((reinterpret_cast<size_t>(data + begin) & 15) / sizeof(T));
    long long first = begin + (skew ? lanes - skew : 0);
    if (first > end) first = end;
    const long long packs = (end - first) / lanes;
    const SelectPack<T>* const from = reinterpret_cast<const SelectPack<T>*>(data + first);
    for (long long k = begin + threadIdx.x; k < first; k += blockDim.x) visit(data[k]);
    for (long long p = threadIdx.x; p < packs; p += batch * blockDim.x) {
        SelectPack<T> held[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (p + b * blockDim.x < packs) held[b] = from[p + b * blockDim.x];
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (p + b * blockDim.x < packs)
#pragma unroll
                for (int l = 0; l < lanes; ++l) visit(held[b].values[l]);
    }
    for (long long k = first + packs * lanes + threadIdx.x; k < end; k += blockDim.x) visit(data[k]);
}

// Counts into `table` the digit at `shift` of every key that begins with an open prefix; returns this thread's NaN.
template <class T, int targets>
__device__ inline unsigned long long count_digits(const T* data, long long begin, long long end, int shift, int width, bool first,
                                                  const RankSearch<typename Ordered<T>::Key, targets>& search, unsigned int* table,
                                                  int digit_bits) {
    typedef typename Ordered<T>::Key Key;
    const unsigned int mask = (1u << width) - 1;
    unsigned long long nans = 0;
    // Equal digits in a row are counted at once: neighbours are often alike, and all of a table's readers wait at one place.
    unsigned int last = 0xffffffffu, run = 0;
    const auto add = [&](unsigned int place) {
        if (place == last) {
            ++run;
            return;
        }
        if (run) atomicAdd(&table[last], run);
        last = place;
        run = 1;
    };
    if (first) {
        each_element(data, begin, end, [&](const T& value) {
            const Key key = Ordered<T>::key(value);
            if (Ordered<T>::has_nan) nans += value != value;
            add(static_cast<unsigned int>(key >> shift) & mask);
        });
    } else if (search.opened == 1) {
        const Key open = static_cast<Key>(search.open[0]);
        each_element(data, begin, end, [&](const T& value) {
            const Key key = Ordered<T>::key(value);
            if (static_cast<Key>(key >> shift >> width) == open) add(static_cast<unsigned int>(key >> shift) & mask);
        });
    } else {
        const int opened = search.opened;
        Key open[targets];
        for (int k = 0; k < targets; ++k) open[k] = static_cast<Key>(search.open[k]);
        each_element(data, begin, end, [&](const T& value) {
            const Key key = Ordered<T>::key(value), head = static_cast<Key>(key >> shift >> width);
            for (int k = 0; k < opened; ++k)
                if (open[k] == head) add((static_cast<unsigned int>(k) << digit_bits) + (static_cast<unsigned int>(key >> shift) & mask));
        });
    }
    if (run) atomicAdd(&table[last], run);
    return nans;
}

// The digit of the key with this rank by the counts of digits; the rank becomes that among the keys with this digit. A whole
// warp asks.
template <int digits, class Count> __device__ inline unsigned int find_digit(const Count* table, long long& rank) {
    const int share = digits / 32;
    const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;
    long long own = 0;
    for (int k = 0; k < share; ++k) own += static_cast<long long>(table[lane * share + k]);
    long long upto = own;
    for (int step = 1; step < 32; step *= 2) {
        const long long other = __shfl_up_sync(all, upto, step);
        if (lane >= step) upto += other;
    }
    const unsigned int past = __ballot_sync(all, rank < upto);
    const int owner = past ? __ffs(past) - 1 : 31;
    long long rest = rank - (upto - own);
    unsigned int digit = lane * share;
    if (lane == owner)
        for (int k = 0; k < share - 1 && rest >= static_cast<long long>(table[digit]); ++k) rest -= static_cast<long long>(table[digit++]);
    rank = __shfl_sync(all, rest, owner);
    return __shfl_sync(all, digit, owner);
}

// After a reading: the ranks where it was the first, then the next digit of every target, and the prefixes to look below.
template <int digit_bits, int targets, class Key, class Count>
__device__ inline void go_on(RankSearch<Key, targets>& search, const Count* table, long long length, const double* q, int wanted, int method,
                             bool skip_nan, bool first, int width) {
    if (first) {
        const long long n = length - (skip_nan ? static_cast<long long>(search.nans) : 0);
        for (int t = threadIdx.x; t < targets; t += blockDim.x) {
            const Place place = place_of(method, static_cast<double>(n), t < 2 * wanted ? q[t / 2] : 0.0);
            search.rank[t] = t % 2 ? place.high : place.low;
            search.prefix[t] = 0;
            search.slot[t] = 0;
        }
        __syncthreads();
    }
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int t = warp; t < 2 * wanted; t += warps) {
        long long rank = search.rank[t];
        const unsigned int digit = find_digit<1 << digit_bits>(table + (static_cast<size_t>(search.slot[t]) << digit_bits), rank);
        __syncwarp();
        if (threadIdx.x % 32 == 0)
        {
            search.rank[t] = rank;
            search.prefix[t] = search.prefix[t] << width | digit;
        }
    }
    __syncthreads();
    for (int t = threadIdx.x; t < 2 * wanted; t += blockDim.x) {
        int other = 0;
        while (search.prefix[other] != search.prefix[t]) ++other;
        search.leads[t] = other == t;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < 2 * wanted; t += blockDim.x) {
        int slot = 0;
        for (int other = 0; search.prefix[other] != search.prefix[t]; ++other) slot += search.leads[other];
        search.slot[t] = slot;
        if (search.leads[t]) search.open[slot] = search.prefix[t];
        if (t == 2 * wanted - 1) {
            int opened = 0;
            for (int other = 0; other < 2 * wanted; ++other) opened += search.leads[other];
            search.opened = opened;
        }
    }
    __syncthreads();
}

// The results of one batch from keys that are known to the last digit.
template <class T, class R, int targets>
__device__ inline void write_quantiles(const RankSearch<typename Ordered<T>::Key, targets>& search, long long length, const double* q, int wanted,
                                       R* out, long long step, int method, bool skip_nan) {
    typedef typename Ordered<T>::Key Key;
    const long long nans = static_cast<long long>(search.nans), n = length - (skip_nan ? nans : 0);
    for (int k = threadIdx.x; k < wanted; k += blockDim.x) {
        const Place place = place_of(method, static_cast<double>(n), q[k]);
        out[k * step] = quantile<T, R>(static_cast<Key>(search.prefix[2 * k]), static_cast<Key>(search.prefix[2 * k + 1]), place.part, method,
                                       skip_nan ? n == 0 : nans > 0);
    }
}

// A block takes a row, reads it once for each digit, and again for each further batch of quantiles.
template <class T, class R, int digit_bits, int targets>
__device__ inline void select_rows(const T* data, long long rows, long long length, const double* q, long long places, R* out, int method,
                                   bool skip_nan) {
    typedef typename Ordered<T>::Key Key;
    __shared__ RankSearch<Key, targets> search;
    __shared__ unsigned int table[targets << digit_bits];
    const int batch = targets / 2;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x)
        for (long long from = 0; from < places; from += batch) {
            const int wanted = static_cast<int>(places - from < batch ? places - from : batch), bits = 8 * sizeof(Key);
            int tables = 1;
            if (threadIdx.x == 0) search.nans = 0;
            for (int left = bits; left > 0;) {
                const int width = left < digit_bits ? left : digit_bits;
                for (int k = threadIdx.x; k < tables << digit_bits; k += blockDim.x) table[k] = 0;
                __syncthreads();
                const unsigned long long nans = count_digits<T, targets>(data + row * length, 0, length, left - width, width, left == bits,
                                                                         search, table, digit_bits);
                if (nans) atomicAdd(&search.nans, nans);
                __syncthreads();
                go_on<digit_bits>(search, table, length, q + from, wanted, method, skip_nan, left == bits, width);
                tables = search.opened;
                left -= width;
            }
            write_quantiles<T>(search, length, q + from, wanted, out + from * rows + row, rows, method, skip_nan);
            __syncthreads();
        }
}

// Several blocks count the digits of a row; each adds its table to the row's.
template <class T, int digit_bits, int targets>
__device__ inline void select_count(const T* data, long long length, long long splits, long long chunk, unsigned char* searches,
                                    unsigned char* tables, int left) {
    typedef typename Ordered<T>::Key Key;
    typedef RankSearch<Key, targets> Found;
    static_assert(sizeof(Found) == 16 + targets * 32, "the room for searches is made for this size");
    __shared__ unsigned int table[targets << digit_bits];
    const long long row = blockIdx.x / splits, part = blockIdx.x - row * splits;
    Found& search = reinterpret_cast<Found*>(searches)[row];
    unsigned long long* const total = reinterpret_cast<unsigned long long*>(tables) + (static_cast<size_t>(row) * targets << digit_bits);
    const int bits = 8 * sizeof(Key), width = left < digit_bits ? left : digit_bits;
    const bool first = left == bits;
    const int counted = (first ? 1 : search.opened) << digit_bits;
    for (int k = threadIdx.x; k < counted; k += blockDim.x) table[k] = 0;
    __syncthreads();
    const long long begin = part * chunk, end = begin + chunk < length ? begin + chunk : length;
    const unsigned long long nans =
        count_digits<T, targets>(data + row * length, begin, end, left - width, width, first, search, table, digit_bits);
    if (nans) atomicAdd(&search.nans, nans);
    __syncthreads();
    for (int k = threadIdx.x; k < counted; k += blockDim.x)
        if (table[k]) atomicAdd(&total[k], static_cast<unsigned long long>(table[k]));
}

// A block goes on from a row's table, clears it for the next reading, and writes the results after the last.
template <class T, class R, int digit_bits, int targets>
__device__ inline void select_choose(long long rows, long long length, const double* q, long long places, long long from, R* out, int method,
                                     bool skip_nan, unsigned char* searches, unsigned char* tables, int left) {
    typedef typename Ordered<T>::Key Key;
    typedef RankSearch<Key, targets> Found;
    const long long row = blockIdx.x;
    Found& search = reinterpret_cast<Found*>(searches)[row];
    unsigned long long* const table = reinterpret_cast<unsigned long long*>(tables) + (static_cast<size_t>(row) * targets << digit_bits);
    const int bits = 8 * sizeof(Key), width = left < digit_bits ? left : digit_bits, batch = targets / 2;
    const int wanted = static_cast<int>(places - from < batch ? places - from : batch);
    const bool first = left == bits;
    const int counted = (first ? 1 : search.opened) << digit_bits;
    go_on<digit_bits>(search, table, length, q + from, wanted, method, skip_nan, first, width);
    for (int k = threadIdx.x; k < counted; k += blockDim.x) table[k] = 0;
    if (left > width) return;
    write_quantiles<T>(search, length, q + from, wanted, out + from * rows + row, rows, method, skip_nan);
    __syncthreads();
    if (threadIdx.x == 0) search.nans = 0; // for the next batch
}

} // namespace quern
