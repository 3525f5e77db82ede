// Methods of ndarray that read, write or copy values, and what an array tells about its memory.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/subclass.h"
#include "runtime/array/views.h"
#include "runtime/kernel/ahead.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace py = pybind11;

namespace quern::python {
namespace {

CUstream stream_of(const Array& array) { return current_stream(array.device()); }

py::array values(const Array& array) { return readable(array, stream_of(array)); }

// `.item()`: one element as a Python scalar.

std::int64_t item_position(const py::handle& index) {
    if (PyBool_Check(index.ptr()) || !PyIndex_Check(index.ptr()))
        throw TypeError("item(): an index must be an integer");
    return to_int(index, "index");
}

Array element_at(const Array& array, const py::args& args) {
    if (args.empty()) {
        if (array.size() != 1)
            throw ValueError("can only convert an array of size 1 to a Python scalar");
        return array;
    }
    const bool is_tuple = args.size() == 1 && py::isinstance<py::tuple>(args[0]);
    const py::tuple index = is_tuple ? py::tuple(args[0]) : py::tuple(args);
    std::vector<IndexItem> items;
    if (index.size() == 1 && !is_tuple) { // a flat position
        const std::int64_t given = item_position(index[0]);
        std::int64_t at = given < 0 ? given + array.size() : given;
        if (at < 0 || at >= array.size())
            throw Error(ErrorKind::index,
                        join("index ", given, " is out of bounds for size ", array.size()));
        items.resize(static_cast<std::size_t>(array.ndim()));
        for (int k = array.ndim() - 1; k >= 0; --k) {
            items[static_cast<std::size_t>(k)] = at % array.shape()[k];
            at /= array.shape()[k];
        }
    } else {
        if (static_cast<int>(index.size()) != array.ndim())
            throw ValueError("incorrect number of indices for array");
        for (const py::handle position : index)
            items.emplace_back(item_position(position));
    }
    return basic_index(array, items);
}

// None is what numpy.dtype takes it for.
DType target_of(const py::object& dtype) {
    return dtype.is_none() ? DType::float64 : to_dtype(dtype);
}

Array converted(const Array& array, const py::object& dtype, const py::object& order,
                const py::object& casting) {
    const DType wanted = target_of(dtype);
    if (!casting.is_none()) {
        const py::module_ numpy = py::module_::import("numpy");
        if (!py::cast<bool>(
                numpy.attr("can_cast")(numpy_dtype(array.dtype()), numpy_dtype(wanted), casting)))
            throw TypeError(join("Cannot cast array data from ",
                                 py::repr(numpy_dtype(array.dtype())).cast<std::string>(), " to ",
                                 py::repr(numpy_dtype(wanted)).cast<std::string>(),
                                 " according to the rule '", py::str(casting).cast<std::string>(),
                                 "'"));
    }
    return duplicate(array, wanted, to_order(order, 'K'), stream_of(array));
}

bool layout_fits(const Array& array, char order) {
    return order == 'K' || (order == 'C' && array.c_contiguous()) ||
           (order == 'F' && array.f_contiguous()) ||
           (order == 'A' && (array.c_contiguous() || array.f_contiguous()));
}

void set_values(const Array& array, const py::object& values, const py::object& stream) {
    if (!array.writable())
        throw ValueError("set(): the array is read-only");
    if (!py::isinstance<py::array>(values))
        throw TypeError("Only numpy.ndarray can be set to quern.ndarray");
    const auto source = py::reinterpret_borrow<py::array>(values);
    if (find_dtype_of(source.dtype()) != array.dtype())
        throw TypeError(join(py::str(source.dtype()).cast<std::string>(),
                             " array cannot be set to ", row(array.dtype()).name, " array"));
    if (!py::tuple(source.attr("shape")).equal(py::cast(array.shape())))
        throw ValueError(join(
            "Shape mismatch. Old shape: ", py::str(py::cast(array.shape())).cast<std::string>(),
            ", new shape: ", py::str(source.attr("shape")).cast<std::string>()));
    upload(array, source, to_stream(stream, array.device()));
}

void attach_transfers(py::handle type) {
    attach(
        type, "get",
        [](const Array& self, const py::object& stream, const py::object& order,
           const py::object& out, bool blocking) {
            return download(self, to_stream(stream, self.device()), to_order(order, 'C'), out,
                            blocking);
        },
        py::arg("stream") = py::none(), py::arg("order") = "C", py::arg("out") = py::none(),
        py::arg("blocking") = true,
        "A NumPy array with the values, or `out` filled with them.\n\n"
        "`blocking=False` returns before the bytes have arrived: synchronize the stream before "
        "reading.");
    attach(type, "set", &set_values, py::arg("arr"), py::arg("stream") = py::none(),
           "Copy a NumPy array of the same shape and dtype into this array.");
    attach(
        type, "item",
        [](const Array& self, const py::args& args) {
            return values(element_at(self, args)).attr("item")();
        },
        "item(*args)\n\nOne element as a Python scalar: the only one, a flat position, or one "
        "index per axis.");
    attach(
        type, "tolist", [](const Array& self) { return values(self).attr("tolist")(); },
        "The values as nested lists of Python scalars.");
    attach(
        type, "tobytes",
        [](const Array& self, const py::object& order) {
            const char wanted = to_order(order, 'C');
            return values(self).attr("tobytes")(std::string(1, wanted));
        },
        py::arg("order") = "C", "The values' bytes.");
    attach(
        type, "fill",
        [](const Array& self, const py::object& value) {
            if (!self.writable())
                throw ValueError("assignment destination is read-only");
            const Array* array = find_array(value.ptr());
            if (array != nullptr
                    ? array->ndim() > 0
                    : is_list(value) || (py::isinstance<py::array>(value) &&
                                         py::reinterpret_borrow<py::array>(value).ndim() > 0))
                throw ValueError("fill(): the value must be a scalar or a 0-d array");
            assign(self, value, stream_of(self));
        },
        py::arg("value"), "Set every element to `value`.");
}

void attach_copies(py::handle type) {
    attach(
        type, "copy",
        [](const Self& self, const py::object& order) {
            const Array& array = self.array();
            return made_object(
                wrap_like(duplicate(array, array.dtype(), to_order(order, 'C'), stream_of(array)),
                          self.object));
        },
        py::arg("order") = "C", "A copy; `order` is 'C', 'F', 'A' or 'K'.");
    attach(
        type, "astype",
        [](const Self& self, const py::object& dtype, const py::object& order,
           const py::object& casting, const py::object&, bool copy) -> py::object {
            const Array& array = self.array();
            if (!copy && target_of(dtype) == array.dtype() &&
                layout_fits(array, to_order(order, 'K')))
                return py::reinterpret_borrow<py::object>(self.object);
            return py::cast(converted(array, dtype, order, casting));
        },
        py::arg("dtype"), py::arg("order") = "K", py::arg("casting") = py::none(),
        py::arg("subok") = py::none(), py::arg("copy") = true,
        "A copy as another dtype, by C's conversions unless `casting` forbids it; `copy=False` may "
        "return\n"
        "the array itself.");
    const auto twin = [](const Self& self) {
        const Array& array = self.array();
        return made_object(
            wrap_like(duplicate(array, array.dtype(), 'K', stream_of(array)), self.object));
    };
    attach(type, "__copy__", twin);
    attach(type, "__deepcopy__",
           [twin](const Self& self, const py::object&) { return twin(self); });
    attach(type, "__reduce__", [](const Self& self) {
        const py::object rebuild = py::module_::import("quern._core").attr("_rebuild_array");
        return py::make_tuple(rebuild,
                              py::make_tuple(download(self.array(), stream_of(self.array()), 'A'),
                                             self.array().device().name()));
    });
    attach(type, "__complex__", [](const Array& self) {
        if (self.size() != 1)
            throw TypeError("only length-1 arrays can be converted to Python scalars");
        return py::module_::import("builtins").attr("complex")(values(self));
    });
    attach(type, "__format__", [](const Array& self, const py::str& format) {
        return values(self).attr("__format__")(format);
    });
}

// Flags and memory

struct Flags {
    py::object array;
    [[nodiscard]] const Array& of() const { return *find_array(array.ptr()); }
    [[nodiscard]] bool owns() const {
        return reinterpret_cast<const ArrayObject*>(array.ptr())->base == nullptr;
    }
};

bool flag_named(const Flags& flags, std::string_view name) {
    const Array& array = flags.of();
    const bool c = array.c_contiguous(), f = array.f_contiguous();
    if (name == "C_CONTIGUOUS" || name == "C" || name == "CONTIGUOUS")
        return c;
    if (name == "F_CONTIGUOUS" || name == "F" || name == "FORTRAN")
        return f;
    if (name == "OWNDATA" || name == "O")
        return flags.owns();
    if (name == "WRITEABLE" || name == "W")
        return array.writable();
    if (name == "ALIGNED" || name == "A")
        return array.address() % bytes_of(array.dtype()) == 0;
    if (name == "FNC")
        return f && !c;
    if (name == "FORC")
        return f || c;
    throw py::key_error(join(name, " is not defined for flags"));
}

void set_writeable(const Flags& flags, bool writeable) {
    if (writeable && !flags.of().writable()) {
        const PyObject* base = reinterpret_cast<const ArrayObject*>(flags.array.ptr())->base;
        Array* owner = base != nullptr ? find_array(const_cast<PyObject*>(base)) : nullptr;
        if (base != nullptr && (owner == nullptr || !owner->writable()))
            throw ValueError("cannot set WRITEABLE flag to True of this array");
    }
    find_array(flags.array.ptr())->set_writable(writeable);
}

void add_flags(py::module_& module, py::handle type) {
    py::class_<Flags> flags(module, "Flags",
                            "An array's layout and rights, by attribute or by NumPy's names.");
    for (const char* name : {"C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "ALIGNED", "FNC", "FORC"}) {
        std::string lower(name);
        std::transform(lower.begin(), lower.end(), lower.begin(),
                       [](char c) { return static_cast<char>(c | (c == '_' ? 0 : 0x20)); });
        flags.def_property_readonly(lower.c_str(),
                                    [name](const Flags& self) { return flag_named(self, name); });
    }
    flags.def_property(
        "writeable", [](const Flags& self) { return flag_named(self, "W"); }, &set_writeable);
    flags.def("__getitem__", &flag_named);
    flags.def("__setitem__", [](const Flags& self, std::string_view name, bool value) {
        if (name != "WRITEABLE" && name != "W")
            throw py::key_error("only WRITEABLE can be set");
        set_writeable(self, value);
    });
    flags.def("__repr__", [](const Flags& self) {
        std::string text;
        for (const char* name : {"C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE"})
            text += join("  ", name, " : ", flag_named(self, name) ? "True" : "False", "\n");
        return text;
    });
    attach_property(
        type, "flags",
        [](const Self& self) { return Flags{py::reinterpret_borrow<py::object>(self.object)}; },
        "c_contiguous, f_contiguous, owndata, writeable; also by NumPy's names in brackets.");
}

void add_memory(py::module_& module, py::handle type) {
    py::class_<Memory>(module, "Memory",
                       "A stretch of device memory that lives as long as somebody holds it.")
        .def_property_readonly("ptr", [](const Memory& self) { return self.buffer->address(); })
        .def_property_readonly("size", [](const Memory& self) { return self.buffer->bytes(); })
        .def_property_readonly(
            "device", [](const Memory& self) -> Device& { return self.buffer->device(); },
            py::return_value_policy::reference)
        .def_property_readonly("device_id",
                               [](const Memory& self) { return id_of(self.buffer->device()); });
    py::class_<MemoryPointer>(module, "MemoryPointer",
                              "A place in device memory; keeps the memory alive.")
        .def_property_readonly("ptr", [](const MemoryPointer& self) { return self.address; })
        .def_property_readonly("mem", [](const MemoryPointer& self) { return Memory{self.buffer}; })
        .def_property_readonly(
            "device", [](const MemoryPointer& self) -> Device& { return self.buffer->device(); },
            py::return_value_policy::reference)
        .def_property_readonly(
            "device_id", [](const MemoryPointer& self) { return id_of(self.buffer->device()); })
        .def("__int__", [](const MemoryPointer& self) { return self.address; })
        .def("__add__", [](const MemoryPointer& self, std::int64_t bytes) {
            return MemoryPointer{self.buffer, self.address + static_cast<std::uint64_t>(bytes)};
        });
    attach_property(
        type, "data",
        [](const Array& self) {
            self.device().make_current(); // as in array_interop.cpp
            if (self.device().is_cpu())
                stop_going_ahead();
            return MemoryPointer{self.buffer(), self.address()};
        },
        "Where the first element lies: `.ptr` (address), `.mem`, `.device`.");
    const py::cpp_function device([](const Array& self) -> Device& { return self.device(); },
                                  py::return_value_policy::reference, py::is_method(type));
    const auto property =
        py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyProperty_Type));
    type.attr("device") =
        property(device, py::none(), py::none(), "The quern.Device that holds the array.");
}

} // namespace

void bind_array_values(py::module_& module, py::handle type) {
    attach_transfers(type);
    attach_copies(type);
    add_flags(module, type);
    add_memory(module, type);
}

} // namespace quern::python
