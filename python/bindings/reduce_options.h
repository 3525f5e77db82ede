// The options of a reduction, as Python's functions, methods and ufunc.reduce give them.
#pragma once
#include "runtime/kernel/reduce.h"

#include <pybind11/pybind11.h>

#include <vector>

namespace quern::python {

// As Python gave them; `out`, `initial` and `where` may be None.
struct ReduceOptions {
    pybind11::object axis, dtype, out, initial, where;
    bool keepdims = false;
    double ddof = 0;
};

// The same for the core. Holds what the call points at.
struct ReadReduceOptions {
    ReduceCall call;
    std::vector<std::int64_t> axes;
    std::optional<Array> mask; // of where=False, or a list

    ReadReduceOptions(const Array& array, const ReduceOptions& options);
    ReadReduceOptions(const ReadReduceOptions&) = delete;
    ReadReduceOptions& operator=(const ReadReduceOptions&) = delete;
};

// None is nullptr; anything but an ndarray is a TypeError that calls it `what`.
[[nodiscard]] const Array* array_or_null(const pybind11::object& object, const char* what);

} // namespace quern::python
