// cooperative_groups::memcpy_async: the group's first thread copies at once, so that waiting is
// meeting.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

// `bytes` is a number or a cuda::aligned_size_t.
template <class Group, class T, class Size>
__quern_fn void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes) {
    if (group.thread_rank() == 0)
        __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}
// Both layouts count elements; the shorter one holds.
template <class Group, class T, class ToLayout, class FromLayout>
__quern_fn void memcpy_async(const Group& group, T* to, const ToLayout& room, const T* from,
                             const FromLayout& count) {
    const size_t most = static_cast<size_t>(room), given = static_cast<size_t>(count);
    if (group.thread_rank() == 0)
        __builtin_memcpy(to, from, (given < most ? given : most) * sizeof(T));
}

template <unsigned Stages, class Group> __quern_fn void wait_prior(const Group& group) {
    group.sync();
}
template <class Group> __quern_fn void wait(const Group& group) { group.sync(); }

} // namespace cooperative_groups
