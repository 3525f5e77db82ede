// cooperative_groups::inclusive_scan and exclusive_scan: what the threads of lower rank have, with
// or without one's own.
#pragma once
#include <cooperative_groups.h>
#include <cooperative_groups/quern/functional.h>

namespace cooperative_groups {
namespace __quern {

// Works for every group within one warp: each knows its neighbours by rank.
template <class Group, class T, class Op>
__quern_fn T scan_in(const Group& group, T value, Op& op) {
    const unsigned rank = group.thread_rank(), size = group.num_threads();
    for (unsigned step = 1; step < size; step *= 2) {
        const T before = group.shfl_up(value, step);
        if (step <= rank)
            value = op(value, before);
    }
    return value;
}

// The thread of rank 0 has nobody before it and gets T{}.
template <class Group, class T, class Op>
__quern_fn T without_own(const Group& group, T scanned, T own, Op&) {
    if constexpr (whole<T> && same<bare_t<Op>, plus<T>>)
        return scanned - own;
    else {
        const T before = group.shfl_up(scanned, 1);
        return group.thread_rank() == 0 ? T{} : before;
    }
}

// `start`, where there is one, is what came before the whole group.
template <bool Exclusive, class Group, class T, class Op>
__quern_fn T scan(const Group& group, T value, Op& op) {
    const T scanned = scan_in(group, value, op);
    if constexpr (Exclusive)
        return without_own(group, scanned, value, op);
    else
        return scanned;
}
template <bool Exclusive, unsigned Size, class Parent, class T, class Op>
__quern_fn T scan_large(const thread_block_tile<Size, Parent>& group, T value, Op& op) {
    const auto warp = __quern_tiles::cut<32>(group);
    const T scanned = scan_in(warp, value, op);
    T totals[Size / 32];
    group.exchange(scanned, 31, totals);
    const T own = Exclusive ? warp.shfl_up(scanned, 1) : scanned;
    const unsigned number = group.thread_rank() / 32;
    if (number == 0)
        return Exclusive && group.thread_rank() == 0 ? T{} : own;
    T before = totals[0];
    for (unsigned i = 1; i < Size / 32; ++i)
        if (i < number)
            before = op(before, totals[i]);
    return Exclusive && warp.thread_rank() == 0 ? before : op(before, own);
}
template <bool Exclusive, unsigned Size, class Parent, class T, class Op>
__quern_fn T scan(const thread_block_tile<Size, Parent>& group, T value, Op& op) {
    if constexpr (Size > 32)
        return scan_large<Exclusive>(group, value, op);
    else {
        const T scanned = scan_in(group, value, op);
        if constexpr (Exclusive)
            return without_own(group, scanned, value, op);
        else
            return scanned;
    }
}

// The last thread of the group adds the whole to the variable; what it held comes first in
// everybody's result.
template <bool Exclusive, class Group, class Atomic, class T, class Op>
__quern_fn T scan_update(const Group& group, Atomic& variable, T value, Op& op) {
    const T scanned = scan<false>(group, value, op);
    const unsigned last = group.num_threads() - 1;
    T old{};
    if (group.thread_rank() == last)
        old = update(variable, scanned, op);
    old = group.shfl(old, last);
    if constexpr (Exclusive) {
        const T before = scan<true>(group, value, op);
        return group.thread_rank() == 0 ? old : op(old, before);
    } else
        return op(old, scanned);
}

} // namespace __quern

#define __quern_scan(N, EXCLUSIVE)                                                                 \
    template <class Group, class T, class Op>                                                      \
    __quern_fn auto N(const Group& group, T&& value, Op&& op)->decltype(op(value, value)) {        \
        static_assert(                                                                             \
            __quern::same<__quern::bare_t<T>, __quern::bare_t<decltype(op(value, value))>>,        \
            "the operation gives the type that it takes");                                         \
        return __quern::scan<EXCLUSIVE>(group, static_cast<__quern::bare_t<T>>(value), op);        \
    }                                                                                              \
    template <class Group, class T>                                                                \
    __quern_fn __quern::bare_t<T> N(const Group& group, T&& value) {                               \
        return N(group, value, plus<__quern::bare_t<T>>());                                        \
    }                                                                                              \
    template <class Group, class Atomic, class T, class Op>                                        \
    __quern_fn auto N##_update(const Group& group, Atomic&& variable, T&& value, Op&& op)          \
        ->decltype(op(value, value)) {                                                             \
        return __quern::scan_update<EXCLUSIVE>(group, variable,                                    \
                                               static_cast<__quern::bare_t<T>>(value), op);        \
    }                                                                                              \
    template <class Group, class Atomic, class T>                                                  \
    __quern_fn __quern::bare_t<T> N##_update(const Group& group, Atomic&& variable, T&& value) {   \
        return N##_update(group, variable, value, plus<__quern::bare_t<T>>());                     \
    }
__quern_scan(inclusive_scan, false) __quern_scan(exclusive_scan, true)
#undef __quern_scan

} // namespace cooperative_groups
