// Mean and variance of columns whose parts threads hold: all parts of a column are joined at once.
#pragma once
#include "quern/reduce_moments.cuh"

namespace quern {

// Differences from it stay within the range, or their squares do not.
template <class T> __device__ inline T near_or_zero(const T& x) { return fabs(x) < (sizeof(T) == 4 ? T(8.5e37) : T(4.4e307)) ? x : T(0); }

template <class T> struct Alone { // one thread
    template <class Join> __device__ T operator()(const T& x, const Join&) const { return x; }
    __device__ T first(const T& x) const { return x; }
};

// Count, mean, and sum of the squares about it; the mean in two numbers, since squares are taken about it.
template <class T> struct ColumnMoments {
    T count;
    Twofold<T> mean;
    T scatter;
    __device__ ColumnMoments() : count(0), mean(T(0)), scatter(0) {}
    __device__ ColumnMoments(const T& n, const T& base, const T& off, const T& squares) : count(n), mean(Twofold<T>(base) + off), scatter(squares) {
        const T rounded = base + off;
        if (rounded - rounded != T(0)) mean = Twofold<T>(rounded); // infinite ones have no digits behind
    }
    // Those of `each` parts a thread, and of the threads over which `fold` joins: by a first mean, and again by the true one.
    template <int each, class Fold> static __device__ ColumnMoments of_all(const ColumnMoments (&parts)[each], const Fold& fold) {
        const auto plus = [](const T& a, const T& b) { return a + b; };
        const T base = near_or_zero(fold.first(static_cast<T>(parts[0].mean)));
        T n = T(0), sum = T(0), squares = T(0), off[each];
#pragma unroll
        for (int k = 0; k < each; ++k) {
            off[k] = parts[k].mean - Twofold<T>(base);
            n += parts[k].count;
            sum = ::fma(parts[k].count, off[k], sum);
        }
        n = fold(n, plus), sum = fold(sum, plus);
        const T about = n > T(0) ? sum / n : T(0);
#pragma unroll
        for (int k = 0; k < each; ++k) {
            const T apart = off[k] - about;
            squares += ::fma(parts[k].count * apart, apart, parts[k].scatter);
        }
        return ColumnMoments(n, base, about, fold(squares, plus));
    }
    __device__ T average() const { return static_cast<T>(mean); }
    __device__ T variance(double ddof) const {
        const T left = static_cast<T>(static_cast<double>(count) - ddof);
        return (scatter < T(0) ? T(0) : scatter) / (left > T(0) ? left : T(0));
    }
};
template <class T>
__device__ inline ColumnMoments<T> combined(const ColumnMoments<T>& a, const ColumnMoments<T>& b) {
    const ColumnMoments<T> parts[2] = {a, b};
    return ColumnMoments<T>::of_all(parts, Alone<T>());
}
template <int each, class T, class Join, class Fold>
__device__ inline ColumnMoments<T> join_threads(const ColumnMoments<T> (&parts)[each], const Join&, const Fold& fold) {
    return ColumnMoments<T>::of_all(parts, fold);
}

// The same while one thread takes values, one after the other, each a count of one about itself.
template <class T> struct ColumnShifted {
    int count;
    T base, sum, squares;
    __device__ ColumnShifted() : count(0), base(0), sum(0), squares(0) {}
    template <class U> __device__ explicit ColumnShifted(const U& x) : count(1), base(static_cast<T>(x)), sum(0), squares(0) {}
    __device__ explicit ColumnShifted(const ColumnMoments<T>&) : ColumnShifted() {} // the start
    __device__ explicit operator ColumnMoments<T>() const {
        if (count == 0) return ColumnMoments<T>();
        const T n = static_cast<T>(count), about = sum / n;
        return ColumnMoments<T>(n, base, about, ::fma(-sum, about, squares));
    }
};
template <class T>
__device__ inline ColumnShifted<T> combined(const ColumnShifted<T>& a, const ColumnShifted<T>& value) {
    ColumnShifted<T> both;
    both.count = a.count + 1;
    both.base = a.count == 0 ? near_or_zero(value.base) : a.base;
    const T off = value.base - both.base;
    both.sum = a.sum + off;
    both.squares = ::fma(off, off, a.squares);
    return both;
}

} // namespace quern
