// Tiles of 64, 128, 256 or 512 threads: whole warps that meet at a named barrier and leave what
// they found in shared memory.
#pragma once
#include <cooperative_groups/quern/tile.h>

namespace cooperative_groups {

// Memory that GPUs before sm_80 needed for these tiles; here it stays unused.
template <unsigned MaxBlockSize = 1024> struct block_tile_memory { unsigned char unused; };
template <unsigned MaxBlockSize>
__quern_fn thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
    return this_thread_block();
}

namespace __quern {

struct large_tile_memory {
    unsigned long long of_warp[32];
};
__quern_member large_tile_memory& tile_memory() {
    static __shared__ large_tile_memory memory;
    return memory;
}

template <unsigned Size> class large_tile {
    static_assert(Size == 64 || Size == 128 || Size == 256 || Size == 512,
                  "a tile has 1, 2, 4, 8, 16, 32, 64, 128, 256 or 512 threads");

  public:
    static constexpr unsigned warps = Size / 32;
    static __quern_member constexpr unsigned size() { return Size; }
    static __quern_member constexpr unsigned num_threads() { return Size; }
    static __quern_member unsigned thread_rank() { return block_thread() & (Size - 1); }
    __quern_member unsigned meta_group_rank() const { return meta_rank_; }
    __quern_member unsigned meta_group_size() const { return meta_count_; }
    __quern_member void sync() const { // 0 to 15 are PTX's; each tile has its own
        constexpr unsigned first = Size == 64 ? 16 : Size == 128 ? 32 : Size == 256 ? 40 : 44;
        __quern_sync_named((int)(first + block_thread() / Size), (int)Size);
    }
    template <class T> __quern_member bare_t<T> shfl(T&& value, unsigned rank) const {
        const bare_t<T> given = value;
        if (thread_rank() == rank)
            put(0, given);
        sync();
        const bare_t<T> result = get<bare_t<T>>(0);
        sync();
        return result;
    }
    __quern_member int any(int predicate) const {
        return combine(__any_sync(0xffffffffu, predicate), [](int a, int b) { return a | b; });
    }
    __quern_member int all(int predicate) const {
        return combine(__all_sync(0xffffffffu, predicate), [](int a, int b) { return a & b; });
    }

    // `of_warp`, the same in all lanes of a warp, over all warps of the tile.
    template <class T, class Op> __quern_member T combine(const T& of_warp, Op op) const {
        T values[warps];
        exchange(of_warp, 0, values);
        for (unsigned step = warps / 2; step != 0;
             step /= 2) // as lanes do that exchange with lane ^ step
            for (unsigned i = 0; i < step; ++i)
                values[i] = op(values[i], values[i + step]);
        return values[0];
    }
    // `value` of one lane of each warp, for every thread of the tile.
    template <class T>
    __quern_member void exchange(const T& value, unsigned lane, T (&values)[warps]) const {
        if (__quern_lane() == lane)
            put(thread_rank() / 32, value);
        sync();
        for (unsigned i = 0; i < warps; ++i)
            values[i] = get<T>(i);
        sync();
    }

  protected:
    __quern_member large_tile(unsigned rank, unsigned count)
        : meta_rank_(rank), meta_count_(count) {}

  private:
    static __quern_member unsigned long long* memory_of(unsigned warp) {
        return &tile_memory().of_warp[block_thread() / Size * warps + warp];
    }
    template <class T> static __quern_member void put(unsigned warp, const T& value) {
        static_assert(__is_trivially_copyable(T) && sizeof(T) <= 8,
                      "a tile of more than 32 threads exchanges trivially copyable values of at "
                      "most 8 bytes");
        __builtin_memcpy(memory_of(warp), &value, sizeof(T));
    }
    template <class T> static __quern_member T get(unsigned warp) {
        T value;
        __builtin_memcpy(&value, memory_of(warp), sizeof(T));
        return value;
    }
    unsigned meta_rank_, meta_count_;
};

} // namespace __quern
} // namespace cooperative_groups
