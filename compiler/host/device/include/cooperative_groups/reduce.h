// cooperative_groups::reduce: one value of all threads of a group, known to each of them.
#pragma once
#include <cooperative_groups.h>
#include <cooperative_groups/quern/functional.h>
#include <cooperative_groups/scan.h>

namespace cooperative_groups {
namespace __quern {

// The number of a reduction that a warp does at once (barriers.cuh), 0 for what it cannot.
template <class T, class Op> inline constexpr int at_once =
    !same<T, int> && !same<T, unsigned> ? 0
    : same<Op, plus<T>>                 ? 4
    : same<Op, less<T>>                 ? (same<T, int> ? 7 : 5)
    : same<Op, greater<T>>              ? (same<T, int> ? 8 : 6)
    : same<Op, bit_and<T>>              ? 9
    : same<Op, bit_or<T>>               ? 10
    : same<Op, bit_xor<T>>              ? 11
                                        : 0;

template <unsigned Size, class Parent, class T, class Op>
__quern_fn T reduce_in(const thread_block_tile<Size, Parent>& group, T value, Op& op) {
    if constexpr (Size > 32)
        return group.combine(reduce_in(__quern_tiles::cut<32>(group), value, op), op);
    else if constexpr (constexpr int number = at_once<T, bare_t<Op>>; number != 0)
        return (T)__quern_sync_warp(number, lanes_of::mask(group), (unsigned)value, 0);
    else {
        for (unsigned lanes = Size / 2; lanes != 0; lanes /= 2)
            value = op(value, group.shfl_xor(value, lanes));
        return value;
    }
}
template <class T, class Op> __quern_fn T reduce_in(const coalesced_group& group, T value, Op& op) {
    if constexpr (constexpr int number = at_once<T, bare_t<Op>>; number != 0)
        return (T)__quern_sync_warp(number, lanes_of::mask(group), (unsigned)value, 0);
    else
        return group.shfl(inclusive_scan(group, value, op), (int)group.num_threads() - 1);
}

} // namespace __quern

template <class Group, class T, class Op>
__quern_fn auto reduce(const Group& group, T&& value, Op&& op) -> decltype(op(value, value)) {
    static_assert(__quern::same<__quern::bare_t<T>, __quern::bare_t<decltype(op(value, value))>>,
                  "the operation gives the type that it takes");
    return __quern::reduce_in(group, static_cast<__quern::bare_t<T>>(value), op);
}

// One thread writes the result; wait for the group before others read it.
template <class Group, class T, class Value, class Op>
__quern_fn void reduce_store_async(const Group& group, T* place, Value&& value, Op&& op) {
    const T result = reduce(group, value, op);
    if (group.thread_rank() == 0)
        *place = result;
}
template <class Group, class Atomic, class Value, class Op>
__quern_fn auto reduce_store_async(const Group& group, Atomic&& variable, Value&& value, Op&& op)
    -> decltype(variable.store(value)) {
    const auto result = reduce(group, value, op);
    if (group.thread_rank() == 0)
        variable.store(result);
}
template <class Group, class Atomic, class Value, class Op>
__quern_fn auto reduce_update_async(const Group& group, Atomic&& variable, Value&& value, Op&& op)
    -> decltype(variable.store(value)) {
    const auto result = reduce(group, value, op);
    if (group.thread_rank() == 0)
        __quern::update(variable, result, static_cast<__quern::bare_t<Op>>(op));
}

} // namespace cooperative_groups
