// What kernels share that hold panels of columns: packs that come to shared memory ahead of time, and the meeting of all
// blocks of a panel.
#pragma once
#include "quern/rows.cuh"

namespace quern {

template <class A, class B> __device__ constexpr A larger(A a, B b) { return a < b ? b : a; }

// The same number, of which nothing is known: what follows from it is computed in each turn of a loop, where registers are
// too few to keep it.
template <class T> __device__ inline T afresh(T x) { return x; }
#ifndef __QUERN_HOST__
template <> __device__ inline int afresh(int x) {
    asm volatile("" : "+r"(x));
    return x;
}
template <> __device__ inline long long afresh(long long x) {
    asm volatile("" : "+l"(x));
    return x;
}
#endif

// 16 bytes that go past the first-level cache.
__device__ inline void fetch_once(uint4* to, const uint4* from) {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned int>(__cvta_generic_to_shared(to))), "l"(from)
                 : "memory");
#else
    *to = *from;
#endif
}
// Starts to copy `count` packs of a warp, each a row of 256 bytes, of which as many as there are `columns`: packs `pack` +
// k * `group`, as far as they are below `packs`, to places `warps` rows apart. Half a warp moves one.
template <int warps, class T, class Stride, class Index, class Count>
__device__ inline void fetch_packs(unsigned char* to, const T* from, Stride stride, Index pack, Index group, Index packs, Count count,
                                   unsigned int columns) {
    const unsigned int lane = threadIdx.x % 32, chunk = lane % 16 * (16 / sizeof(T));
    if (chunk >= columns) return;
#pragma unroll 8
    for (unsigned int k = lane / 16; k < static_cast<unsigned int>(count); k += 2) {
        const Index place = pack + static_cast<Index>(k) * group;
        if (place < packs)
            fetch_once(reinterpret_cast<uint4*>(to + k * (warps * 256) + lane % 16 * 16),
                       reinterpret_cast<const uint4*>(at_byte(from + chunk, static_cast<Stride>(place) * stride)));
    }
}
// Fetches up to here are one request; later all of them but the last are there.
__device__ inline void commit_fetches() {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
__device__ inline void await_fetches() {
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

// The room of a join has a value of each warp for each column; behind them twice what each block of the cluster told, so that a
// block may be one meeting ahead of another that still reads; then what all found.
template <int columns, int lanes, class Own, class T> __device__ inline void lay_out(const Own (&found)[lanes], T* room) {
    const unsigned int first = threadIdx.x / 32 * columns + threadIdx.x % 32 * lanes;
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane) room[first + lane] = static_cast<T>(found[lane]);
}
template <int columns, int warps, int blocks, class T> __device__ inline T* panel_totals(T* room) {
    return room + (warps + (blocks > 1 ? 2 * blocks : 0)) * columns;
}
template <class T> __device__ inline T value_across(const T& value, unsigned int apart) {
    return move_words(value, [=](unsigned int word) { return __shfl_xor_sync(0xffffffffu, word, apart); });
}
// Neighbouring threads join values, in each of them: values that are the same whichever comes first.
template <int threads> struct AcrossThreads {
    static const int count = threads;
    template <class T, class Join> __device__ T operator()(T value, const Join& join) const {
#pragma unroll
        for (int apart = threads / 2; apart > 0; apart /= 2) value = join(value, value_across(value, apart));
        return value;
    }
    template <class T> __device__ T first(const T& value) const { return value_of(value, threadIdx.x % 32 & ~(threads - 1)); }
};
// The parts of a column that such threads have, joined in each of them: two by two, where their type has no better way.
template <int parts, class T, class Join, class Threads>
__device__ inline T join_threads(const T (&mine)[parts], const Join& join, const Threads& all) {
    T value = mine[0];
#pragma unroll
    for (int k = 1; k < parts; ++k) value = join(value, mine[k]);
#pragma unroll
    for (int apart = Threads::count / 2; apart > 0; apart /= 2) value = join(value, value_below(value, apart));
    return all.first(value);
}
// Several threads a column join what its warps found, and tell the blocks.
template <int columns, int warps> struct Joiners {
    static const int per = warps * 32 / columns;
    unsigned int column = threadIdx.x / per, part = threadIdx.x % per;
    // `count` values of the column, a row of them apart, in each of its threads.
    template <int count, class T, class Join> __device__ T join(const T* values, const Join& join) const {
        const int threads = count < per ? count : per, parts = count / threads;
        T mine[parts];
#pragma unroll
        for (int k = 0; k < parts; ++k) mine[k] = values[(part % threads + k * threads) * columns + column];
        return join_threads(mine, join, AcrossThreads<threads>());
    }
};
template <int columns, int warps, int blocks, class T, class Join>
__device__ inline void join_block(T* room, const Join& join, unsigned int rank, unsigned int turn) {
    const Joiners<columns, warps> mine;
    const T value = mine.template join<warps>(room, join);
    if (blocks == 1) {
        if (mine.part == 0) panel_totals<columns, warps, blocks>(room)[mine.column] = value;
        return;
    }
#if !defined(__QUERN_HOST__) && __CUDA_ARCH__ >= 900
    T* const told = room + (warps + turn * blocks + rank) * columns + mine.column;
    for (unsigned int block = mine.part; block < blocks; block += mine.per) {
        T* there;
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(told), "r"(block));
        *there = value;
    }
#endif
}
template <int columns, int warps, int blocks, class T, class Join>
__device__ inline void join_blocks(T* room, const Join& join, unsigned int turn) {
    const Joiners<columns, warps> mine;
    const T value = mine.template join<blocks>(room + (warps + turn * blocks) * columns, join);
    if (mine.part == 0) panel_totals<columns, warps, blocks>(room)[mine.column] = value;
}

} // namespace quern
