// Which kernels have threads that wait for each other, and what that takes away from their
// pointers.
#include "compiler/host/waits.h"
#include "compiler/host/passes.h"
#include "compiler/host/reach.h"
#include <llvm/IR/InstIterator.h>

namespace quern::host {
namespace {

// `__restrict__` says that nobody else writes; a thread that waits does so because somebody writes.
void drop_promises(llvm::Function& function) {
    for (auto& argument : function.args())
        argument.removeAttr(llvm::Attribute::NoAlias);
}

} // namespace

bool is_wait(const llvm::Function& function) {
    const auto name = function.getName();
    return function.isDeclaration() &&
           (name.starts_with("__quern_sync_") || name == "__quern_active_mask" ||
            name == "__quern_yield" || name == "__quern_leave_thread");
}

void begin_to_wait(Kernel& kernel) {
    if (std::exchange(kernel.waits, true))
        return;
    for (auto* function : reached_from(*kernel.thunk)) {
        if (function == kernel.thunk)
            function->removeParamAttr(1, llvm::Attribute::NoAlias);
        else
            drop_promises(*function);
        for (auto& instruction : llvm::instructions(*function)) {
            instruction.setMetadata(llvm::LLVMContext::MD_noalias, nullptr);
            instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, nullptr);
        }
    }
}

void find_waiting_kernels(Program& program) {
    bool waits = false;
    for (auto& kernel : program.kernels) {
        const auto reached = reached_from(*kernel.thunk);
        for (auto* function : reached)
            kernel.waits |= is_wait(*function);
        waits |= kernel.waits;
        if (kernel.waits)
            for (auto* function : reached)
                drop_promises(*function);
    }
    if (!waits)
        return;
    // Another tier of the program may come to work on the same variables: it finds them by name.
    for (auto& variable : program.module->globals())
        if (variable.hasLocalLinkage() && !variable.isConstant() && !variable.isDeclaration() &&
            !variable.hasAttribute(shared_attribute)) {
            variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
            variable.setDSOLocal(false);
        }
}

} // namespace quern::host
