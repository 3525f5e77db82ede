// Every half and every bfloat16 is a float, so nothing changes.
#include "compiler/host/short_floats.h"
#include "compiler/host/preserved.h"
#include "compiler/host/widest.h"
#include <algorithm>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace quern::host {
namespace {

bool finds_whole_number(const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    switch (call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic) {
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::trunc:
        return true;
    default:
        return false;
    }
}

// Bits of the numbers that a loop computes with, where some are halves; 0 where none is.
unsigned computed_bits(const llvm::Loop& loop) {
    bool halves = false;
    unsigned bits = 32;
    for (const auto* block : loop.blocks())
        for (const auto& instruction : *block) {
            const auto* type = instruction.getType();
            if (llvm::isa<llvm::FPExtInst>(instruction))
                halves |= instruction.getOperand(0)->getType()->isHalfTy();
            else if (llvm::isa<llvm::FPTruncInst>(instruction) || finds_whole_number(instruction))
                halves |= type->isHalfTy();
            if (type->isDoubleTy())
                bits = 64;
        }
    return halves ? bits : 0;
}

} // namespace

llvm::PreservedAnalyses HalvesLikeFloats::run(llvm::Function& function,
                                              llvm::FunctionAnalysisManager& analyses) const {
    constexpr const char* width = "llvm.loop.vectorize.width";
    const unsigned whole = takes_512_bits(function) ? vector_bits : std::min(vector_bits, 256U);
    for (auto* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
        if (!loop->isInnermost() || llvm::getOptionalIntLoopAttribute(loop, width))
            continue;
        if (const unsigned bits = computed_bits(*loop))
            llvm::addStringMetadataToLoop(loop, width, whole / bits);
    }
    return llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses WorkInFloat::run(llvm::Function& function,
                                         llvm::FunctionAnalysisManager& /*analyses*/) {
    bool changed = false;
    for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
        const bool whole = finds_whole_number(instruction);
        if (!whole && !llvm::isa<llvm::FCmpInst>(instruction))
            continue;
        auto* type = instruction.getOperand(0)->getType();
        if (!type->getScalarType()->isHalfTy() && !type->getScalarType()->isBFloatTy())
            continue;
        llvm::IRBuilder<> build(&instruction);
        auto* wide = type->getWithNewType(build.getFloatTy());
        if (whole) {
            auto* found = build.CreateUnaryIntrinsic(
                llvm::cast<llvm::IntrinsicInst>(instruction).getIntrinsicID(),
                build.CreateFPExt(instruction.getOperand(0), wide));
            instruction.replaceAllUsesWith(build.CreateFPTrunc(found, type));
            instruction.eraseFromParent();
        } else {
            for (auto& operand : instruction.operands())
                operand.set(build.CreateFPExt(operand, wide));
        }
        changed = true;
    }
    return branches_kept(changed);
}

} // namespace quern::host
