// Python and NumPy values become Scalars and Arguments. A NumPy scalar is an object head and then
// its value, as numpy/arrayscalars.h lays it out, so reading one costs no call into NumPy.
#include "python/bindings/bind_scalar.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/resolve/structure.h"
#include "python/bindings/bind_dtype.h"

#include <pybind11/gil_safe_call_once.h>

#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <unordered_map>

namespace py = pybind11;

namespace quern::python {
namespace {

struct ScalarType {
    PyTypeObject* type;
    DType dtype;
};

struct NumPyTypes {
    std::vector<ScalarType> scalars;
    PyTypeObject *void_type, *array_type, *generic_type;
    bool has_bfloat16 = false;

    NumPyTypes() {
        const py::module_ numpy = py::module_::import("numpy");
        const auto type = [&](const char* name) { return own(numpy.attr(name)); };
        const auto add = [&](const char* name, DType dtype) {
            scalars.push_back({type(name), dtype});
        };
        for (const DTypeRow& row : dtype_table)
            if (row.kind == Kind::boolean)
                add("bool_", row.id);
            else if (row.id != DType::bfloat16)
                add(row.name.data(), row.id); // a literal: it ends in 0
        add("longlong", DType::int64);        // types of their own beside int64's
        add("ulonglong", DType::uint64);
        void_type = type("void");
        array_type = type("ndarray");
        generic_type = type("generic");
    }

    // Whoever holds a bfloat16 has imported ml_dtypes.
    void look_for_bfloat16() {
        PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "ml_dtypes");
        if (module == nullptr)
            return;
        has_bfloat16 = true;
        scalars.push_back({own(py::handle(module).attr("bfloat16")), DType::bfloat16});
    }

    static PyTypeObject* own(py::object type) {
        return reinterpret_cast<PyTypeObject*>(type.release().ptr());
    }

    static NumPyTypes& get() { // never destroyed: holds Python objects
        PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<NumPyTypes*> types;
        return *types.call_once_and_store_result([] { return new NumPyTypes; }).get_stored();
    }
};

template <class T> T read(const char* place) {
    T value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

Scalar read_scalar(DType dtype, const char* place) {
    switch (dtype) {
    case DType::boolean:
        return Scalar::of(*place != 0);
    case DType::int8:
        return Scalar::of(std::int64_t{read<std::int8_t>(place)});
    case DType::int16:
        return Scalar::of(std::int64_t{read<std::int16_t>(place)});
    case DType::int32:
        return Scalar::of(std::int64_t{read<std::int32_t>(place)});
    case DType::int64:
        return Scalar::of(read<std::int64_t>(place));
    case DType::uint8:
        return Scalar::of(std::int64_t{read<std::uint8_t>(place)});
    case DType::uint16:
        return Scalar::of(std::int64_t{read<std::uint16_t>(place)});
    case DType::uint32:
        return Scalar::of(std::int64_t{read<std::uint32_t>(place)});
    case DType::uint64: {
        const auto value = read<std::uint64_t>(place);
        if (value <= static_cast<std::uint64_t>(INT64_MAX))
            return Scalar::of(static_cast<std::int64_t>(value));
        return Scalar::of(value);
    }
    case DType::float16:
        return Scalar::of(PyFloat_Unpack2(place, std::endian::native == std::endian::little));
    case DType::bfloat16:
        return Scalar::of(
            double{std::bit_cast<float>(std::uint32_t{read<std::uint16_t>(place)} << 16)});
    case DType::float32:
        return Scalar::of(double{read<float>(place)});
    case DType::float64:
        return Scalar::of(read<double>(place));
    case DType::complex64: {
        const auto value = read<std::complex<float>>(place);
        return Scalar::of(std::complex<double>(value.real(), value.imag()));
    }
    case DType::complex128:
        return Scalar::of(read<std::complex<double>>(place));
    }
    return {};
}

Scalar scalar_of_int(PyObject* object) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0)
        return Scalar::of(static_cast<std::int64_t>(value));
    if (overflow > 0) {
        const unsigned long long large = PyLong_AsUnsignedLongLong(object);
        if (PyErr_Occurred() == nullptr)
            return Scalar::of(static_cast<std::uint64_t>(large));
        PyErr_Clear();
    }
    refuse_huge_int();
}

Scalar scalar_of_complex(PyObject* object) {
    const Py_complex value = PyComplex_AsCComplex(object);
    return Scalar::of(std::complex<double>(value.real, value.imag));
}

// Structured scalars

std::shared_ptr<const StructLayout> layout_of(py::handle dtype);

