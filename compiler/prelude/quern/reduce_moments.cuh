// Accumulators of variances, which combine without cancellation.
#pragma once
#include "quern/reduce_ops.cuh"

namespace quern {

// A number in two parts: `low` is what rounding took from `high`.
template <class T> struct Twofold {
    T high, low;
    __device__ explicit Twofold(const T& x) : high(x), low(0) {}
    __device__ explicit operator T() const { return high; }
    __device__ Twofold operator+(const T& x) const { return Twofold(high, x).with(low); }
    __device__ Twofold operator+(const Twofold& other) const { return Twofold(high, other.high).with(low + other.low); }
    __device__ T operator-(const Twofold& other) const { return (high - other.high) + (low - other.low); }

  private:
    __device__ Twofold(const T& a, const T& b) : high(a + b) {
        const T of_b = high - a;
        low = (a - (high - of_b)) + (b - of_b);
    }
    __device__ Twofold with(const T& more) const { return Twofold(high, low + more); }
};

// Count, mean, and sum of the squares about it, kept with as many digits as their meetings need.
template <class T, class Kept = T> struct Moments {
    long long count;
    Kept mean, scatter;
    __device__ Moments() : count(0), mean(0), scatter(0) {}
    __device__ T variance(double ddof) const {
        const T left = static_cast<T>(static_cast<double>(count) - ddof), about = static_cast<T>(scatter);
        return (about < T(0) ? T(0) : about) / (left > T(0) ? left : T(0));
    }
    __device__ T nan_variance(double ddof) const { return static_cast<double>(count) > ddof ? variance(ddof) : T(0) / T(0); }
};
template <class T, class Kept> __device__ inline Moments<T, Kept> combined(const Moments<T, Kept>& a, const Moments<T, Kept>& b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    Moments<T, Kept> both;
    both.count = a.count + b.count;
    const T off = static_cast<T>(b.mean - a.mean), part = static_cast<T>(b.count) / static_cast<T>(both.count);
    both.mean = a.mean + off * part;
    both.scatter = a.scatter + b.scatter + off * off * static_cast<T>(a.count) * part;
    return both;
}
// Neighbouring lanes of a warp, a power of two.
struct AcrossLanes {
    unsigned int lanes;
    template <class T, class Join> __device__ T operator()(T x, const Join& join) const {
        for (unsigned int apart = lanes / 2; apart > 0; apart /= 2) x = join(x, __shfl_xor_sync(0xffffffffu, x, apart));
        return x;
    }
    template <class T> __device__ T sum(const T& x) const {
        return (*this)(x, [](const T& a, const T& b) { return a + b; });
    }
    template <class T> __device__ T first(const T& x) const { return __shfl_sync(0xffffffffu, x, threadIdx.x % 32 & ~(lanes - 1)); }
};
#ifndef __QUERN_HOST__
// They learn the mean of all, and what each has about it adds up.
template <class T, class Kept, class Join>
__device__ inline Moments<T, Kept> join_lanes(const Moments<T, Kept>& own, unsigned int lanes, const Join&) {
    const AcrossLanes across = {lanes};
    Moments<T, Kept> all;
    all.count = across.sum(own.count);
    const T count = static_cast<T>(own.count), part = count / static_cast<T>(all.count > 0 ? all.count : 1);
    const Kept near = across.first(own.mean);
    all.mean = near + across.sum(static_cast<T>(own.mean - near) * part);
    const T off = static_cast<T>(own.mean - all.mean);
    all.scatter = across.sum(own.scatter + off * off * count);
    return all;
}
template <class T, class Kept, class Join>
__device__ inline Moments<T, Kept> join_in_first(const Moments<T, Kept>& own, unsigned int lanes, const Join& join) {
    return join_lanes(own, lanes, join);
}
#endif
// The same while one thread sums up: differences from its first value, and their squares. The values are a V, of as many
// digits as T has or of fewer.
template <class T, class V = T> struct Shifted {
    int count;
    T shift, sum, squares;
    __device__ Shifted() : count(0), shift(0), sum(0), squares(0) {}
    template <class U> __device__ explicit Shifted(const U& x) : count(1), shift(static_cast<T>(x)), sum(0), squares(0) {}
    template <class Kept> __device__ explicit Shifted(const Moments<T, Kept>&) : Shifted() {} // the start
    template <class Kept> __device__ explicit operator Moments<T, Kept>() const {
        Moments<T, Kept> of;
        if (count == 0) return of;
        const T about = sum / static_cast<T>(count);
        of.count = count;
        of.mean = Kept(shift) + about;
        of.scatter = Kept(squares - sum * about);
        return of;
    }
};
template <class T, class V> __device__ inline Shifted<T, V> combined(const Shifted<T, V>& a, const Shifted<T, V>& b) {
    if (a.count == 0) return b;
    Shifted<T, V> both;
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
    __device__ double nan_variance(double ddof) const { return variance(ddof); } // integers have no NaN to tell by
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
    __device__ auto nan_variance(double ddof) const { return real.nan_variance(ddof) + imag.nan_variance(ddof); }
};
template <class Part> __device__ inline OfParts<Part> combined(const OfParts<Part>& a, const OfParts<Part>& b) {
    OfParts<Part> both;
    both.real = combined(a.real, b.real);
    both.imag = combined(a.imag, b.imag);
    return both;
}
#endif

#ifdef __QUERN_HOST__

// Squares are taken about a first value where T has digits to spare. Elsewhere values are looked at twice, as long as they are
// near: for their mean, then for the squares about it.
template <class T, class V> constexpr int passes_of(const Shifted<T, V>*) { return sizeof(V) < sizeof(T) ? 1 : 2; }

template <class T, class V, int count, int step> struct Lanes<Shifted<T, V>, count, step, false> {
    typedef Shifted<T, V> X;
    typedef Moments<T, Twofold<T>> Total;
    static const int width = count * step, passes = passes_of(static_cast<X*>(nullptr));
    static const long long limit = passes > 1 ? 64 : 256;
    Total all;
    __device__ void clear(const X&) { all = Total(); }
    template <class Dense, class Join> __device__ void take(const Dense& dense, long long from, long long stop, const Join&) {
        T near = T(0);
        bool found = false;
        QUERN_PLAIN
        for (long long k = from; passes == 1 && !found && k < stop; ++k)
            if (dense(k * step).count != 0) near = dense(k * step).shift, found = true;
        X part;
        for (int pass = 0; pass < passes; ++pass) {
            part = about(near, dense, from, stop);
            if (part.count == 0) return;
            near += part.sum / static_cast<T>(part.count);
        }
        all = combined(all, static_cast<Total>(part));
    }
    template <class Join> __device__ Total fold(const Join&) { return all; }

  private:
    template <class Dense> static __device__ X about(T near, const Dense& dense, long long from, long long stop) {
        T sum[width], squares[width];
        int missing[width];
        for (int l = 0; l < width; ++l) sum[l] = squares[l] = T(0), missing[l] = 0;
        const auto off = [&](int l, const X& x) {
            missing[l] += x.count == 0;
            return x.count != 0 ? x.shift - near : T(0);
        };
        each_lane<count, step, 4, 16, 1>(
            from, stop,
            [&](int l, long long k) {
                const T p = off(l, dense(k));
                sum[l] += p;
                squares[l] += p * p;
            },
            [&](int l, long long k) {
                const T p = off(l, dense(k)), q = off(l, dense(k + width)), r = off(l, dense(k + 2 * width)), s = off(l, dense(k + 3 * width));
                sum[l] += (p + q) + (r + s);
                squares[l] += (p * p + q * q) + (r * r + s * s);
            });
        for (int l = 0; l < count; ++l) sum[l] = sum[l * step], squares[l] = squares[l * step], missing[l] = missing[l * step];
        const auto plus = [](const auto& a, const auto& b) { return a + b; };
        X all;
        all.count = static_cast<int>(stop - from) - fold_lanes<count>(missing, plus);
        all.shift = near;
        all.sum = fold_lanes<count>(sum, plus);
        all.squares = fold_lanes<count>(squares, plus);
        return all;
    }
};

#ifdef QUERN_HAS_COMPLEX
template <class X, int count, int step> struct Lanes<OfParts<X>, count, step, false> {
    typedef Lanes<X, count, step, false> Part;
    static const long long limit = Part::limit;
    Part real, imag;
    __device__ void clear(const OfParts<X>&) { real.clear(X()), imag.clear(X()); }
    template <class Dense, class Join> __device__ void take(const Dense& dense, long long from, long long stop, const Join& join) {
        real.take([&](long long k) { return dense(k).real; }, from, stop, join);
        imag.take([&](long long k) { return dense(k).imag; }, from, stop, join);
    }
    template <class Join> __device__ auto fold(const Join& join) {
        OfParts<typename Part::Total> all;
        all.real = real.fold(join), all.imag = imag.fold(join);
        return all;
    }
};
#endif

// Each column measures from its first value, and again from the mean.
template <class T, class V, int most> struct Columns<Shifted<T, V>, most> {
    typedef Shifted<T, V> X;
    static const int passes = passes_of(static_cast<X*>(nullptr)), limit = passes > 1 ? 32 : 128;
    static const int size = most + lines_apart<T, most>();
    alignas(64) T shift[size];
    T sum[size], squares[size], taken[size];
    __device__ void clear(long long count, const X&) {
        for (long long j = 0; j < count; ++j) shift[j] = __uint_as_float(0x7fc00000u), sum[j] = squares[j] = taken[j] = T(0);
    }
    __device__ void again(long long count) {
        for (long long j = 0; j < count; ++j) {
            shift[j] += sum[j] / (taken[j] > T(0) ? taken[j] : T(1));
            sum[j] = squares[j] = taken[j] = T(0);
        }
    }
    template <class Join> __device__ void add(long long j, const X& x, const Join&) {
        shift[j] = is_nan(shift[j]) & (x.count != 0) ? x.shift : shift[j];
        const T off = x.count != 0 ? x.shift - shift[j] : T(0);
        sum[j] += off;
        squares[j] += off * off;
        taken[j] += static_cast<T>(x.count);
    }
    template <class Join> __device__ void add(long long j, const X& a, const X& b, const X& c, const X& d, const Join& join) {
        add(j, a, join), add(j, b, join), add(j, c, join), add(j, d, join);
    }
    template <class Join> __device__ void absorb(const Columns& other, long long count, const Join&) { // measured from the mean of both
        QUERN_INDEPENDENT
        for (long long j = 0; j < count; ++j) {
            const T a = taken[j], b = other.taken[j], of_a = a > T(0) ? a : T(1), of_b = b > T(0) ? b : T(1), both = a + b > T(0) ? a + b : T(1);
            const T about_a = sum[j] / of_a, about_b = other.sum[j] / of_b;
            const T off = a > T(0) && b > T(0) ? (other.shift[j] - shift[j]) + (about_b - about_a) : T(0);
            const T scatter_a = squares[j] - sum[j] * about_a, scatter_b = other.squares[j] - other.sum[j] * about_b;
            const Twofold<T> mean = Twofold<T>(a > T(0) ? shift[j] : other.shift[j]) + (a > T(0) ? about_a + off * (b / both) : about_b);
            shift[j] = mean.high;
            taken[j] = a + b;
            sum[j] = taken[j] > T(0) ? mean.low * taken[j] : T(0);
            squares[j] = taken[j] > T(0) ? scatter_a + scatter_b + off * off * a * (b / both) + sum[j] * mean.low : T(0);
        }
    }
    __device__ X get(long long j) const {
        X x;
        x.count = static_cast<int>(taken[j]), x.shift = shift[j], x.sum = sum[j], x.squares = squares[j];
        return x;
    }
    template <class Join> __device__ auto fold(long long first, long long count, long long step, const Join&) {
        Moments<T, Twofold<T>> all;
        for (long long j = first; j < first + count * step; j += step) all = combined(all, static_cast<Moments<T, Twofold<T>>>(get(j)));
        return all;
    }
};

#ifdef QUERN_HAS_COMPLEX
template <class Part, int most> struct Columns<OfParts<Part>, most> {
    typedef OfParts<Part> X;
    static const int passes = Columns<Part, most>::passes, limit = Columns<Part, most>::limit;
    Columns<Part, most> real, imag;
    __device__ void again(long long count) { real.again(count), imag.again(count); }
    __device__ void clear(long long count, const X& none) { real.clear(count, none.real), imag.clear(count, none.imag); }
    template <class Join> __device__ void add(long long j, const X& x, const Join& join) {
        real.add(j, x.real, join), imag.add(j, x.imag, join);
    }
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
    template <class Join> __device__ auto fold(long long first, long long count, long long step, const Join& join) {
        OfParts<decltype(real.fold(first, count, step, join))> all;
        all.real = real.fold(first, count, step, join), all.imag = imag.fold(first, count, step, join);
        return all;
    }
};
#endif

#endif

} // namespace quern
