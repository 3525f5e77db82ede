// What holds after a pass that leaves the branches of a function alone.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

[[nodiscard]] inline llvm::PreservedAnalyses branches_kept(bool changed) {
    if (!changed)
        return llvm::PreservedAnalyses::all();
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
}

} // namespace quern::host
