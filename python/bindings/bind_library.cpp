// The search for libraries, as Python sees it: folders in, findings out.
#include "compiler/base/library.h"
#include "python/bindings/module.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace quern::python {

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
}

} // namespace quern::python
