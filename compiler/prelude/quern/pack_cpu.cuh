// Vectors of QUERN_VECTORS bytes on a CPU, 32 with AVX2 and 64 with AVX-512, and moves of the lanes that a mask chooses to the front.
#pragma once

namespace quern {

#if QUERN_VECTORS == 64
const int vector_bytes = 64;
#else
const int vector_bytes = 32;
#endif

// Where lanes of `parts` words each come from so that those which a mask chooses stand in front in their order and the others
// behind, from the last to the first.
template <int lanes, int parts> struct PackOrders {
    unsigned char from[1 << lanes][8];
    constexpr PackOrders() : from() {
        for (int mask = 0; mask < 1 << lanes; ++mask) {
            int front = 0, back = lanes;
            for (int lane = 0; lane < lanes; ++lane) {
                const int to = mask >> lane & 1 ? front++ : --back;
                for (int part = 0; part < parts; ++part) from[mask][parts * to + part] = static_cast<unsigned char>(parts * lane + part);
            }
        }
    }
};
template <int lanes, int parts> __device__ constexpr PackOrders<lanes, parts> pack_orders;

typedef int PackInts __attribute__((vector_size(32)));
typedef int WidePackInts __attribute__((vector_size(64)));
typedef long long WidePackLongs __attribute__((vector_size(64)));
typedef unsigned char PackBytes __attribute__((vector_size(8)));

// Eight words by an order of the table; sixteen are too many for one, and are pressed together from both sides.
template <int lanes, class Values> __device__ inline Values packed(const Values& values, unsigned int mask) {
    Values made;
    if constexpr (sizeof values <= sizeof(PackInts)) {
        PackInts ints = {};
        memcpy(&ints, &values, sizeof values);
        PackBytes order;
        memcpy(&order, pack_orders<lanes, sizeof values / lanes / 4>.from[mask], sizeof order);
        ints = __builtin_ia32_permvarsi256(ints, __builtin_convertvector(order, PackInts));
        memcpy(&made, &ints, sizeof made);
    }
#if QUERN_VECTORS == 64
    else if constexpr (lanes == 8) {
        WidePackLongs longs;
        memcpy(&longs, &values, sizeof values);
        PackBytes order;
        memcpy(&order, pack_orders<lanes, 1>.from[mask], sizeof order);
        longs = __builtin_ia32_permvardi512(longs, __builtin_convertvector(order, WidePackLongs));
        memcpy(&made, &longs, sizeof made);
    } else {
        WidePackInts ints, none = {};
        memcpy(&ints, &values, sizeof values);
        const WidePackInts others = __builtin_ia32_compresssi512_mask(ints, none, static_cast<unsigned short>(~mask)),
                           behind = __builtin_shufflevector(others, others, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        ints = __builtin_ia32_compresssi512_mask(ints, behind, static_cast<unsigned short>(mask));
        memcpy(&made, &ints, sizeof made);
    }
#endif
    return made;
}

template <class T> struct Vector {
    static const int lanes = vector_bytes / static_cast<int>(sizeof(T));
    typedef T Values __attribute__((vector_size(vector_bytes)));
    typedef bool Chosen __attribute__((ext_vector_type(lanes)));
    Values v;

    static __device__ inline Vector load(const T* from) {
        Vector made;
        memcpy(&made.v, from, vector_bytes);
        return made;
    }
    static __device__ inline Vector all(T value) {
        Vector made;
#pragma unroll
        for (int lane = 0; lane < lanes; ++lane) made.v[lane] = value;
        return made;
    }
    __device__ inline void store(T* to) const { memcpy(to, &v, vector_bytes); }
    template <class Truths> static __device__ inline unsigned int mask_of(const Truths& truths) {
        const Chosen found = __builtin_convertvector(truths, Chosen);
        unsigned short mask = 0;
        memcpy(&mask, &found, lanes > 8 ? 2 : 1);
        return mask & ((1u << lanes) - 1);
    }
    __device__ inline Vector packed(unsigned int mask) const { return {quern::packed<lanes>(v, mask)}; }
};

} // namespace quern
