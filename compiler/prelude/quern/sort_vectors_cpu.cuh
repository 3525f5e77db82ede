// Rows of values alone on a CPU with AVX2 or AVX-512: divided at pivots until a part fits sixteen vectors, which a network sorts.
// Equal values change places on the way, so where there are zeros of both signs or NaN those are divided off first.
#pragma once
#include "quern/divide_cpu.cuh"
#include "quern/exchange_cpu.cuh"

namespace quern {

template <class Int, Int... number> struct LaneNumbers {};

// What some vectors hold in order: first each lane by itself, down the vectors, then lanes are merged two by two. Until the end
// the values of a lane lie beside each other, so that most exchanges are those of whole vectors.
template <class T, class Lanes = __make_integer_seq<LaneNumbers, int, Vector<T>::lanes>> struct VectorNetwork;
template <class T, int... lane> struct VectorNetwork<T, LaneNumbers<int, lane...>> {
    typedef typename Vector<T>::Values Values;
    static const int lanes = Vector<T>::lanes;

    static __device__ inline Values lower(const Values& a, const Values& b) { return a < b ? a : b; }
    static __device__ inline Values upper(const Values& a, const Values& b) { return a < b ? b : a; }
    static __device__ inline Values middle_of(const Values& a, const Values& b, const Values& c) {
        return upper(lower(a, b), lower(upper(a, b), c));
    }
    template <int by> static __device__ inline Values turned(const Values& v) {
        return __builtin_shufflevector(v, v, ((lane + by) % lanes)...);
    }
    static __device__ inline T middle_lane(const Values& v) { // about
        const Values middle = middle_of(v, turned<lanes / 3>(v), turned<2 * lanes / 3>(v));
        return middle_of(middle, turned<1>(middle), turned<2>(middle))[0];
    }
    // Lanes from those whose numbers differ in the bits of `apart`.
    template <int apart> static __device__ inline Values partner(const Values& v) {
        return __builtin_shufflevector(v, v, (lane ^ apart)...);
    }
    // The smaller ones; where lanes have `behind` in their numbers the larger ones.
    template <int behind> static __device__ inline Values ordered(const Values& a, const Values& b) {
        return __builtin_shufflevector(lower(a, b), upper(a, b), (lane & behind ? lanes + lane : lane)...);
    }

    // Batcher's odd-even merge of vectors `step` apart, lane by lane.
    template <int count, int step> static __device__ inline void merge_vectors(Values* v) {
        if constexpr (2 * step < count) {
            merge_vectors<count, 2 * step>(v);
            merge_vectors<count, 2 * step>(v + step);
#pragma unroll
            for (int k = step; k + step < count; k += 2 * step) exchange_vectors(v[k], v[k + step]);
        } else {
            exchange_vectors(v[0], v[step]);
        }
    }
    template <int count> static __device__ inline void sort_vectors(Values* v) {
        if constexpr (count > 1) {
            sort_vectors<count / 2>(v);
            sort_vectors<count / 2>(v + count / 2);
            merge_vectors<count, 1>(v);
        }
    }
    // What rises and then falls in order, by lanes and by vectors.
    template <int apart> static __device__ inline void smooth_lanes(Values& v) {
        if constexpr (apart > 0) {
            v = ordered<apart>(v, partner<apart>(v));
            smooth_lanes<apart / 2>(v);
        }
    }
    template <int count> static __device__ inline void smooth_vectors(Values* v) {
        if constexpr (count > 1) {
#pragma unroll
            for (int k = 0; k < count / 2; ++k) exchange_vectors(v[k], v[k + count / 2]);
            smooth_vectors<count / 2>(v);
            smooth_vectors<count / 2>(v + count / 2);
        }
    }
    template <int count, int width> static __device__ inline void merge_lanes(Values* v) { // runs of `width` lanes, which double
        if constexpr (width < lanes) {
#pragma unroll
            for (int k = 0; k < (count + 1) / 2; ++k) { // each with its mirror image
                const Values first = v[k], last = v[count - 1 - k];
                v[k] = ordered<width>(first, partner<2 * width - 1>(last));
                v[count - 1 - k] = ordered<width>(last, partner<2 * width - 1>(first));
            }
#pragma unroll
            for (int k = 0; k < count; ++k) smooth_lanes<width / 2>(v[k]);
            smooth_vectors<count>(v);
            merge_lanes<count, 2 * width>(v);
        }
    }
    // A value of each vector in turn, until a lane's lie side by side.
    template <int count, int turns> static __device__ inline void interleave(Values* v) {
        if constexpr (turns > 1) {
            Values made[count];
#pragma unroll
            for (int k = 0; k < count / 2; ++k) {
                made[2 * k] = __builtin_shufflevector(v[k], v[k + count / 2], (lane / 2 + lane % 2 * lanes)...);
                made[2 * k + 1] = __builtin_shufflevector(v[k], v[k + count / 2], (lanes / 2 + lane / 2 + lane % 2 * lanes)...);
            }
#pragma unroll
            for (int k = 0; k < count; ++k) v[k] = made[k];
            interleave<count, turns / 2>(v);
        }
    }
    template <int count> static __device__ inline void sort(Values* v) {
        sort_vectors<count>(v);
        merge_lanes<count, 1>(v);
        interleave<count, count>(v);
    }
};

template <class T> struct VectorSort {
    typedef PartItems<T> Items;
    typedef Vector<T> V;
    typedef VectorNetwork<T> Network;
    static const int lanes = V::lanes, held = 16, most = held * lanes;
    T *here, *there; // both as long as the row; all ends `here`

    static __device__ inline T last() {
        if constexpr (Ordered<T>::has_nan)
            return static_cast<T>(__int_as_float(0x7f800000));
        else
            return Ordered<T>::value(static_cast<typename Ordered<T>::Key>(~static_cast<typename Ordered<T>::Key>(0)));
    }
    static __device__ inline T first() { return static_cast<T>(Ordered<T>::has_nan ? -last() : -last() - 1); }
    // At least a vector, and more than half of `count`, without a branch that would be missed: where less than a vector is left
    // one that ends with it is taken, of which only that counts.
    template <int count> static __device__ __noinline__ void sort_vectors(T* values, int length) {
        typename V::Values v[count], numbers;
        T sorted[count * lanes];
        for (int lane = 0; lane < lanes; ++lane) numbers[lane] = static_cast<T>(lane);
        const auto begin_of = [&](int k) { return k < count / 2 || k * lanes < length - lanes ? k * lanes : length - lanes; };
#pragma unroll
        for (int k = 0; k < count; ++k) {
            v[k] = V::load(values + begin_of(k)).v;
            if (k >= count / 2) v[k] = numbers < V::all(static_cast<T>(k * lanes - begin_of(k))).v ? V::all(last()).v : v[k];
        }
        Network::template sort<count>(v);
#pragma unroll
        for (int k = 0; k < count; ++k) memcpy(sorted + k * lanes, &v[k], sizeof v[k]);
#pragma unroll
        for (int k = 0; k < count; ++k) V::load(sorted + begin_of(k)).store(values + begin_of(k));
    }
    template <int count> static __device__ inline void sort_many(T* values, int length) {
        if constexpr (count < held)
            if (length > count * lanes) return sort_many<2 * count>(values, length);
        sort_vectors<count>(values, length);
    }
    static __device__ inline void sort_few(T* values, int length) {
        if (length >= lanes) return sort_many<2>(values, length);
        T filled[lanes];
        QUERN_PLAIN_LOOP
        for (int k = 0; k < lanes; ++k) filled[k] = k < length ? values[k] : last();
        sort_vectors<1>(filled, lanes);
        QUERN_PLAIN_LOOP
        for (int k = 0; k < length; ++k) values[k] = filled[k];
    }
    // Divides more than `most` values in place. Some vectors are taken out at both ends, so that there is always room for what comes next: it is taken
    // where less of it is left.
    template <PartFront front> static __device__ __noinline__ long long divide(T* values, long long length, const T& pivot) {
        const int step = held / 2;
        T *low = values, *high = values + length, *from = low + step * lanes, *to = high - step * lanes;
        const auto limit = V::all(pivot).v;
        const auto put = [&](const V& next, unsigned int valid, int count) {
            const unsigned int mask = chosen_lanes<front>(next, limit) & valid;
            const V packed = next.packed(mask);
            packed.store(low);
            packed.store(high - lanes);
            const int chosen = __popc(mask);
            low += chosen;
            high -= count - chosen;
        };
        const auto take = [&](auto& taken) {
            const int vectors = sizeof taken / sizeof taken[0], many = vectors * lanes;
            const long long behind = ((high - to) - (from - low)) >> 63; // a mask: a branch would be missed half the time
            const T* const next = from + (behind & (to - many - from));
            from += many & ~behind;
            to -= many & behind;
#pragma unroll
            for (int k = 0; k < vectors; ++k) taken[k] = V::load(next + k * lanes);
#pragma unroll
            for (int k = 0; k < vectors; ++k) put(taken[k], ~0u, lanes);
        };
        V first[step], last[step], next[step], one[1];
#pragma unroll
        for (int k = 0; k < step; ++k) {
            first[k] = V::load(values + k * lanes);
            last[k] = V::load(to + k * lanes);
        }
        while (to - from >= step * lanes) take(next);
        while (to - from >= lanes) take(one);
        const int rest = static_cast<int>(to - from);
        put(V::load(to - lanes).packed(~0u << (lanes - rest) & ((1u << lanes) - 1)), (1u << rest) - 1, rest);
#pragma unroll
        for (int k = 0; k < step; ++k) {
            put(first[k], ~0u, lanes);
            put(last[k], ~0u, lanes);
        }
        return low - values;
    }
    // A value above the least one, if there is another, and no greater than the greatest one.
    static __device__ __noinline__ T between(const T* values, long long length) {
        typedef typename Ordered<T>::Key Key;
        T least = values[0], most = least;
        for (long long k = 1; k < length; ++k) {
            least = values[k] < least ? values[k] : least;
            most = most < values[k] ? values[k] : most;
        }
        const Key low = Ordered<T>::key(least), apart = static_cast<Key>(Ordered<T>::key(most) - low);
        return Ordered<T>::value(static_cast<Key>(low + apart / 2 + apart % 2));
    }
    // About the middle one of a sample of vectors: of three the middle one, of three of those, and so on, then of its lanes.
    static __device__ inline T pivot_of(const T* values, long long length, int turn) {
        const int most_turns = 64; // then half of the keys there may be are ruled out each time
        if (turn > most_turns) return between(values, length);
        const int count = 9;
        const long long step = length / count, shift = (turn * 0x9e3779b9u >> 4) * (step - lanes) >> 28;
        typename V::Values seen[count];
#pragma unroll
        for (int k = 0; k < count; ++k) seen[k] = V::load(values + k * step + shift).v;
#pragma unroll
        for (int third = count / 3; third > 0; third /= 3)
#pragma unroll
            for (int k = 0; k < third; ++k) seen[k] = Network::middle_of(seen[k], seen[k + third], seen[k + 2 * third]);
        return Network::middle_lane(seen[0]);
    }
    static __device__ __noinline__ void sort_here(T* values, long long length, T least) { // no value is less
        for (int turn = 0; length > most; ++turn) {
            const T pivot = pivot_of(values, length, turn);
            long long less = least < pivot ? divide<part_less>(values, length, pivot) : 0;
            if (less == 0) { // all that is equal stands in its place
                less = divide<part_upto>(values, length, pivot);
            } else if (less < length - less) {
                sort_here(values, less, least);
                least = pivot;
            } else {
                sort_here(values + less, length - less, pivot);
                length = less;
                continue;
            }
            values += less;
            length -= less;
        }
        if (length > 0) sort_few(values, static_cast<int>(length));
    }
    // Copies a row, which may be either of them, to `here`. Is there a NaN, or a -0.0, which is equal to 0.0 and yet another value?
    __device__ inline bool copy_has_special(const T* row, long long length) const {
        bool found = false;
        for (long long k = 0; k < length; ++k) {
            const T value = row[k];
            here[k] = value;
            if constexpr (Ordered<T>::has_nan) {
                typename Ordered<T>::Key bits;
                memcpy(&bits, &value, sizeof bits);
                found |= (value != value) | (bits == Ordered<T>::sign);
            }
        }
        return found;
    }
    template <PartFront front> static __device__ inline long long divide_to(T* from, T* to, long long begin, long long end) {
        return divide_part<front, false>(Items{from, nullptr}, Items{to, nullptr}, begin, end, static_cast<T>(0));
    }
    // Of a row that is `here`. Zeros and NaN keep their order: what a division put behind is turned round.
    __device__ inline void sort_special(long long length) const {
        const long long nans = divide_to<part_numbers>(here, there, 0, length), zeros = divide_to<part_less>(there, here, 0, nans),
                        positives = divide_to<part_upto>(here, there, zeros, nans);
        for (long long k = zeros; k < positives; ++k) here[k] = there[zeros + positives - 1 - k];
        for (long long k = positives; k < nans; ++k) here[k] = there[k];
        for (long long k = nans; k < length; ++k) here[k] = there[nans + length - 1 - k];
        sort_here(here, zeros, first());
        sort_here(here + positives, nans - positives, first());
    }
    __device__ inline void sort(const T* row, long long length) const {
        const bool special = copy_has_special(row, length);
        if constexpr (Ordered<T>::has_nan)
            if (special) return sort_special(length);
        sort_here(here, length, first());
    }
};

} // namespace quern
