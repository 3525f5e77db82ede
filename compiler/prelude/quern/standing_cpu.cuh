// Rows that need no sort.
#pragma once
#include "quern/bisect.cuh"
#include "quern/order.cuh"

namespace quern {

// Does a value come before the one before it, which has to be found out for many at once?
template <class T> struct Falls {
    bool unknown = false;
    __device__ bool operator()(const T& first, const T& second) {
        Before<T, false> before;
        before.set(first);
        return before(second);
    }
};
#ifdef QUERN_HAS_COMPLEX
template <class T> struct Falls<complex<T> > { // NaN are seen to later: without them comparisons are few
    unsigned int unknown = 0;
    __device__ bool operator()(const complex<T>& first, const complex<T>& second) {
        unknown |= is_nan(first) | is_nan(second) ? 1 : 0;
        return (second.real() < first.real()) | ((second.real() == first.real()) & (second.imag() < first.imag()));
    }
};
#endif

enum class Way { rises, falls, never_rises };
// Does a value stand to the one before it as told? `fall` finds that of the two in turn.
template <Way way, class Fall, class T> __device__ inline bool stands(Fall& fall, const T& first, const T& second) {
    return way == Way::rises ? !fall(first, second) : way == Way::falls ? fall(first, second) : !fall(second, first);
}
template <class T> struct FallsNow {
    __device__ bool operator()(const T& first, const T& second) const { return sorts_before(second, first); }
};
// The first of (begin, end) that does not stand so to the one before it; `end` where all do. A row is a pointer, or has an index too.
template <Way way, class T, class Row> __device__ __noinline__ long long stretch_of(const Row row, long long begin, long long end) {
    const int width = 32;
    FallsNow<T> falls;
    const auto differs = [=](long long k) {
        unsigned int other = 0; // no bool, which vectors would not have
        Falls<T> fall;
        for (int l = 0; l < width; ++l) other |= stands<way>(fall, row[k + l - 1], row[k + l]) ? 0 : 1;
        return other != 0 || fall.unknown;
    };
    long long k = begin + 1;
    if (k < end && !stands<way>(falls, row[k - 1], row[k])) return k;
    for (; k + width <= end; k += width) {
        if (!differs(k)) continue;
        for (int l = 0; l < width; ++l)
            if (!stands<way>(falls, row[k + l - 1], row[k + l])) return k + l;
    }
    while (k < end && stands<way>(falls, row[k - 1], row[k])) ++k;
    return k < end ? k : end;
}
template <Way way, class T> __device__ inline long long stretch(const T* row, long long begin, long long end) {
    return stretch_of<way, T>(row, begin, end);
}
// How [begin, end) of a row stands already, each value to the one before it: 1 in order, -1 in the opposite one without equal
// neighbours, as a row's first two values tell, else 0.
template <class T> __device__ inline int standing(const T* row, long long length, long long begin, long long end) {
    const long long from = begin > 0 ? begin - 1 : 0;
    if (length > 1 && sorts_before(row[1], row[0])) return stretch<Way::falls>(row, from, end) < end ? 0 : -1;
    return stretch<Way::rises>(row, from, end) < end ? 0 : 1;
}

} // namespace quern
