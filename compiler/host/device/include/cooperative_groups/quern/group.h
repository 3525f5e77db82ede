// What every group has, the thread block, and how lanes of a warp hand values of any type to each
// other.
#pragma once

namespace cooperative_groups {
struct lanes_of; // names the lanes of a group within one warp

namespace __quern {

template <class T> struct bare { using type = T; };
template <class T> struct bare<const T> : bare<T> {};
template <class T> struct bare<volatile T> : bare<T> {};
template <class T> struct bare<const volatile T> : bare<T> {};
template <class T> struct bare<T&> : bare<T> {};
template <class T> struct bare<T&&> : bare<T> {};
template <class T> using bare_t = typename bare<T>::type;

template <class A, class B> inline constexpr bool same = false;
template <class A> inline constexpr bool same<A, A> = true;

__quern_fn unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
__quern_fn unsigned block_thread() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__quern_fn unsigned lanes_below() { return (1u << __quern_lane()) - 1u; }

// The lane of `mask` that `rank` others come before; 31 where there are no so many.
__quern_fn unsigned lane_of(unsigned mask, unsigned rank) {
    unsigned lane = 0;
    for (unsigned width = 16; width != 0; width >>= 1) {
        const unsigned low = (unsigned)__popc(mask & ((1u << width) - 1u));
        const bool beyond = rank >= low;
        rank -= beyond ? low : 0u;
        mask >>= beyond ? width : 0u;
        lane += beyond ? width : 0u;
    }
    return lane;
}

// The bits that stand where `mask` has ones, moved together.
__quern_fn unsigned gather_bits(unsigned bits, unsigned mask) {
    unsigned gathered = 0;
    for (unsigned rank = 0; mask != 0; mask &= mask - 1, ++rank)
        gathered |= (bits >> (__ffs((int)mask) - 1) & 1u) << rank;
    return gathered;
}

// `value` of `lane`, 8 bytes at a time.
template <class T> __quern_fn T read_lane(unsigned mask, const T& value, unsigned lane) {
    static_assert(__is_trivially_copyable(T) && sizeof(T) <= 32,
                  "a group exchanges trivially copyable values of at most 32 bytes");
    constexpr unsigned count = (sizeof(T) + 7) / 8;
    unsigned long long words[count] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned i = 0; i < count; ++i)
        words[i] = __quern_read_lane(mask, words[i], lane);
    T result = value;
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
}

} // namespace __quern

// Any group whose kind is known only when the program runs: a copy of the group it was made from.
class thread_group {
  public:
    __quern_member unsigned long long size() const { return num_threads(); }
    __quern_member unsigned long long num_threads() const;
    __quern_member unsigned long long thread_rank() const;
    __quern_member void sync() const;

  protected:
    enum class kind : unsigned { lanes, block, cluster, grid };
    __quern_member explicit thread_group(kind what) : kind_(what) {}
    __quern_member thread_group(unsigned mask, unsigned rank, unsigned count)
        : kind_(kind::lanes), mask_(mask), meta_rank_(rank), meta_count_(count) {}

    kind kind_;
    unsigned mask_ = 0, meta_rank_ = 0,
             meta_count_ = 1; // of lanes: who they are, which of how many parts
    friend thread_group tiled_partition(const thread_group& parent, unsigned size);
};

class thread_block : public thread_group {
  public:
    struct arrival_token {};
    static __quern_member void sync() { __syncthreads(); }
    __quern_member arrival_token barrier_arrive() const { return {}; }
    __quern_member void barrier_wait(arrival_token&&) const { __syncthreads(); }
    static __quern_member unsigned size() { return num_threads(); }
    static __quern_member unsigned num_threads() { return __quern::block_threads(); }
    static __quern_member unsigned thread_rank() { return __quern::block_thread(); }
    static __quern_member dim3 group_index() { return blockIdx; }
    static __quern_member dim3 thread_index() { return threadIdx; }
    static __quern_member dim3 group_dim() { return blockDim; }
    static __quern_member dim3 dim_threads() { return blockDim; }

  private:
    __quern_member thread_block() : thread_group(kind::block) {}
    friend thread_block this_thread_block();
};
__quern_member thread_block this_thread_block() { return {}; }

template <class Group> __quern_fn void sync(const Group& group) { group.sync(); }
template <class Group> __quern_fn auto thread_rank(const Group& group)
    -> decltype(group.thread_rank()) {
    return group.thread_rank();
}
template <class Group> __quern_fn auto group_size(const Group& group)
    -> decltype(group.num_threads()) {
    return group.num_threads();
}

} // namespace cooperative_groups
