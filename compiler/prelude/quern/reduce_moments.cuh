// Accumulators of variances, which combine without cancellation.
#pragma once
#include "quern/reduce_ops.cuh"

namespace quern {

// Count, mean, and sum of the squares about it.
template <class T> struct Moments {
    long long count;
    T mean, scatter;
    __device__ Moments() : count(0), mean(0), scatter(0) {}
    __device__ T variance(double ddof) const {
        const T left = static_cast<T>(static_cast<double>(count) - ddof);
        return (scatter < T(0) ? T(0) : scatter) / (left > T(0) ? left : T(0));
    }
};
template <class T> __device__ inline Moments<T> combined(const Moments<T>& a, const Moments<T>& b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    Moments<T> both;
    both.count = a.count + b.count;
    const T off = b.mean - a.mean, part = static_cast<T>(b.count) / static_cast<T>(both.count);
    both.mean = a.mean + off * part;
    both.scatter = a.scatter + b.scatter + off * off * static_cast<T>(a.count) * part;
    return both;
}
// The same while one thread sums up: differences from its first value, and their squares.
template <class T> struct Shifted {
    int count;
    T shift, sum, squares;
    __device__ Shifted() : count(0), shift(0), sum(0), squares(0) {}
    template <class U> __device__ explicit Shifted(const U& x) : count(1), shift(static_cast<T>(x)), sum(0), squares(0) {}
    __device__ explicit Shifted(const Moments<T>&) : Shifted() {} // the start
    __device__ explicit operator Moments<T>() const {
        Moments<T> of;
        if (count == 0) return of;
        const T about = sum / static_cast<T>(count);
        of.count = count;
        of.mean = shift + about;
        of.scatter = squares - sum * about;
        return of;
    }
};
template <class T> __device__ inline Shifted<T> combined(const Shifted<T>& a, const Shifted<T>& b) {
    if (a.count == 0) return b;
    Shifted<T> both;
    both.count = a.count + b.count;
    both.shift = a.shift;
    const T off = b.shift - a.shift;
    if (b.count == 1) { // one more value
        both.sum = a.sum + off;
        both.squares = a.squares + off * off;
        return both;
    }
    const T much = static_cast<T>(b.count) * off;
    both.sum = a.sum + (b.sum + much);
    both.squares = a.squares + (b.squares + off * (b.sum + b.sum + much));
    return both;
}
// NVRTC 13 takes sums of squares of neighbouring bytes for its dot product of 16-bit pairs, and multiplies both bytes: it
// must not see that the value is one byte.
__device__ inline int of_any_width(int x) {
#ifndef __QUERN_HOST__
    asm("" : "+r"(x));
#endif
    return x;
}

// Of small integers, exactly: count, sum, sum of squares.
template <class Count, class Sum, class Squares> struct IntegerMoments {
    Count count;
    Sum sum;
    Squares squares;
    __device__ IntegerMoments() : count(0), sum(0), squares(0) {}
    __device__ explicit IntegerMoments(int x) : count(1), sum(x) {
        x = of_any_width(x);
        squares = static_cast<Squares>(x * x);
    }
    template <class C, class S, class Q>
    __device__ explicit IntegerMoments(const IntegerMoments<C, S, Q>& other)
        : count(static_cast<Count>(other.count)), sum(static_cast<Sum>(other.sum)), squares(static_cast<Squares>(other.squares)) {}
    __device__ double variance(double ddof) const {
        const double n = static_cast<double>(count), left = n - ddof;
        // count * squares - sum * sum, which is never negative, in two words
        const unsigned long long of_sum = static_cast<unsigned long long>(sum < 0 ? -sum : sum), of_count = count, low_square = of_sum * of_sum,
                                 low = of_count * squares - low_square,
                                 high = __umul64hi(of_count, squares) - __umul64hi(of_sum, of_sum) - (of_count * squares < low_square);
        const double scatter = static_cast<double>(high) * 18446744073709551616.0 + static_cast<double>(low);
        return (count > 0 ? scatter / n : 0.0) / (left > 0 ? left : 0.0);
    }
};
template <class C, class S, class Q>
__device__ inline IntegerMoments<C, S, Q> combined(const IntegerMoments<C, S, Q>& a, const IntegerMoments<C, S, Q>& b) {
    IntegerMoments<C, S, Q> both;
    both.count = a.count + b.count;
    both.sum = a.sum + b.sum;
    both.squares = a.squares + b.squares;
    return both;
}

#ifdef QUERN_HAS_COMPLEX
// Those of complex numbers: of both parts.
template <class Part> struct OfParts {
    Part real, imag;
    __device__ OfParts() {}
    template <class T> __device__ explicit OfParts(const complex<T>& x) : real(x.real()), imag(x.imag()) {}
    template <class Other> __device__ explicit OfParts(const OfParts<Other>& other)
        : real(static_cast<Part>(other.real)), imag(static_cast<Part>(other.imag)) {}
    __device__ auto variance(double ddof) const { return real.variance(ddof) + imag.variance(ddof); }
};
template <class Part> __device__ inline OfParts<Part> combined(const OfParts<Part>& a, const OfParts<Part>& b) {
    OfParts<Part> both;
    both.real = combined(a.real, b.real);
    both.imag = combined(a.imag, b.imag);
    return both;
}
#endif

#ifdef __QUERN_HOST__

template <int bytes> struct CountOf { typedef long long type; };
template <> struct CountOf<4> { typedef int type; };

// All lanes measure from one near value: they fold as plain sums.
template <class T, int count> struct Lanes<Shifted<T>, count> {
    typedef typename CountOf<sizeof(T)>::type Count;
    static const long long limit = 256;
    bool started;
    T shift, sum[count], squares[count];
    Count taken[count];
    __device__ void clear(const Shifted<T>&) {
        started = false;
        for (int l = 0; l < count; ++l) sum[l] = squares[l] = T(0), taken[l] = 0;
    }
    static __device__ void add(const Shifted<T>& x, T near, T& sum, T& squares, Count& taken) { // one value, or none
        const T off = x.count != 0 ? x.shift - near : T(0);
        sum += off;
        squares += off * off;
        taken += static_cast<Count>(x.count);
    }
    template <class At, class Join> __device__ void take(const At& at, long long from, long long stop, const Join&) {
        QUERN_PLAIN
        for (long long k = from; !started && k < stop; ++k)
            if (at(k).count != 0) shift = at(k).shift, started = true;
        if (!started) return;
        const T near = shift;
        for (; from < stop; from += count) {
            QUERN_INDEPENDENT
            for (int l = 0; l < count; ++l) {
                add(at(from + l), near, sum[l], squares[l], taken[l]);
            }
        }
    }
    template <int step, class Dense, class Join>
    __device__ void take_every(const Dense& dense, long long from, long long stop, const Join&) {
        QUERN_PLAIN
        for (long long k = from; !started && k < stop; ++k)
            if (dense(k * step).count != 0) shift = dense(k * step).shift, started = true;
        if (!started) return;
        const int width = count * step;
        const T near = shift;
        T sums[width], of_squares[width];
        Count takes[width];
        for (int l = 0; l < width; ++l) sums[l] = of_squares[l] = T(0), takes[l] = 0;
        long long k = from * step;
        const long long end = (stop - 1) * step + 1;
        for (; end - k >= width; k += width) {
            QUERN_INDEPENDENT
            for (int l = 0; l < width; ++l) {
                add(dense(k + l), near, sums[l], of_squares[l], takes[l]);
            }
        }
        QUERN_PLAIN
        for (int l = 0; k < end; k += step, l += step) {
            add(dense(k), near, sums[l], of_squares[l], takes[l]);
        }
        for (int l = 0; l < count; ++l) sum[l] += sums[l * step], squares[l] += of_squares[l * step], taken[l] += takes[l * step];
    }
    template <class Join> __device__ Shifted<T> fold(const Join&) {
        QUERN_FOLD
        for (int half = count / 2; half > 0; half /= 2) {
            QUERN_FOLDED
            for (int l = 0; l < half; ++l) sum[l] += sum[l + half], squares[l] += squares[l + half], taken[l] += taken[l + half];
        }
        Shifted<T> all;
        all.count = static_cast<int>(taken[0]);
        all.shift = shift;
        all.sum = sum[0];
        all.squares = squares[0];
        return all.count == 0 ? Shifted<T>() : all;
    }
};

#ifdef QUERN_HAS_COMPLEX
template <class T, int count> struct Lanes<OfParts<Shifted<T>>, count> {
    static const long long limit = 256;
    Lanes<Shifted<T>, count> real, imag;
    __device__ void clear(const OfParts<Shifted<T>>&) { real.clear(Shifted<T>()), imag.clear(Shifted<T>()); }
    template <class At, class Join> __device__ void take(const At& at, long long from, long long stop, const Join& join) {
        real.take([&](long long j) { return at(j).real; }, from, stop, join);
        imag.take([&](long long j) { return at(j).imag; }, from, stop, join);
    }
    template <int step, class Dense, class Join>
    __device__ void take_every(const Dense& dense, long long from, long long stop, const Join& join) {
        take([&](long long j) { return dense(j * step); }, from, stop, join);
    }
    template <class Join> __device__ OfParts<Shifted<T>> fold(const Join& join) {
        OfParts<Shifted<T>> all;
        all.real = real.fold(join), all.imag = imag.fold(join);
        return all;
    }
};
#endif

// Each column measures from its own first value.
template <class T, int most> struct Columns<Shifted<T>, most> {
    typedef typename CountOf<sizeof(T)>::type Count;
    T shift[most], sum[most], squares[most];
    Count taken[most];
    __device__ void clear(long long count, const Shifted<T>&) {
        for (long long j = 0; j < count; ++j) shift[j] = sum[j] = squares[j] = T(0), taken[j] = 0;
    }
    template <class Join> __device__ void add(long long j, const Shifted<T>& x, const Join&) { put(j, x); }
    template <class Join>
    __device__ void add(long long j, const Shifted<T>& a, const Shifted<T>& b, const Shifted<T>& c, const Shifted<T>& d, const Join&) {
        put(j, a), put(j, b), put(j, c), put(j, d);
    }
    __device__ void put(long long j, const Shifted<T>& x) {
        const T near = taken[j] == 0 ? x.shift : shift[j], off = x.count != 0 ? x.shift - near : T(0);
        shift[j] = near;
        sum[j] += off;
        squares[j] += off * off;
        taken[j] += static_cast<Count>(x.count);
    }
    template <class Join> __device__ void absorb(const Columns& other, long long count, const Join&) { // measured from the mean of both
        QUERN_INDEPENDENT
        for (long long j = 0; j < count; ++j) {
            const T a = static_cast<T>(taken[j]), b = static_cast<T>(other.taken[j]), of_a = a > T(0) ? a : T(1), of_b = b > T(0) ? b : T(1),
                    both = a + b > T(0) ? a + b : T(1);
            const T mean_a = shift[j] + sum[j] / of_a, mean_b = other.shift[j] + other.sum[j] / of_b, off = a > T(0) && b > T(0) ? mean_b - mean_a : T(0);
            const T scatter_a = squares[j] - sum[j] * (sum[j] / of_a), scatter_b = other.squares[j] - other.sum[j] * (other.sum[j] / of_b);
            shift[j] = a > T(0) ? mean_a + off * (b / both) : mean_b;
            sum[j] = T(0);
            squares[j] = scatter_a + scatter_b + off * off * a * (b / both);
            taken[j] += other.taken[j];
        }
    }
    __device__ Shifted<T> get(long long j) const {
        Shifted<T> x;
        x.count = static_cast<int>(taken[j]), x.shift = shift[j], x.sum = sum[j], x.squares = squares[j];
        return x;
    }
};

#ifdef QUERN_HAS_COMPLEX
template <class T, int most> struct Columns<OfParts<Shifted<T>>, most> {
    typedef OfParts<Shifted<T>> X;
    Columns<Shifted<T>, most> real, imag;
    __device__ void clear(long long count, const X& none) { real.clear(count, none.real), imag.clear(count, none.imag); }
    template <class Join> __device__ void add(long long j, const X& x, const Join&) { real.put(j, x.real), imag.put(j, x.imag); }
    template <class Join> __device__ void add(long long j, const X& a, const X& b, const X& c, const X& d, const Join& join) {
        real.add(j, a.real, b.real, c.real, d.real, join), imag.add(j, a.imag, b.imag, c.imag, d.imag, join);
    }
    template <class Join> __device__ void absorb(const Columns& other, long long count, const Join& join) {
        real.absorb(other.real, count, join), imag.absorb(other.imag, count, join);
    }
    __device__ X get(long long j) const {
        X x;
        x.real = real.get(j), x.imag = imag.get(j);
        return x;
    }
};
#endif

#endif

} // namespace quern
