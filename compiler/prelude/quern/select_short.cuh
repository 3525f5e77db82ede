// Selection from rows that are sorted: before, by a thread in its registers, or several of them by a CPU's vectors.
#pragma once
#include "quern/select.cuh"
#if !QUERN_SELECT_THREADS
#include "quern/exchange_cpu.cuh"
#endif

namespace quern {

#if QUERN_SELECT_THREADS
// Brief rows: a thread sorts one in its registers, by a bitonic network, in which places are known beforehand.
template <class T, class R, int held>
__device__ inline void select_brief(const T* data, long long rows, long long length, const double* q, long long places, R* out, int method,
                                    bool skip_nan) {
    typedef typename Ordered<T>::Key Key;
    const Key last = static_cast<Key>(~static_cast<Key>(0));
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < rows; row += step) {
        Key keys[held];
        int nans = 0;
#pragma unroll
        for (int k = 0; k < held; ++k) {
            keys[k] = k < length ? Ordered<T>::key(data[row * length + k]) : last;
            if (Ordered<T>::has_nan) nans += k < length && keys[k] == last;
        }
#pragma unroll
        for (int size = 2; size <= held; size *= 2)
#pragma unroll
            for (int apart = size / 2; apart > 0; apart /= 2)
#pragma unroll
                for (int k = 0; k < held; ++k) {
                    const int other = k ^ apart;
                    if (other < k) continue;
                    const Key a = keys[k], b = keys[other];
                    const bool swaps = (k & size) != 0 ? a < b : b < a;
                    keys[k] = swaps ? b : a;
                    keys[other] = swaps ? a : b;
                }
        const long long n = length - (skip_nan ? nans : 0);
        for (long long p = 0; p < places; ++p) {
            const Place place = place_of(method, static_cast<double>(n), q[p]);
            Key low = keys[0], high = keys[0];
#pragma unroll
            for (int k = 1; k < held; ++k) low = k == place.low ? keys[k] : low, high = k == place.high ? keys[k] : high;
            out[p * rows + row] = quantile<T, R>(low, high, place.part, method, skip_nan ? n == 0 : nans > 0);
        }
    }
}
#endif

#if QUERN_SELECT_THREADS
// Short rows that have been sorted, NaN last: a thread picks from each.
template <class T, class R>
__device__ inline void select_sorted(const T* data, long long rows, long long length, const double* q, long long places, R* out, int method,
                                     bool skip_nan) {
    typedef Ordered<T> Order;
    const typename Order::Key last = static_cast<typename Order::Key>(~static_cast<typename Order::Key>(0));
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < rows; row += step) {
        const T* const values = data + row * length;
        long long numbers = length;
        if (Order::has_nan && Order::key(values[length - 1]) == last) {
            long long low = 0;
            for (numbers = length - 1; low < numbers;) {
                const long long middle = (low + numbers) / 2;
                if (Order::key(values[middle]) == last)
                    numbers = middle;
                else
                    low = middle + 1;
            }
        }
        const long long n = skip_nan ? numbers : length;
        for (long long p = 0; p < places; ++p) {
            const Place place = place_of(method, static_cast<double>(n), q[p]);
            out[p * rows + row] = quantile<T, R>(Order::key(values[place.low]), Order::key(values[place.high]), place.part, method,
                                                 skip_nan ? n == 0 : numbers < length);
        }
    }
}
#else
// Short rows: as many are sorted at once as keys fit 64 bytes.
template <class T, class R, int held>
__device__ inline void select_short(const T* data, long long rows, long long length, const double* q, long long places, R* out, int method,
                                    bool skip_nan) {
    typedef typename Ordered<T>::Key Key;
    const long long lines = (rows + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * lines, end = begin + lines < rows ? begin + lines : rows;
    const int lanes = 64 / sizeof(Key), count = static_cast<int>(length);
    alignas(64) Key keys[held][lanes];
    for (long long first = begin; first < end; first += lanes) {
        const int here = end - first < lanes ? static_cast<int>(end - first) : lanes;
        for (int lane = 0; lane < lanes; ++lane) { // those without a row have the last one again
            const T* const row = data + (first + (lane < here ? lane : here - 1)) * length;
            for (int k = 0; k < count; ++k) keys[k][lane] = Ordered<T>::key(row[k]);
        }
        exchange_all(count, [&](int a, int b) { exchange_lanes(keys[a], keys[b]); });
        for (int lane = 0; lane < here; ++lane) {
            int numbers = count; // NaNs are last
            while (Ordered<T>::has_nan && numbers > 0 && keys[numbers - 1][lane] == static_cast<Key>(~static_cast<Key>(0))) --numbers;
            const int n = skip_nan ? numbers : count;
            for (long long k = 0; k < places; ++k) {
                const Place place = place_of(method, static_cast<double>(n), q[k]);
                out[k * rows + first + lane] =
                    quantile<T, R>(keys[place.low][lane], keys[place.high][lane], place.part, method, skip_nan ? n == 0 : numbers < count);
            }
        }
    }
}
#endif

} // namespace quern
