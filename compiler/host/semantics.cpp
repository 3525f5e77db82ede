// Gives operations that C++ leaves undefined, or that x86 does otherwise, the results that NVIDIA's
// hardware gives: division by zero, shifts past the width, float to integer out of range; takes any
// byte as a bool; and rounds to bfloat16 and from double to half in line, since x86 has no
// instruction and LLVM would call a library.
#include "compiler/host/passes.h"
#include <cmath>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace quern::host {
namespace {

using llvm::ConstantInt;
using llvm::Instruction;
using llvm::Type;
using llvm::Value;

// Amounts at or past the width shift everything out.
Value* shift(llvm::IRBuilder<>& build, llvm::BinaryOperator& old) {
    auto *value = old.getOperand(0), *amount = old.getOperand(1);
    auto* type = old.getType();
    const unsigned width = type->getScalarSizeInBits();
    if (auto* constant = llvm::dyn_cast<ConstantInt>(amount);
        constant && constant->getValue().ult(width))
        return nullptr;
    if (auto* mask = llvm::dyn_cast<llvm::BinaryOperator>(amount);
        mask && mask->getOpcode() == Instruction::And)
        if (auto* bits = llvm::dyn_cast<ConstantInt>(mask->getOperand(1));
            bits && bits->getValue().ult(width))
            return nullptr;
    auto* inside = build.CreateICmpULT(amount, ConstantInt::get(type, width));
    if (old.getOpcode() == Instruction::AShr)
        return build.CreateAShr(
            value, build.CreateSelect(inside, amount, ConstantInt::get(type, width - 1)));
    return build.CreateSelect(inside, build.CreateBinOp(old.getOpcode(), value, amount),
                              llvm::Constant::getNullValue(type));
}

// PTX's cvt.rzi: clamps; NaN is 0 for float to 32 bits and fewer, else only the highest bit is set.
Value* to_integer(llvm::IRBuilder<>& build, llvm::CastInst& old) {
    auto* value = old.getOperand(0);
    auto* type = old.getType();
    const unsigned width = type->getScalarSizeInBits();
    bool is_signed = old.getOpcode() == Instruction::FPToSI;
    if (width > 64 || width == 1)
        return nullptr;
    Type* step = type;
    if (width == 8) { // no 8-bit conversion exists: 32 bits, then the low ones
        step = type->getWithNewBitWidth(32);
        is_signed = true;
    }
    // Spelled out: LLVM 19 leaves loops with llvm.fptosi.sat scalar, 14 times slower.
    auto* real = value->getType();
    const unsigned bits = step->getScalarSizeInBits();
    auto* limit =
        llvm::ConstantFP::get(real, std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits)));
    auto* least =
        llvm::ConstantFP::get(real, is_signed ? -std::ldexp(1.0, static_cast<int>(bits - 1)) : 0.0);
    auto* above = build.CreateFCmpOGE(value, limit);
    auto* none = build.CreateFCmpUNO(value, value);
    if (is_signed && bits == 32) {
        const bool is_double = real->getScalarType()->isDoubleTy(); // which has both ends
        auto* most = llvm::ConstantFP::get(real, std::ldexp(1.0, 31) - (is_double ? 1 : 128));
        auto* kept = build.CreateSelect(build.CreateFCmpOGT(value, least), value, least); // NaN too
        kept = build.CreateSelect(build.CreateFCmpOLT(kept, most), kept, most);
        Value* result = build.CreateFPToSI(kept, step);
        if (!is_double) {
            result = build.CreateSelect(
                above, ConstantInt::get(step, llvm::APInt::getSignedMaxValue(bits)), result);
            result = build.CreateSelect(none, ConstantInt::get(step, 0), result);
        }
        return step == type ? result : build.CreateTrunc(result, type);
    }
    auto* below = build.CreateFCmpOLE(value, least);
    auto* outside = build.CreateOr(build.CreateOr(below, above), none);
    auto* safe = build.CreateSelect(outside, llvm::ConstantFP::get(real, 0.0), value);
    Value* result =
        build.CreateCast(is_signed ? Instruction::FPToSI : Instruction::FPToUI, safe, step);
    const auto most =
        is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    const auto lowest =
        is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
    result = build.CreateSelect(above, ConstantInt::get(step, most), result);
    result = build.CreateSelect(below, ConstantInt::get(step, lowest), result);
    if (width == 64 || (value->getType()->getScalarType()->isDoubleTy() && width >= 32))
        result = build.CreateSelect(none, ConstantInt::get(type, llvm::APInt::getSignMask(width)),
                                    result);
    return step == type ? result : build.CreateTrunc(result, type);
}

