// See lane_addresses.h.
#include "compiler/host/lane_addresses.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

namespace quern::host {

using llvm::Instruction;
using llvm::Value;

bool is_same(const Value* a, const Value* b, unsigned depth) {
    if (a == b)
        return true;
    const auto *one = llvm::dyn_cast<Instruction>(a), *other = llvm::dyn_cast<Instruction>(b);
    if (depth == 0 || !one || !other || !one->isSameOperationAs(other) ||
        one->mayReadOrWriteMemory() || llvm::isa<llvm::PHINode, llvm::AllocaInst>(one))
        return false;
    for (unsigned i = 0; i < one->getNumOperands(); ++i)
        if (!is_same(one->getOperand(i), other->getOperand(i), depth - 1))
            return false;
    return true;
}

void Sum::add(const Value* value, std::int64_t times) {
    for (auto& part : parts)
        if (is_same(part.first, value)) {
            part.second += times;
            if (part.second == 0)
                parts.erase(&part);
            return;
        }
    if (times != 0)
        parts.emplace_back(value, times);
}

void Sum::add(const Sum& other, std::int64_t times) {
    for (const auto& part : other.parts)
        add(part.first, part.second * times);
    number += other.number * times;
}

void take_apart(const Value* value, std::int64_t times, Sum& sum, unsigned depth) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
        if (constant->getBitWidth() <= 64)
            sum.number += times * constant->getSExtValue();
        return;
    }
    const auto* step = llvm::dyn_cast<Instruction>(value);
    if (!step || depth == 0)
        return sum.add(value, times);
    if (llvm::isa<llvm::SExtInst, llvm::ZExtInst, llvm::TruncInst>(step))
        return take_apart(step->getOperand(0), times, sum, depth - 1);
    const auto* factor = step->getNumOperands() == 2
                             ? llvm::dyn_cast<llvm::ConstantInt>(step->getOperand(1))
                             : nullptr;
    if (factor && factor->getBitWidth() > 64)
        factor = nullptr;
    switch (step->getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
        take_apart(step->getOperand(0), times, sum, depth - 1);
        return take_apart(step->getOperand(1),
                          step->getOpcode() == Instruction::Add ? times : -times, sum, depth - 1);
    case Instruction::Mul:
        if (factor)
            return take_apart(step->getOperand(0), times * factor->getSExtValue(), sum, depth - 1);
        break;
    case Instruction::Shl:
        if (factor && factor->getZExtValue() < 32)
            return take_apart(step->getOperand(0),
                              times * (std::int64_t{1} << factor->getZExtValue()), sum, depth - 1);
        break;
    case Instruction::And:
        if (factor && (factor->getValue() + 1).isPowerOf2())
            return take_apart(step->getOperand(0), times, sum, depth - 1);
        break;
    case Instruction::URem:
    case Instruction::SRem:
        if (factor && factor->getValue().isPowerOf2())
            return take_apart(step->getOperand(0), times, sum, depth - 1);
        break;
    default:
        break;
    }
    sum.add(value, times);
}

Sum address_of(const Value* pointer, const Value* arena, const llvm::DataLayout& data) {
    Sum sum;
    while (pointer != arena) {
        const auto* step = llvm::cast<llvm::GEPOperator>(pointer);
        llvm::MapVector<Value*, llvm::APInt> variable;
        llvm::APInt number(64, 0);
        if (!step->collectOffset(data, 64, variable, number)) {
            sum.add(pointer, 1);
            break;
        }
        sum.number += number.getSExtValue();
        for (const auto& [value, times] : variable)
            take_apart(value, times.getSExtValue(), sum);
        pointer = step->getPointerOperand();
    }
    return sum;
}

namespace {
const Value* without_casts(const Value* value) {
    while (const auto* cast = llvm::dyn_cast<llvm::CastInst>(value))
        value = cast->getOperand(0);
    return value;
}
} // namespace

bool is_distance(const Value* value, std::int64_t most) {
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
        return number->getValue().sgt(0) && number->getValue().slt(most);
    const auto* counter = llvm::dyn_cast<llvm::PHINode>(value);
    if (!counter)
        return false;
    bool steps = false;
    for (const auto& incoming : counter->incoming_values()) {
        const auto* step = llvm::dyn_cast<llvm::BinaryOperator>(incoming.get());
        if (!step || without_casts(step->getOperand(0)) != counter)
            continue;
        const auto* by = llvm::dyn_cast<llvm::ConstantInt>(step->getOperand(1));
        if (!by)
            return false;
        steps = true;
        if ((step->getOpcode() == Instruction::Add || step->getOpcode() == Instruction::Sub) &&
            by->getValue().abs().sge(most))
            return false;
    }
    return steps;
}

void find_rounds(const Value* value, llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& found,
                 unsigned depth) {
    const auto* step = llvm::dyn_cast<Instruction>(value);
    if (step && llvm::isa<llvm::PHINode>(step))
        found.insert(step->getParent());
    else if (step && depth > 0)
        for (const auto& operand : step->operands())
            find_rounds(operand.get(), found, depth - 1);
}

} // namespace quern::host
