// quern.RawModule: a program whose kernels and variables are asked for by name.
#include "python/bindings/bind_raw.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/module.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace quern::python {
namespace {

struct ModuleObject {
    RawSettings settings;
    std::shared_ptr<RawProgram> program;
};

void check_text(const py::object& text, const char* what) {
    if (!text.is_none() && !py::isinstance<py::str>(text))
        throw TypeError(
            join(what, " must be a str, not ", py::str(py::type::of(text)).cast<std::string>()));
}

const LoadedProgram& load_now(RawProgram& program) {
    const LoadedProgram& loaded = program.on(current_device(), python_hooks());
    if (has_waited())
        surface_warnings();
    return loaded;
}

MemoryPointer find_global(const ModuleObject& self, const std::string& name) {
    const LoadedProgram& loaded = load_now(*self.program);
    const RawProgram::Global global = self.program->find_global(loaded, name);
    return {BufferPtr(new ForeignBuffer(*loaded.device, global.address, global.bytes,
                                        [kept = self.program] {})), // the program stays loaded
            global.address};
}

py::tuple pickle(const ModuleObject& self) {
    const RawSettings& s = self.settings;
    return py::make_tuple(s.code, s.path, s.options, s.backend, s.translate_cucomplex,
                          s.cooperative, s.name_expressions);
}

ModuleObject make_module(RawSettings settings) {
    auto program = make_program(settings, "module");
    return {std::move(settings), std::move(program)};
}

ModuleObject unpickle(const py::tuple& state) {
    RawSettings settings;
    settings.code = state[0];
    settings.path = state[1];
    settings.options = state[2];
    settings.backend = state[3].cast<std::string>();
    settings.translate_cucomplex = state[4].cast<bool>();
    settings.cooperative = state[5].cast<bool>();
    settings.name_expressions = state[6];
    return make_module(std::move(settings));
}

constexpr const char* module_doc =
    R"(A program in CUDA C++; its kernels and variables are asked for by name.

RawModule(code=None, *, path=None, options=(), backend='nvrtc', translate_cucomplex=False,
          enable_cooperative_groups=False, name_expressions=None, jitify=False)

`code` is the text; or `path` names a file with source, PTX or a cubin, of which a CPU runs source only. `options` are
NVRTC's, in a tuple. `name_expressions` are C++ names, such as 'scale<float, 4>', which make templates be compiled;
get_function and get_global take them as they are spelt here.
Compiled on first use, once for each device; kept in the cache.
Raises: TypeError unless exactly one of `code` and `path` is given; CompileError with the lines at fault, at first use.
Source: CuPy, "Raw modules".)";

} // namespace

CallHooks python_hooks() noexcept {
    return {drop_gil, origin_of_call, [](const std::string& text) {
                if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0)
                    throw py::error_already_set();
            }};
}

void warn_of_jitify(bool wanted) {
    const char* text =
        wanted
            ? "jitify=True is deprecated and has no effect: headers are found without it"
            : "The jitify argument is deprecated and has no effect. Avoid passing `jitify=False`";
    if (PyErr_WarnEx(PyExc_DeprecationWarning, text, 1) != 0)
        throw py::error_already_set();
}

std::shared_ptr<RawProgram> make_program(const RawSettings& settings, const std::string& name) {
    check_text(settings.code, "code");
    check_text(settings.path, "path");
    if (settings.code.is_none() == settings.path.is_none())
        throw TypeError("exactly one of `code` and `path` must be given");
    if (settings.backend != "nvrtc" && settings.backend != "nvcc")
        throw ValueError(join("backend is '", settings.backend, "'; it must be 'nvrtc' or 'nvcc'"));
    RawSource source;
    if (!settings.path.is_none())
        source = read_raw_file(settings.path.cast<std::string>());
    else
        source.code = settings.code.cast<std::string>();
    source.options = options_of(settings.options.ptr());
    source.with_nvcc = settings.backend == "nvcc";
    source.translate_cucomplex = settings.translate_cucomplex;
    if (!settings.name_expressions.is_none()) {
        if (source.with_nvcc)
            throw ValueError("name_expressions need backend='nvrtc': nvcc does not tell the names");
        if (!source.binary.empty())
            throw ValueError(join("name_expressions need source; '", source.label,
                                  "' is compiled already: use the names it has"));
        for (const py::handle expression : settings.name_expressions)
            source.name_expressions.push_back(expression.cast<std::string>());
    }
    return std::make_shared<RawProgram>(std::move(source), name);
}

