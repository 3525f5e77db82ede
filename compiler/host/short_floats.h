// Comparisons of half and bfloat16, which CPUs make in float: the code generator would take vectors
// of them apart. Comes last, since the optimiser turns this round again.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

struct CompareInFloat : llvm::PassInfoMixin<CompareInFloat> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

} // namespace quern::host
