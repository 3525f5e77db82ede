// Modules and their kernels.
#pragma once
#include "compiler/base/host_abi.h"
#include "runtime/host/object_loader.h"

#include <cuda.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace quern::host {

inline constexpr std::uint32_t shared_bytes_default = 48 * 1024, shared_bytes_opt_in = 227 * 1024;
inline constexpr std::uint32_t largest_args_bytes = 32764;

struct Function {
    std::string name; // linkage name
    HostKernel run = nullptr;
    const HostKernelInfo* info = nullptr;
    bool can_trap = false;
    std::atomic<std::uint32_t> dynamic_shared_limit{0};
    std::shared_ptr<const LoadedObject> code;
};

struct Module {
    std::shared_ptr<const LoadedObject> code;
    std::map<std::string, Function*>
        functions; // those asked for so far; handles of the process-wide slots
    std::vector<std::uintptr_t> globals; // known to Memory
};

} // namespace quern::host
