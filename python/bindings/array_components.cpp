// ndarray.real and ndarray.imag: views of one part of each complex number.
#include "compiler/base/error.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "runtime/array/views.h"
#include "runtime/memory/copy.h"

namespace py = pybind11;

namespace quern::python {
namespace {

bool is_complex(const Array& array) { return row(array.dtype()).kind == Kind::complex; }

py::object real_part(const Self& self) {
    return is_complex(self.array()) ? self.view(complex_part(self.array(), 0))
                                    : py::reinterpret_borrow<py::object>(self.object);
}

// Of real numbers: zeros that are nobody's to write.
py::object imaginary_part(const Self& self) {
    const Array& array = self.array();
    if (is_complex(array))
        return self.view(complex_part(array, 1));
    const CUstream stream = current_stream(array.device());
    Array zeros = empty_like(array, array.dtype(), array.device(), 'K', stream);
    if (zeros.nbytes() > 0)
        fill_bytes(zeros.device(), zeros.address(), 0, static_cast<std::size_t>(zeros.nbytes()),
                   stream);
    zeros.set_writable(false);
    return py::cast(std::move(zeros));
}

void set_part(const Self& self, int part, const py::object& value) {
    const Array& array = self.array();
    if (!is_complex(array) && part == 1)
        throw TypeError("array does not have imaginary part to set");
    if (!array.writable())
        throw ValueError("assignment destination is read-only");
    assign(is_complex(array) ? complex_part(array, part) : array, value,
           current_stream(array.device()));
}

} // namespace

void bind_array_components(py::handle type) {
    const auto property =
        py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyProperty_Type));
    const auto add = [&](const char* name, auto get, int part, const char* doc) {
        type.attr(name) = property(
            py::cpp_function(get, py::is_method(type)),
            py::cpp_function(
                [part](const Self& self, const py::object& value) { set_part(self, part, value); },
                py::is_method(type)),
            py::none(), doc);
    };
    add("real", &real_part, 0, "The real parts: a view, which may be assigned to.");
    add("imag", &imaginary_part, 1,
        "The imaginary parts: a view, which may be assigned to; of real numbers zeros.");
}

} // namespace quern::python
