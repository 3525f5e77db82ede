// quern.RawKernel as a hand-made heap type called through vectorcall, and what kernel[grid, block]
// makes of it: the warm road from Python to the launch.
#include "python/bindings/bind_raw.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/bind_array.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/module.h"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace py = pybind11;

namespace quern::python {
namespace {

struct RawKernelObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    RawKernel* kernel;
    RawSettings* settings;
    PyObject* dict;
    PyObject* weakrefs;
};

struct LauncherObject { // kernel[grid, block, shared_mem, stream]
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject* kernel;
    PyObject* stream; // nullptr: the current one
    RawLaunch launch;
};

PyTypeObject *kernel_type = nullptr, *launcher_type = nullptr;

RawKernelObject& object_of(PyObject* self) { return *reinterpret_cast<RawKernelObject*>(self); }
RawKernel& kernel_of(PyObject* self) { return *object_of(self).kernel; }

constexpr const char* kernel_doc =
    R"(A kernel written in CUDA C++, launched with the grid and the block that the call says.

RawKernel(code, name, options=(), backend='nvrtc', *, translate_cucomplex=False, enable_cooperative_groups=False,
          jitify=False, strict=True)

`code` is the whole program, `name` a kernel in it: as declared, or a template with its arguments ('scale<float, 4>').
`options` are NVRTC's, in a tuple. Compiled on the first call, once for each device; kept in the cache.

Call: kernel(grid, block, args, *, shared_mem=0, stream=None), or kernel[grid, block, shared_mem, stream](*args). Grid and
block are tuples of up to three ints; what is missing is 1.
Arguments: an array passes the address of its first element, whatever its strides. Python's int, float, complex and bool
take the type of the parameter; NumPy scalars must have its width; structured NumPy values pass their bytes; None is a
null pointer. What does not fit is refused before the launch; strict=False passes it as it is.
Units: `shared_mem` bytes for each block.
Raises: CompileError with the lines at fault; TypeError or OverflowError for arguments; DriverError for a launch that
the device refuses.
Source: CuPy, "Raw kernels"; CUDA C++ Programming Guide, "Execution configuration".)";

unsigned extent_of(PyObject* object, const char* what) {
    long long value = 0;
    if (PyLong_CheckExact(object)) [[likely]] {
        int overflow = 0;
        value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow != 0)
            value = overflow > 0 ? std::numeric_limits<long long>::max() : 0;
    } else {
        value = to_int(object, what);
    }
    if (value > std::numeric_limits<unsigned>::max())
        throw ValueError(join(what, " has an extent of ", value, "; CUDA counts in 32 bits"));
    return value < 1 ? 1u : static_cast<unsigned>(value);
}

// An int or a sequence of up to three; the rest is 1.
std::array<unsigned, 3> extents_of(PyObject* object, const char* what) {
    std::array<unsigned, 3> extents{1, 1, 1};
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        extents[0] = extent_of(object, what);
        return extents;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    if (count > 3)
        throw ValueError(
            join(what, " has ", count, " extents; CUDA's grids and blocks have up to 3"));
    for (Py_ssize_t k = 0; k < count; ++k)
        extents[static_cast<std::size_t>(k)] = extent_of(PySequence_Fast_GET_ITEM(object, k), what);
    return extents;
}

unsigned shared_bytes_of(PyObject* object) {
    const std::int64_t bytes = to_int(object, "shared_mem");
    if (bytes < 0 || bytes > std::numeric_limits<unsigned>::max())
        throw ValueError(join("shared_mem is ", bytes, " bytes"));
    return static_cast<unsigned>(bytes);
}

// As many Arguments as a call has, on the stack where that is possible.
class ArgumentList {
  public:
    explicit ArgumentList(std::size_t count) : count_(count) {
        if (count > inline_count) [[unlikely]]
            place_ = static_cast<Argument*>(::operator new(count * sizeof(Argument)));
        std::uninitialized_default_construct_n(place_, count);
    }
    ~ArgumentList() {
        std::destroy_n(place_, count_);
        if (count_ > inline_count) [[unlikely]]
            ::operator delete(place_);
    }
    ArgumentList(const ArgumentList&) = delete;
    ArgumentList& operator=(const ArgumentList&) = delete;
    Argument& operator[](std::size_t k) noexcept { return place_[k]; }
    [[nodiscard]] std::span<const Argument> span() const noexcept { return {place_, count_}; }