StructFields fields_of(py::handle dtype) {
    StructFields description;
    description.itemsize_bytes = dtype.attr("itemsize").cast<std::uint32_t>();
    description.alignment = dtype.attr("isalignedstruct").cast<bool>()
                                ? dtype.attr("alignment").cast<std::uint32_t>()
                                : 1;
    const py::object fields = dtype.attr("fields");
    for (const py::handle name : dtype.attr("names")) {
        const py::tuple entry = fields[name];
        py::object type = entry[0];
        StructField field;
        field.name = name.cast<std::string>();
        field.offset_bytes = entry[1].cast<std::uint32_t>();
        if (!type.attr("subdtype").is_none()) {
            const py::tuple parts = type.attr("subdtype");
            for (const py::handle extent : parts[1].cast<py::tuple>())
                field.extents.push_back(extent.cast<std::uint32_t>());
            type = parts[0];
        }
        if (!type.attr("names").is_none())
            field.nested = layout_of(type);
        else
            field.dtype = to_dtype(type);
        description.fields.push_back(std::move(field));
    }
    return description;
}

// By dtype object: those of one array's elements are one object. Holds references; emptied when it
// grows large.
std::shared_ptr<const StructLayout> layout_of(py::handle dtype) {
    static auto& known = *new std::unordered_map<PyObject*, std::shared_ptr<const StructLayout>>;
    if (const auto found = known.find(dtype.ptr()); found != known.end())
        return found->second;
    std::shared_ptr<const StructLayout> layout = make_struct_layout(fields_of(dtype));
    constexpr std::size_t most = 256;
    if (known.size() >= most) {
        for (const auto& entry : known)
            Py_DECREF(entry.first);
        known.clear();
    }
    known.emplace(dtype.inc_ref().ptr(), layout);
    return layout;
}

std::optional<Argument> find_structure(PyObject* object) {
    if (PyType_IsSubtype(Py_TYPE(object), NumPyTypes::get().void_type) == 0)
        return std::nullopt;
    const py::object dtype = py::handle(object).attr("dtype");
    if (dtype.attr("names").is_none())
        return std::nullopt;
    Argument argument;
    argument.kind = ArgType::Kind::structure;
    argument.layout = layout_of(dtype);
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0)
        throw py::error_already_set();
    argument.structure_bytes = view.buf; // inside the scalar, which the caller holds
    PyBuffer_Release(&view);
    return argument;
}

} // namespace

std::optional<DType> find_scalar_type(PyTypeObject* type) {
    NumPyTypes& types = NumPyTypes::get();
    for (const ScalarType& known : types.scalars)
        if (known.type == type)
            return known.dtype;
    if (!types.has_bfloat16) {
        types.look_for_bfloat16();
        if (types.has_bfloat16 && types.scalars.back().type == type)
            return DType::bfloat16;
    }
    return std::nullopt;
}

void refuse_huge_int() {
    throw Error(ErrorKind::overflow,
                "Python integer out of bounds for every integer type: they hold -2^63 to 2^64 - 1");
}

std::optional<Scalar> find_scalar(PyObject* object) {
    if (PyFloat_CheckExact(object))
        return Scalar::of(PyFloat_AS_DOUBLE(object));
    if (PyLong_CheckExact(object))
        return scalar_of_int(object);
    if (PyBool_Check(object))
        return Scalar::of(object == Py_True);
    if (PyComplex_CheckExact(object))
        return scalar_of_complex(object);
    if (const std::optional<DType> dtype = find_scalar_type(Py_TYPE(object))) {
        Scalar scalar =
            read_scalar(*dtype, reinterpret_cast<const char*>(object) + sizeof(PyObject));
        scalar.is_numpy = true;
        scalar.dtype = *dtype;
        return scalar;
    }
    if (PyFloat_Check(object))
        return Scalar::of(PyFloat_AS_DOUBLE(object));
    if (PyLong_Check(object))
        return scalar_of_int(object);
    if (PyComplex_Check(object))
        return scalar_of_complex(object);
    return std::nullopt;
}

std::optional<Scalar> find_scalar(PyObject* object, DType target) {
    const Kind kind = row(target).kind;
    int overflow = 0;
    if (PyLong_Check(object) && !PyBool_Check(object) &&
        (kind == Kind::floating || kind == Kind::complex))
        (void)PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0)
        return find_scalar(object);
    const double value = PyLong_AsDouble(object);
    if (PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return Scalar::of(value);
}

Argument to_argument(PyObject* object, ImportedArrays& imported) {
    if (const Array* array = find_array(object))
        return Argument::of(*array);
    if (const std::optional<Scalar> scalar = find_scalar(object))
        return Argument::of(*scalar);
    if (std::optional<Argument> structure = find_structure(object))
        return *std::move(structure);
    // NumPy's arrays live on the host, where a GPU cannot go: on no device are they taken.
    const NumPyTypes& numpy = NumPyTypes::get();
    if (PyType_IsSubtype(Py_TYPE(object), numpy.array_type) == 0 &&
        PyType_IsSubtype(Py_TYPE(object), numpy.generic_type) == 0)
        if (std::optional<Array> foreign = find_foreign_array(object))
            return Argument::of(imported.emplace_front(std::move(*foreign)));
    throw TypeError(
        join("Unsupported type ", py::str(py::type::of(object)).cast<std::string>(),
             ": a kernel takes quern arrays and scalars; make an array with quern.asarray(x)"));
}

} // namespace quern::python
