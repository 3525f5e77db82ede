// The elements of an array of the CPU, in the order in which they lie.
#pragma once
#include "runtime/array/array.h"

#include <span>

namespace quern {

template <class T> std::span<T> elements(const Array& array) {
    return {reinterpret_cast<T*>(array.address()), static_cast<std::size_t>(array.size())};
}

} // namespace quern