Type* with_scalar(Type* like, Type* scalar) {
    auto* vector = llvm::dyn_cast<llvm::VectorType>(like);
    return vector ? llvm::VectorType::get(scalar, vector->getElementCount()) : scalar;
}

// double to float, inexact results made odd, so that rounding once more, to a narrower type, is
// right.
Value* round_to_odd(llvm::IRBuilder<>& build, Value* value) {
    auto* narrow = with_scalar(value->getType(), build.getFloatTy());
    auto* bits = with_scalar(value->getType(), build.getInt32Ty());
    auto* near = build.CreateFPTrunc(value, narrow);
    auto* back = build.CreateFPExt(near, value->getType());
    auto* code = build.CreateBitCast(near, bits);
    const auto magnitude = [&](Value* x) {
        return build.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    };
    auto* beyond = build.CreateFCmpOGT(magnitude(back), magnitude(value));
    auto* toward_zero = build.CreateSub(code, build.CreateZExt(beyond, bits));
    auto* odd = build.CreateOr(toward_zero, ConstantInt::get(bits, 1));
    auto* inexact = build.CreateFCmpONE(back, value);
    return build.CreateBitCast(build.CreateSelect(inexact, odd, code), narrow);
}

// float to bfloat16, to nearest, ties to even; NaNs stay NaNs.
Value* to_bfloat(llvm::IRBuilder<>& build, Value* value, Type* type) {
    if (value->getType()->getScalarType()->isDoubleTy())
        value = round_to_odd(build, value);
    else if (!value->getType()->getScalarType()->isFloatTy())
        value = build.CreateFPExt(value, with_scalar(type, build.getFloatTy()));
    auto* wide = with_scalar(type, build.getInt32Ty());
    auto* code = build.CreateBitCast(value, wide);
    auto* upper = build.CreateLShr(code, 16);
    auto* tie = build.CreateAdd(build.CreateAnd(upper, 1), ConstantInt::get(wide, 0x7fff));
    auto* rounded = build.CreateLShr(build.CreateAdd(code, tie), 16);
    auto* quiet = build.CreateOr(upper, ConstantInt::get(wide, 0x40));
    auto* chosen = build.CreateSelect(build.CreateFCmpUNO(value, value), quiet, rounded);
    return build.CreateBitCast(build.CreateTrunc(chosen, with_scalar(type, build.getInt16Ty())),
                               type);
}

Value* narrow_float(llvm::IRBuilder<>& build, Instruction& old) {
    auto* type = old.getType();
    auto* scalar = type->getScalarType();
    if (!scalar->isBFloatTy() && !scalar->isHalfTy())
        return nullptr;
    auto* real = with_scalar(type, build.getFloatTy());
    const auto finish = [&](Value* value) {
        return scalar->isBFloatTy() ? to_bfloat(build, value, type)
                                    : build.CreateFPTrunc(value, type);
    };
    if (llvm::isa<llvm::FPTruncInst>(old)) {
        auto* value = old.getOperand(0);
        if (scalar->isBFloatTy())
            return to_bfloat(build, value, type);
        return value->getType()->getScalarType()->isDoubleTy()
                   ? build.CreateFPTrunc(round_to_odd(build, value), type)
                   : nullptr;
    }
    if (llvm::isa<llvm::SIToFPInst>(old) || llvm::isa<llvm::UIToFPInst>(old)) {
        if (scalar->isHalfTy() && old.getOperand(0)->getType()->getScalarSizeInBits() <= 16)
            return nullptr;
        auto* exact = build.CreateCast(llvm::cast<llvm::CastInst>(old).getOpcode(),
                                       old.getOperand(0), with_scalar(type, build.getDoubleTy()));
        return finish(round_to_odd(build, exact));
    }
    if (llvm::isa<llvm::BinaryOperator>(old) && scalar->isBFloatTy()) {
        auto* result = build.CreateBinOp(llvm::cast<llvm::BinaryOperator>(old).getOpcode(),
                                         build.CreateFPExt(old.getOperand(0), real),
                                         build.CreateFPExt(old.getOperand(1), real));
        return to_bfloat(build, result, type);
    }
    return nullptr;
}