void compile_now(RawProgram& program, py::handle log_stream) {
    const LoadedProgram& loaded = load_now(program);
    if (!log_stream.is_none() && !loaded.compiled.binary.log.empty())
        log_stream.attr("write")(loaded.compiled.binary.log + "\n");
}

void bind_raw_module(py::module_& module) {
    py::class_<ModuleObject>(module, "RawModule", module_doc)
        .def(py::init([](const py::object& code, const py::object& path, const py::tuple& options,
                         const std::string& backend, bool translate_cucomplex,
                         bool enable_cooperative_groups, const py::object& name_expressions,
                         const py::object& jitify) {
                 if (!jitify.is_none())
                     warn_of_jitify(py::cast<bool>(py::bool_(jitify)));
                 RawSettings settings;
                 settings.code = code;
                 settings.path = path;
                 settings.options = options;
                 settings.backend = backend;
                 settings.translate_cucomplex = translate_cucomplex;
                 settings.cooperative = enable_cooperative_groups;
                 if (!name_expressions.is_none())
                     settings.name_expressions = py::tuple(name_expressions);
                 return make_module(std::move(settings));
             }),
             py::arg("code") = py::none(), py::kw_only(), py::arg("path") = py::none(),
             py::arg("options") = py::tuple(), py::arg("backend") = "nvrtc",
             py::arg("translate_cucomplex") = false, py::arg("enable_cooperative_groups") = false,
             py::arg("name_expressions") = py::none(), py::arg("jitify") = py::none())
        .def(
            "get_function",
            [](const ModuleObject& self, const std::string& name) {
                py::object kernel = make_raw_kernel(self.program, name, self.settings);
                (void)py::object(kernel.attr("kernel")); // whether there is one
                return kernel;
            },
            py::arg("name"), "The kernel of this name: a RawKernel.")
        .def("get_global", &find_global, py::arg("name"),
             "Where a __device__, __constant__ or __managed__ variable lies on the current device: "
             "a "
             "MemoryPointer, over which ndarray(shape, dtype, memptr) can be laid.")
        .def(
            "compile",
            [](const ModuleObject& self, const py::object& log_stream) {
                compile_now(*self.program, log_stream);
            },
            py::arg("log_stream") = py::none(),
            "Compile now, for the current device; write the toolchain's log to `log_stream`.")
        .def_property_readonly(
            "module",
            [](const ModuleObject& self) {
                return reinterpret_cast<std::uintptr_t>(load_now(*self.program).module.get());
            },
            "The driver's handle (CUmodule) on the current device.")
        .def_property_readonly("code", [](const ModuleObject& self) { return self.settings.code; })
        .def_property_readonly("file_path",
                               [](const ModuleObject& self) { return self.settings.path; })
        .def_property_readonly("options",
                               [](const ModuleObject& self) { return self.settings.options; })
        .def_property_readonly("backend",
                               [](const ModuleObject& self) { return self.settings.backend; })
        .def_property_readonly(
            "name_expressions",
            [](const ModuleObject& self) { return self.settings.name_expressions; })
        .def_property_readonly("enable_cooperative_groups",
                               [](const ModuleObject& self) { return self.settings.cooperative; })
        .def(py::pickle(&pickle, &unpickle));
}

} // namespace quern::python
