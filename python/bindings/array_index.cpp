// What stands between an array's brackets: Python's objects become the items of an index.
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "runtime/kernel/indexing.h"

#include <array>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

[[noreturn]] void refuse_item() {
    throw Error(ErrorKind::index,
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer "
                "or boolean arrays are valid indices");
}

// Python cuts a slice's bounds to what an index can be; so do we.
std::optional<std::int64_t> bound_of(PyObject* object) {
    if (object == Py_None)
        return std::nullopt;
    if (!PyIndex_Check(object))
        throw TypeError("slice indices must be integers or None or have an __index__ method");
    const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);
    if (value == -1 && PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return value;
}

bool is_numpy_array(PyObject* object) { return py::isinstance<py::array>(object); }

// Integers, slices, ... and None; nullopt for anything that may be an array.
std::optional<IndexItem> find_basic(PyObject* object) {
    if (PyLong_CheckExact(object)) {
        const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_IndexError);
        if (value == -1 && PyErr_Occurred() != nullptr)
            throw py::error_already_set();
        return static_cast<std::int64_t>(value);
    }
    if (PySlice_Check(object)) {
        const auto* part = reinterpret_cast<PySliceObject*>(object);
        return SliceIndex{bound_of(part->start), bound_of(part->stop), bound_of(part->step)};
    }
    if (object == Py_None)
        return NewAxis{};
    if (object == Py_Ellipsis)
        return Ellipsis{};
    if (find_array(object) != nullptr || PyBool_Check(object) || PyList_Check(object) ||
        PyTuple_Check(object) || is_numpy_array(object) || !PyIndex_Check(object))
        return std::nullopt;
    return to_int(object, "index");
}

// Basic items of a key, in place for the usual few.
struct BasicKey {
    static constexpr std::size_t usual = 6;
    std::array<IndexItem, usual> near;
    std::vector<IndexItem> far;
    std::size_t count = 0;

    // False: the key holds something else too.
    bool read(PyObject* key) {
        if (!PyTuple_Check(key))
            return add(key);
        const auto length = static_cast<std::size_t>(PyTuple_GET_SIZE(key));
        if (length > usual)
            far.resize(length);
        for (std::size_t k = 0; k < length; ++k)
            if (!add(PyTuple_GET_ITEM(key, static_cast<Py_ssize_t>(k))))
                return false;
        return true;
    }
    [[nodiscard]] std::span<const IndexItem> items() const {
        return {far.empty() ? near.data() : far.data(), count};
    }

  private:
    bool add(PyObject* object) {
        const std::optional<IndexItem> item = find_basic(object);
        if (item)
            (far.empty() ? near.data() : far.data())[count++] = *item;
        return item.has_value();
    }
};

Array send(const py::array& host, Device& device) {
    const DType dtype = native_dtype_of(host);
    Array sent = Array::empty(device, dtype, to_dims(host.attr("shape")), current_stream(device));
    if (sent.size() > 0)
        upload(sent, host, current_stream(device));
    return sent;
}

// A list that holds arrays as indices; without elements they are integers.
std::optional<Array> find_nested(py::handle object, Device& device) {
    if (!holds_arrays(object))
        return std::nullopt;
    Array joined = join_nested(object, std::nullopt, &device);
    if (joined.size() == 0)
        return Array::empty(device, DType::int64, joined.shape(), current_stream(device));
    return joined;
}

AdvancedItem item_of(PyObject* object, Device& device) {
    if (const std::optional<IndexItem> basic = find_basic(object))
        return std::visit([](const auto& item) { return AdvancedItem(item); }, *basic);
    if (const Array* array = find_array(object))
        return ArrayIndex{*array};
    if (const std::optional<Scalar> scalar = find_scalar(object)) {
        if (scalar->kind != Scalar::Kind::boolean)
            refuse_item();
        return TruthIndex{scalar->boolean};
    }
    if (const std::optional<Array> nested = find_nested(object, device)) {
        const Kind kind = row(nested->dtype()).kind;
        if (kind == Kind::floating || kind == Kind::complex)
            refuse_item();
        return ArrayIndex{*nested};
    }
    const bool is_sequence = is_list(object) || PyRange_Check(object);
    if (!is_sequence && !is_numpy_array(object)) {
        if (const std::optional<Array> foreign = find_foreign_array(object))
            return ArrayIndex{*foreign};
        if (!py::hasattr(object, "__array__"))
            refuse_item();
    }
    py::array host = numpy_array(object);
    const char kind = host.dtype().kind();
    if (is_sequence && host.size() == 0)
        host = numpy_array(host, numpy_dtype(DType::int64));
    else if (is_sequence && kind != 'i' && kind != 'u' && kind != 'b')
        refuse_item();
    else if (kind != 'i' && kind != 'u' && kind != 'b')
        throw Error(ErrorKind::index,
                    "arrays used as indices must be of integer (or boolean) type");
    if (kind == 'b' && host.ndim() == 0)
        return TruthIndex{py::cast<bool>(host.attr("item")())};
    return ArrayIndex{send(host, device)};
}

