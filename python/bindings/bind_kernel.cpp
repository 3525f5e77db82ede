// quern.ElementwiseKernel as a hand-made heap type called through vectorcall: the warm road from
// Python to the launch.
#include "compiler/base/error.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/kernel_object.h"
#include "python/bindings/module.h"
#include "runtime/kernel/casts.h"
#include "runtime/kernel/elementwise.h"
#include "runtime/kernel/plan_options.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>

namespace py = pybind11;

namespace quern::python {
namespace {

constexpr const char* kernel_doc =
    R"(A kernel that runs `operation` once for each element; it compiles on its first call for each set of dtypes.

ElementwiseKernel(in_params, out_params, operation, name='kernel', reduce_dims=True, preamble='', no_return=False,
                  return_tuple=False, options=(), loop_prep='', after_loop='')

Parameters are "TYPE name" lists: a NumPy type name, or one letter for a type that the call decides; `raw` hands the
whole array to the body, to be indexed there. `operation` is CUDA C++ in which each name stands for its current element;
`i` is the element's index in C order, `n` the number of elements, `_ind` its position.

Call: kernel(*inputs, *outputs, size=None, stream=None, block_size=128). Outputs may be left out and are then made, in
C order, on the stream of the call.
Shapes: arrays that are not raw broadcast together, given outputs included; made outputs take that shape. With raw
arrays and scalars only, `size` gives the number of elements.
Types: given outputs decide first, then input arrays, by exact equality; scalars are stored into what was decided.
Units: `size` elements, `block_size` threads.
Raises: SpecError (ValueError) when it is made, for a malformed parameter list; on the call ResolveError (TypeError),
ValueError for shapes, CompileError with the lines of `operation` that are at fault.
Source: CuPy, "User-defined kernels"; broadcasting as in NumPy's "General broadcasting rules".)";

PyObject* kernel_vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags,
                            PyObject* keywords) noexcept;

PyObject* kernel_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded(
        [&]() -> PyObject* {
            static const char* names[] = {"in_params",   "out_params", "operation",  "name",
                                          "reduce_dims", "preamble",   "no_return",  "return_tuple",
                                          "options",     "loop_prep",  "after_loop", nullptr};
            const char *in_params, *out_params, *operation, *name = "kernel", *preamble = "",
                                                            *loop_prep = "", *after_loop = "";
            int reduce_dims = 1, no_return = 0, return_tuple = 0;
            PyObject* options = nullptr;
            if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sss|spsppOss:ElementwiseKernel",
                                             const_cast<char**>(names), &in_params, &out_params,
                                             &operation, &name, &reduce_dims, &preamble, &no_return,
                                             &return_tuple, &options, &loop_prep, &after_loop))
                return nullptr;
            ElementwiseText text;
            text.in_params = in_params;
            text.out_params = out_params;
            text.operation = operation;
            text.name = name;
            text.preamble = preamble;
            text.loop_prep = loop_prep;
            text.after_loop = after_loop;
            text.reduce_dims = reduce_dims != 0;
            text.no_return = no_return != 0;
            text.return_tuple = return_tuple != 0;
            text.options = options_of(options);
            text.origin = origin_of_call();
            auto kernel = std::make_unique<ElementwiseKernel>(text);
            return make_object(type, std::move(kernel), kernel_vectorcall);
        },
        static_cast<PyObject*>(nullptr));
}

// Reads size=, stream= and block_size=; the stream is looked up when the device is known.
struct Keywords {
    PyObject* stream = nullptr;
    ElementwiseCall call;

    void read(const ElementwiseSpec& spec, PyObject* names, PyObject* const* values) {
        const Py_ssize_t count = PyTuple_GET_SIZE(names);
        for (Py_ssize_t k = 0; k < count; ++k) {
            PyObject* name = PyTuple_GET_ITEM(names, k);
            PyObject* value = values[k];
            if (PyUnicode_CompareWithASCIIString(name, "size") == 0) {
                if (value == Py_None)
                    continue;
                call.size = to_int(value, "size");
                if (call.size < 0)
                    throw ValueError("size is " + std::to_string(call.size) +
                                     "; it must not be negative");
            } else if (PyUnicode_CompareWithASCIIString(name, "stream") == 0) {
                stream = value == Py_None ? nullptr : value;
            } else if (PyUnicode_CompareWithASCIIString(name, "block_size") == 0) {
                const std::int64_t size = to_int(value, "block_size");
                call.block_size =
                    static_cast<int>(std::min<std::int64_t>(size, std::numeric_limits<int>::max()));
            } else {
                throw TypeError("Wrong arguments for kernel '" + spec.name + "': '" +
                                py::cast<std::string>(name) +
                                "'; a call takes size=, stream= and block_size=");
            }
        }
    }
};

