// What `python -m quern doctor` prints: every library and header folder, found or not, with version
// and remedy.
#include "compiler/base/library.h"
#include "compiler/base/library_table.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace quern {
namespace {

std::string read_version(const Library& library, const LibraryRow& known) {
    void* function = library.symbol(known.version_function);
    if (function == nullptr)
        return {};
    int version = 0, minor = 0, patch = 0;
    switch (known.version_by) {
    case VersionBy::packed:
        if (reinterpret_cast<int (*)(int*)>(function)(&version) != 0)
            return {};
        return join(version / 1000, ".", version % 1000 / 10);
    case VersionBy::pair:
        if (reinterpret_cast<int (*)(int*, int*)>(function)(&version, &minor) != 0)
            return {};
        return join(version, ".", minor);
    case VersionBy::property: {
        const auto ask = reinterpret_cast<int (*)(int, int*)>(function);
        if (ask(0, &version) != 0 || ask(1, &minor) != 0 || ask(2, &patch) != 0)
            return {};
        return join(version, ".", minor, ".", patch);
    }
    case VersionBy::nccl:
        if (reinterpret_cast<int (*)(int*)>(function)(&version) != 0)
            return {};
        return join(version / 10000, ".", version % 10000 / 100, ".", version % 100);
    case VersionBy::text: {
        const char* text = reinterpret_cast<const char* (*)()>(function)();
        return text == nullptr ? "" : text;
    }
    }
    return {};
}

// "#define CUDA_VERSION 13000" in cuda.h, which is not in every header package; or "" then.
std::string header_version(const std::string& folder) {
    for (const auto& [file, macro] :
         {std::pair{"/cuda.h", "CUDA_VERSION"}, {"/cuda_runtime_api.h", "CUDART_VERSION"}}) {
        std::ifstream in(folder + file);
        const std::string start = join("#define ", macro, " ");
        for (std::string line; std::getline(in, line);) {
            if (!line.starts_with(start))
                continue;
            int version = 0;
            for (const char c : std::string_view(line).substr(start.size()))
                if (std::isdigit(static_cast<unsigned char>(c)) != 0)
                    version = version * 10 + (c - '0');
            if (version != 0)
                return join(version / 1000, ".", version % 1000 / 10);
        }
    }
    return {};
}

int major_of(const std::string& version) { return version.empty() ? 0 : std::stoi(version); }

LibraryFinding survey_headers() {
    LibraryFinding finding{"cuda headers", "", "", {}, ""};
    const std::vector<std::string> folders = cuda_include_folders();
    finding.tried = package_folders();
    for (std::string& place : finding.tried)
        place += "/include";
    for (const char* place :
         {"$CUDA_PATH/include", "$CONDA_PREFIX/include", "/usr/local/cuda*/include"})
        finding.tried.emplace_back(place);
    for (const std::string& folder : folders) {
        finding.path += (finding.path.empty() ? "" : ":") + folder;
        if (finding.version.empty())
            finding.version = header_version(folder);
    }
    if (folders.empty()) {
        finding.remedy =
            "only kernels that #include CUDA headers need them: " + std::string(cuda_remedy);
        return finding;
    }
    for (const HeaderPart& part : header_parts) {
        const bool here = std::ranges::any_of(folders, [&](const std::string& folder) {
            std::error_code failure;
            return std::filesystem::exists(folder + "/" + std::string(part.marker), failure);
        });
        if (!here)
            finding.remedy +=
                join(finding.remedy.empty() ? "only kernels that #include them need: " : "; ",
                     part.marker, " (", header_remedy(part.marker), ")");
    }
    return finding;
}

LibraryFinding survey_row(const LibraryRow& known) {
    LibraryFinding finding{std::string(known.name), "", "", {}, ""};
    if (const Library library = load_row(known, &finding.tried)) {
        finding.path = library.path();
        finding.version = read_version(library, known);
    } else {
        finding.remedy = known.remedy;
    }
    return finding;
}

} // namespace

LibraryFinding survey_library(std::string_view name) {
    if (name == "cuda headers")
        return survey_headers();
    for (const LibraryRow& known : library_table)
        if (known.name == name)
            return survey_row(known);
    return {std::string(name), "", "", {}, "quern knows no library of this name"};
}

std::vector<LibraryFinding> survey_libraries() {
    std::vector<LibraryFinding> findings;
    int driver_major = 0;
    for (const LibraryRow& known : library_table) {
        LibraryFinding finding = survey_row(known);
        if (known.place == Place::driver)
            driver_major = major_of(finding.version);
        if (known.name == "nvrtc" && driver_major != 0 && major_of(finding.version) > driver_major)
            finding.remedy =
                join("too new for the driver, which serves CUDA ", driver_major,
                     ": pip install 'quern[cuda", driver_major, "]', or update the driver");
        if (known.name == "cuda" && !finding.path.empty() && driver_major < 12)
            finding.remedy = "too old: quern needs a driver that serves CUDA 12 (525 or newer)";
        findings.push_back(std::move(finding));
    }
    findings.push_back(survey_headers());
    return findings;
}

} // namespace quern
