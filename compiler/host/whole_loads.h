// Vectors that are read whole, though not all of their lanes are wanted.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// LLVM folds a load into the selection that takes some of its lanes: an access under a mask. Where
// the mask is empty and the system has unmarked the page meanwhile, as it does to learn which pages
// are in use, each such access is an exception of its own, and the page stays unmarked. (Zen 4,
// heaviside of 10^6 doubles: 0.5 ms, 14 with such pages.) A load that has come to a register first
// is a load like any other.
struct LoadWhole : llvm::PassInfoMixin<LoadWhole> {
    static llvm::PreservedAnalyses run(llvm::Function& function,
                                       llvm::FunctionAnalysisManager& analyses);
};

} // namespace quern::host
