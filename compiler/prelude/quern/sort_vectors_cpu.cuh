// Rows of values alone on a CPU with AVX2: divided at pivots until a part fits eight vectors, which a network sorts. Equal values
// change places on the way, so where there are zeros of both signs or NaN they are dealt out first.
#pragma once
#include "quern/divide_cpu.cuh"
#include "quern/exchange_cpu.cuh"

namespace quern {

// Exchanges between lanes of a vector and between vectors, the smaller values to the front.
template <class T> struct VectorNetwork {
    typedef Vector<T> V;
    typedef typename V::Values Values;
    static const int lanes = V::lanes;

    static __device__ inline Values lower(const Values& a, const Values& b) { return a < b ? a : b; }
    static __device__ inline Values upper(const Values& a, const Values& b) { return a < b ? b : a; }
    // Lanes from those whose numbers differ in the bits of `apart`.
    template <int apart> static __device__ inline Values partner(const Values& v) {
        if constexpr (lanes == 8)
            return __builtin_shufflevector(v, v, apart, 1 ^ apart, 2 ^ apart, 3 ^ apart, 4 ^ apart, 5 ^ apart, 6 ^ apart, 7 ^ apart);
        else
            return __builtin_shufflevector(v, v, apart, 1 ^ apart, 2 ^ apart, 3 ^ apart);
    }
    // Every lane with its partner; those with `behind` in their numbers get the larger one.
    template <int apart, int behind> static __device__ inline void exchange(Values& v) {
        const Values other = partner<apart>(v), low = lower(v, other), high = upper(v, other);
        if constexpr (lanes == 4)
            v = behind == 1 ? __builtin_shufflevector(low, high, 0, 5, 2, 7) : __builtin_shufflevector(low, high, 0, 1, 6, 7);
        else if constexpr (behind == 1)
            v = __builtin_shufflevector(low, high, 0, 9, 2, 11, 4, 13, 6, 15);
        else if constexpr (behind == 2)
            v = __builtin_shufflevector(low, high, 0, 1, 10, 11, 4, 5, 14, 15);
        else
            v = __builtin_shufflevector(low, high, 0, 1, 2, 3, 12, 13, 14, 15);
    }
    template <int apart> static __device__ inline void smooth_lanes(Values& v) {
        if constexpr (apart > 0) {
            exchange<apart, apart>(v);
            smooth_lanes<apart / 2>(v);
        }
    }
    // What rises and then falls, or the other way round, in order.
    template <int count> static __device__ inline void smooth(Values* v) {
        if constexpr (count == 1) {
            smooth_lanes<lanes / 2>(v[0]);
        } else {
#pragma unroll
            for (int k = 0; k < count / 2; ++k) exchange_vectors(v[k], v[k + count / 2]);
            smooth<count / 2>(v);
            smooth<count / 2>(v + count / 2);
        }
    }
    template <int length> static __device__ inline void sort_lanes(Values& v) { // from runs of `length`, which double
        if constexpr (length < lanes) {
            exchange<2 * length - 1, length>(v);
            smooth_lanes<length / 2>(v);
            sort_lanes<2 * length>(v);
        }
    }
    template <int count> static __device__ inline void sort(Values* v) {
        if constexpr (count == 1) {
            sort_lanes<1>(v[0]);
        } else {
            sort<count / 2>(v);
            sort<count / 2>(v + count / 2);
            Values high[count / 2];
#pragma unroll
            for (int k = 0; k < count / 2; ++k) { // each with its mirror image
                const Values other = partner<lanes - 1>(v[count - 1 - k]);
                high[k] = upper(v[k], other);
                v[k] = lower(v[k], other);
            }
#pragma unroll
            for (int k = 0; k < count / 2; ++k) v[count / 2 + k] = high[k];
            smooth<count / 2>(v);
            smooth<count / 2>(v + count / 2);
        }
    }
};

template <class T> struct VectorSort {
    typedef PartItems<T> Items;
    typedef Vector<T> V;
    static const int lanes = V::lanes, held = 16, most = held * lanes;
    T *here, *there; // both as long as the row; all ends `here`

    static __device__ inline T last() {
        if constexpr (Ordered<T>::has_nan)
            return static_cast<T>(__int_as_float(0x7f800000));
        else
            return Ordered<T>::value(static_cast<typename Ordered<T>::Key>(~static_cast<typename Ordered<T>::Key>(0)));
    }
    template <int count> static __device__ __noinline__ void sort_vectors(const T* from, T* to, int length) {
        typename V::Values v[count];
        const int whole = length / lanes, rest = length % lanes;
        T ends[lanes];
        QUERN_PLAIN_LOOP
        for (int k = 0; k < lanes; ++k) ends[k] = k < rest ? from[whole * lanes + k] : last();
#pragma unroll
        for (int k = 0; k < count; ++k) v[k] = k < whole ? V::load(from + k * lanes).v : k == whole ? V::load(ends).v : V::all(last()).v;
        VectorNetwork<T>::template sort<count>(v);
#pragma unroll
        for (int k = 0; k < count; ++k) {
            if (k < whole) {
                memcpy(to + k * lanes, &v[k], sizeof v[k]);
            } else if (k == whole) {
                memcpy(ends, &v[k], sizeof v[k]);
                QUERN_PLAIN_LOOP
                for (int lane = 0; lane < rest; ++lane) to[k * lanes + lane] = ends[lane];
            }
        }
    }
    static __device__ inline void sort_few(const T* from, T* to, int length) {
        if (length <= 2 * lanes)
            sort_vectors<2>(from, to, length);
        else if (length <= 4 * lanes)
            sort_vectors<4>(from, to, length);
        else if (length <= 8 * lanes)
            sort_vectors<8>(from, to, length);
        else
            sort_vectors<held>(from, to, length);
    }
    static __device__ inline T middle_of(const T& a, const T& b, const T& c) {
        const T low = a < b ? a : b, high = a < b ? b : a, rest = high < c ? high : c;
        return low < rest ? rest : low;
    }
    // About the middle one of a sample: of three the middle one, of three of those, and so on.
    template <int count> static __device__ inline T middle(const T* from, long long length, unsigned int turn) {
        const unsigned long long step = static_cast<unsigned long long>(length) / count;
        T seen[count];
#pragma unroll
        for (int k = 0; k < count; ++k) seen[k] = from[k * step + (((k + turn) * 0x9e3779b9u >> 4) * step >> 28)];
#pragma unroll
        for (int third = count / 3; third > 0; third /= 3)
#pragma unroll
            for (int k = 0; k < third; ++k) seen[k] = middle_of(seen[k], seen[k + third], seen[k + 2 * third]);
        return seen[0];
    }
    // [begin, end) of a row without NaN.
    __device__ __noinline__ void sort_numbers(T* from, long long begin, long long end) const {
        const long long many = 1024; // are worth a larger sample
        for (unsigned int turn = 0; end - begin > most; ++turn) {
            T* const to = from == there ? here : there;
            const long long length = end - begin;
            const T pivot = length < many ? middle<9>(from + begin, length, turn) : middle<27>(from + begin, length, turn);
            const Items source = {from, nullptr}, target = {to, nullptr};
            long long middle = divide_part<part_less, false>(source, target, begin, end, pivot);
            if (middle == begin) { // nothing is less: all that is equal stands in its place
                middle = divide_part<part_upto, false>(source, target, begin, end, pivot);
                for (long long k = begin; k < middle; ++k) here[k] = pivot;
                begin = middle;
            } else if (middle - begin < end - middle) {
                sort_numbers(to, begin, middle);
                begin = middle;
            } else {
                sort_numbers(to, middle, end);
                end = middle;
            }
            from = to;
        }
        if (begin < end) sort_few(from + begin, here + begin, static_cast<int>(end - begin));
    }
    // Is there a NaN, or a -0.0, which is equal to 0.0 and yet another value?
    static __device__ inline bool has_special(const T* row, long long begin, long long end) {
        bool found = false;
        for (long long k = begin; k < end; ++k) found |= OneZero<true>::template loses<T>(Ordered<T>::key(row[k]));
        return found;
    }
    __device__ inline void sort(const T* row, long long begin, long long end) const {
        if constexpr (Ordered<T>::has_nan) {
            if (has_special(row, begin, end)) {
                if (row == there) {
                    for (long long k = begin; k < end; ++k) here[k] = row[k];
                    row = here;
                }
                long long negative = 0, zero = 0, positive = 0;
                for (long long k = begin; k < end; ++k) negative += row[k] < 0, zero += row[k] == 0, positive += row[k] > 0;
                const long long zeros = begin + negative, positives = zeros + zero, nans = positives + positive;
                long long at[4] = {begin, zeros, positives, nans};
                for (long long k = begin; k < end; ++k) {
                    const T value = row[k];
                    there[at[value < 0 ? 0 : value == 0 ? 1 : value > 0 ? 2 : 3]++] = value;
                }
                for (long long k = zeros; k < positives; ++k) here[k] = there[k];
                for (long long k = nans; k < end; ++k) here[k] = there[k];
                sort_numbers(there, begin, zeros);
                sort_numbers(there, positives, nans);
                return;
            }
        }
        sort_numbers(const_cast<T*>(row), begin, end);
    }
};

} // namespace quern
