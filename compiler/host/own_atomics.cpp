// Threads of a block change places only where they wait: no operation is ever interrupted.
#include "compiler/host/own_atomics.h"
#include "compiler/host/preserved.h"
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

namespace quern::host {
namespace {

bool is_arena(const llvm::Value* object) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object))
        return argument->getParent()->getAttributes().hasParamAttr(argument->getArgNo(),
                                                                   arena_mark);
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
    return load && load->getMetadata(arena_mark);
}

bool is_in_arena(const llvm::Value* pointer) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    return !objects.empty() && llvm::all_of(objects, is_arena);
}

} // namespace

llvm::PreservedAnalyses PlainOwnAtomics::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager& /*analyses*/) {
    bool changed = false;
    for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
        if (auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
            change && is_in_arena(change->getPointerOperand()))
            changed |= llvm::lowerAtomicRMWInst(change);
        else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
                 swap && is_in_arena(swap->getPointerOperand()))
            changed |= llvm::lowerAtomicCmpXchgInst(swap);
    }
    return branches_kept(changed);
}

} // namespace quern::host
