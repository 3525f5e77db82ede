// half and bfloat16, which CPUs compute in float.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// Loops that compute with halves get vectors of as many as there are floats in one: LLVM takes a
// conversion of more than four for work on single lanes, which it is not, and makes vectors of
// four. Comes before there are any. (Zen 4, one thread: exp2 of 10^6 halves 1.02 to 0.31 ms)
struct HalvesLikeFloats : llvm::PassInfoMixin<HalvesLikeFloats> {
    unsigned vector_bits = 256;
    llvm::PreservedAnalyses run(llvm::Function& function,
                                llvm::FunctionAnalysisManager& analyses) const;
};

// Comparisons and whole numbers are found in float by instructions of their own: the code generator
// would take vectors of them apart. Comes last, since the optimiser turns this round again.
struct WorkInFloat : llvm::PassInfoMixin<WorkInFloat> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

} // namespace quern::host
