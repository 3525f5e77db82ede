// Short loops whose author asks for vectors.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// LLVM takes a loop of eight iterations apart before the vectoriser sees it, and finds no vectors
// in the pieces. Loops that ask for vectors (`clang loop vectorize`) stay loops until then; what is
// left of them is free to be unrolled afterwards.
struct KeepForVectors : llvm::PassInfoMixin<KeepForVectors> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};
struct ReleaseToUnroll : llvm::PassInfoMixin<ReleaseToUnroll> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

} // namespace quern::host