// A bool that lies in memory is true where its byte is not 0: arrays of bytes are looked at as
// bools.
Value* truth(llvm::IRBuilder<>& build, llvm::CastInst& old) {
    auto* byte = llvm::dyn_cast<llvm::LoadInst>(old.getOperand(0));
    if (!byte || !old.getType()->isIntegerTy(1))
        return nullptr;
    byte->setMetadata(llvm::LLVMContext::MD_range, nullptr);
    return build.CreateIsNotNull(byte);
}

Value* replacement(Instruction& old) {
    llvm::IRBuilder<> build(&old);
    switch (old.getOpcode()) {
    case Instruction::Trunc:
        return truth(build, llvm::cast<llvm::CastInst>(old));
    case Instruction::SDiv:
    case Instruction::UDiv:
    case Instruction::SRem:
    case Instruction::URem:
        return divide(build, llvm::cast<llvm::BinaryOperator>(old));
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
        return shift(build, llvm::cast<llvm::BinaryOperator>(old));
    case Instruction::FPToSI:
    case Instruction::FPToUI:
        return to_integer(build, llvm::cast<llvm::CastInst>(old));
    case Instruction::FPTrunc:
    case Instruction::SIToFP:
    case Instruction::UIToFP:
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FMul:
    case Instruction::FDiv:
        return narrow_float(build, old);
    default:
        return nullptr;
    }
}

} // namespace

// x / 0 has all bits set, and so has x % 0; INT_MIN / -1 is INT_MIN, and its remainder 0.
Value* divide(llvm::IRBuilder<>& build, llvm::BinaryOperator& old) {
    auto *a = old.getOperand(0), *b = old.getOperand(1);
    auto* type = old.getType();
    const auto opcode = old.getOpcode();
    const bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
    if (const llvm::APInt * known; auto* constant = llvm::dyn_cast<ConstantInt>(b)) {
        known = &constant->getValue();
        if (!known->isZero() && !(is_signed && known->isAllOnes()))
            return nullptr;
    }
    auto* ones = llvm::Constant::getAllOnesValue(type);
    auto* zero = llvm::Constant::getNullValue(type);
    auto* by_zero = build.CreateICmpEQ(b, zero);
    auto* by_minus = is_signed ? build.CreateICmpEQ(b, ones) : nullptr;
    auto* unsafe = is_signed ? build.CreateOr(by_zero, by_minus) : by_zero;
    auto* safe = build.CreateSelect(unsafe, ConstantInt::get(type, 1), b);
    Value* result = build.CreateBinOp(opcode, a, safe);
    if (is_signed)
        result = build.CreateSelect(
            by_minus, opcode == Instruction::SDiv ? build.CreateNeg(a) : zero, result);
    return build.CreateSelect(by_zero, ones, result);
}

void define_semantics(llvm::Module& module) {
    for (auto& function : module)
        for (auto& block : function)
            for (auto& instruction : llvm::make_early_inc_range(block))
                if (auto* value = replacement(instruction)) {
                    instruction.replaceAllUsesWith(value);
                    instruction.eraseFromParent();
                }
}

} // namespace quern::host
