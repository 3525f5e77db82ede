// A comparison of (thread index + uniform) with something uniform is monotone along a row as long
// as the sum does not wrap: if it holds at both ends it holds in between. That frees the row from
// masks, the dearest part of a short loop.
#include "compiler/host/guard.h"
#include "compiler/host/row_values.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <set>

namespace quern::host {
namespace {

using llvm::Instruction;
using llvm::Value;
namespace match = llvm::PatternMatch;

class RowConditions : public RowShapes {
  public:
    using RowShapes::RowShapes;

    bool monotone(Value* condition, bool when, std::set<llvm::BinaryOperator*>& sums) {
        Value *left = nullptr, *right = nullptr;
        if (when && match::match(condition,
                                 match::m_LogicalAnd(match::m_Value(left), match::m_Value(right))))
            return monotone(left, when, sums) && monotone(right, when, sums);
        if (!when && match::match(condition,
                                  match::m_LogicalOr(match::m_Value(left), match::m_Value(right))))
            return monotone(left, when, sums) && monotone(right, when, sums);
        if (shape(condition) == Shape::uniform)
            return true;
        auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
        if (!compare || !compare->isRelational())
            return false;
        const Shape a = shape(compare->getOperand(0)), b = shape(compare->getOperand(1));
        if (a == Shape::other || b == Shape::other || (a == Shape::linear && b == Shape::linear))
            return false;
        collect(compare->getOperand(a == Shape::linear ? 0 : 1), sums);
        return true;
    }

    void collect(Value* value, std::set<llvm::BinaryOperator*>& sums) {
        auto* instruction = llvm::dyn_cast<Instruction>(value);
        if (!instruction || shape(value) != Shape::linear)
            return;
        if (auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(instruction))
            sums.insert(sum);
        for (auto& operand : instruction->operands())
            collect(operand, sums);
    }
};

// Nothing happens from here to the return.
bool only_returns(llvm::BasicBlock* block) {
    for (int step = 0; step < 4; ++step) {
        for (auto& instruction : *block)
            if (!instruction.isTerminator() && instruction.mayHaveSideEffects())
                return false;
        if (llvm::isa<llvm::ReturnInst>(block->getTerminator()))
            return true;
        auto* jump = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
        if (!jump || jump->isConditional())
            return false;
        block = jump->getSuccessor(0);
    }
    return false;
}

llvm::BranchInst* first_branch(llvm::Function& body) {
    auto* block = &body.getEntryBlock();
    for (int step = 0; step < 8; ++step) {
        auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
        if (!branch)
            return nullptr;
        if (branch->isConditional())
            return branch;
        block = branch->getSuccessor(0);
    }
    return nullptr;
}

// The index sums themselves, wherever they are: without the no-wrap fact their extensions stay
// opaque.
std::vector<llvm::BinaryOperator*> with_other_sums(llvm::Function& body, RowConditions& analysis,
                                                   std::set<llvm::BinaryOperator*> sums) {
    for (auto& instruction : llvm::instructions(body))
        if (sums.size() < 6 && instruction.getOpcode() == Instruction::Add &&
            instruction.getType()->isIntegerTy(32) && analysis.shape(&instruction) == Shape::linear)
            analysis.collect(&instruction, sums);
    std::vector<llvm::BinaryOperator*> all;
    for (auto& instruction :
         llvm::instructions(body)) // in the body's order: the same text each time
        if (auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
            sum && sums.contains(sum))
            all.push_back(sum);
    return all;
}

} // namespace

std::optional<RowFacts> find_fork_facts(llvm::Function& body, Value* fork, llvm::Argument* thread_x,
                                        llvm::Argument* number) {
    RowConditions analysis(thread_x, number);
    std::set<llvm::BinaryOperator*> sums;
    if (!analysis.monotone(fork, true, sums) || !analysis.monotone(fork, false, sums))
        return std::nullopt;
    RowFacts facts;
    facts.fork = fork;
    facts.sums = with_other_sums(body, analysis, std::move(sums));
    return facts;
}

RowFacts find_row_facts(llvm::Function& body, llvm::Argument* thread_x) {
    RowFacts facts;
    RowConditions analysis(thread_x);
    std::set<llvm::BinaryOperator*> sums;
    if (auto* branch = first_branch(body)) {
        const bool then_returns = only_returns(branch->getSuccessor(0));
        const bool else_returns = only_returns(branch->getSuccessor(1));
        std::set<llvm::BinaryOperator*> wanted;
        if (then_returns != else_returns &&
            analysis.monotone(branch->getCondition(), else_returns, wanted)) {
            facts.guard = branch;
            facts.work_when = else_returns;
            sums = wanted;
        }
    }
    facts.sums = with_other_sums(body, analysis, std::move(sums));
    return facts;
}

bool stays_unsigned(const llvm::BinaryOperator& sum) {
    if (sum.getOpcode() == Instruction::Sub)
        return false;
    for (const auto& operand : sum.operands())
        if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(operand.get());
            constant && constant->isNegative())
            return false; // x + -1 wraps for every x but 0
    return true;
}

