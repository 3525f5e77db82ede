// The type object of quern.ndarray: allocation, hot attributes, sequence and number slots. No
// pybind11 call on the way of a getter.
#include "compiler/base/text.h"
#include "python/bindings/array_number.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/subclass.h"
#include "runtime/array/views.h"

#include <structmember.h>

#include <cstddef>
#include <memory>
#include <new>

namespace py = pybind11;

namespace quern::python {

PyTypeObject* array_type = nullptr;

namespace {

ArrayObject* self_of(PyObject* object) { return reinterpret_cast<ArrayObject*>(object); }
Array& array_of(PyObject* object) { return self_of(object)->array; }

PyObject* new_object(PyTypeObject* type, Array&& array, PyObject* base) noexcept {
    PyObject* object = type->tp_alloc(type, 0);
    if (object == nullptr)
        return nullptr;
    new (&self_of(object)->array) Array(std::move(array));
    self_of(object)->weakrefs = nullptr;
    Py_XINCREF(base);
    self_of(object)->base = base;
    return object;
}

// An instance of a subclass is told, by its __array_finalize__, of the array that it came from.
PyObject* finalized(PyObject* made, PyObject* origin) noexcept {
    if (made == nullptr || Py_TYPE(made) == array_type) [[likely]]
        return made;
    PyObject* said = PyObject_CallMethod(made, "__array_finalize__", "O", origin);
    if (said == nullptr)
        Py_CLEAR(made);
    Py_XDECREF(said);
    return made;
}

// An array from `address` on, in memory from `first` to `last`. Throws ValueError where it would
// leave that.
Array lay_over(const BufferPtr& buffer, std::uint64_t address, std::uint64_t first,
               std::uint64_t last, DType element, const Dims& shape, Dims strides) {
    if (strides.size() != shape.size())
        throw ValueError(
            join("strides has ", strides.size(), " entries, shape has ", shape.size()));
    static_cast<void>(checked_size(shape, bytes_of(element)));
    Array made(buffer, address, element, shape, std::move(strides));
    const ByteBounds bounds = byte_bounds(made);
    const bool turned = bounds.low > address || bounds.high < address; // beyond all addresses
    if (made.size() > 0 && (turned || bounds.low < first || bounds.high > last))
        throw ValueError(join("an array of shape ", format_shape(shape), ", strides ",
                              format_shape(made.strides()), " and dtype ", row(element).name,
                              " reaches past the ", last - address, " bytes that it has"));
    return made;
}

Array over_memory(py::handle memptr, DType element, const Dims& shape, py::handle strides,
                  Order layout) {
    if (!py::isinstance<MemoryPointer>(memptr))
        throw TypeError(join("memptr must be a MemoryPointer, not ",
                             py::str(py::type::of(memptr)).cast<std::string>()));
    const auto& place = py::cast<const MemoryPointer&>(memptr);
    const std::uint64_t first = place.buffer->address();
    return lay_over(place.buffer, place.address, first, first + place.buffer->bytes(), element,
                    shape,
                    strides.is_none() ? dense_strides(shape, bytes_of(element), layout)
                                      : to_dims(strides, "strides"));
}

// Uninitialised memory of the shape's size, which the strides, if given, must not leave.
Array in_new_memory(DType element, const Dims& shape, py::handle strides, Order layout) {
    Device& device = current_device();
    Array made = Array::empty(device, element, shape, current_stream(device), layout);
    if (strides.is_none())
        return made;
    const std::uint64_t first = made.address();
    return lay_over(made.buffer(), first, first, first + static_cast<std::uint64_t>(made.nbytes()),
                    element, shape, to_dims(strides, "strides"));
}

// ndarray(shape, dtype=float, memptr=None, strides=None, order='C'): uninitialised, as in NumPy and
// CuPy.
PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"shape", "dtype", "memptr", "strides", "order", nullptr};
    PyObject *shape = nullptr, *dtype = Py_None, *memptr = Py_None, *strides = Py_None,
             *order = Py_None;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOO:ndarray", const_cast<char**>(names),
                                    &shape, &dtype, &memptr, &strides, &order) == 0)
        return nullptr;
    return guarded(
        [&]() -> PyObject* {
            const DType element = dtype == Py_None ? DType::float64 : to_dtype(dtype);
            const Order layout = to_order(order, 'C') == 'F' ? Order::f : Order::c;
            const Dims extents = to_dims(shape);
            Array made = memptr == Py_None ? in_new_memory(element, extents, strides, layout)
                                           : over_memory(memptr, element, extents, strides, layout);
            return finalized(new_object(type, std::move(made), nullptr), Py_None);
        },
        static_cast<PyObject*>(nullptr));
}

