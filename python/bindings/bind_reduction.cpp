// quern.ReductionKernel as a hand-made heap type called through vectorcall.
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/kernel_object.h"
#include "python/bindings/module.h"
#include "runtime/kernel/reduction.h"

#include <limits>

namespace py = pybind11;

namespace quern::python {
namespace {

constexpr const char* reduction_doc =
    R"(A kernel that maps every element, reduces the mapped values along axes, and post-maps each result.

ReductionKernel(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name='reduce_kernel',
                reduce_type=None, reduce_dims=True, preamble='', options=())

`map_expr` is a CUDA C++ expression of the inputs (and of `_J`, the element's place along the reduced axes, `_i`, the
number of its output, and `_in_ind`), `reduce_expr` one of `a` and `b`, `post_map_expr` a statement that assigns the
outputs from `a`. `identity` is the text of the value to start from; None or '' starts from reduce_type's default and
refuses an empty input. `reduce_type` is the type of `a` and `b`: by default the first output's, else a type of C++ or of
the preamble.

Call: kernel(*inputs, *outputs, out=None, axis=None, keepdims=False, stream=None). Outputs may be left out and are then
made, in C order.
Shapes: inputs that are not raw broadcast together; outputs have the axes that are left (of extent 1 with `keepdims`).
Returns: the output; a tuple where there are several.
Raises: SpecError (ValueError) when it is made; on the call ResolveError (TypeError), numpy.exceptions.AxisError,
ValueError for shapes, repeated axes and empty input without identity, CompileError.
The order in which values are reduced is fixed: the same call gives the same bits each time.
Source: CuPy, "Reduction kernels".)";

PyObject* reduction_vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags,
                               PyObject* keywords) noexcept;

// None as "", a string as it is, a number as its text.
std::string text_of(PyObject* object, const char* what) {
    if (object == nullptr || object == Py_None)
        return {};
    if (PyUnicode_Check(object))
        return py::cast<std::string>(object);
    if (PyLong_Check(object) || PyFloat_Check(object))
        return py::cast<std::string>(py::str(py::handle(object)));
    throw TypeError(std::string(what) + " must be a str or None, not " + Py_TYPE(object)->tp_name);
}

PyObject* reduction_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded(
        [&]() -> PyObject* {
            static const char* names[] = {"in_params",     "out_params", "map_expr", "reduce_expr",
                                          "post_map_expr", "identity",   "name",     "reduce_type",
                                          "reduce_dims",   "preamble",   "options",  nullptr};
            const char *in_params, *out_params, *map_expr, *reduce_expr, *post_map_expr,
                *name = "reduce_kernel", *preamble = "";
            PyObject *identity = nullptr, *reduce_type = nullptr, *options = nullptr;
            int reduce_dims = 1;
            if (!PyArg_ParseTupleAndKeywords(
                    args, kwargs, "sssssO|sOpsO:ReductionKernel", const_cast<char**>(names),
                    &in_params, &out_params, &map_expr, &reduce_expr, &post_map_expr, &identity,
                    &name, &reduce_type, &reduce_dims, &preamble, &options))
                return nullptr;
            ReductionText text;
            const std::string start = text_of(identity, "identity"),
                              accumulator = text_of(reduce_type, "reduce_type");
            text.in_params = in_params;
            text.out_params = out_params;
            text.map_expr = map_expr;
            text.reduce_expr = reduce_expr;
            text.post_map_expr = post_map_expr;
            text.identity = start;
            text.name = name;
            text.reduce_type = accumulator;
            text.reduce_dims = reduce_dims != 0;
            text.preamble = preamble;
            text.options = options_of(options);
            text.origin = origin_of_call();
            return make_object(type, std::make_unique<ReductionKernel>(text), reduction_vectorcall);
        },
        static_cast<PyObject*>(nullptr));
}

struct Keywords {
    PyObject *stream = nullptr, *out = nullptr;
    ReductionCall call;
    std::vector<std::int64_t> axes;

    void read(const ReductionSpec& spec, PyObject* names, PyObject* const* values) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
            PyObject* name = PyTuple_GET_ITEM(names, k);
            PyObject* value = values[k];
            if (PyUnicode_CompareWithASCIIString(name, "axis") == 0) {
                call.all_axes = !read_axes(value, axes);
                call.axes = axes;
            } else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0) {
                call.keepdims = is_true(value);
            } else if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
                out = value == Py_None ? nullptr : value;
            } else if (PyUnicode_CompareWithASCIIString(name, "stream") == 0) {
                stream = value == Py_None ? nullptr : value;
            } else if (PyUnicode_CompareWithASCIIString(name, "splits") == 0) {
                call.splits = static_cast<int>(to_int(value, "splits"));
            } else {
                throw TypeError("Wrong arguments for kernel '" + spec.name + "': '" +
                                py::cast<std::string>(name) +
                                "'; a call takes out=, axis=, keepdims= and stream=");
            }
        }
    }
};

// One call's arguments, outputs behind the inputs.
struct ReadCall {
    ConvertedArguments converted;
    Keywords keywords;
    PyObject* single[1] = {nullptr};
    PyObject* const* outputs = nullptr;
    int given_outputs = 0;

