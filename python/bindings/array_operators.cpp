// Operators and comparisons of ndarray, each a ufunc; and what NumPy's own ufuncs do with quern's
// arrays: they come here.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_product.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/bind_ufunc.h"
#include "python/bindings/subclass.h"
#include "runtime/kernel/fill.h"

#include <string>

namespace py = pybind11;

namespace quern::python {
namespace {

template <Ufunc ufunc> PyObject* binary(PyObject* a, PyObject* b) {
    return call_operator(ufunc, {a, b});
}
template <Ufunc ufunc> PyObject* in_place(PyObject* self, PyObject* other) {
    return call_operator(ufunc, {self, other}, self);
}
template <Ufunc ufunc> PyObject* unary(PyObject* self) { return call_operator(ufunc, {self}); }

PyObject* raise(PyObject* base, PyObject* exponent, PyObject* out) {
    const Ufunc ufunc = power_by(base, exponent, true);
    return ufunc == Ufunc::power ? call_operator(ufunc, {base, exponent}, out)
                                 : call_operator(ufunc, {base}, out);
}
PyObject* power(PyObject* base, PyObject* exponent, PyObject* modulus) {
    if (modulus != Py_None)
        return Py_NewRef(Py_NotImplemented);
    return raise(base, exponent, nullptr);
}
PyObject* in_place_power(PyObject* self, PyObject* exponent, PyObject*) {
    return raise(self, exponent, self);
}

PyObject* multiply_matrices(PyObject* a, PyObject* b) { return matmul_operator(a, b, nullptr); }
PyObject* in_place_matrices(PyObject* self, PyObject* other) {
    return matmul_operator(self, other, self);
}

bool is_objects_own(PyObject* object, const char* method) {
    const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    const py::handle base(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    return type.attr(method).is(base.attr(method));
}

// No element equals None, a text or an object that compares by identity. Other objects are asked
// themselves: `undecided` is NotImplemented.
PyObject* compare_with_no_number(PyObject* self, PyObject* other, bool unequal,
                                 PyObject* undecided) {
    auto kept = py::reinterpret_steal<py::object>(undecided);
    return guarded(
        [&]() -> PyObject* {
            const bool by_identity = is_objects_own(other, "__eq__");
            if (other != Py_None && !PyUnicode_Check(other) && !PyBytes_Check(other) &&
                !PyDict_Check(other)) {
                if (unequal && !by_identity && is_objects_own(other, "__ne__"))
                    throw TypeError(join("!= of an array and a ", Py_TYPE(other)->tp_name,
                                         ", which has an __eq__ and no __ne__, is undefined"));
                if (!is_objects_own(other, unequal ? "__ne__" : "__eq__"))
                    return kept.release().ptr();
            }
            const Array& array = *find_array(self);
            const CUstream stream = current_stream(array.device());
            Array made = Array::empty(array.device(), DType::boolean, array.shape(), stream);
            {
                const py::gil_scoped_release release;
                fill(made, Scalar::of(unequal), stream);
            }
            return wrap_like(std::move(made), self);
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
    static constexpr std::array ufuncs{Ufunc::less,      Ufunc::less_equal, Ufunc::equal,
                                       Ufunc::not_equal, Ufunc::greater,    Ufunc::greater_equal};
    static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
    PyObject* made = call_operator(ufuncs[static_cast<std::size_t>(op)], {a, b});
    if (made != Py_NotImplemented || (op != Py_EQ && op != Py_NE)) [[likely]]
        return made;
    return compare_with_no_number(a, b, op == Py_NE, made);
}

// numpy.add(x, y) and its methods, where x or y is a quern array.
py::object from_numpy(const Self&, const py::object& ufunc, const std::string& method,
                      const py::args& given, const py::kwargs& options) {
    py::list inputs;
    for (const py::handle input : given) {
        if (!is_operand(input.ptr()) && py::hasattr(input, "__array_ufunc__"))
            return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        // NumPy's scalars come as arrays of no axes where they stood on an operator's left.
        const bool scalar = py::isinstance<py::array>(input) &&
                            py::reinterpret_borrow<py::array>(input).ndim() == 0;
        inputs.append(scalar ? py::object(input[py::tuple()])
                             : py::reinterpret_borrow<py::object>(input));
    }
    const py::object name = ufunc.attr("__name__");
    const std::optional<Ufunc> ours = ufunc_named(name.cast<std::string>());
    const py::object object =
        ours ? py::reinterpret_borrow<py::object>(ufunc_object(*ours))
             : py::getattr(py::module_::import("quern._products"), name, py::none());
    if (object.is_none())
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return (method == "__call__" ? object : object.attr(method.c_str()))(*inputs, **options);
}

template <class Function> PyType_Slot slot(int id, Function* function) {
    return {id, reinterpret_cast<void*>(function)};
}

} // namespace

std::vector<PyType_Slot> operator_slots() {
    return {
        slot(Py_nb_add, binary<Ufunc::add>),
        slot(Py_nb_subtract, binary<Ufunc::subtract>),
        slot(Py_nb_multiply, binary<Ufunc::multiply>),
        slot(Py_nb_true_divide, binary<Ufunc::divide>),
        slot(Py_nb_floor_divide, binary<Ufunc::floor_divide>),
        slot(Py_nb_remainder, binary<Ufunc::remainder>),
        slot(Py_nb_matrix_multiply, multiply_matrices),
        slot(Py_nb_inplace_matrix_multiply, in_place_matrices),
        slot(Py_nb_divmod, binary<Ufunc::divmod>),
        slot(Py_nb_power, power),
        slot(Py_nb_lshift, binary<Ufunc::left_shift>),
        slot(Py_nb_rshift, binary<Ufunc::right_shift>),
        slot(Py_nb_and, binary<Ufunc::bitwise_and>),
        slot(Py_nb_or, binary<Ufunc::bitwise_or>),
        slot(Py_nb_xor, binary<Ufunc::bitwise_xor>),
        slot(Py_nb_inplace_add, in_place<Ufunc::add>),
        slot(Py_nb_inplace_subtract, in_place<Ufunc::subtract>),
        slot(Py_nb_inplace_multiply, in_place<Ufunc::multiply>),
        slot(Py_nb_inplace_true_divide, in_place<Ufunc::divide>),
        slot(Py_nb_inplace_floor_divide, in_place<Ufunc::floor_divide>),
        slot(Py_nb_inplace_remainder, in_place<Ufunc::remainder>),
        slot(Py_nb_inplace_power, in_place_power),
        slot(Py_nb_inplace_lshift, in_place<Ufunc::left_shift>),
        slot(Py_nb_inplace_rshift, in_place<Ufunc::right_shift>),
        slot(Py_nb_inplace_and, in_place<Ufunc::bitwise_and>),
        slot(Py_nb_inplace_or, in_place<Ufunc::bitwise_or>),
        slot(Py_nb_inplace_xor, in_place<Ufunc::bitwise_xor>),
        slot(Py_nb_negative, unary<Ufunc::negative>),
        slot(Py_nb_positive, unary<Ufunc::positive>),
        slot(Py_nb_absolute, unary<Ufunc::absolute>),
        slot(Py_nb_invert, unary<Ufunc::invert>),
        slot(Py_tp_richcompare, compare),
    };
}

void bind_array_operators(py::handle type) {
    attach(type, "__array_ufunc__", &from_numpy, py::arg("ufunc"), py::arg("method"),
           "What NumPy's ufuncs call: the ufunc of the same name computes on the device.");
    type.attr("__array_priority__") = 100;
}

} // namespace quern::python
