// What Python may pass where a kernel or an assignment wants a value: PyObject* to Scalar and to
// Argument. Everything here expects the GIL.
#pragma once
#include "python/bindings/bind_array.h"
#include "runtime/kernel/argument.h"

#include <forward_list>
#include <optional>

namespace quern::python {

// Arrays that were made from other libraries' objects for one call. Stable addresses; empty, it
// allocates nothing.
using ImportedArrays = std::forward_list<Array>;

// numpy.float32 and its like, ml_dtypes.bfloat16; nullopt for any other type.
[[nodiscard]] std::optional<DType> find_scalar_type(PyTypeObject* type);

// bool, int, float, complex and their subclasses; NumPy scalars of quern's dtypes
// (ml_dtypes.bfloat16 too). nullopt for anything else. Throws Error{overflow} for an int outside
// [-2^63, 2^64).
[[nodiscard]] std::optional<Scalar> find_scalar(PyObject* object);
[[noreturn]] void refuse_huge_int(); // with that error
// What a `target` is to hold: an int past 64 bits is a float where the target is one.
[[nodiscard]] std::optional<Scalar> find_scalar(PyObject* object, DType target);

// An argument of a kernel: ndarray; a scalar as above; a structured NumPy scalar; an object with
// __cuda_array_interface__ or, of CPU memory, __array_interface__ (its array goes to `imported`).
// The argument borrows from `object` and `imported`. Anything else, NumPy arrays too, is TypeError
// "Unsupported type ...".
[[nodiscard]] Argument to_argument(PyObject* object, ImportedArrays& imported);

// An object of another library as an array without a copy; nullopt if it has neither interface.
[[nodiscard]] std::optional<Array> find_foreign_array(PyObject* object);

} // namespace quern::python
