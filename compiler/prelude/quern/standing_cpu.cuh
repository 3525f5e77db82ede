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

// How [begin, end) of a row stands already, each value to the one before it: 1 in order, -1 in the opposite one without equal
// neighbours, as a row's first two values tell, else 0.
template <class T> __device__ inline int standing(const T* row, long long length, long long begin, long long end) {
    const int width = 64;
    const bool falls = length > 1 && sorts_before(row[1], row[0]);
    const auto stand = [=](long long k, int count) {
        unsigned int wrong = 0; // no bool, which vectors would not have
        Falls<T> fall;
        for (int l = 0; l < count; ++l) wrong |= fall(row[k + l - 1], row[k + l]) == falls ? 0 : 1;
        if (fall.unknown) {
            wrong = 0;
            for (int l = 0; l < count; ++l) wrong |= sorts_before(row[k + l], row[k + l - 1]) == falls ? 0 : 1;
        }
        return wrong == 0;
    };
    long long k = begin > 0 ? begin : 1;
    for (; k + width <= end; k += width)
        if (!stand(k, width)) return 0;
    return !stand(k, static_cast<int>(end - k)) ? 0 : falls ? -1 : 1;
}
// The results [begin, end) of such a row; null is not wanted.
template <class T, class Place>
__device__ inline void take_standing(const T* in, const Place* places, T* values, const long long* given, long long* result, long long length,
                                     int standing, long long begin, long long end) {
    const auto take = [&](const auto& from) {
        if (values)
            for (long long k = begin; k < end; ++k) values[k] = in[from(k)];
        if (!result) return;
        if (places)
            for (long long k = begin; k < end; ++k) {
                const long long place = static_cast<long long>(places[from(k)]);
                result[k] = given ? given[place] : place;
            }
        else if (given)
            for (long long k = begin; k < end; ++k) result[k] = given[from(k)];
        else
            for (long long k = begin; k < end; ++k) result[k] = from(k);
    };
    if (standing > 0)
        take([](long long k) { return k; });
    else
        take([=](long long k) { return length - 1 - k; });
}

} // namespace quern
