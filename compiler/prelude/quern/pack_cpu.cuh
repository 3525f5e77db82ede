// Vectors of 32 bytes on a CPU with AVX2, and moves of the lanes that a mask chooses to the front.
#pragma once

namespace quern {

// Where lanes of `parts` ints each come from so that those which a mask chooses stand in front and the others behind, both in
// their order.
template <int lanes, int parts> struct PackOrders {
    unsigned char from[1 << lanes][8];
    constexpr PackOrders() : from() {
        for (int mask = 0; mask < 1 << lanes; ++mask) {
            int at = 0;
            for (int chosen = 1; chosen >= 0; --chosen)
                for (int lane = 0; lane < lanes; ++lane)
                    if ((mask >> lane & 1) == chosen)
                        for (int part = 0; part < parts; ++part) from[mask][at++] = static_cast<unsigned char>(parts * lane + part);
        }
    }
};
template <int lanes, int parts> __device__ constexpr PackOrders<lanes, parts> pack_orders;

typedef int PackInts __attribute__((vector_size(32)));
typedef unsigned char PackBytes __attribute__((vector_size(8)));

template <int lanes, int parts> __device__ inline PackInts packed(const PackInts& ints, unsigned int mask) {
    PackBytes order;
    memcpy(&order, pack_orders<lanes, parts>.from[mask], 8);
    return __builtin_ia32_permvarsi256(ints, __builtin_convertvector(order, PackInts));
}

template <class T> struct Vector {
    static const int lanes = 32 / static_cast<int>(sizeof(T)), parts = static_cast<int>(sizeof(T)) / 4;
    typedef T Values __attribute__((vector_size(32)));
    typedef bool Chosen __attribute__((ext_vector_type(lanes)));
    Values v;

    static __device__ inline Vector load(const T* from) {
        Vector made;
        memcpy(&made.v, from, 32);
        return made;
    }
    static __device__ inline Vector all(T value) {
        Vector made;
#pragma unroll
        for (int lane = 0; lane < lanes; ++lane) made.v[lane] = value;
        return made;
    }
    __device__ inline void store(T* to) const { memcpy(to, &v, 32); }
    template <class Truths> static __device__ inline unsigned int mask_of(const Truths& truths) {
        const Chosen found = __builtin_convertvector(truths, Chosen);
        unsigned char mask = 0;
        memcpy(&mask, &found, 1);
        return mask & ((1u << lanes) - 1);
    }
    __device__ inline Vector packed(unsigned int mask) const {
        PackInts ints;
        memcpy(&ints, &v, 32);
        ints = quern::packed<lanes, parts>(ints, mask);
        Vector made;
        memcpy(&made.v, &ints, 32);
        return made;
    }
};

} // namespace quern
