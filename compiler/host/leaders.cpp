// One lane of a warp writes what all read: `if (lane == 0) stack[depth] = node;` and then, with no
// word between, `node = stack[depth];`. Hardware brings a warp together behind such a branch, and
// programs that vote and shuffle count on it. Where such a store can be seen without a meeting, the
// lanes gather before the branch, so that all have read, and behind it, so that all see.
#include "compiler/host/passes.h"
#include "compiler/host/thread_values.h"
#include "compiler/host/waits.h"
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

bool waits_here(const Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call && call->getCalledFunction() && is_wait(*call->getCalledFunction());
}

bool meets_in_warps(llvm::Function& thunk) {
    return llvm::any_of(llvm::instructions(thunk), [](const Instruction& instruction) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        return call && call->getCalledFunction() &&
               call->getCalledFunction()->getName() == "__quern_sync_warp";
    });
}

// The branch that lets a single lane through to `block`.
llvm::BranchInst* lets_one_through(BasicBlock* block, const llvm::DominatorTree& tree,
                                   const llvm::SmallPtrSetImpl<Value*>& threads) {
    for (auto* node = tree.getNode(block); node && node->getIDom(); node = node->getIDom()) {
        auto* branch =
            llvm::dyn_cast<llvm::BranchInst>(node->getIDom()->getBlock()->getTerminator());
        if (!branch || !branch->isConditional())
            continue;
        const auto* test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
        if (!test || !test->isEquality() ||
            (!threads.contains(test->getOperand(0)) && !threads.contains(test->getOperand(1))))
            continue;
        const auto* taken = branch->getSuccessor(test->getPredicate() == llvm::ICmpInst::ICMP_NE);
        if (tree.dominates(llvm::BasicBlockEdge(branch->getParent(), taken), block))
            return branch;
    }
    return nullptr;
}

// Does a load of the variable outside the branch see the store before anybody meets?
bool is_seen(llvm::StoreInst& store, const llvm::BranchInst& branch, const Value* variable,
             const Value* arena, const llvm::DominatorTree& tree) {
    const auto inside = [&](const BasicBlock* block) {
        for (unsigned i = 0; i < 2; ++i) {
            const llvm::BasicBlockEdge edge(branch.getParent(), branch.getSuccessor(i));
            if (tree.dominates(edge, store.getParent()) && tree.dominates(edge, block))
                return true;
        }
        return false;
    };
    llvm::SmallVector<Instruction*, 16> open = {store.getNextNode()};
    llvm::SmallPtrSet<BasicBlock*, 32> seen;
    while (!open.empty()) {
        auto* at = open.pop_back_val();
        auto* block = at->getParent();
        for (; at && !waits_here(*at); at = at->getNextNode())
            if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(at);
                load && shared_variable(load->getPointerOperand(), arena) == variable &&
                !inside(block))
                return true;
        if (!at)
            for (auto* next : llvm::successors(block))
                if (seen.insert(next).second)
                    open.push_back(&*next->begin());
    }
    return false;
}

void gather(llvm::Module& module, Instruction* before) {
    auto callee = module.getOrInsertFunction(
        "__quern_active_mask",
        llvm::FunctionType::get(llvm::Type::getInt32Ty(module.getContext()), {}, false));
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setConvergent();
    function->setDoesNotThrow();
    llvm::IRBuilder<>(before).CreateCall(callee);
}

} // namespace

void keep_leaders_in_step(Program& program) {
    for (auto& kernel : program.kernels) {
        auto& thunk = *kernel.thunk;
        if (!kernel.waits || !meets_in_warps(thunk))
            continue;
        bring_values_out(thunk);

        const auto threads = values_of_the_thread(thunk);
        const llvm::DominatorTree tree(thunk);
        const llvm::PostDominatorTree behind(thunk);
        llvm::SmallSetVector<llvm::BranchInst*, 8> branches;
        for (auto& instruction : llvm::instructions(thunk)) {
            auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
            if (!store || store->isVolatile())
                continue;
            const auto* variable = shared_variable(store->getPointerOperand(), thunk.getArg(1));
            auto* branch = variable ? lets_one_through(store->getParent(), tree, threads) : nullptr;
            if (branch && is_seen(*store, *branch, variable, thunk.getArg(1), tree))
                branches.insert(branch);
        }
        for (auto* branch : branches) {
            gather(*program.module, branch);
            if (const auto* meeting = behind.getNode(branch->getParent())->getIDom();
                meeting && meeting->getBlock())
                gather(*program.module, &*meeting->getBlock()->getFirstInsertionPt());
        }
    }
}

} // namespace quern::host