void dispose(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    ArrayObject* self = self_of(object);
    if (self->weakrefs != nullptr)
        PyObject_ClearWeakRefs(object);
    std::destroy_at(&self->array);
    Py_CLEAR(self->base);
    type->tp_free(object);
    Py_DECREF(type);
}

// Attributes

PyObject* get_shape(PyObject* self, void*) { return dims_tuple(array_of(self).shape()); }
PyObject* get_strides(PyObject* self, void*) { return dims_tuple(array_of(self).strides()); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(array_of(self).ndim()); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLongLong(array_of(self).size()); }
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromLongLong(array_of(self).nbytes()); }
PyObject* get_itemsize(PyObject* self, void*) {
    return PyLong_FromSize_t(bytes_of(array_of(self).dtype()));
}
PyObject* get_dtype(PyObject* self, void*) {
    return guarded([&] { return Py_NewRef(dtype_object(array_of(self).dtype())); },
                   static_cast<PyObject*>(nullptr));
}
PyObject* get_transposed(PyObject* self, void*) {
    return guarded([&] { return wrap_view(transpose(array_of(self)), self); },
                   static_cast<PyObject*>(nullptr));
}
PyObject* get_base(PyObject* self, void*) {
    PyObject* base = self_of(self)->base;
    return Py_NewRef(base != nullptr ? base : Py_None);
}

int set_shape(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            if (value == nullptr)
                throw Error(ErrorKind::type, "cannot delete an array's shape");
            Array& array = array_of(self);
            const Dims shape = infer_shape(array.size(), to_dims(value));
            std::optional<Array> view = reshape_view(array, shape);
            if (!view) {
                PyErr_SetString(
                    PyExc_AttributeError,
                    "incompatible shape for in-place modification: this layout needs a copy; "
                    "use `.reshape()` instead");
                return -1;
            }
            array = std::move(*view);
            return 0;
        },
        -1);
}

