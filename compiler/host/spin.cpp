// Loops that wait for another thread's write: `while (*flag == 0);`. Threads of a block run one
// after another here, so each round of such a loop lets the others go on.
#include "compiler/host/passes.h"
#include "compiler/host/reach.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/SROA.h>

namespace quern::host {
namespace {

enum class Watch { nothing, exchange, word }; // what decides whether a loop goes on

// The same in every round: nothing of it is optimised yet, so it may be computed inside the loop.
bool is_fixed(const llvm::Value* value, const llvm::Loop& loop) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || !loop.contains(instruction))
        return true;
    if (llvm::isa<llvm::PHINode>(instruction) || instruction->mayWriteToMemory())
        return false;
    return std::all_of(instruction->op_begin(), instruction->op_end(),
                       [&](const llvm::Use& operand) { return is_fixed(operand.get(), loop); });
}

// A load that asks anew each round, also spelled as an atomic operation that changes nothing; or a
// compare-and-swap, which as a rule succeeds unless another worker interferes.
Watch watched(const llvm::Instruction& instruction, const llvm::Loop& loop) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
        return (load->isVolatile() || load->isAtomic()) &&
                       is_fixed(load->getPointerOperand(), loop) &&
                       !llvm::isa<llvm::AllocaInst>(load->getPointerOperand())
                   ? Watch::word
                   : Watch::nothing;
    if (const auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
        const auto* operand = llvm::dyn_cast<llvm::Constant>(change->getValOperand());
        return operand && operand->isNullValue() &&
                       change->getOperation() != llvm::AtomicRMWInst::Xchg &&
                       change->getOperation() != llvm::AtomicRMWInst::And
                   ? Watch::word
                   : Watch::exchange;
    }
    if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
        return swap->getCompareOperand() == swap->getNewValOperand() ? Watch::word
                                                                     : Watch::exchange;
    return Watch::nothing;
}

Watch decides(llvm::Value* condition, const llvm::Loop& loop) {
    llvm::SmallVector<llvm::Value*, 16> open = {condition};
    llvm::SmallPtrSet<llvm::Value*, 16> seen;
    Watch found = Watch::nothing;
    while (!open.empty()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.pop_back_val());
        if (!instruction || !loop.contains(instruction) || !seen.insert(instruction).second)
            continue;
        found = std::max(found, watched(*instruction, loop));
        if (!llvm::isa<llvm::LoadInst>(instruction))
            for (auto& operand : instruction->operands())
                open.push_back(operand);
    }
    return found;
}

Watch spins_on(const llvm::Loop& loop) {
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop.getExitingBlocks(exits);
    Watch found = Watch::nothing;
    for (auto* block : exits)
        if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
            branch && branch->isConditional())
            found = std::max(found, decides(branch->getCondition(), loop));
    return found;
}

bool may_spin(llvm::Function& function) {
    for (auto& instruction : llvm::instructions(function))
        if (instruction.isAtomic() || instruction.isVolatile())
            return true;
    return false;
}

void forget_promises(llvm::Function& function) {
    for (auto& instruction : llvm::instructions(function)) {
        instruction.setMetadata(llvm::LLVMContext::MD_noalias, nullptr);
        instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, nullptr);
    }
}

} // namespace

void let_spinning_threads_wait(Program& program) {
    llvm::FunctionAnalysisManager functions;
    llvm::PassBuilder builder;
    bool registered = false;
    for (auto& kernel : program.kernels)
        for (auto* function : reached_from(*kernel.thunk)) {
            if (function->isDeclaration() || !may_spin(*function))
                continue;
            if (!std::exchange(registered, true))
                builder.registerFunctionAnalyses(functions);
            llvm::FunctionPassManager passes; // or every loop would seem to watch its own variables
            passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
            passes.run(*function, functions);
            const llvm::DominatorTree tree(*function);
            const llvm::LoopInfo loops(tree);
            for (auto* loop : loops.getLoopsInPreorder()) {
                const Watch watch = spins_on(*loop);
                if (watch == Watch::nothing || (watch == Watch::exchange && !kernel.waits))
                    continue;
                llvm::SmallVector<llvm::BasicBlock*, 4> latches;
                loop->getLoopLatches(latches);
                auto give_way = program.module->getOrInsertFunction(
                    "__quern_yield", llvm::Type::getVoidTy(program.module->getContext()));
                for (auto* latch : latches)
                    llvm::IRBuilder<>(latch->getTerminator()).CreateCall(give_way);
                if (!std::exchange(kernel.waits, true))
                    for (auto* reached : reached_from(*kernel.thunk))
                        forget_promises(*reached);
            }
            functions.clear(*function, function->getName());
        }
}

} // namespace quern::host
