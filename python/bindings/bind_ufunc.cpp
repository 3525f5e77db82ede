// quern.ufunc as a hand-made heap type called through vectorcall: arguments and options in, results
// out. The ufuncs themselves are the rows of the ufunc table.
#include "python/bindings/bind_ufunc.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/module.h"
#include "python/bindings/subclass.h"

#include <pybind11/numpy.h>

#include <structmember.h>

#include <cmath>
#include <cstddef>
#include <limits>

namespace py = pybind11;

namespace quern::python {
namespace {

struct UfuncObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    Ufunc ufunc;
};

PyTypeObject* ufunc_type = nullptr;
std::array<PyObject*, ufunc_count> objects{};

const UfuncRow& row_of(PyObject* self) { return row(reinterpret_cast<UfuncObject*>(self)->ufunc); }

bool is(PyObject* name, const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

// An int past 64 bits is the float nearest to it beside floats; compared with others no element is
// near.
std::optional<Scalar> huge_int(PyObject* object) {
    if (!PyLong_Check(object))
        return std::nullopt;
    double value = PyLong_AsDouble(object);
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        value = std::numeric_limits<double>::infinity();
        const py::int_ zero(0);
        if (PyObject_RichCompareBool(object, zero.ptr(), Py_LT) == 1)
            value = -value;
    }
    return Scalar::of(value);
}

// One call, as Python gave it.
class Call {
  public:
    explicit Call(Ufunc ufunc)
        : ufunc_(ufunc), row_(row(ufunc)), nin_(static_cast<std::size_t>(inputs_of(row_))),
          nout_(static_cast<std::size_t>(outputs_of(row_))) {}

    [[nodiscard]] std::size_t nin() const { return nin_; }
    [[nodiscard]] std::size_t nout() const { return nout_; }

    void add_input(PyObject* object) {
        Argument& argument = inputs_[count_++];
        if (Array* array = find_array(object)) [[likely]] {
            argument.kind = ArgType::Kind::array;
            argument.array = array;
            if (Py_TYPE(object) != array_type && model_ == nullptr) [[unlikely]]
                model_ = object;
            return;
        }
        try {
            argument = to_argument(object, imported_);
        } catch (const Error& error) {
            const auto huge = error.kind() == ErrorKind::overflow ? huge_int(object) : std::nullopt;
            if (!huge || huge_ != nullptr)
                throw;
            argument = Argument::of(*huge);
            huge_ = &argument;
        }
        if (argument.kind == ArgType::Kind::structure)
            throw TypeError(join("ufunc '", row_.name, "' does not take structured scalars"));
    }

    void set_output(std::size_t k, PyObject* object) {
        if (object == Py_None)
            return;
        call_.outputs[k] = find_array(object);
        if (call_.outputs[k] == nullptr)
            throw TypeError(
                join("return arrays must be of quern.ndarray, not ", Py_TYPE(object)->tp_name));
        given_[k] = object;
    }

    void read_keywords(PyObject* names, PyObject* const* values, bool has_outputs) {
        const Py_ssize_t count = PyTuple_GET_SIZE(names);
        bool has_dtype = false, has_signature = false;
        for (Py_ssize_t k = 0; k < count; ++k) {
            PyObject* name = PyTuple_GET_ITEM(names, k);
            PyObject* value = values[k];
            if (is(name, "out")) {
                if (has_outputs && value != Py_None)
                    throw TypeError("cannot specify 'out' as both a positional and keyword "
                                    "argument");
                set_outputs(value);
            } else if (is(name, "where")) {
                set_mask(value);
            } else if (is(name, "casting")) {
                set_casting(value);
            } else if (is(name, "order")) {
                call_.order = to_order(value, 'K');
            } else if (is(name, "dtype")) {
                has_dtype = value != Py_None;
                if (has_dtype)
                    for (std::size_t out = 0; out < nout_; ++out)
                        call_.types.fixed[nin_ + out] = to_dtype(value);
            } else if (is(name, "sig") || is(name, "signature")) {
                if (std::exchange(has_signature, true))
                    throw TypeError("cannot specify both 'sig' and 'signature'");
                set_signature(value);
            } else if (is(name, "subok")) {
                if (PyBool_Check(value) == 0)
                    throw TypeError("'subok' must be a boolean");
                if (value == Py_False)
                    model_ = nullptr;
            } else {
                throw TypeError(join(row_.name, "() got an unexpected keyword argument '",
                                     py::cast<std::string>(name), "'"));
            }
        }
        if (has_dtype && has_signature)
            throw TypeError("cannot specify both 'signature' and 'dtype'");
    }

