// See files.h.
#include "compiler/host/files.h"
#include "compiler/host/device_headers.h"

namespace quern::host {
namespace {

constexpr const char* root = "/quern";
const std::string include_folder = "/quern/include/";

// Names that CUDA programs include beside the files of device/include; the built-in headers say all
// that they do.
constexpr std::string_view covered[] = {"cuda_runtime.h",
                                        "cuda_runtime_api.h",
                                        "device_launch_parameters.h",
                                        "vector_types.h",
                                        "vector_functions.h",
                                        "builtin_types.h",
                                        "device_types.h",
                                        "driver_types.h",
                                        "host_defines.h",
                                        "crt/host_defines.h",
                                        "crt/device_functions.h",
                                        "crt/math_functions.h",
                                        "device_functions.h",
                                        "math_functions.h",
                                        "sm_20_atomic_functions.h",
                                        "sm_20_intrinsics.h",
                                        "sm_30_intrinsics.h",
                                        "sm_32_atomic_functions.h",
                                        "sm_32_intrinsics.h",
                                        "sm_35_atomic_functions.h",
                                        "sm_35_intrinsics.h",
                                        "sm_60_atomic_functions.h",
                                        "sm_61_intrinsics.h",
                                        "device_atomic_functions.h",
                                        "texture_types.h",
                                        "surface_types.h",
                                        "cuda_texture_types.h",
                                        "cuda_surface_types.h",
                                        "texture_fetch_functions.h",
                                        "texture_indirect_functions.h",
                                        "surface_functions.h",
                                        "surface_indirect_functions.h",
                                        "channel_descriptor.h"};

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
    for (const auto name : covered)
        add_file(*files, include_folder + std::string(name), "#pragma once\n");
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
    for (const auto name : covered)
        cover(name);
}

} // namespace quern::host
