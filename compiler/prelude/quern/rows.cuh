// What row kernels share: the threads of a row all learn what they found together.
#pragma once
#include "quern/elementwise.cuh"
#include "quern/scan.cuh"

namespace quern {

// Nothing that the stream's earlier kernels may write or read is touched before it: then this one may be launched while the
// last of their blocks are at work.
__device__ inline void wait_for_earlier() {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The next kernel, if it waits likewise, may come as soon as all blocks of this one have. A block that says so takes a
// nanosecond of all others.
__device__ inline void let_next_come() {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// What the block is about to read, asked for in one piece, to lie in the second-level cache: `from` and `bytes` are multiples
// of 16. Nobody learns what was there, so that it need not wait.
__device__ inline void ask_for(const void* from, unsigned int bytes) {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
#endif
}

// The values of some neighbouring lanes of a warp, a power of two, joined: in the first of them, or in each.
template <class T, class Join> __device__ inline T join_in_first(T value, unsigned int lanes, const Join& join) {
    for (unsigned int step = lanes / 2; step > 0; step /= 2) value = join(value, value_below(value, step));
    return value;
}
template <class T, class Join> __device__ inline T join_lanes(const T& value, unsigned int lanes, const Join& join) {
    return value_of(join_in_first(value, lanes, join), threadIdx.x % 32 & ~(lanes - 1));
}
// `count` values that all threads read, a power of two, at most `most`: two by two, which is quicker than by shuffles.
template <int most, class T, class Join> __device__ inline T join_places(const T* values, unsigned int count, const Join& join) {
    const int half = most / 2;
    if constexpr (half == 0) return values[0];
    else if (count <= half) return join_places<half>(values, count, join);
    else return join(join_places<half>(values, half, join), join_places<half>(values + half, half, join));
}

// The values of 2^bits neighbouring threads, joined, in each of them. Every thread of the block takes part, once with the
// same slots, of which there is one for each warp. What is dear to join is joined by one warp for many.
template <class T, class Join, int most>
__device__ inline T join_steps(const T& own, unsigned int bits, const Join& join, Slots<T, most>& slots) {
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, threads = 1u << bits;
    if (threads <= 32) return join_lanes(own, threads, join);
    const unsigned int warps = threads / 32, first = warp & ~(warps - 1);
    const T found = join_in_first(own, 32, join);
    if (lane == 0) slots[warp] = found;
    __syncthreads();
    if (warps == 2) return join(slots[first], slots[first + 1]);
    if (sizeof(T) <= 8) return join_places<most>(&slots[first], warps, join);
    if (warp == first) {
        const T all = join_lanes(slots[first + lane % warps], warps, join);
        __syncwarp(); // another lane has read what is written now
        if (lane == 0) slots[first] = all;
    }
    __syncthreads();
    return slots[first];
}
template <class Own, class T, class Join, int most>
__device__ inline T join_group(const Own& own, unsigned int bits, const Join& join, Slots<T, most>& slots) {
    return join_steps(static_cast<T>(own), bits, join, slots);
}

// The same where `width` neighbouring threads, a unit, have a row each, and 2^bits units parts of the same rows: those with
// `part` below 2^bits, of the group whose units begin at `first`. `room` holds a value for each thread.
template <int width, class T, class Join>
__device__ inline T join_units(T value, unsigned int bits, unsigned int part, unsigned int first, const Join& join, unsigned char* room) {
    T* const slots = reinterpret_cast<T*>(room) + (first * width + threadIdx.x % width);
    __syncthreads(); // somebody may still read what was there
    if (part >> bits == 0) slots[part * width] = value;
    __syncthreads();
    for (unsigned int step = (1u << bits) / 2; step > 0; step /= 2) {
        if (part < step) slots[part * width] = value = join(value, slots[(part + step) * width]);
        __syncthreads();
    }
    return slots[0];
}
template <int width, class T, class Join>
__device__ inline T join_columns(T value, unsigned int bits, const Join& join, unsigned char* room) {
    const unsigned int unit = threadIdx.x / width, part = unit & ((1u << bits) - 1);
    return bits == 0 ? value : join_units<width>(value, bits, part, unit - part, join, room);
}

// Starts to copy to shared memory what the same thread reads there after fetched().
template <class T> __device__ inline void fetch(T* to, const T* from) {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
    if (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) {
        const int bytes = sizeof(T) == 4 || sizeof(T) == 8 ? sizeof(T) : 16;
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned int>(__cvta_generic_to_shared(to))), "l"(from),
                     "n"(bytes)
                     : "memory");
        return;
    }
#endif
    *to = *from;
}
__device__ inline void fetched() {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 900

__device__ inline void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// What the block of a cluster's `rank` has where this one has `own`.
template <class T> __device__ inline T told_by(const T& own, unsigned int rank) {
    const T* there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&own), "r"(rank));
    return *there;
}

// What the 2^bits blocks of a cluster found, joined, in every thread of theirs, which all have the block's value. What is
// told stays there until the next sync_cluster().
template <class T, class Join, class Shared>
__device__ inline T join_cluster(T value, unsigned int bits, const Join& join, Shared& told, Shared& slot) {
    const unsigned int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) told[0] = value;
    sync_cluster();
    if (sizeof(T) <= 8 || threadIdx.x < 32) {
        value = join_lanes(told_by(told[0], lane & ((1u << bits) - 1)), 1u << bits, join);
        if (sizeof(T) <= 8) return value;
        if (threadIdx.x == 0) slot[0] = value;
    }
    __syncthreads();
    return slot[0];
}

// The same where units have parts of the same rows.
template <int width, class T, class Join, class Shared>
__device__ inline T join_cluster_columns(T value, unsigned int bits, const Join& join, Shared& told, unsigned char* room) {
    const unsigned int column = threadIdx.x % width, unit = threadIdx.x / width;
    if (unit == 0) told[column] = value;
    sync_cluster();
    if (unit >> bits == 0) value = told_by(told[column], unit);
    return join_units<width>(value, bits, unit, 0, join, room);
}

#endif

} // namespace quern
