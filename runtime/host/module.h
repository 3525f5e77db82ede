// Modules and their kernels.
#pragma once
#include "compiler/base/host_abi.h"
#include "runtime/host/object_loader.h"

#include <cuda.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace quern::host {

inline constexpr std::uint32_t shared_bytes_default = 48 * 1024, shared_bytes_opt_in = 227 * 1024;
inline constexpr std::uint32_t largest_args_bytes = 32764;

struct Module;

// What a launch runs. Another tier of the same kernel may take its place between two blocks.
struct KernelCode {
    HostKernel run = nullptr;
    bool can_trap = false;
    bool waits = false; // its threads are fibers
    std::shared_ptr<const LoadedObject> object;
};

struct Function {
    std::string name; // linkage name
    std::atomic<const KernelCode*> code{nullptr};
    const HostKernelInfo* info = nullptr;
    std::atomic<std::uint32_t> dynamic_shared_limit{0};
    std::atomic<int> carveout{-1}; // a hint that is only remembered
    Module* module = nullptr;
    std::array<KernelCode, 2> tiers; // as compiled at first, and what took its place
    // Of the last launch that was shared with the team: its blocks, and what one of them took.
    mutable std::atomic<std::uint64_t> shared_blocks{0}, block_ticks{0};
};

struct Module {
    std::shared_ptr<const LoadedObject> code, better; // `better` when replace_code() was called
    std::function<void()> on_hot;                     // called once
    std::atomic<std::uint64_t> waited_ticks{0};       // spent in kernels whose threads are fibers
    std::map<std::string, Function*>
        functions; // those asked for so far; handles of the process-wide slots
    std::vector<std::uintptr_t> globals; // known to Memory
};

} // namespace quern::host
