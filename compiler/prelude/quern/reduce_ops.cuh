// Accumulators and joins of NumPy's reductions: NaN spreads, the first of equals wins, variances combine without
// cancellation.
#pragma once
#include "quern/order.cuh"

namespace quern {

// The ends of a type's range: infinities where it has them.
template <class T> struct Limits { // floats
    static __device__ T high() { return T(__uint_as_float(0x7f800000u)); }
    static __device__ T low() { return T(__uint_as_float(0xff800000u)); }
};
template <> struct Limits<bool> {
    static __device__ bool high() { return true; }
    static __device__ bool low() { return false; }
};
#define QUERN_LIMITS(T, Unsigned)                                                                     \
    template <> struct Limits<T> {                                                                    \
        static __device__ T high() { return static_cast<T>(static_cast<Unsigned>(~static_cast<Unsigned>(0)) >> 1); } \
        static __device__ T low() { return static_cast<T>(-high() - 1); }                             \
    };                                                                                                \
    template <> struct Limits<Unsigned> {                                                             \
        static __device__ Unsigned high() { return static_cast<Unsigned>(~static_cast<Unsigned>(0)); }             \
        static __device__ Unsigned low() { return 0; }                                                \
    };
QUERN_LIMITS(signed char, unsigned char)
QUERN_LIMITS(short, unsigned short)
QUERN_LIMITS(int, unsigned int)
QUERN_LIMITS(long long, unsigned long long)
#undef QUERN_LIMITS
#ifdef QUERN_HAS_COMPLEX
template <class T> struct Limits<complex<T>> {
    static __device__ complex<T> high() { return complex<T>(Limits<T>::high(), Limits<T>::high()); }
    static __device__ complex<T> low() { return complex<T>(Limits<T>::low(), Limits<T>::low()); }
};
#endif

// What fmax and fmin start from: NaN, which any number replaces; for a type without it, the end of its range.
template <class T> __device__ inline T passed_over(const T& end) {
    const T apart = static_cast<T>(end - end);
    return apart != apart ? apart : end;
}

template <class T> struct Span {
    T low, high;
    __device__ Span() : low(Limits<T>::high()), high(Limits<T>::low()) {}
    __device__ explicit Span(const T& x) : low(x), high(x) {}
};
template <class T> __device__ inline Span<T> widened(const Span<T>& a, const Span<T>& b) {
    Span<T> both;
    both.low = minimum(a.low, b.low);
    both.high = maximum(a.high, b.high);
    return both;
}

// A value and where it stands; the largest index: nowhere.
template <class T, class Index = long long> struct Placed {
    T value;
    Index index;
    static __device__ Index nowhere() { return static_cast<Index>((1ull << (8 * sizeof(Index) - 1)) - 1); }
    __device__ Placed() : value(T(0)), index(nowhere()) {}
    __device__ explicit Placed(const T& x) : value(x), index(nowhere()) {}
    __device__ Placed(const T& x, long long at) : value(x), index(static_cast<Index>(at)) {}
    template <class Other>
    __device__ explicit Placed(const Placed<T, Other>& other)
        : value(other.value), index(other.index == other.nowhere() ? nowhere() : static_cast<Index>(other.index)) {}
    __device__ long long first_place() const { return index == nowhere() ? 0 : static_cast<long long>(index); }
    __device__ long long place() const { return index == nowhere() ? -1 : static_cast<long long>(index); }
    __device__ T value_or_nan() const { return index == nowhere() ? T(__uint_as_float(0x7fc00000u)) : value; }
};
// The same while one thread looks at values that fit an int or a float. Where it meets them from the first to the last
// (`rising`) the first of equals needs no index. Of values that are all as bad as the start none is chosen: the first is.
template <class V, bool largest, bool rising> struct Candidate {
    V value;
    int index;
    static __device__ V worst(int) { return largest ? -0x7fffffff - 1 : 0x7fffffff; }
    static __device__ V worst(float) { return largest ? Limits<float>::low() : Limits<float>::high(); }
    __device__ Candidate() : value(worst(V())), index(0x7fffffff) {}
    template <class T> __device__ Candidate(const T& x, long long at) : value(static_cast<V>(x)), index(static_cast<int>(at)) {}
    template <class T> __device__ explicit Candidate(const Placed<T>&) : Candidate() {} // the start
    template <class T> __device__ explicit operator Placed<T>() const {
        if (index == 0x7fffffff) return Placed<T>(largest ? Limits<T>::low() : Limits<T>::high());
        return Placed<T>(static_cast<T>(value), index);
    }
    __device__ Candidate or_better(const Candidate& b) const { // not <=: NaN is better than all but NaN
        const bool better = !(largest ? b.value <= value : b.value >= value);
        const bool first = !rising && (b.value == value || (is_nan(b.value) && is_nan(value))) && b.index < index;
        return (better && !is_nan(value)) || first ? b : *this;
    }
};
template <class V, bool rising> __device__ inline Candidate<V, true, rising> greatest(const Candidate<V, true, rising>& a, const Candidate<V, true, rising>& b) {
    return a.or_better(b);
}
template <class V, bool rising> __device__ inline Candidate<V, false, rising> least(const Candidate<V, false, rising>& a, const Candidate<V, false, rising>& b) {
    return a.or_better(b);
}

// NaN before all, then the better value, then the first.
template <class P> __device__ inline P chosen(const P& a, const P& b, bool b_better) {
    const bool b_wins = is_nan(b.value) ? !is_nan(a.value) || b.index < a.index
                                        : b_better || (same(b.value, a.value) && b.index < a.index);
    P winner; // by members: values in registers, never a choice of addresses
    winner.value = b_wins ? b.value : a.value;
    winner.index = b_wins ? b.index : a.index;
    return winner;
}
template <class T, class I> __device__ inline Placed<T, I> greatest(const Placed<T, I>& a, const Placed<T, I>& b) {
    return chosen(a, b, above(b.value, a.value));
}
template <class T, class I> __device__ inline Placed<T, I> least(const Placed<T, I>& a, const Placed<T, I>& b) {
    return chosen(a, b, above(a.value, b.value));
}

// A sum over a count that is a number of the same kind.
template <class T> __device__ inline T ratio(const T& sum, long long count) { return sum / static_cast<T>(count); }
#ifdef QUERN_HAS_COMPLEX
template <class T> __device__ inline complex<T> ratio(const complex<T>& sum, long long count) {
    return complex<T>(sum.real() / static_cast<T>(count), sum.imag() / static_cast<T>(count));
}
#endif

template <class T> struct Counted {
    T sum;
    long long count;
    __device__ Counted() : sum(T(0)), count(0) {}
    template <class U> __device__ explicit Counted(const U& x) : sum(static_cast<T>(x)), count(1) {}
    __device__ T mean() const { return ratio(sum, count); }
    __device__ Counted operator+(const Counted& other) const {
        Counted both;
        both.sum = sum + other.sum;
        both.count = count + other.count;
        return both;
    }
};

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
        for (int l = 0; k < end; k += step, l += step) {
            add(dense(k), near, sums[l], of_squares[l], takes[l]);
        }
        for (int l = 0; l < count; ++l) sum[l] += sums[l * step], squares[l] += of_squares[l * step], taken[l] += takes[l * step];
    }
    template <class Join> __device__ Shifted<T> fold(const Join&) {
        const auto plus = [](const auto& a, const auto& b) { return a + b; };
        Shifted<T> all;
        all.count = static_cast<int>(fold_lanes<count>(taken, plus));
        all.shift = shift;
        all.sum = fold_lanes<count>(sum, plus);
        all.squares = fold_lanes<count>(squares, plus);
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

#ifdef QUERN_HAS_COMPLEX
// Real and imaginary parts apart, so that only what is read must be sorted into vectors.
template <class T, int most> struct Columns<complex<T>, most> {
    T real[most], imag[most];
    __device__ void clear(long long count, const complex<T>& identity) {
        for (long long j = 0; j < count; ++j) real[j] = identity.real(), imag[j] = identity.imag();
    }
    template <class Join> __device__ void add(long long j, const complex<T>& x, const Join& join) { put(j, join(get(j), x)); }
    template <class Join>
    __device__ void add(long long j, const complex<T>& a, const complex<T>& b, const complex<T>& c, const complex<T>& d, const Join& join) {
        put(j, join(get(j), join(join(a, b), join(c, d))));
    }
    template <class Join> __device__ void absorb(const Columns& other, long long count, const Join& join) {
        QUERN_INDEPENDENT
        for (long long j = 0; j < count; ++j) put(j, join(get(j), other.get(j)));
    }
    __device__ void put(long long j, const complex<T>& x) { real[j] = x.real(), imag[j] = x.imag(); }
    __device__ complex<T> get(long long j) const { return complex<T>(real[j], imag[j]); }
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

// A block's best value is found without positions; only a block that beats all before is looked at again for the place.
template <class T, class I, int count> struct Lanes<Placed<T, I>, count> {
    typedef Placed<T, I> P;
    static const int width = 256 / sizeof(T), block = 64 * width;
    static const long long limit = 1ll << 60;
    P best;
    __device__ void clear(const P& identity) { best = identity; }
    template <class At, class Join> __device__ void take(const At& at, long long from, long long stop, const Join& join) {
        const bool upward = join(P(T(0), 0), P(T(1), 0)).value == T(1);
        const auto better = [upward](const T a, const T b) -> T {
            const bool b_wins = is_nan(b) | (!is_nan(a) & (upward ? above(b, a) : above(a, b)));
            return b_wins ? b : a;
        };
        for (; stop - from >= 4 * width; from += block < stop - from ? block : (stop - from) / width * width) {
            const long long end = from + (block < stop - from ? block : (stop - from) / width * width);
            T top[width];
            for (int l = 0; l < width; ++l) top[l] = at(from + l).value;
            for (long long k = from + width; k < end; k += width) {
                QUERN_INDEPENDENT
                for (int l = 0; l < width; ++l) top[l] = better(top[l], at(k + l).value);
            }
            const T most = fold_lanes<width>(top, better);
            if (join(best, P(most, P::nowhere() - 1)).index == best.index) continue;
            for (long long k = from; k < end; k += width) { // the first part that has it
                int hits = 0;
                for (int l = 0; l < width; ++l) {
                    const T x = at(k + l).value;
                    hits |= same(x, most) | (is_nan(x) & is_nan(most));
                }
                if (!hits) continue;
                const I before = best.index;
                for (int l = 0; l < width; ++l) best = join(best, at(k + l));
                if (best.index != before) break;
            }
        }
        for (; from < stop; ++from) best = join(best, at(from));
    }
    template <int step, class Dense, class Join>
    __device__ void take_every(const Dense& dense, long long from, long long stop, const Join& join) {
        take([&](long long j) { return dense(j * step); }, from, stop, join);
    }
    template <class Join> __device__ P fold(const Join&) { return best; }
};

template <class T, class I, int most> struct Columns<Placed<T, I>, most> {
    typedef Placed<T, I> P;
    T value[most];
    I index[most];
    __device__ void clear(long long count, const P& identity) {
        for (long long j = 0; j < count; ++j) value[j] = identity.value, index[j] = identity.index;
    }
    template <class Join> __device__ void add(long long j, const P& x, const Join& join) { put(j, join(get(j), x)); }
    template <class Join> __device__ void add(long long j, const P& a, const P& b, const P& c, const P& d, const Join& join) {
        put(j, join(get(j), join(join(a, b), join(c, d))));
    }
    template <class Join> __device__ void absorb(const Columns& other, long long count, const Join& join) {
        QUERN_INDEPENDENT
        for (long long j = 0; j < count; ++j) put(j, join(get(j), other.get(j)));
    }
    __device__ void put(long long j, const P& x) { value[j] = x.value, index[j] = x.index; }
    __device__ P get(long long j) const {
        P x;
        x.value = value[j], x.index = index[j];
        return x;
    }
};

#endif

} // namespace quern
