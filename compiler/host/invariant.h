// Kernels that ask whether a loop's elements share a value, such as the divisor of all of them.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// bool __quern_is_invariant(x): true where the innermost loop around the call does not change x.
// Told as soon as inlining has brought the loop there, so that loops see no branch; `last` answers
// what is left over, with false.
struct TellInvariant : llvm::PassInfoMixin<TellInvariant> {
    bool last;
    explicit TellInvariant(bool is_last) : last(is_last) {}
    static bool isRequired() { return true; } // there is no such function
    llvm::PreservedAnalyses run(llvm::Function& function,
                                llvm::FunctionAnalysisManager& analyses) const;
};

} // namespace quern::host
