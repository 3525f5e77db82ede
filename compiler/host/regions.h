// A kernel in pieces: each from one place where threads are held to the next, so that a loop over
// threads can stand around each piece.
#pragma once
#include "compiler/host/idle.h"
#include "compiler/host/program.h"
#include "compiler/host/region_ends.h"
#include "compiler/host/round_body.h"
#include "compiler/host/simplify.h"
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {

// steps.cpp: the rounds of loops over data, in a body that was simplified and whose loops are in
// shape, become places where threads are held as well, where this lets a loop over threads go along
// memory.
struct Steps {
    bool found = false; // such a loop
    // Threads of blocks side by side along x may run the rounds as those of one block do.
    bool several_blocks = false;
};
Steps step_through_loops(llvm::Function& body, bool maybe_several_blocks);

// By these names the passes know such a place; both are gone when the regions are made. At the
// first threads of a loop are in step, at the second those that leave it wait for the others.
inline constexpr const char *step_marker = "__quern_step", *join_marker = "__quern_join";

struct Region {
    llvm::Function* body = nullptr; // see regions.cpp
    HostStop stop = HostStop::none;
    std::uint32_t op = 0, kept_offset = 0, kept_bytes = 0;
    llvm::SmallVector<Agreed, 4> agreed = {}; // what it writes for all threads
    std::optional<Idle> idle = std::nullopt;
    std::optional<Round> round = std::nullopt;
};

struct Regions {
    llvm::SmallVector<Region, 8> list; // the first is the kernel's beginning
    std::uint64_t frame_bytes = 0;     // of the threads of a block
    std::uint32_t kept_bytes = 0;
    Steps steps;
    bool counts_through = false; // threads know their number in the grid alone, and
    bool keeps_nothing = false;  // none has anything of its own: a row may be as long as it likes
    std::string why_not = {};    // the list is empty, if that wants a reason
};

// regions.cpp: empty when the kernel cannot be cut: it waits in functions of their own, spins, or
// asks who is here. The kernel's thunk is left as it is.
Regions cut_in_regions(Kernel& kernel, Simplifier& simplifier, const Budget& budget);

// What a region's body takes after the thunk's arguments.
enum RegionArgument : unsigned {
    frame_at = 14,
    kept_at,
    keep_at,
    call_at,
    number_at,
    region_arguments
};

// region_runner.cpp: loops over threads around the regions, and the kernel's runner and table.
void make_region_runner(llvm::Module& module, Kernel& kernel, const Regions& regions);

} // namespace quern::host
