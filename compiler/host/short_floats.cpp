// Every half and every bfloat16 is a float, so nothing changes.
#include "compiler/host/short_floats.h"
#include "compiler/host/preserved.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace quern::host {

llvm::PreservedAnalyses CompareInFloat::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager& /*analyses*/) {
    bool changed = false;
    for (auto& instruction : llvm::instructions(function)) {
        auto* compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
        if (!compare)
            continue;
        auto* type = compare->getOperand(0)->getType();
        if (!type->getScalarType()->isHalfTy() && !type->getScalarType()->isBFloatTy())
            continue;
        llvm::IRBuilder<> build(compare);
        auto* wide = type->getWithNewType(build.getFloatTy());
        for (auto& operand : compare->operands())
            operand.set(build.CreateFPExt(operand, wide));
        changed = true;
    }
    return branches_kept(changed);
}

} // namespace quern::host
