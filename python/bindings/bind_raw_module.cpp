// quern.RawModule: a program whose kernels and variables are asked for by name.
#include "python/bindings/bind_raw.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
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

std::string text_or_empty(const py::object& text, const char* what) {
    if (text.is_none())
        return {};
    if (!py::isinstance<py::str>(text))
        throw TypeError(
            join(what, " must be a str, not ", py::str(py::type::of(text)).cast<std::string>()));
    return text.cast<std::string>();
}

} // namespace

CallHooks python_hooks() noexcept { return {drop_gil, origin_of_call}; }

std::shared_ptr<RawProgram> make_program(const RawSettings& settings, const std::string& name) {
    if (settings.backend != "nvrtc" && settings.backend != "nvcc")
        throw ValueError(join("backend is '", settings.backend, "'; it must be 'nvrtc' or 'nvcc'"));
    RawSource source;
    source.code = settings.code;
    source.options = options_of(settings.options.ptr());
    if (!settings.name_expressions.is_none())
        for (const py::handle expression : settings.name_expressions)
            source.name_expressions.push_back(expression.cast<std::string>());
    return std::make_shared<RawProgram>(std::move(source), name);
}

void compile_now(RawProgram& program, py::handle log_stream) {
    const LoadedProgram& loaded = program.on(current_device(), python_hooks());
    if (has_waited())
        surface_warnings();
    if (!log_stream.is_none() && !loaded.compiled.binary.log.empty())
        log_stream.attr("write")(loaded.compiled.binary.log + "\n");
}

void bind_raw_module(py::module_& module) {
    py::class_<ModuleObject>(
        module, "RawModule",
        R"(A program in CUDA C++; its kernels and variables are asked for by name.

RawModule(*, code=None, options=(), backend='nvrtc', name_expressions=None)

`code` is the text. `options` are NVRTC's, in a tuple. `name_expressions` are C++ names, such as 'scale<float, 4>', which
make templates be compiled; get_function takes them as they are spelt here.
Compiled on first use, once for each device; kept in the cache.
Raises: CompileError with the lines at fault, at first use.
Source: CuPy, "Raw modules".)")
        .def(py::init([](const py::object& code, const py::tuple& options,
                         const std::string& backend, bool translate_cucomplex,
                         bool enable_cooperative_groups, const py::object& name_expressions) {
                 RawSettings settings;
                 settings.code = text_or_empty(code, "code");
                 settings.options = options;
                 settings.backend = backend;
                 settings.translate_cucomplex = translate_cucomplex;
                 settings.cooperative = enable_cooperative_groups;
                 if (!name_expressions.is_none())
                     settings.name_expressions = py::tuple(name_expressions);
                 auto program = make_program(settings, "module");
                 return ModuleObject{std::move(settings), std::move(program)};
             }),
             py::arg("code") = py::none(), py::kw_only(), py::arg("options") = py::tuple(),
             py::arg("backend") = "nvrtc", py::arg("translate_cucomplex") = false,
             py::arg("enable_cooperative_groups") = false, py::arg("name_expressions") = py::none())
        .def(
            "get_function",
            [](const ModuleObject& self, const std::string& name) {
                py::object kernel = make_raw_kernel(self.program, name, self.settings);
                (void)py::object(kernel.attr("kernel")); // whether there is one
                return kernel;
            },
            py::arg("name"), "The kernel of this name: a RawKernel.")
        .def(
            "compile",
            [](const ModuleObject& self, const py::object& log_stream) {
                compile_now(*self.program, log_stream);
            },
            py::arg("log_stream") = py::none(),
            "Compile now, for the current device; write the toolchain's log to `log_stream`.")
        .def_property_readonly("code", [](const ModuleObject& self) { return self.settings.code; });
}

} // namespace quern::python
