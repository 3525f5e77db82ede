// Threads of a row for which a comparison decides that they have next to nothing to do in a region:
// `if (threadIdx.x < step) ...`. The loop over threads leaves them out.
#pragma once
#include "compiler/host/simplify.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <optional>

namespace quern::host {

struct Idle {
    llvm::ICmpInst* compare = nullptr; // in the region's body
    bool busy_when = true;             // its value for the others
    llvm::Function* body = nullptr;    // what is left for the idle
    bool does_nothing = false;         // not even that: where it ends, all do
};

// `thread_x` and `number` are arguments of `body`.
std::optional<Idle> find_idle(llvm::Function& body, llvm::Argument* thread_x,
                              llvm::Argument* number, Simplifier& simplifier);

// Threads [from, to) of a row: those outside [first, last) are idle.
struct Busy {
    llvm::Value *first, *last;
};
// `arguments` are the body's, with any value in thread_x's place.
Busy emit_busy(llvm::IRBuilder<>& build, const Idle& idle, llvm::ArrayRef<llvm::Value*> arguments,
               llvm::Argument* thread_x, llvm::Value* from, llvm::Value* to);

} // namespace quern::host