IndexCall call_of(const char* name) {
    IndexCall call;
    call.name = name;
    call.on_wait = drop_gil;
    return call;
}

void after_call() {
    if (has_waited()) [[unlikely]]
        surface_warnings();
}

} // namespace

std::vector<AdvancedItem> read_key(const Array& array, py::handle key) {
    std::vector<AdvancedItem> items;
    if (!PyTuple_Check(key.ptr())) {
        items.push_back(item_of(key.ptr(), array.device()));
        return items;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(key.ptr());
    items.reserve(static_cast<std::size_t>(count));
    for (Py_ssize_t k = 0; k < count; ++k)
        items.push_back(item_of(PyTuple_GET_ITEM(key.ptr(), k), array.device()));
    return items;
}

Array to_index_array(py::handle object, Device& device) {
    if (const Array* array = find_array(object.ptr()))
        return *array;
    const auto check = [](const py::dtype& dtype) {
        if (const char kind = dtype.kind(); kind != 'i' && kind != 'u' && kind != 'b')
            throw TypeError(join("Cannot cast array data from ",
                                 py::repr(dtype).cast<std::string>(),
                                 " to dtype('int64') according to the rule 'safe'"));
    };
    if (const std::optional<Array> nested = find_nested(object, device)) {
        check(numpy_dtype(nested->dtype()));
        return *nested;
    }
    py::array host = numpy_array(object);
    if (host.size() == 0 && !is_numpy_array(object.ptr()))
        host = numpy_array(host, numpy_dtype(DType::int64));
    else
        check(host.dtype());
    return send(host, device);
}

Argument to_value(const Array& target, py::handle value, std::optional<Array>& kept) {
    if (const Array* array = find_array(value.ptr())) {
        if (&array->device() == &target.device())
            return Argument::of(*array);
        kept = duplicate_on(*array, target.device());
        return Argument::of(*kept);
    }
    if (const auto scalar = find_scalar(value.ptr(), target.dtype())) {
        std::array<std::byte, 16> stored{};
        store_scalar(*scalar, target.dtype(), stored.data()); // complains before anything runs
        const Kind kind = row(target.dtype()).kind;
        if (scalar->kind != Scalar::Kind::complex || kind == Kind::complex || kind == Kind::boolean)
            return Argument::of(*scalar);
        Scalar real = Scalar::of(scalar->floating); // the imaginary part has been warned of
        real.is_numpy = true;
        return Argument::of(real);
    }
    if (holds_arrays(value))
        kept = join_nested(value, target.dtype(), &target.device());
    else if (!is_numpy_array(value.ptr()))
        kept = find_foreign_array(value.ptr());
    if (!kept) {
        const bool as_it_is = is_numpy_array(value.ptr());
        const py::array host =
            numpy_array(value, as_it_is ? py::object(py::none()) : numpy_dtype(target.dtype()));
        kept = Array::empty(target.device(), target.dtype(), to_dims(host.attr("shape")),
                            current_stream(target.device()));
        if (kept->size() > 0)
            upload(*kept, host, current_stream(target.device()));
    }
    return Argument::of(*kept);
}

PyObject* get_by_key(PyObject* self, PyObject* key) {
    const Array& array = reinterpret_cast<ArrayObject*>(self)->array;
    if (BasicKey basic; basic.read(key)) [[likely]]
        return wrap_view(basic_index(array, basic.items()), self);
    Array result = get_indexed(array, read_key(array, key), call_of("array[index]"));
    after_call();
    return wrap_array(std::move(result));
}

void set_by_key(const Array& array, py::handle key, py::handle value) {
    if (BasicKey basic; basic.read(key.ptr())) {
        const Array target = basic_index(array, basic.items());
        if (!target.writable())
            throw ValueError("assignment destination is read-only");
        return assign(target, value, current_stream(target.device()));
    }
    std::optional<Array> kept;
    const Argument given = to_value(array, value, kept);
    set_indexed(array, read_key(array, key), given, call_of("array[index] = value"));
    after_call();
}

} // namespace quern::python
