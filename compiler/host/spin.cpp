// Loops that wait for another thread's write: `while (*flag == 0);`. Threads of a block run one
// after another here, so each round of such a loop lets the others go on.
#include "compiler/host/passes.h"
#include "compiler/host/reach.h"
#include "compiler/host/waits.h"
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
// If it must be `unread`, memory that is read there counts as different.
bool is_fixed(const llvm::Value* value, const llvm::Loop& loop, bool unread = false) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || !loop.contains(instruction))
        return true;
    if (llvm::isa<llvm::PHINode>(instruction) || instruction->mayWriteToMemory() ||
        (unread && instruction->mayReadFromMemory()))
        return false;
    return std::all_of(
        instruction->op_begin(), instruction->op_end(),
        [&](const llvm::Use& operand) { return is_fixed(operand.get(), loop, unread); });
}

// Done twice, it changes nothing more.
bool settles(llvm::AtomicRMWInst::BinOp change) {
    switch (change) {
    case llvm::AtomicRMWInst::Xchg:
    case llvm::AtomicRMWInst::And:
    case llvm::AtomicRMWInst::Or:
    case llvm::AtomicRMWInst::Max:
    case llvm::AtomicRMWInst::Min:
    case llvm::AtomicRMWInst::UMax:
    case llvm::AtomicRMWInst::UMin:
        return true;
    default:
        return false;
    }
}

// A load that asks anew each round, also spelled as an atomic operation that changes nothing, or
// one that takes the same word again and again until it finds there what it waits for; or another
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
        const bool same = operand && operand->isNullValue() &&
                          change->getOperation() != llvm::AtomicRMWInst::Xchg &&
                          change->getOperation() != llvm::AtomicRMWInst::And;
        return same || (settles(change->getOperation()) &&
                        is_fixed(change->getPointerOperand(), loop) &&
                        is_fixed(change->getValOperand(), loop, true))
                   ? Watch::word
                   : Watch::exchange;
    }
    if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
        return swap->getCompareOperand() == swap->getNewValOperand() ||
                       (is_fixed(swap->getPointerOperand(), loop) &&
                        is_fixed(swap->getCompareOperand(), loop, true))
                   ? Watch::word
                   : Watch::exchange;
    return Watch::nothing;
}

using Values = llvm::SmallVector<llvm::Value*, 8>;

// The conditions by which a thread comes to `place` from here or from there.
void ask_the_way(llvm::BasicBlock* place, const llvm::DominatorTree& tree, Values& open) {
    const auto* above = tree.getNode(place)->getIDom();
    llvm::SmallVector<llvm::BasicBlock*, 8> blocks(llvm::predecessors(place));
    llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
    while (above && !blocks.empty()) {
        auto* block = blocks.pop_back_val();
        if (!seen.insert(block).second)
            continue;
        if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
            branch && branch->isConditional())
            open.push_back(branch->getCondition());
        if (block != above->getBlock())
            blocks.append(llvm::pred_begin(block), llvm::pred_end(block));
    }
}

// A value that a thread brings from one of several places in the loop, not from the round before.
bool is_chosen(const llvm::Instruction& value, const llvm::Loop& loop) {
    return llvm::isa<llvm::PHINode>(value) && value.getParent() != loop.getHeader();
}

// What decides whether a loop goes on, through values and, given a tree, through the branches that
// choose between them.
Watch decides(Values open, const llvm::Loop& loop, const llvm::DominatorTree* tree) {
    llvm::SmallPtrSet<llvm::Value*, 16> seen;
    Watch found = Watch::nothing;
    while (!open.empty()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.pop_back_val());
        if (!instruction || !loop.contains(instruction) || !seen.insert(instruction).second)
            continue;
        found = std::max(found, watched(*instruction, loop));
        if (tree && is_chosen(*instruction, loop))
            ask_the_way(instruction->getParent(), *tree, open);
        if (!llvm::isa<llvm::LoadInst>(instruction))
            open.append(instruction->op_begin(), instruction->op_end());
    }
    return found;
}

// What the loop carries from round to round and its exits ask about.
Values asked_by_exits(const llvm::Loop& loop, Values open, const llvm::DominatorTree* tree) {
    Values carried;
    llvm::SmallPtrSet<llvm::Value*, 16> seen;
    while (!open.empty()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.pop_back_val());
        if (!instruction || !loop.contains(instruction) || !seen.insert(instruction).second)
            continue;
        if (tree && is_chosen(*instruction, loop))
            ask_the_way(instruction->getParent(), *tree, open);
        if (llvm::isa<llvm::PHINode>(instruction) && instruction->getParent() == loop.getHeader())
            carried.push_back(instruction);
        else
            open.append(instruction->op_begin(), instruction->op_end());
    }
    return carried;
}

