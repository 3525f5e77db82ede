// Loops that go around in a ring: kept[(thread + round) % 256].
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// Such a loop becomes stretches that each end where an index wraps, so that the vectoriser, which
// asks at run time whether one does, finds neighbours in each of them. Rings of fewer than 64
// places are not worth it.
struct CutAtWraps : llvm::PassInfoMixin<CutAtWraps> {
    static llvm::PreservedAnalyses run(llvm::Function& function,
                                       llvm::FunctionAnalysisManager& analyses);
};

} // namespace quern::host
