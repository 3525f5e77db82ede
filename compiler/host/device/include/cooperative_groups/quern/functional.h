// The operations that reduce and scan know by name, and how an atomic variable takes each.
#pragma once
#include <cooperative_groups/quern/group.h>

namespace cooperative_groups {

template <class T> struct plus {
    __quern_member T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
    __quern_member T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
    __quern_member T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
    __quern_member T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
    __quern_member T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
    __quern_member T operator()(T a, T b) const { return a ^ b; }
};

namespace __quern {

template <class T> inline constexpr bool whole = same<T, int> || same<T, unsigned> ||
                                                 same<T, long> || same<T, unsigned long> ||
                                                 same<T, long long> || same<T, unsigned long long>;

// What the variable held before.
template <class Atomic, class T, class Op> __quern_fn T update(Atomic& variable, T value, Op op) {
    if constexpr (whole<T> && same<Op, plus<T>>)
        return variable.fetch_add(value);
    else if constexpr (whole<T> && same<Op, bit_and<T>>)
        return variable.fetch_and(value);
    else if constexpr (whole<T> && same<Op, bit_or<T>>)
        return variable.fetch_or(value);
    else if constexpr (whole<T> && same<Op, bit_xor<T>>)
        return variable.fetch_xor(value);
    else {
        T old = variable.load();
        while (!variable.compare_exchange_weak(old, op(old, value))) {
        }
        return old;
    }
}

} // namespace __quern
} // namespace cooperative_groups
