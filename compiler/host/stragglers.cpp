// A block's result that all threads read and one soon overwrites: `__syncthreads(); sum = part[0];`
// and, with no barrier between, `part[threadIdx.x] = next;` (a second call of the same reduction,
// the next round of a loop). Strictly a race; hardware runs the threads side by side, so that all
// have read long before, and programs count on it. Here one thread would run on alone: it lets the
// others go first.
#include "compiler/host/passes.h"
#include "compiler/host/thread_values.h"
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;
using Values = llvm::SmallPtrSetImpl<Value*>;

bool is_barrier(const Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call && call->getCalledFunction() &&
           call->getCalledFunction()->getName() == "__quern_sync_block";
}

bool comes_to_barrier(BasicBlock* from) {
    llvm::SmallVector<BasicBlock*, 16> open = {from};
    llvm::SmallPtrSet<BasicBlock*, 32> seen;
    while (!open.empty()) {
        auto* block = open.pop_back_val();
        if (!seen.insert(block).second)
            continue;
        if (llvm::any_of(*block, is_barrier))
            return true;
        llvm::append_range(open, llvm::successors(block));
    }
    return false;
}

// Is `block` behind a branch by which some threads of those that stay in the kernel pass it by?
// Loops that end sooner for some lead all of them there.
bool only_some_come(BasicBlock* block, const llvm::DominatorTree& tree,
                    const llvm::PostDominatorTree& behind, const Values& threads) {
    for (const auto* node = tree.getNode(block); node && node->getIDom(); node = node->getIDom()) {
        auto* from = node->getIDom()->getBlock();
        auto* branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
        if (!branch || !branch->isConditional() || !threads.contains(branch->getCondition()) ||
            behind.dominates(block, from))
            continue;
        for (unsigned taken = 0; taken < 2; ++taken)
            if (tree.dominates(llvm::BasicBlockEdge(from, branch->getSuccessor(taken)), block) &&
                comes_to_barrier(branch->getSuccessor(1 - taken)))
                return true;
    }
    return false;
}

// The first stores to the variable that a thread comes to behind `load`, no barrier between.
void find_stores(llvm::LoadInst& load, const Value* variable, const Value* arena,
                 llvm::SmallSetVector<llvm::StoreInst*, 8>& found) {
    llvm::SmallVector<Instruction*, 16> open = {load.getNextNode()};
    llvm::SmallPtrSet<BasicBlock*, 32> seen;
    while (!open.empty()) {
        auto* at = open.pop_back_val();
        auto* block = at->getParent();
        for (; at && !is_barrier(*at); at = at->getNextNode())
            if (auto* store = llvm::dyn_cast<llvm::StoreInst>(at);
                store && shared_variable(store->getPointerOperand(), arena) == variable) {
                found.insert(store);
                break;
            }
        if (!at)
            for (auto* next : llvm::successors(block))
                if (seen.insert(next).second)
                    open.push_back(&*next->begin());
    }
}

} // namespace

void wait_for_stragglers(Program& program) {
    for (auto& kernel : program.kernels) {
        auto& thunk = *kernel.thunk;
        if (!kernel.waits || llvm::none_of(llvm::instructions(thunk), is_barrier))
            continue;
        bring_values_out(thunk);

        auto threads = values_of_the_thread(thunk);
        for (auto& instruction : llvm::instructions(thunk)) // comparisons of them
            if (llvm::isa<llvm::CmpInst>(instruction) &&
                (threads.contains(instruction.getOperand(0)) ||
                 threads.contains(instruction.getOperand(1))))
                threads.insert(&instruction);
        const llvm::DominatorTree tree(thunk);
        const llvm::PostDominatorTree behind(thunk);
        const auto* arena = thunk.getArg(1);
        llvm::SmallSetVector<llvm::StoreInst*, 8> stores;
        for (auto& instruction : llvm::instructions(thunk)) {
            auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
            if (!load || load->isVolatile())
                continue;
            const auto* variable = shared_variable(load->getPointerOperand(), arena);
            if (variable && is_common(load->getPointerOperand(), threads) &&
                !only_some_come(load->getParent(), tree, behind, threads))
                find_stores(*load, variable, arena, stores);
        }
        auto give_way = program.module->getOrInsertFunction(
            "__quern_yield", llvm::Type::getVoidTy(program.module->getContext()));
        for (auto* store : stores)
            llvm::IRBuilder<>(store).CreateCall(give_way);
    }
}

} // namespace quern::host
