// A comparison of (thread index + uniform) with something uniform holds for one range of a row, as
// long as the sum does not wrap. Whoever is not surely idle is busy: that is always right.
#include "compiler/host/idle.h"
#include "compiler/host/region_ends.h"
#include "compiler/host/row_values.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace quern::host {
namespace {

using llvm::Function;
using llvm::ICmpInst;
using llvm::Instruction;
using llvm::Value;

constexpr std::size_t most_tries = 4;
constexpr unsigned granule = 16; // busy threads come in whole vectors

bool has_thread_index_on_right(const ICmpInst& compare, RowShapes& shapes) {
    return shapes.counts(compare.getOperand(1));
}

// Comparisons with the thread index that a branch's condition is made of.
void collect(Value* condition, RowShapes& shapes, llvm::SmallVectorImpl<ICmpInst*>& found,
             int depth = 0) {
    auto* instruction = llvm::dyn_cast<Instruction>(condition);
    if (!instruction || depth > 4)
        return;
    if (auto* compare = llvm::dyn_cast<ICmpInst>(instruction)) {
        const bool right = has_thread_index_on_right(*compare, shapes);
        const unsigned bits = compare->getOperand(0)->getType()->isIntegerTy()
                                  ? compare->getOperand(0)->getType()->getIntegerBitWidth()
                                  : 0;
        if ((bits == 32 || bits == 64) && shapes.counts(compare->getOperand(right)) &&
            shapes.shape(compare->getOperand(!right)) == Shape::uniform &&
            !llvm::is_contained(found, compare))
            found.push_back(compare);
        return;
    }
    if (instruction->getType()->isIntegerTy(1) &&
        (llvm::isa<llvm::BinaryOperator>(instruction) || llvm::isa<llvm::SelectInst>(instruction)))
        for (auto& operand : instruction->operands())
            collect(operand, shapes, found, depth + 1);
}

ICmpInst::Predicate busy_predicate(const Idle& idle, bool swapped) {
    auto predicate = swapped ? idle.compare->getSwappedPredicate() : idle.compare->getPredicate();
    return idle.busy_when ? predicate : ICmpInst::getInversePredicate(predicate);
}

Function* idle_body(Function& body, const Idle& idle, Simplifier& simplifier) {
    llvm::ValueToValueMapTy map;
    auto* copy = llvm::CloneFunction(&body, map);
    copy->setName(body.getName() + ".idle");
    auto* compare = llvm::cast<ICmpInst>(static_cast<Value*>(map[idle.compare]));
    compare->replaceAllUsesWith(llvm::ConstantInt::getBool(body.getContext(), !idle.busy_when));
    compare->eraseFromParent();
    simplifier.clean(*copy);
    return copy;
}

} // namespace

std::optional<Idle> find_idle(Function& body, llvm::Argument* thread_x, llvm::Argument* number,
                              Simplifier& simplifier) {
    RowShapes shapes(thread_x, number);
    llvm::SmallVector<ICmpInst*, 8> compares;
    for (auto& block : body)
        if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
            branch && branch->isConditional())
            collect(branch->getCondition(), shapes, compares);
    compares.resize(std::min(compares.size(), most_tries));
    std::optional<Idle> best;
    const bool one_end = find_ends(body).size() == 1;
    for (auto* compare : compares)
        for (const bool busy_when : {true, false}) {
            Idle idle{compare, busy_when};
            if (busy_predicate(idle, false) == ICmpInst::ICMP_NE)
                continue;
            idle.body = idle_body(body, idle, simplifier);
            idle.does_nothing = one_end && !has_effects(*idle.body);
            const auto size_of = [](const Idle& it) {
                return it.does_nothing ? 0U : it.body->getInstructionCount();
            };
            const bool worth = 2 * size_of(idle) < body.getInstructionCount() &&
                               (!best || size_of(idle) < size_of(*best));
            if (worth && best)
                std::swap(idle, *best);
            else if (worth) {
                best = idle;
                continue;
            }
            simplifier.forget(*idle.body);
            idle.body->eraseFromParent();
        }
    return best;
}

