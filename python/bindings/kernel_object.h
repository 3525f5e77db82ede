// What the heap types of ElementwiseKernel and ReductionKernel share: the object, its life, the
// attributes that every kernel of named parameters has, arguments in and results out.
#pragma once
#include "compiler/base/error.h"
#include "compiler/plan/elementwise.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_scalar.h"
#include "runtime/device/devices.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <structmember.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace quern::python {

template <class Kernel> struct KernelObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    Kernel* kernel;
    PyObject* dict; // what users set on it: __doc__, __module__
    PyObject* weakrefs;
};

template <class Kernel> Kernel& kernel_of(PyObject* self) {
    return *reinterpret_cast<KernelObject<Kernel>*>(self)->kernel;
}

template <class Kernel>
PyObject* make_object(PyTypeObject* type, std::unique_ptr<Kernel> kernel, vectorcallfunc call) {
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr)
        return nullptr;
    auto* object = reinterpret_cast<KernelObject<Kernel>*>(self);
    object->vectorcall = call;
    object->kernel = kernel.release();
    return self;
}

template <class Kernel> int kernel_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<KernelObject<Kernel>*>(self)->dict);
    return 0;
}
template <class Kernel> int kernel_clear(PyObject* self) {
    Py_CLEAR(reinterpret_cast<KernelObject<Kernel>*>(self)->dict);
    return 0;
}
template <class Kernel> void kernel_dealloc(PyObject* self) {
    auto* object = reinterpret_cast<KernelObject<Kernel>*>(self);
    PyObject_GC_UnTrack(self);
    if (object->weakrefs != nullptr)
        PyObject_ClearWeakRefs(self);
    kernel_clear<Kernel>(self);
    delete object->kernel;
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

template <class Kernel> inline PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject<Kernel>, vectorcall), READONLY,
     nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(KernelObject<Kernel>, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KernelObject<Kernel>, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// The arguments of one call, borrowed from Python's objects.
class ConvertedArguments {
  public:
    void add(PyObject* object) {
        if (count_ == arguments_.size())
            throw TypeError("a kernel takes at most " + std::to_string(max_operands) +
                            " arguments");
        Argument& argument = arguments_[count_++];
        if (Array* array = find_array(object)) [[likely]] {
            argument.kind = ArgType::Kind::array;
            argument.array = array;
        } else {
            argument = to_argument(object, imported_);
        }
        if (device_ == nullptr && argument.array != nullptr)
            device_ = &argument.array->device();
    }
    [[nodiscard]] std::span<const Argument> span() const { return {arguments_.data(), count_}; }
    [[nodiscard]] Device& device() const { return device_ ? *device_ : current_device(); }

  private:
    std::array<Argument, max_operands> arguments_;
    std::size_t count_ = 0;
    ImportedArrays imported_;
    Device* device_ = nullptr;
};

// The outputs of a call: the first `given` are the caller's own objects, the others were made.
[[nodiscard]] PyObject* pack_results(const KernelSpec& spec, bool as_tuple,
                                     PyObject* const* outputs, int given, std::vector<Array>& made);

// One parameter, as CuPy's ParameterInfo tells it.
struct ParameterInfo {
    Param param;
    [[nodiscard]] std::string text() const;
};
void bind_parameter_info(pybind11::module_& module);
[[nodiscard]] pybind11::tuple infos(const KernelSpec& spec, int begin, int end);

template <class Kernel, class Function>
PyObject* getter(PyObject* self, Function&& function) noexcept {
    namespace py = pybind11;
    return guarded(
        [&]() -> PyObject* {
            if constexpr (std::is_base_of_v<py::object,
                                            decltype(function(kernel_of<Kernel>(self)))>)
                return function(kernel_of<Kernel>(self)).release().ptr();
            else
                return py::cast(function(kernel_of<Kernel>(self))).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

template <class Kernel, auto Member> PyObject* get_field(PyObject* self, void*) {
    return getter<Kernel>(self, [](Kernel& kernel) { return kernel.spec().*Member; });
}
template <class Kernel> PyObject* get_in_params(PyObject* self, void*) {
    return getter<Kernel>(
        self, [](Kernel& kernel) { return infos(kernel.spec(), 0, kernel.spec().nin); });
}
template <class Kernel> PyObject* get_out_params(PyObject* self, void*) {
    return getter<Kernel>(self, [](Kernel& kernel) {
        return infos(kernel.spec(), kernel.spec().nin, kernel.spec().nin + kernel.spec().nout);
    });
}
template <class Kernel> PyObject* get_params(PyObject* self, void*) {
    return getter<Kernel>(self, [](Kernel& kernel) {
        return infos(kernel.spec(), 0, kernel.spec().nin + kernel.spec().nout);
    });
}
template <class Kernel> PyObject* get_nargs(PyObject* self, void*) {
    return getter<Kernel>(self,
                          [](Kernel& kernel) { return kernel.spec().nin + kernel.spec().nout; });
}
template <class Kernel> PyObject* get_cached_codes(PyObject* self, void*) {
    namespace py = pybind11;
    return getter<Kernel>(self, [](Kernel& kernel) {
        py::dict codes;
        for (const auto& [types, source] : kernel.cached_codes())
            codes[py::str(types)] = source;
        return codes;
    });
}
template <class Kernel> PyObject* get_cached_code(PyObject* self, void*) {
    return getter<Kernel>(self, [](Kernel& kernel) {
        const auto codes = kernel.cached_codes();
        if (codes.empty())
            throw Error(ErrorKind::runtime, "kernel '" + kernel.spec().name +
                                                "' has not been compiled yet: call it once");
        return codes.back().second;
    });
}

// The attributes of every kernel of named parameters, for its PyGetSetDef table.
#define QUERN_COMMON_GETTERS(Kernel)                                                               \
    {"in_params", get_in_params<Kernel>, nullptr, "Input parameters, in order.", nullptr},         \
        {"out_params", get_out_params<Kernel>, nullptr, "Output parameters, in order.", nullptr},  \
        {"params", get_params<Kernel>, nullptr, "Inputs, then outputs.", nullptr},                 \
        {"nin", get_field<Kernel, &KernelSpec::nin>, nullptr, "Number of inputs.", nullptr},       \
        {"nout", get_field<Kernel, &KernelSpec::nout>, nullptr, "Number of outputs.", nullptr},    \
        {"nargs", get_nargs<Kernel>, nullptr, "nin + nout.", nullptr},                             \
        {"name", get_field<Kernel, &KernelSpec::name>, nullptr, "Name of the kernel in CUDA.",     \
         nullptr},                                                                                 \
        {"__name__", get_field<Kernel, &KernelSpec::name>, nullptr, "Name of the kernel in CUDA.", \
         nullptr},                                                                                 \
        {"reduce_dims", get_field<Kernel, &KernelSpec::reduce_dims>, nullptr,                      \
         "May axes be merged?", nullptr},                                                          \
        {"preamble", get_field<Kernel, &KernelSpec::preamble>, nullptr, "Text before the kernel.", \
         nullptr},                                                                                 \
        {"cached_codes", get_cached_codes<Kernel>, nullptr,                                        \
         "Generated CUDA C++ by the dtypes it was made for.", nullptr},                            \
        {"cached_code", get_cached_code<Kernel>, nullptr,                                          \
         "Generated CUDA C++ of the newest variant.", nullptr},                                    \
    {                                                                                              \
        "__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr             \
    }

} // namespace quern::python