  private:
    static constexpr std::size_t inline_count = 16;
    alignas(Argument) std::byte store_[inline_count * sizeof(Argument)];
    Argument* place_ = reinterpret_cast<Argument*>(store_);
    std::size_t count_;
};

void launch(RawKernel& kernel, RawLaunch& how, PyObject* stream, PyObject* const* arguments,
            std::size_t count) {
    ArgumentList converted(count);
    ImportedArrays imported;
    const Device* first = nullptr;
    for (std::size_t k = 0; k < count; ++k) {
        if (Array* array = find_array(arguments[k])) [[likely]] {
            converted[k].kind = ArgType::Kind::array;
            converted[k].array = array;
        } else {
            converted[k] = to_raw_argument(arguments[k], imported);
        }
        if (first == nullptr)
            first = converted[k].device();
    }
    if (stream != nullptr) {
        how.has_stream = true;
        how.stream = to_stream(stream, first ? *first : current_device());
    }
    kernel(converted.span(), how, python_hooks());
    if (has_waited()) [[unlikely]]
        surface_warnings();
}

PyObject* kernel_vectorcall(PyObject* self, PyObject* const* given, std::size_t flags,
                            PyObject* keywords) noexcept {
    return guarded(
        [&]() -> PyObject* {
            enum { grid, block, args, shared_mem, stream, strict, known };
            static constexpr const char* names[known] = {"grid",       "block",  "args",
                                                         "shared_mem", "stream", "strict"};
            PyObject* values[known] = {};
            const auto positional = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
            RawKernelObject& object = object_of(self);
            const std::string& name = object.kernel->name();
            if (positional > 3)
                throw TypeError(join("kernel '", name,
                                     "' takes grid, block and a tuple of "
                                     "arguments, ",
                                     positional,
                                     " were given: kernel(grid, block, (a, b, ...), shared_mem=0, "
                                     "stream=None)"));
            std::copy_n(given, positional, values);
            for (Py_ssize_t k = 0; keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
                PyObject* keyword = PyTuple_GET_ITEM(keywords, k);
                const auto* const found =
                    std::find_if(names, names + known, [&](const char* other) {
                        return PyUnicode_CompareWithASCIIString(keyword, other) == 0;
                    });
                if (found == names + known)
                    throw TypeError(join("kernel '", name, "' has no keyword '",
                                         py::cast<std::string>(py::handle(keyword)),
                                         "'; a call takes shared_mem=, stream= and strict="));
                values[found - names] = given[positional + static_cast<std::size_t>(k)];
            }
            if (values[grid] == nullptr || values[block] == nullptr || values[args] == nullptr)
                throw TypeError(join("kernel '", name,
                                     "' is called with a grid, a block and a "
                                     "tuple of arguments: kernel(grid, block, (a, b, ...))"));
            RawLaunch how;
            how.grid = extents_of(values[grid], "grid");
            how.block = extents_of(values[block], "block");
            how.strict = values[strict] == nullptr ? object.settings->strict
                                                   : PyObject_IsTrue(values[strict]) == 1;
            how.cooperative = object.settings->cooperative;
            if (values[shared_mem] != nullptr)
                how.shared_bytes = shared_bytes_of(values[shared_mem]);
            if (!PyTuple_Check(values[args]) && !PyList_Check(values[args]))
                throw TypeError(join("kernel '", name, "': args is ",
                                     py::str(py::type::of(values[args])).cast<std::string>(),
                                     "; pass a tuple: (x,)"));
            launch(*object.kernel, how, values[stream] == Py_None ? nullptr : values[stream],
                   PySequence_Fast_ITEMS(values[args]),
                   static_cast<std::size_t>(PySequence_Fast_GET_SIZE(values[args])));
            Py_RETURN_NONE;
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* allocate_kernel(PyTypeObject* type, std::shared_ptr<RawProgram> program,
                          const std::string& name, const RawSettings& settings) {
    auto kernel = std::make_unique<RawKernel>(std::move(program), name);
    auto own = std::make_unique<RawSettings>(settings);
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr)
        throw py::error_already_set();
    RawKernelObject& object = object_of(self);
    object.vectorcall = kernel_vectorcall;
    object.kernel = kernel.release();
    object.settings = own.release();
    return self;
}

PyObject* kernel_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded(
        [&]() -> PyObject* {
            static const char* names[] = {"code",
                                          "name",
                                          "options",
                                          "backend",
                                          "translate_cucomplex",
                                          "enable_cooperative_groups",
                                          "jitify",
                                          "strict",
                                          nullptr};
            PyObject *code = nullptr, *options = nullptr, *jitify = nullptr;
            const char *name = nullptr, *backend = "nvrtc";
            int translate = 0, cooperative = 0, strict = 1;
            if (!PyArg_ParseTupleAndKeywords(
                    args, kwargs, "Us|O!s$ppOp:RawKernel", const_cast<char**>(names), &code, &name,
                    &PyTuple_Type, &options, &backend, &translate, &cooperative, &jitify, &strict))
                return nullptr;
            if (jitify != nullptr)
                warn_of_jitify(PyObject_IsTrue(jitify) == 1);
            RawSettings settings;
            settings.code = py::reinterpret_borrow<py::object>(code);
            if (options != nullptr)
                settings.options = py::reinterpret_borrow<py::tuple>(options);
            settings.backend = backend;
            settings.translate_cucomplex = translate != 0;
            settings.cooperative = cooperative != 0;
            settings.strict = strict != 0;
            if (std::string_view(name).find('<') != std::string_view::npos)
                settings.name_expressions = py::make_tuple(name);
            return allocate_kernel(type, make_program(settings, name), name, settings);
        },
        static_cast<PyObject*>(nullptr));
}

// By source: what is compiled stays behind, and is found in the cache.
PyObject* kernel_reduce(PyObject* self, PyObject*) {
    return guarded(
        [&]() -> PyObject* {
            const RawKernelObject& object = object_of(self);
            const RawSettings& s = *object.settings;
            const py::tuple state =
                py::make_tuple(py::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))),
                               object.kernel->name(), s.code, s.path, s.options, s.backend,
                               s.translate_cucomplex, s.cooperative, s.strict, s.name_expressions);
            const py::object remake = py::module_::import("quern._core").attr("_remake_raw_kernel");
            py::object attributes = py::none();
            if (object.dict != nullptr)
                attributes = py::reinterpret_borrow<py::object>(object.dict);
            return py::make_tuple(remake, state, attributes).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

py::object remake(py::handle type, const std::string& name, const py::object& code,
                  const py::object& path, const py::tuple& options, const std::string& backend,
                  bool translate_cucomplex, bool cooperative, bool strict,
                  const py::object& name_expressions) {
    RawSettings settings{code,        path,   options,         backend, translate_cucomplex,
                         cooperative, strict, name_expressions};
    if (PyType_Check(type.ptr()) == 0 ||
        PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), kernel_type) == 0)
        throw TypeError("a pickled RawKernel names a type that is none");
    auto program = make_program(settings, name);
    return py::reinterpret_steal<py::object>(allocate_kernel(
        reinterpret_cast<PyTypeObject*>(type.ptr()), std::move(program), name, settings));
}

