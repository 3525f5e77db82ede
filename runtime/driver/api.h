// The boundary between quern and a device: the CUDA driver API as a table of functions with
// cuda.h's prototypes. Three providers fill it: libcuda (dlopen), the host driver (runtime/host:
// the CPU as a CUDA device), and the fake that tests install. Nothing above this table asks which
// one it is.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <string>

// Older headers lack it, and so do older drivers.
extern "C" CUresult CUDAAPI cuFuncGetParamCount(CUfunction function, std::size_t* count);

namespace quern {

struct DriverApi {
#define QUERN_CU(fn)                                                                               \
    decltype(&::fn) fn = nullptr; // cuStreamDestroy becomes cuStreamDestroy_v2 by itself
#include "runtime/driver/symbols.def"
#undef QUERN_CU
};

struct Driver {
    DriverApi api;
    std::string name;             // "libcuda", "host", "fake"
    bool executes_on_cpu = false; // which Target its modules are compiled for
};

// libcuda, loaded and initialised on the first call; nullptr without a usable GPU, and then `why`
// says what is missing.
[[nodiscard]] const Driver* find_cuda_driver(std::string* why = nullptr);

} // namespace quern
