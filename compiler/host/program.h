// What the front end hands to the passes: a module, its kernels, and what the caller asked to know
// by name.
#pragma once
#include "compiler/base/host_abi.h"
#include "compiler/host/budget.h"
#include "compiler/host/quern_cc.h"
#include <llvm/IR/Module.h>
#include <memory>
#include <string>
#include <vector>

namespace quern::host {

// The IR attribute of a variable that lives in shared memory.
inline constexpr const char* shared_attribute = "quern-shared";
inline constexpr const char* constant_attribute = "quern-constant";

// Of the packed buffer of arguments.
inline const llvm::Align args_align{16};

struct Kernel {
    std::string name;                // linkage name
    llvm::Function* thunk = nullptr; // void(ptr args): loads the parameters, calls the kernel
    std::vector<HostParam> params;
    std::uint32_t args_bytes = 0;
    std::uint32_t static_shared_bytes = 0;
    std::uint32_t max_threads = 1024;
    bool by_thread = false;  // reads threadIdx: loops over threads stand around it
    bool waits = false;      // its threads wait for each other
    bool in_regions = false; // it was cut where they do, or where loops go on
    std::uint32_t regions = 0;
    std::string why_not_cut; // of a kernel that waits: why it could not be
};

enum class Level : std::uint8_t {
    best,  // all that makes kernels fast
    plain, // no regions, no vectorisers: of a program that is too large, or took too long
};

struct Program {
    std::unique_ptr<llvm::Module> module;
    std::vector<Kernel> kernels;
    std::vector<std::string> lowered_names;
    bool cut_waiting =
        false; // cut kernels whose threads wait: costs time here, saves it in the run
    Level level = Level::best;
    bool was_too_slow = false;   // for the best level
    bool needs_reduction = true; // of strength, by the code generator
    unsigned optimised_at = 0;   // LLVM's level
    Budget budget;               // of the optimiser
};

} // namespace quern::host