int kernel_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(object_of(self).dict);
    return 0;
}
int kernel_clear(PyObject* self) {
    Py_CLEAR(object_of(self).dict);
    return 0;
}
void kernel_dealloc(PyObject* self) {
    RawKernelObject& object = object_of(self);
    PyObject_GC_UnTrack(self);
    if (object.weakrefs != nullptr)
        PyObject_ClearWeakRefs(self);
    kernel_clear(self);
    delete object.kernel;
    delete object.settings;
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

template <class Function> PyObject* getter(PyObject* self, Function&& function) noexcept {
    return guarded(
        [&]() -> PyObject* {
            if constexpr (std::is_base_of_v<py::object, decltype(function(object_of(self)))>)
                return function(object_of(self)).release().ptr();
            else
                return py::cast(function(object_of(self))).release().ptr();
        },
        static_cast<PyObject*>(nullptr));
}

const RawFunction& function_now(RawKernelObject& object) {
    const RawFunction& function = object.kernel->on(current_device(), python_hooks());
    if (has_waited())
        surface_warnings();
    return function;
}

PyObject* get_name(PyObject* self, void*) {
    return getter(self, [](RawKernelObject& object) { return object.kernel->name(); });
}
template <auto Member> PyObject* get_setting(PyObject* self, void*) {
    return getter(self, [](RawKernelObject& object) { return object.settings->*Member; });
}
PyObject* get_attribute(PyObject* self, void* entry) {
    return getter(self, [&](RawKernelObject& object) -> py::object {
        const auto& attribute = *static_cast<const RawAttribute*>(entry);
        const int value = object.kernel->attribute(function_now(object), attribute.which);
        return attribute.which == CU_FUNC_ATTRIBUTE_CACHE_MODE_CA
                   ? py::object(py::bool_(value != 0))
                   : py::int_(value);
    });
}
int set_attribute(PyObject* self, PyObject* value, void* entry) {
    return guarded(
        [&] {
            const auto& attribute = *static_cast<const RawAttribute*>(entry);
            if (value == nullptr)
                throw TypeError(join(attribute.name, " cannot be deleted"));
            const std::int64_t wanted = to_int(value, attribute.name);
            if (wanted < std::numeric_limits<int>::min() ||
                wanted > std::numeric_limits<int>::max())
                throw Error(ErrorKind::overflow, join(attribute.name, " is ", wanted));
            RawKernelObject& object = object_of(self);
            object.kernel->set_attribute(function_now(object), attribute.which,
                                         static_cast<int>(wanted));
            return 0;
        },
        -1);
}
PyObject* get_attributes(PyObject* self, void*) {
    return getter(self, [](RawKernelObject& object) {
        py::dict values;
        const RawFunction& function = function_now(object);
        for (const RawAttribute& attribute : raw_attributes)
            values[attribute.name] = object.kernel->attribute(function, attribute.which);
        return values;
    });
}
PyObject* kernel_explain(PyObject* self, PyObject*) {
    return getter(self, [](RawKernelObject& object) {
        (void)function_now(object);
        return object.kernel->explain(current_device(), python_hooks());
    });
}
PyObject* get_handle(PyObject* self, void*) {
    return getter(self, [](RawKernelObject& object) {
        return reinterpret_cast<std::uintptr_t>(function_now(object).handle);
    });
}

PyObject* kernel_compile(PyObject* self, PyObject* args, PyObject* kwargs) {
    return guarded(
        [&]() -> PyObject* {
            static const char* names[] = {"log_stream", nullptr};
            PyObject* log_stream = Py_None;
            if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:compile", const_cast<char**>(names),
                                             &log_stream))
                return nullptr;
            compile_now(kernel_of(self).program(), log_stream);
            (void)function_now(object_of(self));
            Py_RETURN_NONE;
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* kernel_repr(PyObject* self) {
    return getter(self, [](RawKernelObject& object) {
        return "<quern.RawKernel " + object.kernel->name() + ">";
    });
}

// kernel[grid, block, shared_mem, stream]

PyObject* launcher_vectorcall(PyObject* self, PyObject* const* given, std::size_t flags,
                              PyObject* keywords) noexcept {
    return guarded(
        [&]() -> PyObject* {
            auto& launcher = *reinterpret_cast<LauncherObject*>(self);
            RawKernel& kernel = kernel_of(launcher.kernel);
            if (keywords != nullptr && PyTuple_GET_SIZE(keywords) != 0)
                throw TypeError(join("kernel '", kernel.name(),
                                     "'[grid, block] takes the kernel's arguments only, by place"));
            RawLaunch how = launcher.launch;
            launch(kernel, how, launcher.stream, given,
                   static_cast<std::size_t>(PyVectorcall_NARGS(flags)));
            Py_RETURN_NONE;
        },
        static_cast<PyObject*>(nullptr));
}

void launcher_dealloc(PyObject* self) {
    auto& launcher = *reinterpret_cast<LauncherObject*>(self);
    PyTypeObject* type = Py_TYPE(self);
    Py_CLEAR(launcher.kernel);
    Py_CLEAR(launcher.stream);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* kernel_subscript(PyObject* self, PyObject* key) {
    return guarded(
        [&]() -> PyObject* {
            const RawKernelObject& object = object_of(self);
            const Py_ssize_t count = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 0;
            if (count < 2 || count > 4)
                throw TypeError(join("kernel '", object.kernel->name(),
                                     "' is indexed as kernel[grid, block], or kernel[grid, block, "
                                     "shared_mem, stream]"));
            RawLaunch how;
            how.grid = extents_of(PyTuple_GET_ITEM(key, 0), "grid");
            how.block = extents_of(PyTuple_GET_ITEM(key, 1), "block");
            how.strict = object.settings->strict;
            how.cooperative = object.settings->cooperative;
            if (count > 2)
                how.shared_bytes = shared_bytes_of(PyTuple_GET_ITEM(key, 2));
            PyObject* stream = count > 3 ? PyTuple_GET_ITEM(key, 3) : Py_None;
            PyObject* made = launcher_type->tp_alloc(launcher_type, 0);
            if (made == nullptr)
                return nullptr;
            auto& launcher = *reinterpret_cast<LauncherObject*>(made);
            launcher.vectorcall = launcher_vectorcall;
            launcher.kernel = Py_NewRef(self);
            launcher.stream = stream == Py_None ? nullptr : Py_NewRef(stream);
            launcher.launch = how;
            return made;
        },
        static_cast<PyObject*>(nullptr));
}

constexpr std::size_t fixed_getset = 11; // those before the driver's attributes
std::array<PyGetSetDef, fixed_getset + raw_attributes.size() + 1> kernel_getset{{
    {"name", get_name, nullptr, "Name of the kernel, as it was asked for.", nullptr},
    {"__name__", get_name, nullptr, "Name of the kernel, as it was asked for.", nullptr},
    {"code", get_setting<&RawSettings::code>, nullptr, "The program's text, or None.", nullptr},
    {"file_path", get_setting<&RawSettings::path>, nullptr, "The program's file, or None.",
     nullptr},
    {"options", get_setting<&RawSettings::options>, nullptr, "The toolchain's options.", nullptr},
    {"backend", get_setting<&RawSettings::backend>, nullptr, "'nvrtc' or 'nvcc'.", nullptr},
    {"enable_cooperative_groups", get_setting<&RawSettings::cooperative>, nullptr,
     "Whether launches are cooperative.", nullptr},
    {"strict", get_setting<&RawSettings::strict>, nullptr,
     "Whether arguments are checked against the parameters.", nullptr},
    {"attributes", get_attributes, nullptr, "All of the driver's attributes, by name.", nullptr},
    {"kernel", get_handle, nullptr, "The driver's handle (CUfunction) on the current device.",
     nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
}};
PyMethodDef kernel_methods[] = {
    {"compile", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(kernel_compile)),
     METH_VARARGS | METH_KEYWORDS,
     "Compile now, for the current device; write the toolchain's log to `log_stream`."},
    {"explain", kernel_explain, METH_NOARGS,
     "A page of text: toolchain, options used and ignored, parameters, attributes, compile time."},
    {"__reduce__", kernel_reduce, METH_NOARGS, "Kernels are pickled by their source."},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(RawKernelObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(RawKernelObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(RawKernelObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot kernel_slots[] = {
    {Py_tp_doc, const_cast<char*>(kernel_doc)},
    {Py_tp_new, reinterpret_cast<void*>(kernel_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(kernel_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(kernel_clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(kernel_repr)},
    {Py_mp_subscript, reinterpret_cast<void*>(kernel_subscript)},
    {Py_tp_getset, kernel_getset.data()},
    {Py_tp_methods, kernel_methods},
    {Py_tp_members, kernel_members},
    {0, nullptr},
};
PyType_Spec kernel_type_spec = {"quern.RawKernel", sizeof(RawKernelObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_HAVE_VECTORCALL,
                                kernel_slots};

PyMemberDef launcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot launcher_slots[] = {
    {Py_tp_doc, const_cast<char*>("A kernel with its grid and block: call it with arguments.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(launcher_dealloc)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, launcher_members},
    {0, nullptr},
};
PyType_Spec launcher_type_spec = {"quern._core.RawLauncher", sizeof(LauncherObject), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                      Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  launcher_slots};

} // namespace

py::object make_raw_kernel(std::shared_ptr<RawProgram> program, const std::string& name,
                           const RawSettings& settings) {
    return py::reinterpret_steal<py::object>(
        allocate_kernel(kernel_type, std::move(program), name, settings));
}

void bind_raw_kernel(py::module_& module) {
    for (std::size_t k = 0; k < raw_attributes.size(); ++k) {
        const RawAttribute& attribute = raw_attributes[k];
        kernel_getset[fixed_getset + k] = {attribute.name, get_attribute,
                                           attribute.settable ? set_attribute : nullptr,
                                           attribute.doc, const_cast<RawAttribute*>(&attribute)};
    }
    module.def("_remake_raw_kernel", &remake);
    for (auto [slot, spec] : {std::pair(&kernel_type, &kernel_type_spec),
                              std::pair(&launcher_type, &launcher_type_spec)}) {
        *slot = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(spec));
        if (*slot == nullptr)
            throw py::error_already_set();
    }
    module.attr("RawKernel") =
        py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(kernel_type));
}

} // namespace quern::python
