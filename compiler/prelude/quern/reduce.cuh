// What generated reductions share: slots in shared memory for any type, shuffles of any type, the threads of a row
// combined, and on the CPU sums of sums.
#pragma once

namespace quern {

// Shared memory for `count` values of a type that may have constructors.
template <class T, int count> struct Slots {
    alignas(16) unsigned char bytes[count * sizeof(T)];
    __device__ T& operator[](unsigned int k) { return reinterpret_cast<T*>(bytes)[k]; }
};

#ifdef __QUERN_HOST__

// Values folded two by two as they come, like the carries of a binary counter: rounding errors grow with the logarithm of
// their number.
template <class T, class Join> struct Pairwise {
    const Join& join;
    T identity;
    unsigned long long count;
    T partial[48];
    __device__ Pairwise(const Join& how, const T& start) : join(how), identity(start), count(0) {}
    __device__ void add(T value) {
        int level = 0;
        for (unsigned long long rest = count++; rest & 1; rest >>= 1) value = join(partial[level++], value);
        partial[level] = value;
    }
    __device__ T total() const {
        T sum = identity;
        bool any = false;
        int level = 0;
        for (unsigned long long rest = count; rest; rest >>= 1, ++level)
            if (rest & 1) {
                sum = any ? join(partial[level], sum) : partial[level];
                any = true;
            }
        return sum;
    }
};

// lanes[0] becomes the sum of all, two by two.
template <int count, class T, class Join> __device__ inline T fold_lanes(T* lanes, const Join& join) {
    for (int half = count / 2; half > 0; half /= 2)
        for (int k = 0; k < half; ++k) lanes[k] = join(lanes[k], lanes[k + half]);
    return lanes[0];
}

#else

template <class T> __device__ inline T shuffle_down(const T& value, unsigned int offset) {
    const int words = (sizeof(T) + 3) / 4;
    unsigned int held[words];
    held[words - 1] = 0;
    memcpy(held, &value, sizeof(T));
#pragma unroll
    for (int k = 0; k < words; ++k) held[k] = __shfl_down_sync(0xffffffffu, held[k], offset);
    T moved = value;
    memcpy(&moved, held, sizeof(T));
    return moved;
}

// The values of 2^bits neighbouring threads, at most 32 or else the whole block; the first of them gets the result. Every
// thread of the block takes part.
template <class T, class Join, class Shared>
__device__ inline T join_threads(T value, unsigned int bits, const Join& join, Shared& slots) {
    for (unsigned int step = bits < 5 ? (1u << bits) / 2 : 16; step > 0; step /= 2)
        value = join(value, shuffle_down(value, step));
    if (bits <= 5) return value;
    const unsigned int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x % 32 == 0) slots[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = slots[threadIdx.x < warps ? threadIdx.x : 0];
        for (unsigned int step = warps / 2; step > 0; step /= 2) value = join(value, shuffle_down(value, step));
    }
    return value;
}

#endif

} // namespace quern