// Is there a way round on which all of `values` end as `same`? `steps` bounds the search.
bool may_stay(Values values, const Values& same, const llvm::Loop& loop, unsigned& steps) {
    if (values == same)
        return true;
    if (steps == 0)
        return false;
    --steps;
    const auto turn = std::find_if(values.begin(), values.end(), [&](llvm::Value* value) {
        const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
        return instruction && loop.contains(instruction) &&
               (llvm::isa<llvm::SelectInst>(instruction) ||
                (llvm::isa<llvm::PHINode>(instruction) &&
                 instruction->getParent() != loop.getHeader()));
    });
    if (turn == values.end())
        return false;
    if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(*turn)) {
        for (auto* taken : {choice->getTrueValue(), choice->getFalseValue()}) {
            *turn = taken;
            if (may_stay(values, same, loop, steps))
                return true;
        }
        return false;
    }
    const auto* place = llvm::cast<llvm::PHINode>(*turn)->getParent();
    for (auto* from : llvm::predecessors(place)) { // all that meet there come the same way
        Values before = values;
        for (auto& value : before)
            if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value); phi && phi->getParent() == place)
                value = phi->getIncomingValueForBlock(from);
        if (may_stay(before, same, loop, steps))
            return true;
    }
    return false;
}

// `while (k < n) if (ready[k]) ...k += step`: a round may end where it began, and what it looks at
// is another thread's to write. So may all rounds whose exits ask about nothing that is carried:
// `do { open = false; for (...) if (!ready[k]) open = true; } while (open);`.
Watch stands_still(const llvm::Loop& loop, const Values& conditions,
                   const llvm::DominatorTree* tree) {
    const Values carried = asked_by_exits(loop, conditions, tree);
    if (conditions.empty() || (carried.empty() && !tree))
        return Watch::nothing;
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    if (llvm::none_of(latches, [&](llvm::BasicBlock* latch) {
            Values next;
            for (auto* value : carried)
                next.push_back(llvm::cast<llvm::PHINode>(value)->getIncomingValueForBlock(latch));
            unsigned steps = 1000;
            return may_stay(next, carried, loop, steps);
        }))
        return Watch::nothing;
    Watch found = Watch::nothing;
    for (auto* block : loop.blocks())
        for (auto& instruction : *block)
            if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
                found = (load->isVolatile() || load->isAtomic()) &&
                                !llvm::isa<llvm::AllocaInst>(load->getPointerOperand())
                            ? Watch::word
                            : found;
            else
                found = std::max(found, watched(instruction, loop));
    return found;
}

Watch spins_on(const llvm::Loop& loop, const llvm::DominatorTree& tree) {
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop.getExitingBlocks(exits);
    Values conditions;
    for (auto* block : exits)
        if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
            branch && branch->isConditional())
            conditions.push_back(branch->getCondition());
    // An exchange that chooses the way need not be waited for: whoever fails tries again.
    for (const auto* through : {&tree, static_cast<const llvm::DominatorTree*>(nullptr)})
        if (const Watch found = std::max(stands_still(loop, conditions, through),
                                         decides(conditions, loop, through));
            found == Watch::word || !through)
            return found;
    return Watch::nothing;
}

bool may_spin(llvm::Function& function) {
    for (auto& instruction : llvm::instructions(function))
        if (instruction.isAtomic() || instruction.isVolatile())
            return true;
    return false;
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
                const Watch watch = spins_on(*loop, tree);
                if (watch == Watch::nothing || (watch == Watch::exchange && !kernel.waits))
                    continue;
                llvm::SmallVector<llvm::BasicBlock*, 4> latches;
                loop->getLoopLatches(latches);
                auto give_way = program.module->getOrInsertFunction(
                    "__quern_yield", llvm::Type::getVoidTy(program.module->getContext()));
                for (auto* latch : latches)
                    llvm::IRBuilder<>(latch->getTerminator()).CreateCall(give_way);
                begin_to_wait(kernel);
            }
            functions.clear(*function, function->getName());
        }
}

} // namespace quern::host