PyObject* kernel_vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags,
                            PyObject* keywords) noexcept {
    return guarded(
        [&]() -> PyObject* {
            ElementwiseKernel& kernel = kernel_of<ElementwiseKernel>(self);
            const ElementwiseSpec& spec = kernel.spec();
            const auto given = static_cast<Py_ssize_t>(PyVectorcall_NARGS(flags));
            const auto param_count = static_cast<Py_ssize_t>(spec.params.size());
            if (given != spec.nin && given != param_count)
                throw TypeError("Wrong number of arguments for kernel '" + spec.name + "': given " +
                                std::to_string(given) + ", wanted " + std::to_string(spec.nin) +
                                (spec.nout ? " or, with outputs, " + std::to_string(param_count)
                                           : std::string()) +
                                "\n" + params_with_carets(spec, {}));
            ConvertedArguments converted;
            for (Py_ssize_t k = 0; k < given; ++k)
                converted.add(arguments[k]);
            Keywords read;
            if (keywords != nullptr)
                read.read(spec, keywords, arguments + given);
            if (read.stream != nullptr) {
                read.call.has_stream = true;
                read.call.stream = to_stream(read.stream, converted.device());
            }
            std::vector<Array> made = kernel(converted.span(), read.call, drop_gil);
            if (has_waited()) [[unlikely]]
                surface_warnings();
            if (spec.no_return)
                Py_RETURN_NONE;
            return pack_results(spec, spec.return_tuple, arguments + spec.nin,
                                given > spec.nin ? spec.nout : 0, made);
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* get_kwargs(PyObject* self, void*) {
    return getter<ElementwiseKernel>(self, [](ElementwiseKernel& kernel) {
        py::dict kwargs;
        if (!kernel.spec().loop_prep.empty())
            kwargs["loop_prep"] = kernel.spec().loop_prep;
        if (!kernel.spec().after_loop.empty())
            kwargs["after_loop"] = kernel.spec().after_loop;
        if (!kernel.spec().options.empty())
            kwargs["options"] = py::tuple(py::cast(kernel.spec().options));
        return kwargs;
    });
}
PyObject* kernel_reduce(PyObject* self, PyObject*) {
    return guarded(
        [&]() -> PyObject* {
            const ElementwiseSpec& spec = kernel_of<ElementwiseKernel>(self).spec();
            const py::tuple args =
                py::make_tuple(spec.in_params, spec.out_params, spec.operation, spec.name,
                               spec.reduce_dims, spec.preamble, spec.no_return, spec.return_tuple,
                               py::tuple(py::cast(spec.options)), spec.loop_prep, spec.after_loop);
            const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(self)));
            return py::make_tuple(type, args).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* kernel_repr(PyObject* self) {
    return getter<ElementwiseKernel>(self, [](ElementwiseKernel& kernel) {
        const ElementwiseSpec& spec = kernel.spec();
        return "<quern.ElementwiseKernel " + spec.name + "(" + spec.in_params + ") -> (" +
               spec.out_params + ")>";
    });
}

PyGetSetDef kernel_getset[] = {
    QUERN_COMMON_GETTERS(ElementwiseKernel),
    {"operation", get_field<ElementwiseKernel, &ElementwiseSpec::operation>, nullptr,
     "The body, as written.", nullptr},
    {"no_return", get_field<ElementwiseKernel, &ElementwiseSpec::no_return>, nullptr,
     "Does a call return None?", nullptr},
    {"return_tuple", get_field<ElementwiseKernel, &ElementwiseSpec::return_tuple>, nullptr,
     "Is one output a tuple too?", nullptr},
    {"kwargs", get_kwargs, nullptr, "Further settings that were given.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef kernel_methods[] = {
    {"__reduce__", kernel_reduce, METH_NOARGS, "Kernels are pickled by their source."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kernel_slots[] = {
    {Py_tp_doc, const_cast<char*>(kernel_doc)},
    {Py_tp_new, reinterpret_cast<void*>(kernel_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc<ElementwiseKernel>)},
    {Py_tp_traverse, reinterpret_cast<void*>(kernel_traverse<ElementwiseKernel>)},
    {Py_tp_clear, reinterpret_cast<void*>(kernel_clear<ElementwiseKernel>)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(kernel_repr)},
    {Py_tp_getset, kernel_getset},
    {Py_tp_methods, kernel_methods},
    {Py_tp_members, kernel_members<ElementwiseKernel>},
    {0, nullptr},
};
PyType_Spec kernel_type_spec = {
    "quern.ElementwiseKernel", sizeof(KernelObject<ElementwiseKernel>), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    kernel_slots};

} // namespace

void bind_kernel(py::module_& module) {
    set_cast_notice(warn_of_dropped_imaginary);
    module.def(
        "_plan_as",
        [](bool gpu_layout, int narrow_bits) {
            if (narrow_bits != 8 && narrow_bits != 16 && narrow_bits != 32)
                throw ValueError("narrow_bits must be 8, 16 or 32, not " +
                                 std::to_string(narrow_bits));
            plan_options().gpu_layout = gpu_layout;
            plan_options().narrow_bits = narrow_bits;
        },
        py::arg("gpu_layout") = false, py::arg("narrow_bits") = narrow_index_bits);
    module.def(
        "_allow_atomic_joins",
        [](bool allowed) { return std::exchange(plan_options().atomic_joins, allowed); },
        py::arg("allowed"));
    bind_parameter_info(module);
    set_gpu_hook(preload_gpu_toolchain);
    PyObject* type = PyType_FromSpec(&kernel_type_spec);
    if (type == nullptr)
        throw py::error_already_set();
    module.attr("ElementwiseKernel") = py::reinterpret_steal<py::object>(type);
}

} // namespace quern::python
