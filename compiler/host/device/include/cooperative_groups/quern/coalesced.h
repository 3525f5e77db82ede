// Any lanes of a warp as a group, in the order of their lanes.
#pragma once
#include <cooperative_groups/quern/group.h>

namespace cooperative_groups {

template <unsigned Size, class Parent> class thread_block_tile;

class coalesced_group : public thread_group {
  public:
    __quern_member unsigned size() const { return num_threads(); }
    __quern_member unsigned num_threads() const { return (unsigned)__popc(mask_); }
    __quern_member unsigned thread_rank() const {
        return (unsigned)__popc(mask_ & __quern::lanes_below());
    }
    __quern_member unsigned meta_group_rank() const { return meta_rank_; }
    __quern_member unsigned meta_group_size() const { return meta_count_; }
    __quern_member void sync() const { __syncwarp(mask_); }

    template <class T> __quern_member __quern::bare_t<T> shfl(T&& value, int rank) const {
        return read<T>(value, (unsigned)rank);
    }
    // Past either end a thread reads itself.
    template <class T> __quern_member __quern::bare_t<T> shfl_up(T&& value, int delta) const {
        const unsigned rank = thread_rank();
        return read<T>(value, (unsigned)delta <= rank ? rank - (unsigned)delta : rank);
    }
    template <class T>
    __quern_member __quern::bare_t<T> shfl_down(T&& value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return read<T>(value, delta < num_threads() - rank ? rank + delta : rank);
    }
    __quern_member int any(int predicate) const { return __any_sync(mask_, predicate); }
    __quern_member int all(int predicate) const { return __all_sync(mask_, predicate); }
    __quern_member unsigned ballot(int predicate) const {
        return __quern::gather_bits(__ballot_sync(mask_, predicate), mask_);
    }
    template <class T> __quern_member unsigned match_any(T value) const {
        return __quern::gather_bits(__match_any_sync(mask_, value), mask_);
    }
    template <class T> __quern_member unsigned match_all(T value, int& predicate) const {
        return __quern::gather_bits(__match_all_sync(mask_, value, &predicate), mask_);
    }

  private:
    __quern_member explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned count = 1)
        : thread_group(mask, rank, count) {}
    template <class T> __quern_member __quern::bare_t<T> read(const T& value, unsigned rank) const {
        return __quern::read_lane<__quern::bare_t<T>>(mask_, value, __quern::lane_of(mask_, rank));
    }
    // The part of `size` threads, in the order of ranks, that the caller is in.
    __quern_member coalesced_group part(unsigned size) const {
        if (size == 0 || size > 32 || (size & (size - 1)) != 0)
            __trap();
        const unsigned count = num_threads(), rank = thread_rank(), first = rank & ~(size - 1);
        if (count <= size)
            return *this;
        unsigned lanes = mask_ & (~0u << __quern::lane_of(mask_, first));
        if (count - first > size)
            lanes &= (1u << __quern::lane_of(mask_, first + size)) - 1u;
        return coalesced_group(lanes, rank / size, (count + size - 1) / size);
    }

    friend struct lanes_of;
    friend coalesced_group coalesced_threads();
    friend coalesced_group tiled_partition(const coalesced_group& parent, unsigned size);
};

struct lanes_of {
    static __quern_member unsigned mask(const coalesced_group& group) { return group.mask_; }
    template <unsigned Size, class Parent>
    static __quern_member unsigned mask(const thread_block_tile<Size, Parent>& group) {
        return group.mask();
    }
    static __quern_member coalesced_group group(unsigned mask, unsigned rank, unsigned count) {
        return coalesced_group(mask, rank, count);
    }
};

__quern_member coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

} // namespace cooperative_groups
