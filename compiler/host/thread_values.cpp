// See thread_values.h.
#include "compiler/host/thread_values.h"
#include "compiler/host/passes.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/SROA.h>

namespace quern::host {
namespace {

bool is_common(const llvm::Value* value, const llvm::SmallPtrSetImpl<llvm::Value*>& threads,
               llvm::SmallPtrSetImpl<const llvm::Value*>& seen) {
    if (threads.contains(const_cast<llvm::Value*>(value)))
        return false;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || !seen.insert(instruction).second)
        return true;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) // a parameter
        return llvm::getUnderlyingObject(load->getPointerOperand()) ==
               load->getFunction()->getArg(0);
    if (instruction->mayReadOrWriteMemory() || llvm::isa<llvm::AllocaInst>(instruction))
        return false;
    return llvm::all_of(instruction->operands(),
                        [&](const llvm::Use& use) { return is_common(use, threads, seen); });
}

} // namespace

void bring_values_out(llvm::Function& thunk) {
    llvm::FunctionAnalysisManager analyses;
    llvm::PassBuilder().registerFunctionAnalyses(analyses);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.run(thunk, analyses);
}

bool is_common(const llvm::Value* value, const llvm::SmallPtrSetImpl<llvm::Value*>& threads) {
    llvm::SmallPtrSet<const llvm::Value*, 16> seen;
    return is_common(value, threads, seen);
}

llvm::SmallPtrSet<llvm::Value*, 32> values_of_the_thread(llvm::Function& thunk) {
    llvm::SmallVector<llvm::Value*, 64> open = {
        thunk.getArg(thread_at), thunk.getArg(thread_at + 1), thunk.getArg(thread_at + 2)};
    llvm::SmallPtrSet<llvm::Value*, 32> found(open.begin(), open.end());
    while (!open.empty())
        for (auto* user : open.pop_back_val()->users())
            if ((llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::PHINode, llvm::SelectInst>(
                     user) ||
                 (llvm::isa<llvm::IntrinsicInst>(user) &&
                  !llvm::cast<llvm::IntrinsicInst>(user)->mayReadOrWriteMemory() &&
                  !user->getType()->isVoidTy())) &&
                found.insert(user).second)
                open.push_back(user);
    return found;
}

const llvm::Value* shared_variable(const llvm::Value* pointer, const llvm::Value* arena) {
    for (const llvm::Value* at = pointer;;) {
        const auto* step = llvm::dyn_cast<llvm::GEPOperator>(at);
        if (!step)
            return at == arena ? at : nullptr;
        if (step->getPointerOperand() == arena)
            return step;
        at = step->getPointerOperand();
    }
}

} // namespace quern::host
