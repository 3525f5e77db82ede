// Methods of ndarray, and functions of the same names, that give another view of the same memory.
#include "compiler/base/error.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/fast_call.h"
#include "python/bindings/subclass.h"
#include "runtime/array/views.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <span>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

// f((2, 3)), f([2, 3]) and f(2, 3) are the same; f(2) is one int.
py::object unpack(const py::args& args) {
    if (args.size() != 1)
        return args;
    return args[0];
}

std::vector<std::int64_t> axes_of(const py::handle& object) {
    const Dims dims = to_dims(object, "axis");
    return {dims.begin(), dims.end()};
}

Array transposed(const Array& array, const py::object& axes) {
    return axes.is_none() ? transpose(array) : transpose(array, axes_of(axes));
}

Array squeezed(const Array& array, const py::object& axis) {
    if (array.ndim() == 0 && py::isinstance<py::int_>(axis) &&
        (axis.equal(py::int_(0)) || axis.equal(py::int_(-1))))
        return array; // NumPy lets these pass
    return axis.is_none() ? squeeze(array) : squeeze(array, axes_of(axis));
}

// A reshape is a view where it can be and else a copy, whose base is nobody.
py::object reshaped(const Self& self, const Dims& shape, py::handle order_name, py::handle copy) {
    const Array& array = self.array();
    char order = to_order(order_name, 'C');
    if (order == 'K')
        throw ValueError("order 'K' is not permitted for reshaping");
    if (order == 'A')
        order = array.f_contiguous() && !array.c_contiguous() ? 'F' : 'C';
    const Dims extents = infer_shape(array.size(), shape);
    const std::optional<bool> copied = to_copy_rule(py::reinterpret_borrow<py::object>(copy));
    std::optional<Array> view;
    if (!copied.value_or(false))
        view = reshape_view(array, extents, order == 'F' ? Order::f : Order::c);
    if (view)
        return self.view(std::move(*view));
    if (copied && !*copied)
        throw ValueError("Unable to avoid creating a copy while reshaping.");
    return py::cast(reshape(array, extents, order));
}

