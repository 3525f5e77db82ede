// One value of a CPU's array as a Python number, read where it lies.
#pragma once
#include "python/bindings/bind_array.h"

namespace quern::python {

// The value of a 0-d array of a CPU: an int, a float or a bool. Null where NumPy has more to say
// about it: other arrays, complex numbers and short floats.
[[nodiscard]] pybind11::object plain_value(const Array& array);

} // namespace quern::python
