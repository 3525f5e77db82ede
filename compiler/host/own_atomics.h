// Atomic operations on a block's shared memory: one core runs a block, so that nobody is there whom
// a bus lock could keep out. Comes last: the optimiser must not take them for plain memory, which
// it may hold to differ from thread to thread.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// An argument or a load so marked is the arena.
inline constexpr const char* arena_mark = "quern.arena";

struct PlainOwnAtomics : llvm::PassInfoMixin<PlainOwnAtomics> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

} // namespace quern::host
