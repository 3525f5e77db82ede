// Tiles of 1, 2, 4, 8, 16 or 32 neighbouring threads: a part of one warp.
#pragma once
#include <cooperative_groups/quern/group.h>

namespace cooperative_groups {
namespace __quern {

template <unsigned Size> class tile : public thread_group {
    static_assert(Size != 0 && (Size & (Size - 1)) == 0, "a tile's size is a power of two");

  public:
    static __quern_member constexpr unsigned size() { return Size; }
    static __quern_member constexpr unsigned num_threads() { return Size; }
    static __quern_member unsigned thread_rank() { return __quern_lane() & (Size - 1); }
    __quern_member unsigned meta_group_rank() const { return meta_rank_; }
    __quern_member unsigned meta_group_size() const { return meta_count_; }
    __quern_member void sync() const { __syncwarp(mask()); }

    template <class T> __quern_member bare_t<T> shfl(T&& value, int rank) const {
        return read<T>(value, __quern_source_index(rank, Size));
    }
    template <class T> __quern_member bare_t<T> shfl_up(T&& value, unsigned delta) const {
        return read<T>(value, __quern_source_up(delta, Size));
    }
    template <class T> __quern_member bare_t<T> shfl_down(T&& value, unsigned delta) const {
        return read<T>(value, __quern_source_down(delta, Size));
    }
    template <class T> __quern_member bare_t<T> shfl_xor(T&& value, unsigned lanes) const {
        return read<T>(value, __quern_source_xor((int)lanes, Size));
    }
    __quern_member int any(int predicate) const { return __any_sync(mask(), predicate); }
    __quern_member int all(int predicate) const { return __all_sync(mask(), predicate); }
    __quern_member unsigned ballot(int predicate) const {
        return own(__ballot_sync(mask(), predicate));
    }
    template <class T> __quern_member unsigned match_any(T value) const {
        return own(__match_any_sync(mask(), value));
    }
    template <class T> __quern_member unsigned match_all(T value, int& predicate) const {
        return own(__match_all_sync(mask(), value, &predicate));
    }

  protected:
    __quern_member tile(unsigned rank, unsigned count) : thread_group(mask(), rank, count) {}

  private:
    static __quern_member unsigned first() { return __quern_lane() & ~(Size - 1); }
    static __quern_member unsigned mask() { return 0xffffffffu >> (32 - Size) << first(); }
    static __quern_member unsigned own(unsigned lanes) { return lanes >> first(); }
    template <class T> __quern_member bare_t<T> read(const T& value, unsigned lane) const {
        return read_lane<bare_t<T>>(mask(), value, lane);
    }
    friend struct cooperative_groups::lanes_of;
};

template <unsigned Size> class large_tile;
template <unsigned Size, bool Large = (Size > 32)> struct tile_kind { using type = tile<Size>; };
template <unsigned Size> struct tile_kind<Size, true> { using type = large_tile<Size>; };

} // namespace __quern

// Parent is the type of the group that was cut, void where nobody asks.
template <unsigned Size, class Parent = void> class thread_block_tile
    : public __quern::tile_kind<Size>::type {
    using base = typename __quern::tile_kind<Size>::type;

  public:
    template <class Other>
    __quern_member thread_block_tile(const thread_block_tile<Size, Other>& other) : base(other) {}

  private:
    __quern_member thread_block_tile(unsigned rank, unsigned count) : base(rank, count) {}
    friend struct __quern_tiles;
};

struct __quern_tiles {
    template <unsigned Size, class Parent>
    static __quern_member thread_block_tile<Size, Parent> cut(const Parent& parent) {
        const unsigned count = (unsigned)parent.num_threads();
        return {(unsigned)parent.thread_rank() / Size, (count + Size - 1) / Size};
    }
    static __quern_member thread_block_tile<1> alone() { return {0, 1}; }
};

__quern_member thread_block_tile<1> this_thread() { return __quern_tiles::alone(); }

} // namespace cooperative_groups
