// Groups cut in parts: by size, by a predicate, by a label.
#pragma once
#include <cooperative_groups/quern/coalesced.h>
#include <cooperative_groups/quern/large_tile.h>
#include <cooperative_groups/quern/tile.h>

namespace cooperative_groups {

template <unsigned Size>
__quern_fn thread_block_tile<Size, thread_block> tiled_partition(const thread_block& parent) {
    return __quern_tiles::cut<Size>(parent);
}
template <unsigned Size, unsigned ParentSize, class Grandparent>
__quern_fn thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>>
tiled_partition(const thread_block_tile<ParentSize, Grandparent>& parent) {
    static_assert(Size < ParentSize, "a tile is cut into smaller ones");
    return __quern_tiles::cut<Size>(parent);
}

__quern_member coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
    return parent.part(size);
}
__quern_member thread_group tiled_partition(const thread_group& parent, unsigned size) {
    if (parent.kind_ == thread_group::kind::lanes)
        return tiled_partition(lanes_of::group(parent.mask_, parent.meta_rank_, parent.meta_count_),
                               size);
    if (parent.kind_ != thread_group::kind::block || size == 0 || size > 32 ||
        (size & (size - 1)) != 0)
        __trap();
    const unsigned threads = thread_block::num_threads(), rank = thread_block::thread_rank();
    const unsigned left = threads - (rank & ~(size - 1)), count = left < size ? left : size;
    return thread_group(0xffffffffu >> (32 - count) << (__quern_lane() & ~(size - 1)), rank / size,
                        (threads + size - 1) / size);
}

namespace __quern {
__quern_fn coalesced_group split(unsigned all, bool predicate) {
    const unsigned yes = __ballot_sync(all, predicate);
    if (yes == 0 || yes == all)
        return lanes_of::group(all, 0, 1);
    return lanes_of::group(predicate ? yes : all & ~yes, predicate, 2);
}

// Parts are counted in the order of their first lanes.
__quern_fn coalesced_group sort_by(unsigned all, unsigned long long label) {
    const unsigned mine = __match_any_sync(all, label);
    const unsigned first = mine & (0u - mine);
    const unsigned firsts = __ballot_sync(all, first == 1u << __quern_lane());
    return lanes_of::group(mine, (unsigned)__popc(firsts & (first - 1u)), (unsigned)__popc(firsts));
}

template <class T> struct label {
    static_assert(T(3) / T(2) == T(1), "a label is an integer or a pointer");
    static __quern_member unsigned long long bits(T value) { return (unsigned long long)value; }
};
template <class T> struct label<T*> {
    static __quern_member unsigned long long bits(T* value) { return (unsigned long long)value; }
};

template <class Group, class T> __quern_fn coalesced_group cut_by(const Group& group, T value) {
    if constexpr (same<T, bool>)
        return split(lanes_of::mask(group), value);
    else
        return sort_by(lanes_of::mask(group), label<T>::bits(value));
}
} // namespace __quern

__quern_fn coalesced_group binary_partition(const coalesced_group& parent, bool predicate) {
    return __quern::split(lanes_of::mask(parent), predicate);
}
template <unsigned Size, class Parent>
__quern_fn coalesced_group binary_partition(const thread_block_tile<Size, Parent>& parent,
                                            bool predicate) {
    static_assert(Size <= 32, "binary_partition takes tiles of at most 32 threads");
    return __quern::split(lanes_of::mask(parent), predicate);
}
template <class T>
__quern_fn coalesced_group labeled_partition(const coalesced_group& parent, T value) {
    return __quern::cut_by(parent, value);
}
template <class T, unsigned Size, class Parent>
__quern_fn coalesced_group labeled_partition(const thread_block_tile<Size, Parent>& parent,
                                             T value) {
    static_assert(Size <= 32, "labeled_partition takes tiles of at most 32 threads");
    return __quern::cut_by(parent, value);
}

} // namespace cooperative_groups
