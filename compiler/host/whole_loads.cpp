// Empty assembly holds what was loaded in a register; see whole_loads.h.
#include "compiler/host/whole_loads.h"
#include "compiler/host/preserved.h"
#include "compiler/host/widest.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {
namespace {

bool fills_a_register(const llvm::Type& type, unsigned most_bits) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
    if (!vector)
        return false;
    const auto* element = vector->getElementType();
    const unsigned bits = vector->getNumElements() * element->getScalarSizeInBits();
    return (element->isFloatTy() || element->isDoubleTy() || element->isIntegerTy(8) ||
            element->isIntegerTy(16) || element->isIntegerTy(32) || element->isIntegerTy(64)) &&
           (bits == 128 || bits == 256 || bits == 512) && bits <= most_bits;
}

// Is a vector in memory wanted by one selection alone, perhaps as other numbers?
bool is_for_some_lanes(const llvm::LoadInst& load, unsigned most_bits) {
    if (!load.isSimple() || !fills_a_register(*load.getType(), most_bits) || !load.hasOneUse())
        return false;
    const auto* user = load.user_back();
    if (llvm::isa<llvm::CastInst>(user) && user->hasOneUse())
        user = llvm::dyn_cast<llvm::Instruction>(*user->user_begin());
    const auto* choice = llvm::dyn_cast_or_null<llvm::SelectInst>(user);
    return choice && choice->getCondition()->getType()->isVectorTy();
}

} // namespace

llvm::PreservedAnalyses LoadWhole::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    const unsigned most_bits = takes_512_bits(function) ? 512 : 256;
    llvm::SmallVector<llvm::LoadInst*, 8> found;
    for (auto& instruction : llvm::instructions(function))
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
            load && is_for_some_lanes(*load, most_bits))
            found.push_back(load);
    for (auto* load : found) {
        llvm::IRBuilder<> build(load->getNextNode());
        auto* type = llvm::FunctionType::get(load->getType(), {load->getType()}, false);
        auto* held = build.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), {load});
        load->replaceUsesWithIf(held, [&](const llvm::Use& use) { return use.getUser() != held; });
    }
    return branches_kept(!found.empty());
}

} // namespace quern::host