Busy emit_busy(llvm::IRBuilder<>& build, const Idle& idle, llvm::ArrayRef<Value*> arguments,
               llvm::Argument* thread_x, Value* from, Value* to) {
    RowShapes shapes(thread_x); // the comparison was found good: which side is which?
    const bool swapped = has_thread_index_on_right(*idle.compare, shapes);
    auto* index = idle.compare->getOperand(swapped);
    auto* type = index->getType();
    auto* zero = llvm::ConstantInt::get(type, 0);
    const auto narrow = [&](Value* value) { return build.CreateTrunc(value, build.getInt32Ty()); };
    auto* length = build.CreateSub(to, from);
    auto* steps = build.CreateSub(length, build.getInt32(1));
    RowCopier front(build, arguments, thread_x, from),
        back(build, arguments, thread_x, build.CreateAdd(from, steps));
    Value *low = front.copy(index), *high = back.copy(index),
          *limit = build.CreateFreeze(front.copy(idle.compare->getOperand(!swapped)));
    Value* sure = build.getTrue(); // that the index counts from low to high
    const bool plain =
        index == thread_x || (llvm::isa<llvm::CastInst>(index) &&
                              llvm::cast<Instruction>(index)->getOperand(0) == thread_x);
    if (!plain)
        sure = build.CreateICmpEQ(build.CreateSub(high, low), build.CreateZExt(steps, type));

    Value *first = from, *last = to;
    auto predicate = busy_predicate(idle, swapped);
    if (predicate == ICmpInst::ICMP_EQ) {
        auto* at = build.CreateSub(limit, low);
        auto* is_there = build.CreateICmpULT(at, build.CreateZExt(length, type));
        first = build.CreateSelect(is_there, build.CreateAdd(from, narrow(at)), from);
        last = build.CreateAdd(first, build.CreateZExt(is_there, build.getInt32Ty()));
        return {build.CreateSelect(sure, first, from), build.CreateSelect(sure, last, to)};
    }

    // The busy ones stand before some thread, or from it on.
    const bool before = ICmpInst::isLT(predicate) || ICmpInst::isLE(predicate);
    if (!before)
        predicate = ICmpInst::getInversePredicate(predicate);
    if (!plain && ICmpInst::isSigned(predicate))
        sure = build.CreateAnd(sure, build.CreateICmpSGE(high, low));
    if (!plain && ICmpInst::isUnsigned(predicate)) {
        auto* wraps = build.CreateICmpULT(high, low);
        if (before) { // `x - 1 < n`: the first threads are far beyond any such limit
            sure = build.CreateAnd(
                sure, build.CreateOr(build.CreateNot(wraps), build.CreateICmpSGE(limit, zero)));
            first = build.CreateSelect(wraps, build.CreateAdd(from, narrow(build.CreateNeg(low))),
                                       from);
            low = build.CreateSelect(wraps, zero, low);
        } else {
            sure = build.CreateAnd(sure, build.CreateNot(wraps));
        }
    }
    auto* count = build.CreateSub(limit, low);
    if (ICmpInst::isLE(predicate))
        count = build.CreateAdd(count, llvm::ConstantInt::get(type, 1));
    auto* edge =
        build.CreateSelect(build.CreateICmp(predicate, high, limit), to,
                           build.CreateSelect(build.CreateICmp(predicate, low, limit),
                                              build.CreateAdd(first, narrow(count)), first));
    const auto whole = [&](Value* at, unsigned more) {
        auto* wide =
            build.CreateAnd(build.CreateAdd(build.CreateSub(at, from), build.getInt32(more)),
                            build.getInt32(~(granule - 1)));
        return build.CreateAdd(from, wide);
    };
    auto* some = build.CreateICmpULT(before ? first : edge, before ? edge : to);
    if (before) {
        last = build.CreateBinaryIntrinsic(llvm::Intrinsic::umin, whole(edge, granule - 1), to);
        if (first != from)
            first = whole(first, 0);
        last = build.CreateSelect(some, last, first);
    } else {
        first = build.CreateSelect(some, whole(edge, 0), to);
    }
    return {build.CreateSelect(sure, first, from), build.CreateSelect(sure, last, to)};
}

} // namespace quern::host
