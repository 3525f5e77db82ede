// Answers the hook; see invariant.h.
#include "compiler/host/invariant.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace quern::host {
namespace {

constexpr llvm::StringLiteral hook = "__quern_is_invariant";

bool is_invariant(const llvm::Loop& loop, const llvm::Value* value) {
    const auto* made = llvm::dyn_cast<llvm::Instruction>(value);
    if (made == nullptr || !loop.contains(made))
        return true;
    const auto* call = llvm::dyn_cast<llvm::CallInst>(made); // minima
    const bool computes =
        call != nullptr
            ? call->doesNotAccessMemory()
            : llvm::isa<llvm::CastInst, llvm::BinaryOperator, llvm::CmpInst, llvm::SelectInst>(
                  made);
    return computes && llvm::all_of(made->operands(), [&](const llvm::Use& from) {
               return is_invariant(loop, from.get());
           });
}

} // namespace

llvm::PreservedAnalyses TellInvariant::run(llvm::Function& function,
                                           llvm::FunctionAnalysisManager& analyses) const {
    auto* asked = function.getParent()->getFunction(hook);
    if (asked == nullptr || asked->use_empty())
        return llvm::PreservedAnalyses::all();
    const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    bool changed = false;
    for (auto* user : llvm::make_early_inc_range(asked->users())) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(user);
        if (call == nullptr || call->getFunction() != &function)
            continue;
        const auto* loop = loops.getLoopFor(call->getParent());
        if (loop == nullptr && !last)
            continue;
        const bool answer = loop != nullptr && is_invariant(*loop, call->getArgOperand(0));
        call->replaceAllUsesWith(llvm::ConstantInt::getBool(call->getContext(), answer));
        call->eraseFromParent();
        changed = true;
    }
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

} // namespace quern::host