// reshape(2, 3), reshape((2, 3)) and reshape(shape=(2, 3)) are the same.
PyObject* reshape_method(PyObject* object, PyObject* const* values, Py_ssize_t positional,
                         PyObject* keywords) noexcept {
    static constexpr std::array names{"shape", "order", "copy"};
    return guarded(
        [&] {
            std::array<PyObject*, names.size()> given{nullptr, Py_None, Py_None};
            read_arguments("reshape", names, 0, {values + positional, 0, keywords}, given);
            Dims shape;
            if (given[0] != nullptr && positional > 0)
                throw TypeError("reshape() got its shape twice, by position and by name");
            if (given[0] != nullptr || positional == 1)
                shape = to_dims(given[0] != nullptr ? given[0] : values[0]);
            else
                shape = to_dims(std::span(values, static_cast<std::size_t>(positional)), "shape");
            return reshaped(Self{object}, shape, given[1], given[2]).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

// Axes from the outermost to the innermost as NumPy walks an array in the order 'K': by their
// strides, but one that is 0 stays where it stands.
std::vector<std::int64_t> axes_as_walked(const Array& array) {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(array.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
    const auto stride = [&](std::int64_t axis) {
        const int k = static_cast<int>(axis);
        return array.shape()[k] == 1 ? 0 : std::abs(array.strides()[k]);
    };
    std::ranges::reverse(axes); // its iterator begins with the innermost
    for (auto moved = axes.begin(); moved != axes.end(); ++moved) {
        auto place = moved;
        for (auto other = moved; other != axes.begin();) {
            --other;
            if (stride(*moved) == 0 || stride(*other) == 0)
                continue;
            if (stride(*other) <= stride(*moved))
                break;
            place = other;
        }
        std::rotate(place, moved, moved + 1);
    }
    std::ranges::reverse(axes);
    return axes;
}

// A view where all elements lie in one run in that order, unless a copy is wanted.
py::object ravelled(const Self& self, const py::object& order_name, bool copied) {
    const Array& array = self.array();
    const char order = to_order(order_name, 'C');
    const bool turned =
        order == 'F' || (order == 'A' && array.f_contiguous() && !array.c_contiguous());
    const Array walked = order == 'K' ? transpose(array, axes_as_walked(array))
                         : turned     ? transpose(array)
                                      : array;
    const Dims shape{array.size()};
    if (walked.c_contiguous() && !copied)
        return self.view(*reshape_view(walked, shape));
    const Array copy = duplicate(walked, walked.dtype(), 'C', current_stream(array.device()));
    return py::cast(*reshape_view(copy, shape));
}

bool is_array_class(const py::object& object) {
    return PyType_Check(object.ptr()) &&
           PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object.ptr()), array_type) != 0;
}

py::object viewed(const Self& self, const py::object& dtype, const py::object& type) {
    const bool only_class = type.is_none() && is_array_class(dtype);
    const py::object& wanted = only_class ? dtype : type;
    if (!wanted.is_none() && !is_array_class(wanted))
        throw ValueError("view(): type must be ndarray or a subclass of it");
    PyTypeObject* of =
        wanted.is_none() ? Py_TYPE(self.object) : reinterpret_cast<PyTypeObject*>(wanted.ptr());
    return made_object(wrap_view_as(of,
                                    dtype.is_none() || only_class
                                        ? Array(self.array())
                                        : view_dtype(self.array(), to_dtype(dtype)),
                                    self.object));
}

void attach_shapes(py::handle type) {
    static PyMethodDef entry =
        fast_entry("reshape", &reshape_method,
                   "reshape($self, /, *shape, order='C', copy=None)\n--\n\n"
                   "The same elements in another shape; one extent may be -1.\n"
                   "A view where the layout allows it, else a copy.");
    attach_fast(type, entry);
    attach(
        type, "ravel",
        [](const Self& self, const py::object& order) { return ravelled(self, order, false); },
        py::arg("order") = "C", "One axis; a view where the elements lie in one run.");
    attach(
        type, "flatten",
        [](const Self& self, const py::object& order) { return ravelled(self, order, true); },
        py::arg("order") = "C", "One axis, always a copy.");
    attach(
        type, "squeeze",
        [](const Self& self, const py::object& axis) {
            return self.view(squeezed(self.array(), axis));
        },
        py::arg("axis") = py::none(), "Without axes of extent 1 (or without the given ones).");
    attach(
        type, "__array_finalize__", [](const Self&, const py::object&) {}, py::arg("origin"),
        "Called on an instance of a subclass with the array that it was made from; does nothing "
        "here.");
    attach(type, "view", &viewed, py::arg("dtype") = py::none(), py::arg("type") = py::none(),
           "The same bytes as another dtype, or as an instance of a subclass (either argument may "
           "name one).\n\n"
           "The last axis grows or shrinks when the sizes differ.");
}

void attach_axes(py::handle type) {
    attach(
        type, "transpose",
        [](const Self& self, const py::args& axes) {
            return self.view(transposed(self.array(), axes.empty() ? py::none() : unpack(axes)));
        },
        "transpose(*axes)\n\nA view with its axes in the given order, reversed by default.");
    attach(
        type, "swapaxes",
        [](const Self& self, std::int64_t axis1, std::int64_t axis2) {
            return self.view(swapaxes(self.array(), axis1, axis2));
        },
        py::arg("axis1"), py::arg("axis2"), "A view with two axes exchanged.");
    attach(
        type, "diagonal",
        [](const Self& self, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
            return self.view(diagonal(self.array(), offset, axis1, axis2));
        },
        py::arg("offset") = 0, py::arg("axis1") = 0, py::arg("axis2") = 1, "A view of a diagonal.");
    attach_property(
        type, "mT",
        [](const Self& self) {
            if (self.array().ndim() < 2)
                throw ValueError("matrix transpose with ndim < 2 is undefined");
            return self.view(swapaxes(self.array(), -1, -2));
        },
        "A view with the last two axes exchanged.");
}

void add_functions(py::module_& module) {
    module.def(
        "broadcast_to",
        [](const Self& array, const py::object& shape) {
            return array.view(broadcast_to(array.array(), to_dims(shape)));
        },
        py::arg("array"), py::arg("shape"),
        "A read-only view in a larger shape, by NumPy's broadcasting.");
    module.def(
        "broadcast_shapes",
        [](const py::args& args) {
            std::vector<Dims> shapes;
            for (const py::handle shape : args)
                shapes.push_back(to_dims(shape));
            return broadcast_shapes(shapes);
        },
        "The shape that all the given shapes broadcast to.");
    module.def(
        "moveaxis",
        [](const Self& a, const py::object& source, const py::object& destination) {
            return a.view(moveaxis(a.array(), axes_of(source), axes_of(destination)));
        },
        py::arg("a"), py::arg("source"), py::arg("destination"),
        "A view with axes moved to other places.");
    module.def(
        "expand_dims",
        [](const Self& a, const py::object& axis) {
            return a.view(expand_dims(a.array(), axes_of(axis)));
        },
        py::arg("a"), py::arg("axis"), "A view with new axes of extent 1 at the given places.");
    module.def(
        "may_share_memory",
        [](const py::object& a, const py::object& b, const py::object&) {
            const Array *one = find_array(a.ptr()), *other = find_array(b.ptr());
            return one != nullptr && other != nullptr && &one->device() == &other->device() &&
                   may_share_memory(*one, *other);
        },
        py::arg("a"), py::arg("b"), py::arg("max_work") = py::none(),
        "Whether the bytes that two arrays span overlap; what is no quern array has none of them. "
        "`max_work` is not needed.");
    module.def(
        "byte_bounds",
        [](const Array& a) {
            const ByteBounds bounds = byte_bounds(a);
            return py::make_tuple(bounds.low, bounds.high);
        },
        py::arg("a"),
        "Addresses of the first byte of an array's elements, and of the byte behind the last.\n\n"
        "Between them other bytes may lie, where the array is not contiguous.\n"
        "Source: NumPy, `numpy.lib.array_utils.byte_bounds`.");
}

} // namespace

void bind_array_views(py::module_& module, py::handle type) {
    attach_shapes(type);
    attach_axes(type);
    add_functions(module);
}

} // namespace quern::python
