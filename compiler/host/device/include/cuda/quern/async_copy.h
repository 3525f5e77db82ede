// cuda::memcpy_async: copies at once, so that whatever it is bound to has nothing left to wait for.
#pragma once

namespace cuda {

// A number of bytes, and that both places are a multiple of `Alignment`.
template <size_t Alignment> struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;
    __quern_member explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    __quern_member constexpr operator size_t() const { return value; }
};

template <class T, class Size, class Sync>
__quern_fn void memcpy_async(T* to, const T* from, const Size& bytes, Sync&) {
    __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}
// Every thread of the group calls; the first one copies.
template <class Group, class T, class Size, class Sync>
__quern_fn void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes, Sync&) {
    if (group.thread_rank() == 0)
        __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}

} // namespace cuda
