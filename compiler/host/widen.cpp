// Instruction by instruction: each has a form for vectors. Lanes go all ways, and where ways meet
// each takes its own.
#include "compiler/host/widen.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace quern::host {
namespace {

// All but the last are overloaded by the type of their result alone.
bool is_arithmetic(llvm::Intrinsic::ID id) {
    switch (id) {
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::is_fpclass:
        return true;
    default:
        return false;
    }
}

class Widening {
  public:
    Widening(llvm::IRBuilder<>& build, llvm::Function& scalar,
             llvm::ArrayRef<llvm::Value*> operands, const LanesOf& lanes_of)
        : build_(build), scalar_(scalar), lanes_of_(lanes_of), order_(&scalar),
          lanes_(llvm::cast<llvm::FixedVectorType>(operands[0]->getType())->getNumElements()) {
        for (auto& argument : scalar.args())
            wide_[&argument] = operands[argument.getArgNo()];
    }
    bool is_possible() {
        llvm::DenseSet<const llvm::BasicBlock*> before;
        for (const auto* block : order_) {
            before.insert(block);
            if (llvm::any_of(llvm::successors(block),
                             [&](const auto* next) { return before.contains(next); }))
                return false; // a loop
        }
        return llvm::all_of(llvm::instructions(scalar_),
                            [&](llvm::Instruction& one) { return can_widen(one); });
    }
    llvm::Value* write() {
        for (auto* block : order_) {
            masks_[block] = mask(*block);
            for (auto& instruction : *block)
                write(instruction);
        }
        return result_;
    }

  private:
    // Which lanes go a way; null: all.
    llvm::Value* mask(llvm::BasicBlock& block) {
        llvm::Value* any = nullptr;
        for (auto* from : llvm::predecessors(&block)) {
            auto* way = edge(*from, block);
            if (!way)
                return nullptr;
            any = any ? build_.CreateOr(any, way) : way;
        }
        return any;
    }
    llvm::Value* edge(llvm::BasicBlock& from, const llvm::BasicBlock& to) {
        const auto* branch = llvm::cast<llvm::BranchInst>(from.getTerminator());
        auto* before = masks_.lookup(&from);
        if (branch->isUnconditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
            return before;
        auto* taken = of(branch->getCondition());
        if (branch->getSuccessor(0) != &to)
            taken = build_.CreateNot(taken);
        return before ? build_.CreateAnd(before, taken) : taken;
    }
    bool can_widen(llvm::Instruction& one) const {
        if (one.getType()->isPtrOrPtrVectorTy() || one.getType()->isVectorTy())
            return false;
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&one))
            return is_arithmetic(call->getIntrinsicID()) ||
                   (call->getCalledFunction() && lanes_of_(*call->getCalledFunction(), lanes_));
        return llvm::isa<llvm::ReturnInst, llvm::BranchInst, llvm::PHINode, llvm::BinaryOperator,
                         llvm::UnaryOperator, llvm::CmpInst, llvm::SelectInst, llvm::CastInst,
                         llvm::FreezeInst>(one) &&
               !one.isIntDivRem() && !llvm::isa<llvm::IntToPtrInst, llvm::PtrToIntInst>(one);
    }
    llvm::Value* of(llvm::Value* value) {
        if (auto* constant = llvm::dyn_cast<llvm::Constant>(value))
            return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_), constant);
        return wide_.at(value);
    }
    llvm::Type* of(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }
    llvm::Value* of_call(const llvm::CallInst& call) {
        if (call.getIntrinsicID() == llvm::Intrinsic::is_fpclass) {
            const auto* classes = llvm::cast<llvm::ConstantInt>(call.getArgOperand(1));
            return build_.createIsFPClass(of(call.getArgOperand(0)),
                                          static_cast<unsigned>(classes->getZExtValue()));
        }
        llvm::SmallVector<llvm::Value*, 4> operands;
        for (const auto& operand : call.args())
            operands.push_back(of(operand.get()));
        if (call.getIntrinsicID() != llvm::Intrinsic::not_intrinsic)
            return build_.CreateIntrinsic(call.getIntrinsicID(), {of(call.getType())}, operands);
        return build_.CreateCall(lanes_of_(*call.getCalledFunction(), lanes_), operands);
    }
    llvm::Value* made(llvm::Instruction& one) {
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&one)) {
            auto* value = of(phi->getIncomingValue(0));
            for (unsigned i = 1; i < phi->getNumIncomingValues(); ++i)
                if (auto* way = edge(*phi->getIncomingBlock(i), *phi->getParent()))
                    value = build_.CreateSelect(way, of(phi->getIncomingValue(i)), value);
            return value;
        }
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&one))
            return of_call(*call);
        if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&one))
            return build_.CreateCast(cast->getOpcode(), of(one.getOperand(0)), of(one.getType()));
        auto* copy = build_.Insert(one.clone());
        for (auto& operand : copy->operands())
            operand.set(of(operand.get()));
        copy->mutateType(of(one.getType()));
        return copy;
    }
    void write(llvm::Instruction& one) {
        if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(&one))
            result_ = of(end->getReturnValue());
        else if (!one.isTerminator())
            wide_[&one] = made(one);
    }

    llvm::IRBuilder<>& build_;
    llvm::Function& scalar_;
    const LanesOf& lanes_of_;
    llvm::ReversePostOrderTraversal<llvm::Function*> order_;
    unsigned lanes_;
    llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> masks_;
    llvm::DenseMap<llvm::Value*, llvm::Value*> wide_;
    llvm::Value* result_ = nullptr;
};

} // namespace

llvm::Value* widen(llvm::IRBuilder<>& build, llvm::Function& scalar,
                   llvm::ArrayRef<llvm::Value*> operands, const LanesOf& lanes_of) {
    Widening widening(build, scalar, operands, lanes_of);
    return widening.is_possible() ? widening.write() : nullptr;
}

} // namespace quern::host