    [[nodiscard]] PyObject* run() {
        if (huge_ != nullptr) [[unlikely]]
            settle_huge();
        call_.inputs = {inputs_.data(), count_};
        std::vector<Array> made = call_ufunc(ufunc_, call_, drop_gil);
        if (has_waited()) [[unlikely]]
            surface_warnings();
        std::size_t next = 0;
        const auto output = [&](std::size_t k) {
            if (given_[k] != nullptr)
                return Py_NewRef(given_[k]);
            Array& result = made[next++];
            return model_ != nullptr ? wrap_like(std::move(result), model_)
                                     : wrap_array(std::move(result));
        };
        if (nout_ == 1)
            return output(0);
        PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(nout_));
        for (std::size_t k = 0; tuple != nullptr && k < nout_; ++k) {
            PyObject* item = output(k);
            if (item == nullptr)
                Py_CLEAR(tuple);
            else
                PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(k), item);
        }
        return tuple;
    }

  private:
    // A huge int is a float beside floats. Beside integers it compares as an infinity, for the
    // float nearest to it may be that nearest to an element too, and is refused elsewhere.
    void settle_huge() {
        const auto is_inexact = [](const Argument& input) {
            const Kind kind =
                row(input.kind == ArgType::Kind::array ? input.array->dtype() : input.scalar.dtype)
                    .kind;
            return kind == Kind::floating || kind == Kind::complex;
        };
        bool inexact = false, arrays = false;
        for (const Argument& input : std::span(inputs_.data(), count_))
            if (&input != huge_) {
                inexact = inexact || is_inexact(input);
                arrays = arrays || input.kind == ArgType::Kind::array;
            }
        double& value = huge_->scalar.floating;
        if (ufunc_ >= Ufunc::equal && ufunc_ <= Ufunc::greater_equal) {
            if (!inexact)
                value = std::copysign(std::numeric_limits<double>::infinity(), value);
            return;
        }
        if (std::isinf(value))
            throw Error(ErrorKind::overflow, "int too large to convert to float");
        if (!inexact && !(ufunc_ == Ufunc::divide && arrays))
            refuse_huge_int();
    }

    void set_outputs(PyObject* value) {
        if (value == Py_None)
            return;
        if (!PyTuple_Check(value)) {
            if (nout_ > 1)
                throw TypeError("'out' must be a tuple of arrays");
            set_output(0, value);
            return;
        }
        if (PyTuple_GET_SIZE(value) != static_cast<Py_ssize_t>(nout_))
            throw ValueError("The 'out' tuple must have exactly one entry per ufunc output");
        for (std::size_t k = 0; k < nout_; ++k)
            set_output(k, PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(k)));
    }

    void set_mask(PyObject* value) {
        if (value == Py_True)
            return;
        mask_ = to_argument(value, imported_);
        const DType dtype =
            mask_.kind == ArgType::Kind::array ? mask_.array->dtype() : mask_.scalar.dtype;
        if (mask_.kind == ArgType::Kind::structure || dtype != DType::boolean)
            throw TypeError(join("Cannot cast array data from dtype('", row(dtype).name,
                                 "') to dtype('bool') according to the rule 'safe'"));
        call_.where = &mask_;
    }

    void set_casting(PyObject* value) {
        const char* text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
        const std::optional<Casting> found = text != nullptr ? find_casting(text) : std::nullopt;
        if (!found)
            throw ValueError(join("casting must be one of 'no', 'equiv', 'safe', 'same_kind', "
                                  "'unsafe' (got ",
                                  py::repr(value).cast<std::string>(), ")"));
        call_.types.casting = *found;
    }

    void set_signature(PyObject* value) {
        if (value == Py_None)
            return;
        std::vector<py::object> types;
        if (PyUnicode_Check(value)) {
            for (const char letter : py::cast<std::string>(value))
                if (letter != '-' && letter != '>')
                    types.emplace_back(py::str(std::string(1, letter)));
        } else if (PyTuple_Check(value)) {
            for (const py::handle item : py::reinterpret_borrow<py::tuple>(value))
                types.push_back(py::reinterpret_borrow<py::object>(item));
        } else {
            throw TypeError("the signature object to ufunc must be a string or a tuple.");
        }
        if (types.size() != nin_ + nout_)
            throw ValueError(join("a signature of ufunc '", row_.name, "' has ", nin_ + nout_,
                                  " types, not ", types.size()));
        for (std::size_t k = 0; k < types.size(); ++k)
            if (!types[k].is_none())
                call_.types.fixed[k] = to_dtype(types[k]);
    }

    Ufunc ufunc_;
    const UfuncRow& row_;
    std::size_t nin_, nout_, count_ = 0;
    std::array<Argument, most_ufunc_inputs> inputs_;
    std::array<PyObject*, 2> given_{};
    PyObject* model_ = nullptr; // the first input of a subclass, which results belong to as well
    Argument* huge_ = nullptr;
    Argument mask_;
    UfuncCall call_;
    ImportedArrays imported_;
};

