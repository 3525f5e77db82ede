// One thread of a group does something for all.
#pragma once
#include <cooperative_groups/quern/coalesced.h>
#include <cooperative_groups/quern/tile.h>

namespace cooperative_groups {

template <class Group, class Function, class... Args>
__quern_fn void invoke_one(const Group& group, Function&& function, Args&&... args) {
    if (group.thread_rank() == 0)
        static_cast<Function&&>(function)(static_cast<Args&&>(args)...);
}

template <class Group, class Function, class... Args>
__quern_fn auto invoke_one_broadcast(const Group& group, Function&& function, Args&&... args)
    -> __quern::bare_t<decltype(static_cast<Function&&>(function)(static_cast<Args&&>(args)...))> {
    using Result =
        __quern::bare_t<decltype(static_cast<Function&&>(function)(static_cast<Args&&>(args)...))>;
    static_assert(!__quern::same<Result, void>, "what returns nothing is called by invoke_one");
    Result result{};
    if (group.thread_rank() == 0)
        result = static_cast<Function&&>(function)(static_cast<Args&&>(args)...);
    return group.shfl(result, 0);
}

} // namespace cooperative_groups