namespace {

// True where the operation itself wraps, which a row that rises from end to end does not exclude.
Value* wraps(llvm::IRBuilder<>& build, const llvm::BinaryOperator& sum, Value* a, Value* b,
             bool is_signed) {
    llvm::Intrinsic::ID id = llvm::Intrinsic::not_intrinsic;
    switch (sum.getOpcode()) {
    case Instruction::Add:
        id = is_signed ? llvm::Intrinsic::sadd_with_overflow : llvm::Intrinsic::uadd_with_overflow;
        break;
    case Instruction::Sub:
        id = is_signed ? llvm::Intrinsic::ssub_with_overflow : llvm::Intrinsic::usub_with_overflow;
        break;
    case Instruction::Shl: // by a constant of at most 10
        b = build.CreateShl(llvm::ConstantInt::get(b->getType(), 1), b);
        [[fallthrough]];
    case Instruction::Mul:
        id = is_signed ? llvm::Intrinsic::smul_with_overflow : llvm::Intrinsic::umul_with_overflow;
        break;
    default: // a disjoint or carries nothing
        return build.getFalse();
    }
    return build.CreateExtractValue(build.CreateBinaryIntrinsic(id, a, b), 1);
}

} // namespace

RowAnswer emit_row_question(llvm::IRBuilder<>& build, const RowFacts& facts,
                            llvm::ArrayRef<llvm::Value*> arguments, llvm::Argument* thread_x,
                            llvm::Value* first, llvm::Value* last) {
    RowCopier front(build, arguments, thread_x, first), back(build, arguments, thread_x, last);
    Value* answer = build.getTrue();
    for (auto* sum : facts.sums) {
        auto *low = front.copy(sum), *high = back.copy(sum);
        answer = build.CreateAnd(answer, build.CreateICmpSGE(high, low));
        answer = build.CreateAnd(answer, build.CreateICmpUGE(high, low));
        for (auto* end : {&front, &back}) {
            auto *a = end->copy(sum->getOperand(0)), *b = end->copy(sum->getOperand(1));
            for (const bool is_signed : {true, false})
                if (is_signed || stays_unsigned(*sum))
                    answer = build.CreateAnd(answer,
                                             build.CreateNot(wraps(build, *sum, a, b, is_signed)));
        }
    }
    if (facts.guard)
        for (auto* copier : {&front, &back}) {
            auto* holds = copier->copy(facts.guard->getCondition());
            answer = build.CreateAnd(answer, facts.work_when ? holds : build.CreateNot(holds));
        }
    if (!facts.fork)
        return {answer, nullptr};
    auto *one = front.copy(facts.fork), *other = back.copy(facts.fork);
    return {build.CreateAnd(answer, build.CreateICmpEQ(one, other)), one};
}

} // namespace quern::host
