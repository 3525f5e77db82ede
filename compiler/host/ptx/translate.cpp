// See translate.h.
#include "compiler/host/ptx/translate.h"
#include "compiler/host/ptx/emitter.h"
#include "compiler/host/reach.h"
#include "compiler/host/where.h"
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace quern::host {
namespace {

std::vector<llvm::CallBase*> statements_of(llvm::Function& function) {
    std::vector<llvm::CallBase*> found;
    for (auto& instruction : llvm::instructions(function))
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm())
            found.push_back(call);
    return found;
}

// The carry goes from one statement to the next, through functions that wrap single instructions.
void keep_carry_together(llvm::Module& module) {
    auto* carry = module.getNamedGlobal(ptx::carry_name);
    if (!carry)
        return;
    for (auto* user : carry->users())
        if (auto* function = llvm::cast<llvm::Instruction>(user)->getFunction();
            !function->hasFnAttribute(llvm::Attribute::NoInline))
            function->addFnAttr(llvm::Attribute::AlwaysInline);
}

} // namespace

bool translate_ptx(llvm::Module& module, const Program& program,
                   const clang::SourceManager& sources, std::string& log) {
    llvm::StringSet<> kernels;
    for (const auto& kernel : program.kernels)
        kernels.insert(kernel.name);
    unsigned number = 0;
    for (const auto& kernel : program.kernels)
        for (auto* function : reached_from(*kernel.thunk))
            for (auto* call : statements_of(*function)) {
                const auto* text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
                try {
                    const auto statements =
                        ptx::read_text(text->getAsmString(), std::to_string(number++));
                    ptx::Emitter(*call, kernels.contains(function->getName())).run(statements);
                } catch (const ptx::Refusal& refusal) {
                    log += place_of(*call, sources, refusal.line) + "error: " + refusal.what() +
                           "\n    in a function that kernel '" + plain_name(kernel.name) +
                           "' reaches\n";
                    return false;
                }
            }
    keep_carry_together(module);
    return true;
}

void place_carry(llvm::Module& module) {
    auto* carry = module.getNamedGlobal(ptx::carry_name);
    if (!carry)
        return;
    llvm::DenseMap<llvm::Function*, llvm::AllocaInst*> flags;
    for (auto& use : llvm::make_early_inc_range(carry->uses())) {
        auto* function = llvm::cast<llvm::Instruction>(use.getUser())->getFunction();
        auto*& flag = flags[function];
        if (!flag) {
            auto& entry = function->getEntryBlock();
            llvm::IRBuilder<> build(&entry, entry.begin());
            flag = build.CreateAlloca(carry->getValueType());
            build.CreateStore(build.getInt8(0), flag);
        }
        use.set(flag);
    }
    carry->eraseFromParent();
}

} // namespace quern::host
