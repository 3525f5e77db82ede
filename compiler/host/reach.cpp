// A walk over functions and over the constants that hold their addresses.
#include "compiler/host/reach.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {
namespace {

class Walk {
  public:
    llvm::SetVector<llvm::Function*> functions;

    void look_at(llvm::Value* value) {
        auto* constant = llvm::dyn_cast<llvm::Constant>(value);
        if (!constant || llvm::isa<llvm::ConstantData>(constant))
            return;
        llvm::SmallVector<llvm::Constant*, 8> open = {constant};
        while (!open.empty()) {
            auto* next = open.pop_back_val();
            if (auto* function = llvm::dyn_cast<llvm::Function>(next)) {
                functions.insert(function);
                continue;
            }
            if (llvm::isa<llvm::ConstantData>(next) || !seen_.insert(next).second)
                continue;
            for (auto& operand : next->operands()) // of a variable: its initialiser
                if (auto* part = llvm::dyn_cast<llvm::Constant>(operand))
                    open.push_back(part);
        }
    }

  private:
    llvm::SmallPtrSet<llvm::Constant*, 32> seen_;
};

} // namespace

llvm::SetVector<llvm::Function*> reached_from(llvm::Function& from) {
    Walk walk;
    walk.functions.insert(&from);
    for (std::size_t i = 0; i < walk.functions.size(); ++i)
        for (auto& instruction : llvm::instructions(*walk.functions[i]))
            for (auto& operand : instruction.operands())
                walk.look_at(operand);
    return std::move(walk.functions);
}

bool calls_by_address(const llvm::Function& function) {
    for (const auto& instruction : llvm::instructions(function))
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            call && call->isIndirectCall())
            return true;
    return false;
}

bool may_reach(llvm::Function& from, const llvm::SetVector<llvm::Function*>& targets) {
    for (auto* function : reached_from(from))
        if (targets.contains(function) || calls_by_address(*function))
            return true;
    return false;
}

} // namespace quern::host
