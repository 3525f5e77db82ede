// Divisions of numbers on which all threads agree leave the branches they stand in: the vectoriser
// computes such a one once, where the first thread of a vector takes the branch, and would leave
// the others without it. Its guards make it safe anywhere.
#include "compiler/host/kept_values.h"
#include "compiler/host/passes.h"
#include "compiler/host/regions.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace quern::host {
namespace {

using llvm::Instruction;
using llvm::Value;

bool is_division(const Instruction& instruction) {
    switch (instruction.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
        return instruction.getType()->isIntegerTy() &&
               !llvm::isa<llvm::ConstantInt>(instruction.getOperand(1));
    default:
        return false;
    }
}

// Moves what `value` is made of before `place`; false when it is not the same for all threads, or
// reads memory that may change.
bool lift(Value* value, Instruction* place, unsigned& size) {
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
        const unsigned number = argument->getArgNo();
        return number != number_at && (number < thread_at || number >= block_at);
    }
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction)
        return llvm::isa<llvm::ConstantData>(value);
    if (++size > 32)
        return false;
    const bool number =
        llvm::isa<llvm::CmpInst>(instruction) ||
        (llvm::isa<llvm::BinaryOperator>(instruction) && !is_division(*instruction));
    const bool there = is_division(*instruction) && instruction->getParent() == place->getParent();
    if (!is_cheap(*instruction) && !number && !there)
        return false;
    for (auto& operand : instruction->operands())
        if (!llvm::isa<llvm::Function>(operand) && !lift(operand, place, size))
            return false;
    if (instruction->getParent() != place->getParent()) {
        instruction->moveBefore(place);
        instruction->dropPoisonGeneratingFlags(); // they may have held only in the branch
    }
    return true;
}

} // namespace

void lift_divisions(llvm::Function& body) {
    auto* place = body.getEntryBlock().getTerminator();
    for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(body))) {
        if (!is_division(instruction) || instruction.getParent() == place->getParent())
            continue;
        unsigned size = 0;
        if (!lift(instruction.getOperand(0), place, size) ||
            !lift(instruction.getOperand(1), place, size))
            continue;
        llvm::IRBuilder<> build(place);
        instruction.replaceAllUsesWith(
            divide(build, llvm::cast<llvm::BinaryOperator>(instruction)));
        instruction.eraseFromParent();
    }
}

} // namespace quern::host
