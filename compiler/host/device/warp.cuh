// What the 32 threads of a warp do together. Lanes are numbered by the thread's place in its block, x fastest.
// Each function is one call of a primitive (barriers.cuh) with a little arithmetic around it.
#pragma once
__quern_fn unsigned __quern_lane() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u;
}

__quern_fn void __syncwarp(unsigned mask = 0xffffffffu) { __quern_sync_warp(0, mask, 0, 0); }
__quern_fn unsigned __activemask() { return __quern_active_mask(); }
__quern_fn unsigned __ballot_sync(unsigned mask, int predicate) {
    return (unsigned)__quern_sync_warp(2, mask, predicate != 0, 0);
}
__quern_fn int __any_sync(unsigned mask, int predicate) {
    return (unsigned)__quern_sync_warp(2, mask, predicate != 0, 0) != 0;
}
__quern_fn int __all_sync(unsigned mask, int predicate) {
    const unsigned long long votes = __quern_sync_warp(2, mask, predicate != 0, 0);
    return (unsigned)votes == (unsigned)(votes >> 32);
}

// Where a shuffle reads: PTX's shfl, of which width is a part of c. A lane outside the segment is the reader itself.
__quern_fn unsigned __quern_segment(int width) { return (32u - (unsigned)width) & 31u; } // the lane bits that stay
__quern_fn unsigned __quern_source_index(int from, int width) {
    const unsigned fixed = __quern_segment(width);
    return (__quern_lane() & fixed) | ((unsigned)from & 31u & ~fixed);
}
__quern_fn unsigned __quern_source_up(unsigned delta, int width) {
    const unsigned lane = __quern_lane(), step = delta & 31u;
    return (lane & __quern_segment(width)) + step <= lane ? lane - step : lane;
}
__quern_fn unsigned __quern_source_down(unsigned delta, int width) {
    const unsigned lane = __quern_lane(), from = lane + (delta & 31u);
    return from <= (lane | (31u & ~__quern_segment(width))) ? from : lane;
}
__quern_fn unsigned __quern_source_xor(int lanes, int width) {
    const unsigned lane = __quern_lane(), from = lane ^ ((unsigned)lanes & 31u);
    return from <= (lane | (31u & ~__quern_segment(width))) ? from : lane;
}

#define __quern_shuffle(T, BITS)                                                                                       \
    __quern_fn T __quern_read_lane(unsigned mask, T value, unsigned lane) {                                         \
        return __builtin_bit_cast(T, (BITS)__quern_sync_warp(1, mask, __builtin_bit_cast(BITS, value), lane));         \
    }                                                                                                                  \
    __quern_fn T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {                              \
        return __quern_read_lane(mask, value, __quern_source_index(lane, width));                                      \
    }                                                                                                                  \
    __quern_fn T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {                     \
        return __quern_read_lane(mask, value, __quern_source_up(delta, width));                                        \
    }                                                                                                                  \
    __quern_fn T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {                   \
        return __quern_read_lane(mask, value, __quern_source_down(delta, width));                                      \
    }                                                                                                                  \
    __quern_fn T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {                         \
        return __quern_read_lane(mask, value, __quern_source_xor(lanes, width));                                       \
    }                                                                                                                  \
    __quern_fn unsigned __match_any_sync(unsigned mask, T value) {                                                  \
        return (unsigned)__quern_sync_warp(3, mask, __builtin_bit_cast(BITS, value), 0);                               \
    }                                                                                                                  \
    __quern_fn unsigned __match_all_sync(unsigned mask, T value, int* predicate) {                                  \
        const unsigned long long lanes = __quern_sync_warp(3, mask, __builtin_bit_cast(BITS, value), 0);               \
        const unsigned all = (unsigned)(lanes >> 32);                                                                  \
        *predicate = (unsigned)lanes == all;                                                                           \
        return *predicate ? all : 0;                                                                                   \
    }
__quern_shuffle(int, unsigned) __quern_shuffle(unsigned, unsigned) __quern_shuffle(float, unsigned)
__quern_shuffle(long, unsigned long) __quern_shuffle(unsigned long, unsigned long)
__quern_shuffle(long long, unsigned long long) __quern_shuffle(unsigned long long, unsigned long long)
__quern_shuffle(double, unsigned long long)
#undef __quern_shuffle

#define __quern_reduction(N, T, OP)                                                                                    \
    __quern_fn T N(unsigned mask, T value) { return (T)__quern_sync_warp(OP, mask, (unsigned)value, 0); }
__quern_reduction(__reduce_add_sync, unsigned, 4) __quern_reduction(__reduce_add_sync, int, 4)
__quern_reduction(__reduce_min_sync, unsigned, 5) __quern_reduction(__reduce_min_sync, int, 7)
__quern_reduction(__reduce_max_sync, unsigned, 6) __quern_reduction(__reduce_max_sync, int, 8)
__quern_reduction(__reduce_and_sync, unsigned, 9) __quern_reduction(__reduce_or_sync, unsigned, 10)
__quern_reduction(__reduce_xor_sync, unsigned, 11)
#undef __quern_reduction

// Gone since compute capability 7.0, where the lanes of a warp need not run in step.
#define __quern_gone(N)                                                                                                \
    template <class... T> __attribute__((device, unavailable("GPUs since sm_70 do not have it: use " #N                \
                                                             "_sync and name the lanes, 0xffffffff for all")))         \
    int N(T...);
__quern_gone(__shfl) __quern_gone(__shfl_up) __quern_gone(__shfl_down) __quern_gone(__shfl_xor)
__quern_gone(__ballot) __quern_gone(__any) __quern_gone(__all)
#undef __quern_gone
