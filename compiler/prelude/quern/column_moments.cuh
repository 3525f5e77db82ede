// Mean and variance of rows and columns whose parts threads hold: all parts of one are joined at once.
#pragma once
#include "quern/approximate.cuh"
#include "quern/reduce_moments.cuh"

namespace quern {

// Differences from it stay within the range, or their squares do not.
template <class T> __device__ inline T near_or_zero(const T& x) { return fabs(x) < (sizeof(T) == 4 ? T(8.5e37) : T(4.4e307)) ? x : T(0); }

// What may be divided by without a branch, where the result is chosen afterwards.
template <class T> __device__ inline T positive_or_one(const T& count) { return count > T(0) ? count : T(1); }
// x / n, where n is a count: right to the last bit or the one before it.
template <class T> __device__ inline T share_of(const T& x, const T& n) { return x / n; }
#ifndef __QUERN_HOST__
template <> __device__ inline float share_of(const float& x, const float& n) {
    const float of_one = approximate::inverse(n), near = x * of_one, nearer = ::fmaf(::fmaf(-near, n, x), of_one, near);
    return nearer == nearer ? nearer : near; // infinite ones are not nearer
}
#endif

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
        const T about = n > T(0) ? share_of(sum, n) : T(0);
#pragma unroll
        for (int k = 0; k < each; ++k) {
            const T apart = off[k] - about;
            squares += ::fma(parts[k].count * apart, apart, parts[k].scatter);
        }
        return ColumnMoments(n, base, about, fold(squares, plus));
    }
    __device__ T average() const { return static_cast<T>(mean); }
    __device__ T variance(double ddof) const {
        const T left = count - static_cast<T>(ddof), squares = scatter < T(0) ? T(0) : scatter;
        const T share = share_of(squares, positive_or_one(left));
        return left > T(0) ? share : squares * (T(1) / T(0));
    }
    __device__ T nan_variance(double ddof) const { return count > static_cast<T>(ddof) ? variance(ddof) : T(0) / T(0); }
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

template <class T, class Join>
__device__ inline ColumnMoments<T> join_lanes(const ColumnMoments<T>& own, unsigned int lanes, const Join&) {
    const ColumnMoments<T> parts[1] = {own};
    return ColumnMoments<T>::of_all(parts, AcrossLanes{lanes});
}
template <class T, class Join>
__device__ inline ColumnMoments<T> join_in_first(const ColumnMoments<T>& own, unsigned int lanes, const Join& join) {
    return join_lanes(own, lanes, join);
}

// Those of one thread, which takes values one after the other, each a count of one about itself.
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

// Sums of what values are off a base, and of the squares: those about one base add up.
template <class T> struct AboutBase {
    T count, base, sum, squares;
    __device__ explicit AboutBase(const ColumnShifted<T>& of)
        : count(static_cast<T>(of.count)), base(of.base), sum(of.sum), squares(of.squares) {}
    __device__ T middle() const { return count > T(0) ? ::fma(sum, approximate::inverse(count), base) : base; } // of the values, nearly
    __device__ void move_to(const T& other) {
        const T off = base - other, moved = count * off;
        squares += off * (sum + sum + moved), sum += moved, base = other;
    }
    __device__ void add_up(const AcrossLanes& across) {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
        if (across.lanes == 32) count = static_cast<T>(__reduce_add_sync(0xffffffffu, static_cast<unsigned int>(count)));
        else
#endif
            count = across.sum(count);
        sum = across.sum(sum), squares = across.sum(squares);
    }
    // Is the mean so far off that the squares about it would be left with few digits?
    __device__ bool is_far() const {
        const T most = T(4) * count * squares;
        return !(T(5) * sum * sum <= most && most < Limits<T>::high());
    }
    __device__ explicit operator ColumnMoments<T>() const {
        const T about = share_of(sum, positive_or_one(count)); // of nothing 0
        return ColumnMoments<T>(count, base, about, ::fma(-sum, about, squares));
    }
};
// Warps meet once, about what their first one found; where that is far off they meet step by step. Every cycle counts between
// the last value that comes and the first one that goes.
template <class T, class Join, int most>
__device__ inline ColumnMoments<T> join_group(const ColumnShifted<T>& own, unsigned int bits, const Join& join, Slots<ColumnMoments<T>, most>& slots) {
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, threads = 1u << bits, warps = threads / 32;
    if (threads <= 32) return join_lanes(static_cast<ColumnMoments<T>>(own), threads, join);
    const AcrossLanes across = {32};
    AboutBase<T>* const found = reinterpret_cast<AboutBase<T>*>(slots.bytes) + (warp & ~(warps - 1));
    AboutBase<T> all(own);
    all.move_to(near_or_zero(across.first(all.middle())));
    all.add_up(across);
    if (lane == 0) found[warp & (warps - 1)] = all;
    __syncthreads();
    all = found[lane & (warps - 1)];
    bool far = all.is_far();
    all.move_to(found[0].base);
    all.add_up(AcrossLanes{warps});
    const ColumnMoments<T> made(all);
    far = __any_sync(0xffffffffu, far | all.is_far());
    if (threads != blockDim.x) far = __syncthreads_or(far);
    if (!far) return made;
    __syncthreads(); // others may still read what is written now
    return join_steps(static_cast<ColumnMoments<T>>(own), bits, join, slots);
}

} // namespace quern
