// A walk from the region's beginning, and copies of what it met.
#include "compiler/host/region_copy.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace quern::host {

using llvm::BasicBlock;

RegionCopy::RegionCopy(llvm::Function& body, BasicBlock& start,
                       const llvm::DenseMap<const BasicBlock*, std::size_t>& stop_at,
                       const llvm::Twine& name) {
    region_ = llvm::Function::Create(body.getFunctionType(), llvm::GlobalValue::InternalLinkage,
                                     name, body.getParent());
    region_->copyAttributesFrom(&body);
    for (auto& argument : body.args()) {
        auto* own = region_->getArg(argument.getArgNo());
        own->setName(argument.getName());
        map_[&argument] = own;
    }
    llvm::SmallPtrSet<const BasicBlock*, 32> reached = {&start};
    llvm::SmallVector<BasicBlock*, 16> open = {&start};
    while (!open.empty()) {
        auto* block = open.pop_back_val();
        if (!stop_at.contains(block))
            for (auto* next : llvm::successors(block))
                if (reached.insert(next).second)
                    open.push_back(next);
    }
    if (&start != &body.getEntryBlock())
        BasicBlock::Create(body.getContext(), "entry", region_);
    llvm::SmallVector<BasicBlock*, 32> blocks;
    for (auto& block : body) {
        if (!reached.contains(&block))
            continue;
        blocks.push_back(&block);
        map_[&block] = llvm::CloneBasicBlock(&block, map_, "", region_);
        if (const auto stop = stop_at.find(&block); stop != stop_at.end())
            ends_.push_back(stop->second);
    }
    llvm::sort(ends_);
    for (auto* block : blocks) {
        auto& copy = *llvm::cast<BasicBlock>(static_cast<llvm::Value*>(map_[block]));
        for (auto& phi : copy.phis())
            phi.removeIncomingValueIf(
                [&](unsigned i) { // a way in that the region does not have
                    const auto* before = phi.getIncomingBlock(i);
                    return !reached.contains(before) || stop_at.contains(before);
                },
                /*DeletePHIIfEmpty=*/false);
        if (stop_at.contains(block)) { // the way on is another region's
            copy.getTerminator()->eraseFromParent();
            new llvm::UnreachableInst(body.getContext(), &copy);
        }
        for (auto& instruction : copy) {
            for (auto& operand : instruction.operands())
                if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(operand))
                    need(*variable);
            llvm::RemapInstruction(&instruction, map_,
                                   llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
        }
    }
}

void RegionCopy::need(llvm::AllocaInst& variable) {
    if (variable.getFunction() == region_ || map_.count(&variable))
        return;
    auto& entry = region_->getEntryBlock();
    auto* own = variable.clone();
    own->insertBefore(entry, entry.begin());
    map_[&variable] = own;
}

} // namespace quern::host
