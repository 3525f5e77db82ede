// See widest.h.
#include "compiler/host/widest.h"
#include "compiler/host/streams.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {

unsigned widest_vector_bits(const Cpu& cpu) {
    return cpu.has(widest_feature) ? 512 : cpu.has("avx2") ? 256 : 128;
}

bool takes_512_bits(const llvm::Function& function) {
    return function.getFnAttribute(vector_width).getValueAsString() == "512";
}

void tell_vector_bytes(llvm::Module& module, const Cpu& cpu) {
    auto* hook = module.getFunction(vector_bytes_hook);
    if (hook == nullptr || !hook->isDeclaration())
        return;
    for (auto* user : llvm::make_early_inc_range(hook->users()))
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            call != nullptr && call->getType()->isIntegerTy()) {
            call->replaceAllUsesWith(
                llvm::ConstantInt::get(call->getType(), widest_vector_bits(cpu) / 8));
            call->eraseFromParent();
        }
}

} // namespace quern::host
