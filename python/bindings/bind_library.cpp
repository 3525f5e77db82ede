// The search for libraries, as Python sees it: folders in, findings out; and NVTX, which needs
// nothing more than to be found.
#include "compiler/base/library.h"
#include "python/bindings/module.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>

namespace py = pybind11;

namespace quern::python {
namespace {

// nvtxEventAttributes_t of NVTX 2, as its header lays it out: a text and, if wanted, a colour.
struct RangeAttributes {
    std::uint16_t version = 2;
    std::uint16_t bytes = sizeof(RangeAttributes);
    std::uint32_t category = 0;
    std::int32_t color_kind = 0; // 1: ARGB
    std::uint32_t color = 0;
    std::int32_t payload_kind = 0, reserved = 0;
    std::uint64_t payload = 0;
    std::int32_t message_kind = 1; // bytes that end in 0
    const char* message = nullptr;
};
static_assert(sizeof(RangeAttributes) == 48);

void* nvtx_symbol(const char* name) {
    static const Library library = load_library("nvtx");
    return library ? library.symbol(name) : nullptr;
}

// Ranges that a profiler shows. Without the library nobody listens, and the calls do nothing.
void bind_ranges(py::module_& module) {
    const auto tell = [](const char* symbol, const std::string& text,
                         std::optional<std::uint32_t> argb) {
        if (void* function = nvtx_symbol(symbol)) {
            RangeAttributes attributes;
            attributes.message = text.c_str();
            attributes.color_kind = argb ? 1 : 0;
            attributes.color = argb.value_or(0);
            reinterpret_cast<int (*)(const RangeAttributes*)>(function)(&attributes);
        }
    };
    module.def("_push_range", [tell](const std::string& text, std::optional<std::uint32_t> argb) {
        tell("nvtxRangePushEx", text, argb);
    });
    module.def("_mark", [tell](const std::string& text, std::optional<std::uint32_t> argb) {
        tell("nvtxMarkEx", text, argb);
    });
    module.def("_pop_range", [] {
        if (void* function = nvtx_symbol("nvtxRangePop"))
            reinterpret_cast<int (*)()>(function)();
    });
}

} // namespace

void bind_library(py::module_& module) {
    module.def("set_package_folders", &set_package_folders, py::arg("folders"),
               "Tell the search where pip packages keep their libraries. Opens nothing.");
    module.def("package_folders", &package_folders);
    module.def("cuda_include_folders", &cuda_include_folders,
               "Include folders with the CUDA toolkit's headers, first found first; may be empty.");
    module.def(
        "survey_libraries",
        [] {
            std::vector<LibraryFinding> findings;
            {
                py::gil_scoped_release release;
                findings = survey_libraries();
            }
            py::list rows;
            for (const LibraryFinding& finding : findings) {
                py::dict row;
                row["name"] = finding.name;
                row["path"] = finding.path;
                row["version"] = finding.version;
                row["tried"] = finding.tried;
                row["remedy"] = finding.remedy;
                rows.append(row);
            }
            return rows;
        },
        "Everything the search knows of, found or not: dicts of name, path, version, tried, "
        "remedy.");
    bind_ranges(module);
}

} // namespace quern::python
