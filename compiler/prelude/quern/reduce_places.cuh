// Values and where they stand, for argmax and its like: NaN before all, the first of equals wins.
#pragma once
#include "quern/elementwise.cuh"
#include "quern/reduce_ops.cuh"
#ifdef __QUERN_HOST__
    #include "quern/bits.cuh"
    #include "quern/ordered.cuh"
#endif

namespace quern {

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
    // The first best of a pack of bytes. Two of them are compared at once, each above its place counted from the end.
    template <class T, int lanes> __device__ Candidate(const Pack<T, lanes>& pack, long long at) {
        const unsigned int turned = (T(-1) < T(0) ? 0 : 0x80808080u) ^ (largest ? 0 : 0xffffffffu);
        unsigned int top = 0x80008000u;
#pragma unroll
        for (int k = 0; k < lanes; k += 4) {
            const unsigned int word = reinterpret_cast<const unsigned int*>(pack.values)[k / 4] ^ turned, places = 0xfcfdfeffu - k * 0x01010101u;
            top = __vmaxs2(top, __vmaxs2(__byte_perm(word, places, 0x1504), __byte_perm(word, places, 0x3726)));
        }
        const int most = max(static_cast<int>(top << 16) >> 16, static_cast<int>(top) >> 16);
        value = static_cast<T>(static_cast<unsigned char>((most >> 8) ^ turned)); // bool too
        index = static_cast<int>(at) + 255 - (most & 255);
    }
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
template <class P> __device__ inline P preferred(const P& a, const P& b, bool b_better) {
    const bool b_wins = is_nan(b.value) ? !is_nan(a.value) || b.index < a.index
                                        : b_better || (same(b.value, a.value) && b.index < a.index);
    P winner; // by members: values in registers, never a choice of addresses
    winner.value = b_wins ? b.value : a.value;
    winner.index = b_wins ? b.index : a.index;
    return winner;
}
template <class T, class I> __device__ inline Placed<T, I> greatest(const Placed<T, I>& a, const Placed<T, I>& b) {
    return preferred(a, b, above(b.value, a.value));
}
template <class T, class I> __device__ inline Placed<T, I> least(const Placed<T, I>& a, const Placed<T, I>& b) {
    return preferred(a, b, above(a.value, b.value));
}

#ifdef __QUERN_HOST__

template <class T> struct IsBool { static const bool value = false; };
template <> struct IsBool<bool> { static const bool value = true; };

// Places in vectors like those of the values they stand beside: for real numbers of four and of eight bytes.
template <class T, int bytes = sizeof(T)> struct PlaceBeside { static const bool any = false; };
template <class T> struct PlaceBeside<T, 4> {
    static const bool any = true;
    typedef int Place;
};
template <class T> struct PlaceBeside<T, 8> {
    static const bool any = true;
    typedef long long Place;
};
#ifdef QUERN_HAS_COMPLEX
template <> struct PlaceBeside<complex<float>, 8> : PlaceBeside<char> {};
#endif
// Of these NaN is asked for apart from what is best, where places are not kept: two operations an element then do.
template <class T> struct NanApart { static const bool value = false; };
template <> struct NanApart<float> { static const bool value = true; };
template <> struct NanApart<double> { static const bool value = true; };

// Is a value better than another, by what a join of two prefers?
template <class P, class T, class Join> __device__ inline bool is_better(const T& x, const T& than, const Join& join) {
    return join(P(T(0), 0), P(T(1), 0)).value == T(1) ? above(x, than) : above(than, x);
}

// Lanes hold the best values, and where those stand if places fit beside them (`carry`); else the values of a block (`scan`). Then
// the place is looked for in a block that beats all before it, or in one that equals them where elements come in any order: else
// they come from the first to the last.
template <class T, class I, int count, int step> struct Lanes<Placed<T, I>, count, step, true> {
    typedef Placed<T, I> P;
    P best;
    bool rising, falls; // places along a run may fall: then the last of equals wins
    bool far;           // more is read than the caches hold
    __device__ void clear(const P& identity) { best = identity, rising = true, falls = far = false; }
    __device__ void in_any_order(bool backwards) { rising = false, falls = backwards; }
    __device__ void beyond_caches(bool it_is) { far = it_is; }
    template <class Dense, class Join> __device__ void take(const Dense& dense, long long from, long long stop, const Join& join) {
        if (IsBool<T>::value && rising) return find(dense, from, stop, join);
        const bool wide = __quern_vector_bytes() == 64;
        if constexpr (by_parts)
            if (rising && stop - from < (wide ? brief_run_of_wide : brief_run)) return ask(dense, from, stop, join);
        if constexpr (count > 1) {
            if constexpr (PlaceBeside<T>::any && step == 1) // as many lanes as there are registers for what they hold
                if (rising && (!by_fours || stop - from < (wide ? long_run_of_wide : long_run)))
                    from = wide ? carry<lanes_of(256)>(dense, from, stop, join)
                                : carry<lanes_of(by_fours ? 64 : 128)>(dense, from, stop, join);
            from = scan<count <= 8 ? 16 : by_fours ? lanes_of(128) : count>(dense, from, stop, join);
        }
        for (; from < stop && best.index == P::nowhere(); ++from) best = join(best, dense(from * step));
        for (; from < stop; ++from) {
            const P x = dense(from * step);
            const bool wins = (is_nan(x.value) | better(x.value, best.value, join)) & !is_nan(best.value);
            const bool as_good = (is_nan(x.value) & is_nan(best.value)) | same(x.value, best.value);
            const bool chosen = wins | (!rising & as_good & (x.index < best.index));
            best.value = chosen ? x.value : best.value;
            best.index = chosen ? x.index : best.index;
        }
    }
    template <class Join> __device__ P fold(const Join&) { return best; }

  private:
    static constexpr bool by_fours = NanApart<T>::value && step == 1;
    static constexpr int long_run = 512, long_run_of_wide = 16384; // elements, of such types; in vectors of 64 bytes
    static constexpr bool by_parts = !PlaceBeside<T>::any && sizeof(T) >= 8; // complex numbers
    static constexpr int brief_run = 2048, brief_run_of_wide = 64;
    static constexpr __device__ int lanes_of(int bytes) {
        const int lanes = bytes / static_cast<int>(sizeof(T)), most = count <= 8 ? 16 : 32;
        return lanes < most ? lanes : most;
    }
    template <class Join> static __device__ bool better(const T& x, const T& than, const Join& join) { return is_better<P>(x, than, join); }
    // Where elements come in their order nothing behind beats NaN, or the end of a type that has no NaN. `placed`: the best value
    // is an element's.
    template <class Join> __device__ bool settled(bool placed, const Join& join) const {
        const T high = Limits<T>::high(), low = Limits<T>::low(), end = better(high, low, join) ? high : low;
        const bool ends = same(best.value, end) & !is_nan(static_cast<T>(end - end));
        return rising & placed & (is_nan(best.value) | ends);
    }
    // One after the other, where vectors have to be put together first: a better one is seldom.
    template <class Dense, class Join> __device__ void ask(const Dense& dense, long long from, long long stop, const Join& join) {
        for (; from < stop && best.index == P::nowhere(); ++from) best = dense(from * step);
        QUERN_PLAIN
        for (; from < stop && !is_nan(best.value); ++from) {
            const P x = dense(from * step);
            if (better(best.value, x.value, join)) continue; // neither is NaN
            if (!same(best.value, x.value)) best = x;
        }
    }
    // Of bools the first that nothing beats.
    template <class Dense, class Join>
    __device__ void find(const Dense& dense, long long from, long long stop, const Join& join) {
        constexpr int width = 32, less = 8;
        const T end = better(Limits<T>::high(), Limits<T>::low(), join) ? Limits<T>::high() : Limits<T>::low();
        const bool fresh = best.index == P::nowhere();
        if (from == stop || (!fresh && same(best.value, end))) return;
        const long long first = from, whole = from + ((stop - from) & -width), most = whole + ((stop - whole) & -less);
        if (from < whole) { // most rows end here: little is asked before
            const int place = place_in<width>(dense, from, end);
            if (place < width) {
                best = dense((from + place) * step), best.value = end; // which needs no second look
                return;
            }
            from += width;
        }
        if (from < whole) from = first_of<width>(dense, from, whole, end);
        if (from == whole && from < most) from = first_of<less>(dense, from, most, end);
        while (from < stop && !same(dense(from * step).value, end)) ++from;
        if (from < stop || fresh) best = dense((from < stop ? from : first) * step);
    }
    // Is a value among `many` elements from the k-th on?
    template <int many, class Dense> static __device__ bool meets(const Dense& dense, long long k, const T& value) {
        bool met = false;
        for (int l = 0; l < many; ++l) met |= same(dense((k + l) * step).value, value);
        return met;
    }
    // Where it is in a pack, the first time; `width`: nowhere.
    template <int width, class Dense> static __device__ int place_in(const Dense& dense, long long from, const T& value) {
        if constexpr (sizeof(T) == 1 && width == 32) {
            unsigned char found[width];
            for (int l = 0; l < width; ++l) found[l] = same(dense((from + l) * step).value, value);
            const unsigned int bits = bits_of_32<false>(found);
            return bits == 0 ? width : __ffs(static_cast<int>(bits)) - 1;
        }
        int place = width;
        for (int l = 0; l < width; ++l) {
            const int here = same(dense((from + l) * step).value, value) ? l : width;
            place = here < place ? here : place;
        }
        return place;
    }
    // Where it is among the elements [from, end), whole packs, one of which it is: the first time, or the last.
    template <int width, class Dense>
    __device__ long long first_of(const Dense& dense, long long from, long long end, const T& value) {
        while (end - from > 4 * width && !meets<4 * width>(dense, from, value)) from += 4 * width;
        while (end - from > width && !meets<width>(dense, from, value)) from += width;
        const int place = place_in<width>(dense, from, value);
        return place < width ? from + place : end;
    }
    template <int width, class Dense>
    __device__ long long last_of(const Dense& dense, long long from, long long end, const T& value) {
        long long k = end;
        while (k - from > width && !meets<width>(dense, k - width, value)) k -= width;
        int place = -1;
        for (int l = 0; l < width; ++l) {
            const int here = same(dense((k - width + l) * step).value, value) ? l : -1;
            place = here > place ? here : place;
        }
        return place < 0 ? end : k - width + place;
    }
    // Whole packs from `from` on, of which the last one may begin in the one before, where elements come in their order; returns
    // where they end. Each lane has the first of its best. Loops over lanes are such that each becomes a few vectors.
    template <int width, class Dense, class Join>
    __device__ long long carry(const Dense& dense, long long from, long long stop, const Join& join) {
        typedef typename PlaceBeside<T>::Place Place;
        constexpr bool has_nan = Ordered<T>::has_nan;
        constexpr long long block = 64 * width, longest = 1 << 30;
        const int nowhere = 0x7fffffff;
        const T high = Limits<T>::high(), low = Limits<T>::low();
        const bool largest = better(high, low, join);
        while (stop - from >= width && !settled(best.index != P::nowhere(), join)) {
            const long long first = from, room = stop - first < longest ? stop - first : longest;
            T top[width];
            Place place[width], odd[width];
            QUERN_INDEPENDENT
            for (int l = 0; l < width; ++l) {
                const T x = dense(first + l).value;
                top[l] = x, place[l] = 0, odd[l] = is_nan(x) ? 1 : 0;
            }
            long long begin = 0, k = width; // of the last block, and its end
            Place ends = 0;
            for (;;) {
                QUERN_INDEPENDENT
                for (int l = 0; l < width; ++l) ends |= has_nan ? odd[l] : same(top[l], largest ? high : low) ? 1 : 0;
                if (ends || k >= room) break;
                if (room - k < width) k = room - width;
                begin = k;
                const long long whole = (room - k) / width * width, next = k + (whole < block ? whole : block);
                for (; k < next; k += width) {
                    QUERN_INDEPENDENT
                    for (int l = 0; l < width; ++l) {
                        const T x = dense(first + k + l).value, old = top[l];
                        const bool wins = better(x, old, join);
                        top[l] = wins ? x : old;
                        place[l] = wins ? static_cast<Place>(k) : place[l];
                        odd[l] = is_nan(x) ? 1 : odd[l];
                    }
                }
            }
            T winner = top[0];
            if constexpr (has_nan) {
                T tops[width];
                for (int l = 0; l < width; ++l) tops[l] = top[l];
                winner = fold_lanes<width>(tops, [&](const T& a, const T& b) -> T { return better(b, a, join) ? b : a; });
            } else {
                QUERN_INDEPENDENT
                for (int l = 0; l < width; ++l) winner = better(top[l], winner, join) ? top[l] : winner;
            }
            int least = nowhere;
            QUERN_INDEPENDENT
            for (int l = 0; l < width; ++l) {
                const int at = same(top[l], winner) ? static_cast<int>(place[l]) + l : nowhere; // -0 is +0
                least = at < least ? at : least;
            }
            const bool met_nan = has_nan && ends;
            const P found = dense(first + (met_nan ? 0 : least));
            if (!met_nan && found.index != P::nowhere()) best = join(best, found);
            else // which of them is NaN, or which has a place
                QUERN_PLAIN
                for (long long j = met_nan ? begin : 0; j < k; ++j) best = join(best, dense(first + j));
            from = ends ? stop : first + k;
        }
        return from;
    }
    // Of whole packs from the k-th element on, four at a time: the best in `top`; true where some of them are NaN, which two ask
    // together.
    template <int width, class Dense, class Join>
    static __device__ bool best_of_fours(const Dense& dense, T* top, long long& k, long long end, const Join& join) {
        typename PlaceBeside<T>::Place odd[width];
        for (int l = 0; l < width; ++l) odd[l] = 0;
        const auto best_of = [&](const T& a, const T& b) -> T { return better(a, b, join) ? a : b; };
        for (; k + 4 * width <= end; k += 4 * width) {
            QUERN_INDEPENDENT
            for (int l = 0; l < width; ++l) {
                const T a = dense(k + l).value, b = dense(k + width + l).value, c = dense(k + 2 * width + l).value,
                        d = dense(k + 3 * width + l).value;
                odd[l] |= (is_nan(a) | is_nan(b)) | (is_nan(c) | is_nan(d));
                top[l] = best_of(best_of(best_of(a, b), best_of(c, d)), top[l]);
            }
        }
        typename PlaceBeside<T>::Place any = 0;
        for (int l = 0; l < width; ++l) any |= odd[l];
        return any != 0;
    }
    // Whole packs from `from` on, of which the last one may begin in the one before; returns where they end. Where elements come
    // in their order a place is looked for once, in the last block that beat all before it: memory waits meanwhile. Short rows of
    // the types that do not ask for NaN apart do better without.
    template <int width, class Dense, class Join>
    __device__ long long scan(const Dense& dense, long long from, long long stop, const Join& join) {
        const bool holds = stop - from >= (by_fours ? long_run : 32768);
        const int lanes = width * step, pack = lanes * static_cast<int>(sizeof(T));
        const long long eighth = (stop - from) * step * static_cast<int>(sizeof(T)) / 8; // the search at the end shall be short
        const int bytes = eighth < 2048 ? 2048 : eighth < 16384 ? static_cast<int>(eighth) : 16384;
        const int block = !holds ? 64 : pack < 1024 ? bytes / pack + by_fours : 4;
        const auto the_best = [&](const T& a, const T& b) -> T { return better(T(1), T(0), join) ? maximum(a, b) : minimum(a, b); };
        const long long first = from, last = stop - (step > 1); // nothing may stand behind the last element
        if (last - first < width) return first;
        long long held = stop, held_end = stop; // the block of best.value, whose place is not known yet
        const auto placed = [&] { return (best.index != P::nowhere()) | (held < stop); };
        while (from < last && !settled(placed(), join)) {
            if (last - from < width) from = last - width;
            const long long whole = (last - from) / width, end = from + (whole < block ? whole : block) * width;
            T top[lanes]; // NaN stays
            bool odd = false;
            for (int l = 0; l < lanes; ++l) top[l] = dense(from * step + l).value;
            long long k = from + width;
            if constexpr (by_fours)
                if (!far) odd = best_of_fours<width>(dense, top, k, end, join); // too many lines a step for memory
            for (; k < end; k += width) {
                QUERN_INDEPENDENT
                for (int l = 0; l < lanes; ++l) top[l] = the_best(top[l], dense(k * step + l).value);
            }
            const bool unknown = !placed();
            bool news = unknown | !rising | !holds | odd;
            if (!news)
                for (int l = 0; l < width; ++l) news |= is_nan(top[l * step]) | better(top[l * step], best.value, join);
            if (news) {
                T tops[width];
                for (int l = 0; l < width; ++l) tops[l] = top[l * step];
                const T most = fold_lanes<width>(tops, the_best);
                odd |= is_nan(most);
                const bool wins = better(most, best.value, join);
                if (holds && rising && wins && !odd) {
                    held = from, held_end = end, best.value = most;
                } else if (odd || unknown || wins || (!rising && same(most, best.value))) {
                    const long long at = odd ? end : falls ? last_of<width>(dense, from, end, most) : first_of<width>(dense, from, end, most);
                    const P found = at < end ? dense(at * step) : P();
                    if (found.index != P::nowhere()) best = join(best, found);
                    else // which of them is NaN, or which has a place
                        QUERN_PLAIN
                        for (long long k = from; k < end; ++k) best = join(best, dense(k * step));
                    held = stop; // NaN beats it
                }
            }
            from = end;
        }
        if (held < stop) best = dense(first_of<width>(dense, held, held_end, best.value) * step);
        return from < last ? stop : from;
    }
};

template <class T, class I, int width> struct SideBySide<Placed<T, I>, width> {
    alignas(64) T value[width + lines_apart<T, width>()];
    alignas(64) I index[width];
    __device__ void put(long long l, const Placed<T, I>& x) { value[l] = x.value, index[l] = x.index; }
    __device__ Placed<T, I> get(long long l) const {
        Placed<T, I> x;
        x.value = value[l], x.index = index[l];
        return x;
    }
};

// Where columns meet their elements from the first to the last an equal one behind never wins.
template <class T, class I, int most> struct Columns<Placed<T, I>, most, true> : Columns<Placed<T, I>, most, false> {
    typedef Placed<T, I> P;
    template <class Join> static __device__ P later(const P& a, const P& b, const Join& join) {
        const bool beats = (is_nan(b.value) | is_better<P>(b.value, a.value, join)) & !is_nan(a.value), wins = beats | (a.index == P::nowhere());
        P winner;
        winner.value = chosen(wins, b.value, a.value);
        winner.index = wins ? b.index : a.index;
        return winner;
    }
    template <class Join> __device__ void add(long long j, const P& x, const Join& join) { this->put(j, later(this->get(j), x, join)); }
    template <class Join> __device__ void add(long long j, const P& a, const P& b, const P& c, const P& d, const Join& join) {
        this->put(j, later(this->get(j), later(later(a, b, join), later(c, d, join), join), join));
    }
};

#endif

} // namespace quern
