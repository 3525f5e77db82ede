// dtypes and shapes between Python and C++: NumPy's dtype objects, anything numpy.dtype() takes,
// ints and tuples.
#pragma once
#include "compiler/base/dtype.h"
#include "runtime/array/array.h"

#include <pybind11/numpy.h>

#include <optional>
#include <span>
#include <vector>

namespace quern::python {

// NumPy's dtype object, made once for each dtype; a borrowed reference. bfloat16 imports ml_dtypes.
[[nodiscard]] PyObject* dtype_object(DType dtype);
[[nodiscard]] pybind11::dtype numpy_dtype(DType dtype);

// Anything numpy.dtype() takes, and "bfloat16". Throws TypeError naming a dtype that quern has not,
// with the cure.
[[nodiscard]] DType to_dtype(pybind11::handle object);
// Are the bytes in this machine's order?
[[nodiscard]] bool is_native(const pybind11::dtype& dtype);
// That of a NumPy array's values in this machine's byte order.
[[nodiscard]] DType native_dtype_of(const pybind11::array& values);
// Of a numpy.dtype object; nullopt where quern has no such dtype (or another byte order).
[[nodiscard]] std::optional<DType> find_dtype_of(pybind11::handle numpy_dtype);

// An int or a sequence of ints; `what` names it in the message ("shape").
[[nodiscard]] Dims to_dims(pybind11::handle object, const char* what = "shape");
[[nodiscard]] Dims to_dims(std::span<PyObject* const> ints, const char* what);
[[nodiscard]] PyObject* dims_tuple(const Dims& dims) noexcept; // a new reference
[[nodiscard]] std::int64_t to_int(pybind11::handle object, const char* what);
// An axis or an extent, which no bool is: that is most often a `keepdims` in the wrong place.
[[nodiscard]] std::int64_t to_int_not_bool(pybind11::handle object, const char* what);
// axis=: an int or a tuple of ints, appended to `axes`; false for None, which is all axes.
[[nodiscard]] bool read_axes(pybind11::handle object, std::vector<std::int64_t>& axes);

// 'C', 'F', 'A' or 'K', in either case; None is `otherwise`. Throws ValueError.
[[nodiscard]] char to_order(pybind11::handle object, char otherwise);

// Whether Python takes it for true; throws what asking raises.
[[nodiscard]] bool is_true(pybind11::handle object);

// `copy=`: None is nullopt. Throws ValueError for text.
[[nodiscard]] std::optional<bool> to_copy_rule(pybind11::handle object);

} // namespace quern::python

namespace pybind11::detail {

template <> struct type_caster<quern::Dims> { // as a result: a tuple
    static constexpr auto name = const_name("tuple[int, ...]");
    static handle cast(const quern::Dims& dims, return_value_policy, handle) {
        return quern::python::dims_tuple(dims);
    }
};

} // namespace pybind11::detail
