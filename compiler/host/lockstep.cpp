// Code from before __syncwarp: lanes that exchange values through volatile shared memory count on
// their warp to move in step. Around every volatile store such a kernel gathers the lanes that are
// there together, so that all have read before one writes, and all have written before one reads.
#include "compiler/host/passes.h"
#include "compiler/host/reach.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace quern::host {
namespace {

bool is_own(const llvm::Value* pointer) { // a variable of the thread's
    return llvm::isa<llvm::AllocaInst>(pointer->stripInBoundsOffsets());
}

struct Findings {
    bool shared = false, reads = false;
    std::vector<llvm::StoreInst*> stores;
};

bool is_shared(llvm::Value* value, llvm::SmallPtrSetImpl<llvm::Value*>& seen) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    if (!constant || llvm::isa<llvm::ConstantData>(constant) || !seen.insert(constant).second)
        return false;
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(constant))
        return variable->hasAttribute(shared_attribute);
    if (!llvm::isa<llvm::ConstantExpr>(constant))
        return false;
    for (auto& operand : constant->operands())
        if (is_shared(operand, seen))
            return true;
    return false;
}

Findings look_at(const llvm::SetVector<llvm::Function*>& reached) {
    Findings found;
    llvm::SmallPtrSet<llvm::Value*, 32> seen;
    for (auto* function : reached)
        for (auto& instruction : llvm::instructions(*function)) {
            for (auto& operand : instruction.operands())
                found.shared |= is_shared(operand, seen);
            if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
                found.reads |= load->isVolatile() && !is_own(load->getPointerOperand());
            if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
                store && store->isVolatile() && !is_own(store->getPointerOperand()))
                found.stores.push_back(store);
        }
    return found;
}

} // namespace

void keep_warps_in_step(Program& program) {
    auto& module = *program.module;
    llvm::SmallPtrSet<llvm::StoreInst*, 16> done;
    for (auto& kernel : program.kernels) {
        const auto found = look_at(reached_from(*kernel.thunk));
        if (!found.shared || !found.reads)
            continue;
        for (auto* store : found.stores) {
            if (!done.insert(store).second)
                continue;
            auto gather = module.getOrInsertFunction(
                "__quern_active_mask",
                llvm::FunctionType::get(llvm::Type::getInt32Ty(module.getContext()), {}, false));
            auto* function = llvm::cast<llvm::Function>(gather.getCallee());
            function->setConvergent();
            function->setDoesNotThrow();
            llvm::IRBuilder<> build(store);
            build.CreateCall(gather);
            build.SetInsertPoint(store->getNextNode());
            build.CreateCall(gather);
        }
    }
}

} // namespace quern::host
