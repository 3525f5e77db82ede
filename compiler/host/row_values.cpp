// Walks over expressions; see row_values.h.
#include "compiler/host/row_values.h"
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

namespace quern::host {

using llvm::Instruction;
using llvm::Value;

Shape RowShapes::shape(Value* value, int depth) {
    if (value == thread_x_)
        return Shape::linear;
    if (number_ && value == number_)
        return Shape::other;
    if (llvm::isa<llvm::Constant>(value) || llvm::isa<llvm::Argument>(value))
        return Shape::uniform;
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction || depth > 16)
        return Shape::other;
    if (auto known = shapes_.find(value); known != shapes_.end())
        return known->second;
    const Shape found = find_shape(*instruction, depth);
    shapes_[value] = found;
    return found;
}

bool RowShapes::counts(Value* value) {
    if (value == thread_x_)
        return true;
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction || shape(value) != Shape::linear)
        return false;
    switch (instruction->getOpcode()) {
    case Instruction::Add:
        return counts(instruction->getOperand(0)) || counts(instruction->getOperand(1));
    case Instruction::Sub:
    case Instruction::ZExt:
    case Instruction::SExt:
        return counts(instruction->getOperand(0));
    default:
        return false;
    }
}

Shape RowShapes::find_shape(Instruction& instruction, int depth) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
        return load->getMetadata(llvm::LLVMContext::MD_invariant_load) &&
                       shape(load->getPointerOperand(), depth + 1) == Shape::uniform
                   ? Shape::uniform
                   : Shape::other;
    switch (instruction.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
    case Instruction::PHI:
    case Instruction::Alloca:
        return Shape::other;
    default:
        break;
    }
    if (!llvm::isa<llvm::BinaryOperator>(instruction) && !llvm::isa<llvm::CastInst>(instruction) &&
        !llvm::isa<llvm::CmpInst>(instruction) && !llvm::isa<llvm::SelectInst>(instruction) &&
        !llvm::isa<llvm::GetElementPtrInst>(instruction) &&
        !llvm::isa<llvm::FreezeInst>(instruction))
        return Shape::other;
    unsigned linear = 0, at = 0;
    for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
        const Shape operand = shape(instruction.getOperand(i), depth + 1);
        if (operand == Shape::other)
            return Shape::other;
        if (operand == Shape::linear)
            ++linear, at = i;
    }
    if (linear == 0)
        return Shape::uniform;
    if (linear > 1)
        return Shape::other;
    switch (instruction.getOpcode()) {
    case Instruction::Add:
    case Instruction::ZExt:
    case Instruction::SExt:
        return Shape::linear;
    case Instruction::Sub:
        return at == 0 ? Shape::linear : Shape::other;
    case Instruction::Or:
        return llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint() ? Shape::linear
                                                                                : Shape::other;
    case Instruction::Mul:
    case Instruction::Shl: {
        auto* factor = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
        const unsigned limit = instruction.getOpcode() == Instruction::Mul ? 1024 : 10;
        return at == 0 && factor && factor->getValue().ule(limit) ? Shape::linear : Shape::other;
    }
    default:
        return Shape::other;
    }
}

Value* RowCopier::copy(Value* value) {
    if (value == thread_x_)
        return x_;
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(value))
        return arguments_[argument->getArgNo()];
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction)
        return value;
    if (auto known = copies_.find(value); known != copies_.end())
        return known->second;
    auto* clone = instruction->clone();
    for (auto& operand : clone->operands())
        operand.set(copy(operand));
    clone->dropPoisonGeneratingFlags();
    clone->setDebugLoc({});
    build_.Insert(clone);
    copies_[value] = clone;
    return clone;
}

} // namespace quern::host
