// What a raw kernel takes: everything an elementwise kernel takes, and pointers, None and NumPy's
// structures of any dtype, as bytes.
#include "python/bindings/bind_raw.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_texture.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <unordered_map>

namespace py = pybind11;

namespace quern::python {
namespace {

bool is_structure(const py::handle dtype) { return dtype.attr("kind").cast<std::string>() == "V"; }

// Every scalar of a structured dtype, nested ones and those of sub-arrays too; false: too many to
// list.
bool add_places(const py::handle dtype, const std::string& name, std::uint32_t offset,
                std::vector<FieldPlace>& places) {
    constexpr std::size_t most = 1024;
    const auto bytes = dtype.attr("itemsize").cast<std::uint32_t>();
    if (const py::object parts = dtype.attr("subdtype"); !parts.is_none()) {
        const py::object element = parts.cast<py::tuple>()[0];
        const auto step = element.attr("itemsize").cast<std::uint32_t>();
        for (std::uint32_t k = 0; step != 0 && k < bytes / step; ++k)
            if (!add_places(element, join(name, "[", k, "]"), offset + k * step, places))
                return false;
        return true;
    }
    if (const py::object names = dtype.attr("names"); !names.is_none()) {
        const py::object fields = dtype.attr("fields");
        for (const py::handle field : names) {
            const py::tuple entry = fields[field];
            if (!add_places(entry[0],
                            join(name, name.empty() ? "" : ".", field.cast<std::string>()),
                            offset + entry[1].cast<std::uint32_t>(), places))
                return false;
        }
        return true;
    }
    const auto kind = dtype.attr("kind").cast<std::string>();
    if (kind == "c") {
        places.push_back({name + ".real", offset, bytes / 2});
        places.push_back({name + ".imag", offset + bytes / 2, bytes / 2});
    } else if (kind == "S") { // an array of characters
        for (std::uint32_t k = 0; k < bytes; ++k)
            places.push_back({join(name, "[", k, "]"), offset + k, 1});
    } else if (kind != "V") { // plain bytes stand for anything: padding, as a rule
        places.push_back({name, offset, bytes});
    }
    return places.size() <= most;
}

// Size and places only: raw kernels declare their own structs. By dtype object; emptied when it
// grows large.
std::shared_ptr<const StructLayout> bytes_layout(py::handle dtype) {
    static auto& known = *new std::unordered_map<PyObject*, std::shared_ptr<const StructLayout>>;
    if (const auto found = known.find(dtype.ptr()); found != known.end())
        return found->second;
    auto layout = std::make_shared<StructLayout>();
    layout->bytes = dtype.attr("itemsize").cast<std::uint32_t>();
    if (!add_places(dtype, "", 0, layout->places))
        layout->places.clear();
    std::ranges::sort(layout->places, {}, &FieldPlace::offset_bytes);
    constexpr std::size_t most = 256;
    if (known.size() >= most) {
        for (const auto& entry : known)
            Py_DECREF(entry.first);
        known.clear();
    }
    known.emplace(dtype.inc_ref().ptr(), layout);
    return layout;
}

Argument bytes_of_object(PyObject* object, const py::handle dtype) {
    Argument argument;
    argument.kind = ArgType::Kind::structure;
    argument.layout = bytes_layout(dtype);
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0)
        throw py::error_already_set();
    argument.structure_bytes = view.buf; // inside the object, which the caller holds
    PyBuffer_Release(&view);
    return argument;
}

// A structured or void scalar, or an array that holds one: their bytes.
std::optional<Argument> find_bytes(PyObject* object) {
    static PyObject* const void_type =
        py::object(py::module_::import("numpy").attr("void")).release().ptr();
    if (py::isinstance<py::array>(object)) {
        const auto array = py::reinterpret_borrow<py::array>(object);
        if (array.size() == 1 && is_structure(array.dtype()))
            return bytes_of_object(object, array.dtype());
        throw TypeError(join("a NumPy array of shape ",
                             py::str(array.attr("shape")).cast<std::string>(), " and dtype ",
                             py::str(array.dtype()).cast<std::string>(),
                             " lies in the host's memory: pass quern.asarray(x); by value a kernel "
                             "takes NumPy scalars, and arrays of one structured element"));
    }
    if (PyObject_IsInstance(object, void_type) == 1)
        return bytes_of_object(object, py::handle(object).attr("dtype"));
    return std::nullopt;
}

Argument address(std::uint64_t value) {
    Scalar scalar = Scalar::of(value);
    scalar.is_numpy = true; // of exactly this width
    return Argument::of(scalar);
}

} // namespace

Argument to_raw_argument(PyObject* object, ImportedArrays& imported) {
    if (object == Py_None)
        return {};
    if (const std::optional<Scalar> scalar = find_scalar(object))
        return Argument::of(*scalar);
    if (py::isinstance<MemoryPointer>(object))
        return address(py::cast<const MemoryPointer&>(py::handle(object)).address);
    if (const TexelObject* texels = find_texel_object(object))
        return Argument::of(*texels);
    if (std::optional<Argument> bytes = find_bytes(object))
        return *std::move(bytes);
    // Another library's texture, surface or pointer: its handle.
    if (PyObject_HasAttrString(object, "__cuda_array_interface__") == 0)
        if (const py::object handle = py::getattr(object, "ptr", py::none());
            py::isinstance<py::int_>(handle))
            return address(handle.cast<std::uint64_t>());
    return to_argument(object, imported);
}

} // namespace quern::python
