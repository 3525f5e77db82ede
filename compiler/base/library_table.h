// What is found and loaded at run time, one row each: sonames newest first, what must be opened
// before it, how it tells its version, and what to do when it is missing. Private to the search.
#pragma once
#include "compiler/base/library.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

enum class Place : std::uint8_t { toolkit, driver, system, ours };

enum class VersionBy : std::uint8_t {
    packed,   // int f(int*): 13000 is 13.0
    pair,     // int f(int*, int*): major, minor
    property, // int f(libraryPropertyType, int*): major, minor, patch asked one by one
    nccl,     // int f(int*): 22703 is 2.27.3
    text,     // const char* f()
};

struct Soname {
    std::string_view file;
    int cuda_major; // the CUDA release that ships it; 0: any
};

struct LibraryRow {
    std::string_view name;
    Place place;
    std::array<Soname, 3> sonames; // an empty file ends the list
    std::array<std::string_view, 4> needs;
    VersionBy version_by;
    const char* version_function;
    std::string_view remedy;
};

inline constexpr std::string_view cuda_remedy =
    "pip install 'quern[cuda13]' (or 'quern[cuda12]' for a driver older than 580), or set "
    "CUDA_PATH to a CUDA toolkit";

inline constexpr std::array<LibraryRow, 13> library_table{{
    {"cuda",
     Place::driver,
     {{{"libcuda.so.1", 0}, {"libcuda.so", 0}}},
     {},
     VersionBy::packed,
     "cuDriverGetVersion",
     "install the NVIDIA driver (in a container: start it with --gpus all); without it quern runs "
     "on the CPU"},
    {"nvrtc",
     Place::toolkit,
     {{{"libnvrtc.so.13", 13}, {"libnvrtc.so.12", 12}, {"libnvrtc.so", 0}}},
     {},
     VersionBy::pair,
     "nvrtcVersion",
     cuda_remedy},
    {"nvjitlink",
     Place::toolkit,
     {{{"libnvJitLink.so.13", 13}, {"libnvJitLink.so.12", 12}, {"libnvJitLink.so", 0}}},
     {},
     VersionBy::pair,
     "nvJitLinkVersion",
     cuda_remedy},
    {"cublasLt",
     Place::toolkit,
     {{{"libcublasLt.so.13", 13}, {"libcublasLt.so.12", 12}, {"libcublasLt.so", 0}}},
     {},
     VersionBy::property,
     "cublasLtGetProperty",
     cuda_remedy},
    {"cublas",
     Place::toolkit,
     {{{"libcublas.so.13", 13}, {"libcublas.so.12", 12}, {"libcublas.so", 0}}},
     {"cublasLt"},
     VersionBy::property,
     "cublasGetProperty",
     cuda_remedy},
    {"cusparse",
     Place::toolkit,
     {{{"libcusparse.so.12", 0}, {"libcusparse.so", 0}}},
     {"nvjitlink"},
     VersionBy::property,
     "cusparseGetProperty",
     cuda_remedy},
    {"cusolver",
     Place::toolkit,
     {{{"libcusolver.so.12", 13}, {"libcusolver.so.11", 12}, {"libcusolver.so", 0}}},
     {"cublasLt", "cublas", "nvjitlink", "cusparse"},
     VersionBy::property,
     "cusolverGetProperty",
     cuda_remedy},
    {"cufft",
     Place::toolkit,
     {{{"libcufft.so.12", 13}, {"libcufft.so.11", 12}, {"libcufft.so", 0}}},
     {},
     VersionBy::property,
     "cufftGetProperty",
     cuda_remedy},
    {"curand",
     Place::toolkit,
     {{{"libcurand.so.10", 0}, {"libcurand.so", 0}}},
     {},
     VersionBy::property,
     "curandGetProperty",
     cuda_remedy},
    {"nccl",
     Place::toolkit,
     {{{"libnccl.so.2", 0}, {"libnccl.so", 0}}},
     {},
     VersionBy::nccl,
     "ncclGetVersion",
     "pip install nvidia-nccl-cu13 (or -cu12); only several GPUs at once need it"},
    {"nvtx",
     Place::toolkit,
     {{{"libnvToolsExt.so.1", 0}, {"libnvToolsExt.so", 0}}},
     {},
     VersionBy::text,
     "", // it has none to tell
     "pip install nvidia-nvtx-cu12; only profilers that are to show named ranges need it"},
    {"blas",
     Place::system,
     {{{"libopenblas.so.0", 0}, {"libcblas.so.3", 0}, {"libblas.so.3", 0}}},
     {},
     VersionBy::text,
     "openblas_get_config",
     "only C++ programs without NumPy need it: NumPy brings a BLAS of its own; without any, matrix "
     "products on the CPU are reductions"},
    {"quern_cc",
     Place::ours,
     {{{"libquern_cc.so", 0}}},
     {},
     VersionBy::text,
     "quern_cc_identity",
     "this build of quern has no CPU compiler: build with -DQUERN_LLVM=ON, or set QUERN_CC_LIBRARY "
     "to a libquern_cc.so"},
}};

// CUDA's headers come in parts that may lie in different folders: each is taken where it is found
// first.
struct HeaderPart {
    std::string_view marker;                // a file that says the part is here
    std::array<std::string_view, 5> starts; // how the names begin that programs include from it
    std::string_view package;               // of pip; for CUDA 12 with -cu12 behind
};

inline constexpr std::array<HeaderPart, 3> header_parts{{
    {"cuda_fp16.h",
     {{"cuda_fp", "cuda_bf16", "cuda_runtime", "cuComplex", "cooperative_groups"}},
     "nvidia-cuda-runtime"},
    {"cuda/std/version", {{"cuda/", "cub/", "thrust/", "nv/"}}, "nvidia-cuda-cccl"},
    {"curand_kernel.h", {{"curand"}}, "nvidia-curand"},
}};

// Folders to look in before and after the loader's own path.
struct SearchFolders {
    std::vector<std::string> before, after;
};
[[nodiscard]] SearchFolders search_folders(Place place);

// Walks the places in order until `visit(candidate)` is true; a candidate without a slash is for
// the loader's own path. A library of a newer CUDA than the driver in this process serves comes
// only after all the others.
bool visit_candidates(const LibraryRow& wanted,
                      const std::function<bool(const std::string& candidate)>& visit);

// Opens the row's library and what it needs; every place tried is added to `tried`, in order.
[[nodiscard]] Library load_row(const LibraryRow& wanted, std::vector<std::string>* tried);

} // namespace quern
