// One search for everything that is found and loaded at run time: libcuda, NVRTC, the CUDA
// libraries, their headers and our own host compiler. `python -m quern doctor` prints exactly what
// this search saw.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern {

// A loaded shared object; stays loaded for the life of the process.
class Library {
  public:
    explicit Library(void* handle = nullptr, std::string path = {});
    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
    [[nodiscard]] void* symbol(const char* name) const noexcept; // nullptr if absent
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    void* handle_ = nullptr;
    std::string path_;
};

struct LibraryFinding {
    std::string name;    // "cuda", "nvrtc", "nvjitlink", "cublas", ..., "cuda headers", "quern_cc"
    std::string path;    // where it was found, or ""
    std::string version; // as the library itself says, or ""
    std::vector<std::string> tried; // places, in order
    std::string remedy;             // what to do when it was not found, or is too old
};

// Loads by short name ("nvrtc") from, in order: folders handed in by the Python side (pip
// packages), CUDA_PATH, the conda prefix, the loader's own path, /usr/local/cuda*. An empty Library
// if there is none; never throws.
[[nodiscard]] Library load_library(std::string_view name);

// The file that load_library would open (and will, from now on), without opening it where a folder
// alone can tell. A warm start asks this to know its toolchain and never pays for loading one. ""
// if there is none; never throws.
[[nodiscard]] std::string find_library(std::string_view name);

// What tells two builds of a library apart, read from the file: its GNU build id, else its size and
// time. "" if unreadable.
[[nodiscard]] std::string library_build_id(const std::string& path);

// Folders of pip packages (".../site-packages/nvidia/cu13", ".../nvidia/cuda_nvrtc"), told once by
// the Python side, and the folder that holds libquern_cc.so.
void set_package_folders(std::vector<std::string> folders);
[[nodiscard]] const std::vector<std::string>& package_folders();

// Include folders with the CUDA toolkit's headers: the runtime's, those of cuda/std and cub, and
// curand's, each from the first place that has it, in one order with the libraries. May be empty.
[[nodiscard]] std::vector<std::string> cuda_include_folders();

// What brings the header that a program includes by this name; "" if it is none of CUDA's.
[[nodiscard]] std::string header_remedy(std::string_view name);

// One of them, searched for now: for a message that says where it was looked for and what to do.
[[nodiscard]] LibraryFinding survey_library(std::string_view name);

// Everything the search knows of, found or not, with versions and remedies. Opens the libraries.
[[nodiscard]] std::vector<LibraryFinding> survey_libraries();

} // namespace quern
