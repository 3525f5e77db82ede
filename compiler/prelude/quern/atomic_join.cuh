// How blocks that share a result join theirs by atomic operations, in any order: each into a slot of 64 bits, which is zero
// before and afterwards. add() joins a block's part, take() gets the whole.
#pragma once
#include "quern/ordered.cuh"
#include "quern/reduce.cuh"

namespace quern {

typedef unsigned long long AtomicSlot;

template <class T> struct AtomicSum {
    static __device__ void add(AtomicSlot* slot, T part) { atomicAdd(reinterpret_cast<T*>(slot), part); }
    static __device__ T take(AtomicSlot* slot) {
        const AtomicSlot word = atomicExch(slot, AtomicSlot(0));
        T whole;
        memcpy(&whole, &word, sizeof(T));
        return whole;
    }
};
template <> __device__ inline void AtomicSum<long long>::add(AtomicSlot* slot, long long part) {
    atomicAdd(slot, static_cast<AtomicSlot>(part)); // CUDA has it for unsigned ones
}

// Keys grow towards the extreme, NaN's is above all; zero is the worst value.
template <class T, bool largest> struct AtomicExtreme {
    typedef Ordered<T> Order;
    typedef typename Order::Key Key;
    static __device__ Key turned(Key key) { return largest || (Order::has_nan && key == static_cast<Key>(~Key(0))) ? key : static_cast<Key>(~key); }
    static __device__ void add(AtomicSlot* slot, T part) { atomicMax(slot, static_cast<AtomicSlot>(turned(Order::key(part)))); }
    static __device__ T take(AtomicSlot* slot) { return Order::value(turned(static_cast<Key>(atomicExch(slot, AtomicSlot(0))))); }
};

// Has any block found `wanted`?
template <bool wanted> struct AtomicTruth {
    static __device__ void add(AtomicSlot* slot, bool part) {
        if (part == wanted) atomicOr(slot, AtomicSlot(1));
    }
    static __device__ bool take(AtomicSlot* slot) { return (atomicExch(slot, AtomicSlot(0)) != 0) == wanted; }
};

// Of `splits` blocks that have added their parts to `places` slots, the last calls put(place, whole) for each.
template <class Join, class Put>
__device__ inline void finish_atomically(AtomicSlot* slots, unsigned int* counter, unsigned int splits, unsigned int places, const Put& put) {
    if (!arrives_last(counter, splits)) return;
    for (unsigned int place = threadIdx.x; place < places; place += blockDim.x) put(place, Join::take(slots + place));
}

} // namespace quern
