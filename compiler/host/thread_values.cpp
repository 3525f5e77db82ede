// See thread_values.h.
#include "compiler/host/thread_values.h"
#include "compiler/host/passes.h"
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

namespace quern::host {

llvm::SmallPtrSet<llvm::Value*, 32> values_of_the_thread(llvm::Function& thunk) {
    llvm::SmallVector<llvm::Value*, 64> open = {thunk.getArg(first_position),
                                                thunk.getArg(first_position + 1),
                                                thunk.getArg(first_position + 2)};
    llvm::SmallPtrSet<llvm::Value*, 32> found(open.begin(), open.end());
    while (!open.empty())
        for (auto* user : open.pop_back_val()->users())
            if (llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::PHINode, llvm::SelectInst>(
                    user) &&
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
