// The largest of some floats and the sum of the exponentials of what they are short of it, in one reading.
#pragma once
#include "quern/approximate.cuh"
#include "quern/reduce_ops.cuh"

namespace quern {

template <class T> __device__ inline T exp_of_short(const T& x) { return ::exp(-fabs(x)); }
#if !defined(__QUERN_HOST__)
// Next to the largest one's, which is 1, it is as good as exp: what is small is wrong by more, and adds less.
template <> __device__ inline float exp_of_short(const float& x) {
    return approximate::exp2(fabsf(x) * -1.4426950408889634f);
}
#endif

template <class T> struct ScaledSum {
    T most, sum; // NaN is told by the sum
    __device__ ScaledSum() : most(Limits<T>::low()), sum(0) {}
    __device__ explicit ScaledSum(const T& x) : most(x), sum(1) {}
    __device__ T largest() const { return sum == sum ? most : sum; }
    __device__ T total() const { return sum + (most - most); } // what is infinite is short of itself by NaN
};
template <class T> __device__ inline ScaledSum<T> joined(const ScaledSum<T>& a, const ScaledSum<T>& b) {
    const T ahead = b.most == a.most ? T(0) : b.most - a.most; // of infinite ones too
    const T scale = exp_of_short(ahead);
    const bool upper = ahead > 0;
    ScaledSum<T> both;
    both.most = upper ? b.most : a.most;
    both.sum = upper ? a.sum * scale + b.sum : a.sum + b.sum * scale;
    return both;
}
// Those of `each` parts a thread, and of the threads over which `fold` joins: all about the largest.
template <int each, class T, class Join, class Fold>
__device__ inline ScaledSum<T> join_threads(const ScaledSum<T> (&parts)[each], const Join&, const Fold& fold) {
    ScaledSum<T> all;
#pragma unroll
    for (int k = 0; k < each; ++k) all.most = fmax(all.most, parts[k].most);
    all.most = fold(all.most, [](const T& a, const T& b) { return fmax(a, b); });
#pragma unroll
    for (int k = 0; k < each; ++k)
        all.sum += parts[k].most == all.most ? parts[k].sum : parts[k].sum * exp_of_short(parts[k].most - all.most);
    all.sum = fold(all.sum, [](const T& a, const T& b) { return a + b; });
    return all;
}

// The same where a thread looks at its values twice: for the largest one, then for the sum. Infinite ones are short of what is
// finite by infinity.
template <class T> struct ScaledAbout;
template <class T> struct ScaledTop {
    typedef ScaledAbout<T> Own;
    T top;
    __device__ ScaledTop() : top(Limits<T>::low()) {}
    __device__ void look(const ScaledSum<T>& x) { top = fmax(top, x.most); }
};
template <class T> struct ScaledAbout {
    T most, finite, sum;
    __device__ explicit ScaledAbout(const ScaledTop<T>& about) : most(about.top), sum(0) {
        const T largest = sizeof(T) == 4 ? T(3.4028234663852886e38) : T(1.7976931348623157e308);
        finite = fmin(fmax(most, -largest), largest);
    }
    __device__ void add(const ScaledSum<T>& x) { sum += exp_of_short(x.most - finite); }
    __device__ explicit operator ScaledSum<T>() const {
        ScaledSum<T> both;
        both.most = most, both.sum = sum;
        return both;
    }
};

} // namespace quern