PyGetSetDef attributes[] = {
    {"shape", get_shape, set_shape, "Extents, a tuple of int; may be set where no copy is needed.",
     nullptr},
    {"strides", get_strides, nullptr, "Bytes from one element to the next along each axis.",
     nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements: size * itemsize.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type, a numpy.dtype.", nullptr},
    {"T", get_transposed, nullptr, "A view with all axes reversed.", nullptr},
    {"base", get_base, nullptr, "The object that owns this view's memory; None: the array itself.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// Sequence and mapping

Py_ssize_t length(PyObject* self) {
    const Array& array = array_of(self);
    if (array.ndim() == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of unsized object");
        return -1;
    }
    return static_cast<Py_ssize_t>(array.shape()[0]);
}

PyObject* get_item(PyObject* self, PyObject* key) {
    return guarded([&] { return get_by_key(self, key); }, static_cast<PyObject*>(nullptr));
}

PyObject* get_element(PyObject* self, Py_ssize_t position) {
    return guarded(
        [&] {
            const IndexItem item = static_cast<std::int64_t>(position);
            return wrap_view(basic_index(array_of(self), {&item, 1}), self);
        },
        static_cast<PyObject*>(nullptr));
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
    return guarded(
        [&] {
            if (value == nullptr)
                throw ValueError("cannot delete array elements");
            set_by_key(array_of(self), key, value);
            return 0;
        },
        -1);
}

PyObject* iterate(PyObject* self) {
    if (array_of(self).ndim() > 0)
        return PySeqIter_New(self);
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
    return nullptr;
}

// Numbers and text: NumPy's rules, asked of NumPy. These wait for the device.

py::array values_of(PyObject* self) {
    const Array& array = array_of(self);
    return download(array, current_stream(array.device()));
}

// More than one element has no value as a number: NumPy's error needs only the shape, so nothing is
// copied.
py::array number_of(PyObject* self) {
    const Array& array = array_of(self);
    if (array.size() == 1)
        return values_of(self);
    return py::array(numpy_dtype(array.dtype()),
                     std::vector<py::ssize_t>{array.size() == 0 ? 0 : 2});
}

bool is_index(PyObject* value) { return PyLong_Check(value) && !PyBool_Check(value); }

int as_bool(PyObject* self) {
    return guarded(
        [&] {
            const py::object value = plain_value(array_of(self));
            return PyObject_IsTrue(value ? value.ptr() : number_of(self).ptr());
        },
        -1);
}
template <PyObject* (*Convert)(PyObject*)> PyObject* as_number(PyObject* self) {
    return guarded(
        [&] {
            const py::object value = plain_value(array_of(self));
            const bool asks_numpy = !value || (Convert == PyNumber_Index && !is_index(value.ptr()));
            return Convert(asks_numpy ? number_of(self).ptr() : value.ptr());
        },
        static_cast<PyObject*>(nullptr));
}
template <PyObject* (*Convert)(PyObject*)> PyObject* as_text(PyObject* self) {
    return guarded([&] { return Convert(values_of(self).ptr()); }, static_cast<PyObject*>(nullptr));
}

template <class Slot> void* slot(Slot function) { return reinterpret_cast<void*>(function); }

constexpr const char* doc = R"(ndarray(shape, dtype=float, memptr=None, strides=None, order='C')
--

A multidimensional array on a device; new ones are uninitialised. Use array(), zeros(), empty() to make one.

Slices, reshapes and transposes are views of the same memory. `float(a)`, `bool(a)`, `print(a)`, `a.item()` and
`a.get()` wait for the device. Source: NumPy, `numpy.ndarray`; CuPy, `cupy.ndarray`.)";

} // namespace

PyObject* wrap_array(Array&& array) noexcept {
    return new_object(array_type, std::move(array), nullptr);
}

PyObject* wrap_like(Array&& array, PyObject* model) noexcept {
    return finalized(new_object(Py_TYPE(model), std::move(array), nullptr), model);
}

PyObject* wrap_view(Array&& array, PyObject* owner) noexcept {
    return wrap_view_as(find_array(owner) != nullptr ? Py_TYPE(owner) : array_type,
                        std::move(array), owner);
}

PyObject* wrap_view_as(PyTypeObject* type, Array&& array, PyObject* owner) noexcept {
    PyObject* base = find_array(owner) != nullptr ? self_of(owner)->base : nullptr;
    return finalized(new_object(type, std::move(array), base != nullptr ? base : owner), owner);
}

void make_array_type(py::module_& module) {
    std::vector<PyType_Slot> slots = operator_slots();
    slots.insert(slots.end(), {
                                  {Py_tp_doc, const_cast<char*>(doc)},
                                  {Py_tp_new, slot(construct)},
                                  {Py_tp_dealloc, slot(dispose)},
                                  {Py_tp_getset, attributes},
                                  {Py_tp_members, members},
                                  {Py_tp_repr, slot(as_text<PyObject_Repr>)},
                                  {Py_tp_str, slot(as_text<PyObject_Str>)},
                                  {Py_tp_hash, slot(PyObject_HashNotImplemented)},
                                  {Py_tp_iter, slot(iterate)},
                                  {Py_mp_length, slot(length)},
                                  {Py_mp_subscript, slot(get_item)},
                                  {Py_mp_ass_subscript, slot(set_item)},
                                  {Py_sq_length, slot(length)},
                                  {Py_sq_item, slot(get_element)},
                                  {Py_nb_bool, slot(as_bool)},
                                  {Py_nb_int, slot(as_number<PyNumber_Long>)},
                                  {Py_nb_float, slot(as_number<PyNumber_Float>)},
                                  {Py_nb_index, slot(as_number<PyNumber_Index>)},
                                  {Py_bf_getbuffer, slot(get_buffer)},
                                  {Py_bf_releasebuffer, slot(release_buffer)},
                                  {0, nullptr},
                              });
    PyType_Spec spec{"quern.ndarray", static_cast<int>(sizeof(ArrayObject)), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr)
        throw py::error_already_set();
    array_type = reinterpret_cast<PyTypeObject*>(type);
    module.attr("ndarray") = py::reinterpret_steal<py::object>(type);
    Py_INCREF(type); // ours, for the life of the process
}

} // namespace quern::python
