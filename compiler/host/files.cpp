// See files.h.
#include "compiler/host/files.h"
#include "compiler/host/device_headers.h"

namespace quern::host {
namespace {

constexpr const char* root = "/quern";
const std::string include_folder = "/quern/include/";

// Names that CUDA programs include beside the files of device/include, and the file that says what
// the built-in headers do not.
struct Covered {
    std::string_view name, by;
};
constexpr Covered covered[] = {
    {"cuda_runtime.h", ""},
    {"cuda_runtime_api.h", ""},
    {"device_launch_parameters.h", ""},
    {"vector_types.h", ""},
    {"vector_functions.h", ""},
    {"sm_60_atomic_functions.h", ""},
    {"device_functions.h", ""},
    {"math_functions.h", ""},
    {"cuda.h", ""},
    {"stdio.h", ""},
    {"cstdio", ""},
    {"assert.h", ""},
    {"cassert", ""},
    {"stddef.h", ""},
    {"cstddef", ""},
    {"string.h", ""},
    {"cstring", ""},
    {"stdlib.h", "sys/types.h"},
    {"cstdlib", "sys/types.h"},
    {"inttypes.h", "stdint.h"},
    {"cstdint", "stdint.h"},
    {"climits", "limits.h"},
    {"float.h", "limits.h"},
    {"cfloat", "limits.h"},
    {"cmath", "math.h"},
};

std::string forward_to(std::string_view name) {
    return "#pragma once\n#include \"" + include_folder + std::string(name) + "\"\n";
}

} // namespace

void add_file(llvm::vfs::InMemoryFileSystem& files, const llvm::Twine& path,
              std::string_view text) {
    files.addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(text), "", false));
}

void add_text(llvm::vfs::InMemoryFileSystem& files, const llvm::Twine& path,
              std::string_view text) {
    files.addFile(path, 0, llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text)));
}

MemoryFiles make_files() {
    MemoryFiles files(new llvm::vfs::InMemoryFileSystem);
    files->setCurrentWorkingDirectory(root);
    for (const auto& header : device_headers()) // include/... is what programs may include
        add_file(*files, "/quern/" + std::string(header.name), header.text);
    for (const auto& [name, covered_by] : covered)
        add_text(*files, include_folder + std::string(name),
                 covered_by.empty() ? "#pragma once\n" : forward_to(covered_by));
    return files;
}

void cover_folder(llvm::vfs::InMemoryFileSystem& files, const std::string& folder) {
    const auto cover = [&](std::string_view name) {
        add_text(files, folder + "/" + std::string(name), forward_to(name));
    };
    constexpr std::string_view ours = "include/";
    for (const auto& header : device_headers())
        if (header.name.starts_with(ours))
            cover(header.name.substr(ours.size()));
    for (const auto& [name, covered_by] : covered)
        cover(name);
}

} // namespace quern::host