// `out` and `where` mean the same to a shortcut.
bool asks_for_types(PyObject* keywords) {
    for (Py_ssize_t k = 0; keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
        PyObject* name = PyTuple_GET_ITEM(keywords, k);
        if (PyUnicode_CompareWithASCIIString(name, "out") != 0 &&
            PyUnicode_CompareWithASCIIString(name, "where") != 0)
            return true;
    }
    return false;
}

PyObject* ufunc_vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags,
                           PyObject* keywords) noexcept {
    return guarded(
        [&]() -> PyObject* {
            const UfuncRow& wanted = row_of(self);
            const auto given = static_cast<std::size_t>(PyVectorcall_NARGS(flags)),
                       nin = static_cast<std::size_t>(inputs_of(wanted));
            const bool may_be_short = wanted.id == Ufunc::power && given >= nin;
            Call call(may_be_short && !asks_for_types(keywords)
                          ? power_by(arguments[0], arguments[1], false)
                          : wanted.id);
            if (given < nin || given > nin + call.nout())
                throw TypeError(join(wanted.name, "() takes from ", nin, " to ", nin + call.nout(),
                                     " positional arguments but ", given,
                                     given == 1 ? " was given" : " were given"));
            for (std::size_t k = 0; k < call.nin(); ++k)
                call.add_input(arguments[k]);
            for (std::size_t k = nin; k < given; ++k)
                call.set_output(k - nin, arguments[k]);
            if (keywords != nullptr)
                call.read_keywords(keywords, arguments + given, given > nin);
            return call.run();
        },
        static_cast<PyObject*>(nullptr));
}

constexpr const char* ufunc_doc =
    R"(A function of elements: quern.add, quern.sin, ... Its own text tells what it computes.

Call: ufunc(*inputs, out=None, where=True, casting='same_kind', order='K', dtype=None, subok=True, signature=None).
Inputs are quern arrays, Python's and NumPy's scalars; outputs may follow the inputs, or are `out`, for two results a
tuple, in which None is made. `where` is a bool or an array of bool: elsewhere outputs keep what they hold.
Shapes: all arrays broadcast together, and given outputs have the shape that comes out.
Types: NumPy's, for Python scalars too (NEP 50); `resolve_dtypes` tells them.
Raises: TypeError for types and casts, for lists and NumPy arrays; ValueError for shapes and read-only outputs;
OverflowError for an int that the dtype beside it cannot hold.
Source: NumPy, `numpy.ufunc`. Where NumPy raises for the values of an array (a negative power of an integer), the
result is what arithmetic leaves (the inverse, cut towards zero): nothing waits for the device.)";

// Attributes

