// What row kernels share: the threads of a row all learn what they found together.
#pragma once
#include "quern/elementwise.cuh"
#include "quern/scan.cuh"

namespace quern {

// The values of 2^bits neighbouring threads, joined, in each of them. Every thread of the block takes part, once with the same slots,
// of which there is one for each warp.
template <class T, class Join, class Shared>
__device__ inline T join_group(T value, unsigned int bits, const Join& join, Shared& slots) {
    const unsigned int lane = threadIdx.x % 32, threads = 1u << bits;
    for (unsigned int step = (threads < 32 ? threads : 32) / 2; step > 0; step /= 2) value = join(value, value_below(value, step));
    if (threads <= 32) return value_of(value, lane & ~(threads - 1));
    const unsigned int warps = threads / 32, first = threadIdx.x / 32 / warps * warps;
    if (lane == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[first + lane % warps];
    for (unsigned int step = warps / 2; step > 0; step /= 2) value = join(value, value_below(value, step));
    return value_of(value, 0);
}

} // namespace quern