    ReadCall(const ReductionSpec& spec, PyObject* const* arguments, Py_ssize_t given,
             PyObject* names) {
        const auto all = static_cast<Py_ssize_t>(spec.params.size());
        if (given != spec.nin && given != all)
            throw TypeError("Wrong number of arguments for kernel '" + spec.name + "': given " +
                            std::to_string(given) + ", wanted " + std::to_string(spec.nin) +
                            " or, with outputs, " + std::to_string(all) + "\n" +
                            params_with_carets(spec, {}));
        for (Py_ssize_t k = 0; k < given; ++k)
            converted.add(arguments[k]);
        if (names != nullptr)
            keywords.read(spec, names, arguments + given);
        outputs = arguments + spec.nin;
        given_outputs = given > spec.nin ? spec.nout : 0;
        if (keywords.out != nullptr)
            read_out(spec);
        if (keywords.stream != nullptr) {
            keywords.call.has_stream = true;
            keywords.call.stream = to_stream(keywords.stream, converted.device());
        }
    }
    void read_out(const ReductionSpec& spec) {
        if (given_outputs > 0)
            throw ValueError("kernel '" + spec.name +
                             "': cannot specify 'out' as both a positional and keyword argument");
        const bool tuple = PyTuple_Check(keywords.out);
        const Py_ssize_t count = tuple ? PyTuple_GET_SIZE(keywords.out) : 1;
        if (count != spec.nout)
            throw ValueError("kernel '" + spec.name + "' has " + std::to_string(spec.nout) +
                             " outputs, out= gives " + std::to_string(count) +
                             "; give a tuple of all of them");
        single[0] = keywords.out;
        outputs = tuple ? reinterpret_cast<PyTupleObject*>(keywords.out)->ob_item : single;
        given_outputs = spec.nout;
        for (Py_ssize_t k = 0; k < count; ++k)
            converted.add(outputs[k]);
    }
};

PyObject* reduction_vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags,
                               PyObject* names) noexcept {
    return guarded(
        [&]() -> PyObject* {
            ReductionKernel& kernel = kernel_of<ReductionKernel>(self);
            const ReductionSpec& spec = kernel.spec();
            const ReadCall read(spec, arguments, static_cast<Py_ssize_t>(PyVectorcall_NARGS(flags)),
                                names);
            std::vector<Array> made = kernel(read.converted.span(), read.keywords.call, drop_gil);
            if (has_waited()) [[unlikely]]
                surface_warnings();
            return pack_results(spec, false, read.outputs, read.given_outputs, made);
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* reduction_explain(PyObject* self, PyObject* const* arguments, Py_ssize_t given,
                            PyObject* names) {
    return guarded(
        [&]() -> PyObject* {
            ReductionKernel& kernel = kernel_of<ReductionKernel>(self);
            const ReadCall read(kernel.spec(), arguments, given, names);
            return py::str(kernel.explain(read.converted.span(), read.keywords.call))
                .release()
                .ptr();
        },
        static_cast<PyObject*>(nullptr));
}

py::object text_or_none(const std::string& text) {
    return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

PyObject* reduction_reduce(PyObject* self, PyObject*) {
    return guarded(
        [&]() -> PyObject* {
            const ReductionSpec& spec = kernel_of<ReductionKernel>(self).spec();
            const py::tuple args =
                py::make_tuple(spec.in_params, spec.out_params, spec.map_expr, spec.reduce_expr,
                               spec.post_map_expr, text_or_none(spec.identity), spec.name,
                               text_or_none(spec.reduce_type), spec.reduce_dims, spec.preamble,
                               py::tuple(py::cast(spec.options)));
            const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(self)));
            return py::make_tuple(type, args).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* reduction_repr(PyObject* self) {
    return getter<ReductionKernel>(self, [](ReductionKernel& kernel) {
        const ReductionSpec& spec = kernel.spec();
        return "<quern.ReductionKernel " + spec.name + "(" + spec.in_params + ") -> (" +
               spec.out_params + ")>";
    });
}

PyGetSetDef reduction_getset[] = {
    QUERN_COMMON_GETTERS(ReductionKernel),
    {"map_expr", get_field<ReductionKernel, &ReductionSpec::map_expr>, nullptr,
     "What each element becomes.", nullptr},
    {"reduce_expr", get_field<ReductionKernel, &ReductionSpec::reduce_expr>, nullptr,
     "What a and b become.", nullptr},
    {"post_map_expr", get_field<ReductionKernel, &ReductionSpec::post_map_expr>, nullptr,
     "What assigns the outputs.", nullptr},
    {"identity", get_field<ReductionKernel, &ReductionSpec::identity>, nullptr,
     "The value to start from, as text; '' for none.", nullptr},
    {"reduce_type", get_field<ReductionKernel, &ReductionSpec::reduce_type>, nullptr,
     "Type of a and b; '' for the first output's.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef reduction_methods[] = {
    {"__reduce__", reduction_reduce, METH_NOARGS, "Kernels are pickled by their source."},
    {"explain", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(reduction_explain)),
     METH_FASTCALL | METH_KEYWORDS,
     "explain(*args, out=None, axis=None, keepdims=False)\n\nThe plan of such a call, as text; "
     "nothing is compiled or launched."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot reduction_slots[] = {
    {Py_tp_doc, const_cast<char*>(reduction_doc)},
    {Py_tp_new, reinterpret_cast<void*>(reduction_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc<ReductionKernel>)},
    {Py_tp_traverse, reinterpret_cast<void*>(kernel_traverse<ReductionKernel>)},
    {Py_tp_clear, reinterpret_cast<void*>(kernel_clear<ReductionKernel>)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(reduction_repr)},
    {Py_tp_getset, reduction_getset},
    {Py_tp_methods, reduction_methods},
    {Py_tp_members, kernel_members<ReductionKernel>},
    {0, nullptr},
};
PyType_Spec reduction_type_spec = {
    "quern.ReductionKernel", sizeof(KernelObject<ReductionKernel>), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    reduction_slots};

} // namespace

void bind_reduction(py::module_& module) {
    PyObject* type = PyType_FromSpec(&reduction_type_spec);
    if (type == nullptr)
        throw py::error_already_set();
    module.attr("ReductionKernel") = py::reinterpret_steal<py::object>(type);
}

} // namespace quern::python