template <class Function> PyObject* attribute(PyObject* self, Function&& function) noexcept {
    return guarded([&] { return py::cast(function(row_of(self))).release().ptr(); },
                   static_cast<PyObject*>(nullptr));
}
PyObject* get_nin(PyObject* self, void*) { return attribute(self, inputs_of); }
PyObject* get_nout(PyObject* self, void*) { return attribute(self, outputs_of); }
PyObject* get_nargs(PyObject* self, void*) {
    return attribute(self, [](const UfuncRow& row) { return inputs_of(row) + outputs_of(row); });
}
PyObject* get_name(PyObject* self, void*) {
    return attribute(self, [](const UfuncRow& row) { return row.name; });
}
PyObject* get_types(PyObject* self, void*) {
    return guarded(
        [&] {
            py::list list;
            for (const std::string& text : loop_texts(row_of(self)))
                list.append(text);
            return list.release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}
PyObject* get_ntypes(PyObject* self, void*) {
    return attribute(self, [](const UfuncRow& row) { return loop_texts(row).size(); });
}
PyObject* get_identity(PyObject* self, void*) {
    switch (row_of(self).identity) {
    case Identity::none:
        break;
    case Identity::zero:
        return PyLong_FromLong(0);
    case Identity::one:
        return PyLong_FromLong(1);
    case Identity::minus_one:
        return PyLong_FromLong(-1);
    case Identity::minus_infinity:
        return PyFloat_FromDouble(-std::numeric_limits<double>::infinity());
    case Identity::yes:
        Py_RETURN_TRUE;
    case Identity::no:
        Py_RETURN_FALSE;
    }
    Py_RETURN_NONE;
}
PyObject* get_signature(PyObject*, void*) { Py_RETURN_NONE; }

PyObject* get_doc(PyObject* self) {
    return attribute(self, [](const UfuncRow& row) {
        const int nin = inputs_of(row), nout = outputs_of(row);
        return join(row.name,
                    nin == 3   ? "(x1, x2, x3, /"
                    : nin == 2 ? "(x1, x2, /"
                               : "(x, /",
                    nout == 2 ? ", out=(None, None)" : ", out=None",
                    ", *, where=True, casting='same_kind', order='K', dtype=None, subok=True)\n\n",
                    row.doc, "\n\nSource: NumPy, `numpy.", row.name, "`.");
    });
}

// Each ufunc has a text of its own; the type has another one.
PyObject* ufunc_getattr(PyObject* self, PyObject* name) {
    return PyUnicode_Check(name) && is(name, "__doc__") ? get_doc(self)
                                                        : PyObject_GenericGetAttr(self, name);
}

PyObject* ufunc_repr(PyObject* self) {
    return guarded(
        [&] { return py::str(join("<ufunc '", row_of(self).name, "'>")).release().ptr(); },
        static_cast<PyObject*>(nullptr));
}
// As NumPy's: dtypes and, for Python scalars, int, float and complex; None for outputs.
UfuncInput input_of(const py::handle& type) {
    UfuncInput input;
    const auto weak = [&](WeakScalar kind) {
        input.weak = true;
        input.kind = kind;
        input.dtype = default_dtype(kind);
        return input;
    };
    if (type.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type))
        return weak(WeakScalar::integer);
    if (type.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type))
        return weak(WeakScalar::floating);
    if (type.ptr() == reinterpret_cast<PyObject*>(&PyComplex_Type))
        return weak(WeakScalar::complex);
    input.dtype = to_dtype(type);
    return input;
}

