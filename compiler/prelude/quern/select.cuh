// Selection by rank without a sort: what NumPy makes of two neighbouring ranks. Where QUERN_SELECT_THREADS is 0 a block is one
// thread, and no thread waits.
#pragma once
#include "quern/ordered.cuh"

namespace quern {

// On a CPU the table of methods is compiled once, not into every loop.
#if QUERN_SELECT_THREADS
#define QUERN_FUNCTION
#else
#define QUERN_FUNCTION __noinline__
#endif

// Ranks around a place among n sorted values, and the part of the way from one to the other.
struct Place {
    long long low, high;
    double part;
    __device__ Place(double at, double way, double n) : part(way) {
        low = at >= n - 1 ? static_cast<long long>(n) - 1 : at < 0 ? 0 : static_cast<long long>(at);
        high = at >= n - 1 || at < 0 ? low : low + 1;
        if (low < 0) low = high = 0;
    }
};
__device__ QUERN_FUNCTION Place place_of(int method, double n, double q);

// What lies at `part` of the way from a to b. Infinite neighbours have no distance between them that could be shared.
template <class R, class T> __device__ inline R between(const T& a, const T& b, double part, int method) {
    typedef typename Ordered<T>::Key Key;
    const Key of_a = Ordered<T>::key(a), of_b = Ordered<T>::key(b);
    if (part == 0 || of_a == of_b) return convert<R>(a);
    if (method == QUERN_SELECT_MEAN) return convert<R>((convert<double>(a) + convert<double>(b)) / 2);
    if (part == 1) return convert<R>(b);
    const double low = convert<double>(a), high = convert<double>(b);
    const double apart = Ordered<T>::has_nan ? high - low : static_cast<double>(static_cast<Key>(of_b - of_a));
    if (apart - apart != 0) return convert<R>(low * (1 - part) + high * part);
    return convert<R>(part < 0.5 ? low + apart * part : high - apart * (1 - part));
}

// The result of one quantile from the keys at its two ranks.
template <class T, class R>
__device__ inline R quantile(typename Ordered<T>::Key low, typename Ordered<T>::Key high, double part, int method, bool is_nan) {
    typedef typename Ordered<T>::Key Key;
    if (Ordered<T>::has_nan && is_nan) return convert<R>(Ordered<T>::value(static_cast<Key>(~static_cast<Key>(0))));
    return between<R>(Ordered<T>::value(low), Ordered<T>::value(high), part, method);
}

} // namespace quern