PyObject* resolve_dtypes(PyObject* self, PyObject* dtypes) {
    return guarded(
        [&]() -> PyObject* {
            const UfuncRow& wanted = row_of(self);
            const auto given = py::reinterpret_borrow<py::object>(dtypes);
            const int nin = inputs_of(wanted), count = nin + outputs_of(wanted);
            if (!PyTuple_Check(dtypes) || PyTuple_GET_SIZE(dtypes) != count)
                throw TypeError(join("The dtypes must be a tuple of ", count, " entries"));
            std::array<UfuncInput, most_ufunc_inputs> inputs;
            UfuncTypes types;
            for (int k = 0; k < count; ++k) {
                const py::object item = given[py::int_(k)];
                if (k < nin)
                    inputs[static_cast<std::size_t>(k)] = input_of(item);
                else if (!item.is_none())
                    types.fixed[static_cast<std::size_t>(k)] = to_dtype(item);
            }
            const UfuncLoop loop =
                find_loop(wanted, {inputs.data(), static_cast<std::size_t>(nin)}, types);
            py::tuple found(count);
            for (int k = 0; k < count; ++k)
                found[static_cast<std::size_t>(k)] =
                    numpy_dtype(loop.types[static_cast<std::size_t>(k)]);
            return found.release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* ufunc_reduce_by_name(PyObject* self, PyObject*) { // pickled as its name in the module
    return get_name(self, nullptr);
}

void ufunc_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyGetSetDef getset[] = {
    {"nin", get_nin, nullptr, "Number of inputs.", nullptr},
    {"nout", get_nout, nullptr, "Number of outputs.", nullptr},
    {"nargs", get_nargs, nullptr, "nin + nout.", nullptr},
    {"ntypes", get_ntypes, nullptr, "Number of loops.", nullptr},
    {"types", get_types, nullptr,
     "The loops by NumPy's letters, in the order in which they are tried; X is bfloat16.", nullptr},
    {"identity", get_identity, nullptr, "What a reduction of no elements is; None: there is none.",
     nullptr},
    {"signature", get_signature, nullptr, "None: these ufuncs go by elements.", nullptr},
    {"name", get_name, nullptr, "The ufunc's name.", nullptr},
    {"__name__", get_name, nullptr, "The ufunc's name.", nullptr},
    {"__qualname__", get_name, nullptr, "The ufunc's name.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef methods[] = {
    {"resolve_dtypes", resolve_dtypes, METH_O,
     "resolve_dtypes(dtypes)\n--\n\nThe dtypes that inputs of these dtypes are computed and "
     "returned "
     "in; int, float and complex stand for Python's scalars, None for outputs."},
    {"__reduce__", ufunc_reduce_by_name, METH_NOARGS, "Pickled as its name in quern."},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(UfuncObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(ufunc_doc)},
    {Py_tp_getattro, reinterpret_cast<void*>(ufunc_getattr)},
    {Py_tp_dealloc, reinterpret_cast<void*>(ufunc_dealloc)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(ufunc_repr)},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, nullptr},
};
PyType_Spec spec{
    "quern.ufunc", sizeof(UfuncObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// Has it a way of its own with NumPy's ufuncs?
bool overrides_ufuncs(PyObject* object) {
    const py::object way = py::getattr(object, "__array_ufunc__", py::none());
    return !way.is_none();
}

} // namespace

bool is_operand(PyObject* object) {
    if (find_array(object) != nullptr || PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
        PyBool_Check(object) || find_scalar_type(Py_TYPE(object)) || PyFloat_Check(object) ||
        PyLong_Check(object) || PyComplex_Check(object))
        return true;
    return PyObject_HasAttrString(object, "__cuda_array_interface__") != 0 ||
           PyObject_HasAttrString(object, "__cupy_get_ndarray__") != 0 ||
           py::isinstance<py::array>(object) || PyList_Check(object) || PyTuple_Check(object);
}

PyObject* ufunc_object(Ufunc ufunc) noexcept { return objects[static_cast<std::size_t>(ufunc)]; }

std::optional<Ufunc> find_ufunc(PyObject* object) noexcept {
    if (Py_TYPE(object) != ufunc_type)
        return std::nullopt;
    return reinterpret_cast<UfuncObject*>(object)->ufunc;
}

Ufunc power_by(PyObject* base, PyObject* exponent, bool is_operator) {
    const Array* array = find_array(base);
    const bool whole = PyLong_CheckExact(exponent);
    if (array == nullptr || !(whole || PyFloat_CheckExact(exponent)))
        return Ufunc::power;
    const double value = PyFloat_AsDouble(exponent);
    if (PyErr_Occurred() != nullptr)
        PyErr_Clear(); // past every float: not one of those below
    const Kind kind = row(array->dtype()).kind;
    const bool inexact = kind == Kind::floating || kind == Kind::complex;
    if (value == 2 && (inexact || (whole && (is_operator || kind != Kind::boolean))))
        return Ufunc::square;
    if (is_operator && inexact && value == 0.5)
        return Ufunc::sqrt;
    if (is_operator && inexact && value == -1)
        return Ufunc::reciprocal;
    return Ufunc::power;
}

PyObject* call_operator(Ufunc ufunc, std::initializer_list<PyObject*> inputs,
                        PyObject* out) noexcept {
    return guarded(
        [&]() -> PyObject* {
            for (PyObject* input : inputs)
                if (!is_operand(input)) {
                    if (out != nullptr || !overrides_ufuncs(input))
                        return Py_NewRef(Py_NotImplemented);
                    py::list all; // NumPy finds who is to answer
                    for (PyObject* each : inputs)
                        all.append(py::handle(each));
                    const std::string name(row(ufunc).name);
                    return py::module_::import("numpy").attr(name.c_str())(*all).release().ptr();
                }
            Call call(ufunc);
            for (PyObject* input : inputs)
                call.add_input(input);
            if (out != nullptr)
                call.set_output(0, out);
            return call.run();
        },
        static_cast<PyObject*>(nullptr));
}

void bind_ufunc(py::module_& module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr)
        throw py::error_already_set();
    ufunc_type = reinterpret_cast<PyTypeObject*>(type);
    module.attr("ufunc") = py::reinterpret_steal<py::object>(type);
    Py_INCREF(type);       // ours, for the life of the process
    py::dict all, wrapped; // those of three inputs stand behind functions of the same name
    for (const UfuncRow& wanted : ufunc_table) {
        PyObject* object = ufunc_type->tp_alloc(ufunc_type, 0);
        if (object == nullptr)
            throw py::error_already_set();
        reinterpret_cast<UfuncObject*>(object)->vectorcall = ufunc_vectorcall;
        reinterpret_cast<UfuncObject*>(object)->ufunc = wanted.id;
        objects[static_cast<std::size_t>(wanted.id)] = object;
        (inputs_of(wanted) == 3 ? wrapped : all)[py::str(wanted.name)] = py::handle(object);
    }
    for (const UfuncAlias& alias : ufunc_aliases)
        all[py::str(alias.name)] = py::handle(ufunc_object(alias.id));
    module.attr("ufuncs") = all;
    module.attr("wrapped_ufuncs") = wrapped;
    bind_ufunc_methods(module, type);
}

} // namespace quern::python
