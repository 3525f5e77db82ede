// Loops over data: `for (i = start + thread; i < n; i += stride)`. As they stand each thread would
// run through all rounds before the next one begins; held in step, the threads of a round touch
// neighbouring elements, and the loop over threads can be vectorised.
#include "compiler/host/agreement.h"
#include "compiler/host/passes.h"
#include "compiler/host/regions.h"
#include "compiler/host/waits.h"
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <optional>

namespace quern::host {
namespace {

using llvm::CallInst;
using llvm::Instruction;
using llvm::Loop;
using llvm::Value;

constexpr unsigned largest_round = 300; // instructions

bool is_stop(const Instruction& instruction) {
    const auto* call = llvm::dyn_cast<CallInst>(&instruction);
    const auto* callee = call ? call->getCalledFunction() : nullptr;
    return callee && (is_wait(*callee) || callee->getName() == step_marker ||
                      callee->getName() == join_marker);
}

// What `next` adds to `phi` in a round; nullptr when it does something else.
Value* step_of(const llvm::PHINode* phi, const Instruction* next) {
    if (!next || next->getNumOperands() != 2 ||
        (next->getOpcode() != Instruction::Add && !llvm::isa<llvm::GetElementPtrInst>(next)))
        return nullptr;
    if (next->getOperand(0) == phi)
        return next->getOperand(1);
    return next->getOperand(1) == phi && next->isCommutative() ? next->getOperand(0) : nullptr;
}

// By how much a value grows from one thread of a row to the next, where that is a constant.
class Strides {
  public:
    Strides(const Loop& loop, const llvm::DataLayout& data, const Value* thread_x)
        : loop_(loop), data_(data), thread_x_(thread_x) {}

    std::optional<std::int64_t> of(Value* value, int depth = 0) {
        if (value == thread_x_)
            return 1;
        auto* instruction = llvm::dyn_cast<Instruction>(value);
        if (!instruction)
            return 0; // constants and other positions
        if (const auto known = known_.find(value); known != known_.end())
            return known->second;
        if (depth > 24)
            return std::nullopt;
        return known_[value] = find(instruction, depth);
    }

  private:
    std::optional<std::int64_t> find(Instruction* instruction, int depth) {
        const auto operand = [&](unsigned i) { return of(instruction->getOperand(i), depth + 1); };
        switch (instruction->getOpcode()) {
        case Instruction::Add:
        case Instruction::Or: {
            const auto a = operand(0), b = operand(1);
            if (!a || !b || (instruction->getOpcode() == Instruction::Or && (*a || *b)))
                return std::nullopt;
            return *a + *b;
        }
        case Instruction::Sub: {
            const auto a = operand(0), b = operand(1);
            return a && b ? std::optional(*a - *b) : std::nullopt;
        }
        case Instruction::Mul:
        case Instruction::Shl: {
            const auto a = operand(0), b = operand(1);
            if (!a || !b)
                return std::nullopt;
            if (*a == 0 && *b == 0)
                return 0;
            auto* factor = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1));
            if (!factor || factor->getBitWidth() > 64)
                return std::nullopt;
            return instruction->getOpcode() == Instruction::Mul
                       ? *a * factor->getSExtValue()
                       : *a << std::min<std::uint64_t>(factor->getZExtValue(), 40);
        }
        case Instruction::SExt:
        case Instruction::ZExt:
        case Instruction::Trunc:
        case Instruction::Freeze:
            return operand(0);
        case Instruction::GetElementPtr:
            return of_address(*llvm::cast<llvm::GetElementPtrInst>(instruction), depth);
        case Instruction::PHI: {
            auto* phi = llvm::cast<llvm::PHINode>(instruction);
            if (phi->getParent() != loop_.getHeader() || !begun_.insert(phi).second)
                return std::nullopt;
            const auto start =
                of(phi->getIncomingValueForBlock(loop_.getLoopPreheader()), depth + 1);
            begun_.erase(phi);
            auto* by = step_of(phi, llvm::dyn_cast<Instruction>(
                                        phi->getIncomingValueForBlock(loop_.getLoopLatch())));
            if (!start || !by)
                return std::nullopt;
            const auto step = of(by, depth + 1);
            return step && *step == 0 ? start : std::nullopt;
        }
        default: {
            if (instruction->mayWriteToMemory())
                return std::nullopt;
            for (unsigned i = 0; i < instruction->getNumOperands(); ++i)
                if (const auto part = operand(i); !part || *part != 0)
                    return std::nullopt;
            return 0;
        }
        }
    }

    std::optional<std::int64_t> of_address(llvm::GetElementPtrInst& address, int depth) {
        auto total = of(address.getPointerOperand(), depth + 1);
        for (auto at = llvm::gep_type_begin(address), end = llvm::gep_type_end(address); at != end;
             ++at) {
            const auto part = of(at.getOperand(), depth + 1);
            if (!total || !part)
                return std::nullopt;
            if (*part != 0)
                *total += *part * static_cast<std::int64_t>(
                                      at.getSequentialElementStride(data_).getFixedValue());
        }
        return total;
    }

    const Loop& loop_;
    const llvm::DataLayout& data_;
    const Value* thread_x_;
    llvm::SmallPtrSet<llvm::PHINode*, 4> begun_;
    llvm::DenseMap<Value*, std::optional<std::int64_t>> known_; // or each use would ask again
};

// A histogram's way: nobody asks what was there before.
bool only_counts(const Instruction& instruction) {
    return llvm::isa<llvm::AtomicRMWInst>(instruction) && instruction.use_empty();
}

// Whether threads in step touch memory in a row, or all the same place, in nearly all accesses.
bool goes_along_memory(Loop& loop, llvm::Function& body) {
    const auto& data = body.getParent()->getDataLayout();
    Strides strides(loop, data, body.getArg(thread_at));
    unsigned size = 0, row = 0, other = 0;
    for (auto* block : loop.blocks())
        for (auto& instruction : *block) {
            ++size;
            if ((instruction.isAtomic() && !only_counts(instruction)) || instruction.isVolatile() ||
                is_stop(instruction))
                return false;
            if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
                call && !llvm::isa<llvm::IntrinsicInst>(call) && !call->onlyReadsMemory())
                return false;
            if (llvm::isa<llvm::SwitchInst>(instruction))
                return false;
            auto* pointer = const_cast<Value*>(llvm::getLoadStorePointerOperand(&instruction));
            if (!pointer)
                continue;
            const auto bytes = static_cast<std::int64_t>(
                data.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue());
            const auto stride = strides.of(pointer);
            if (stride &&
                (*stride == bytes || (*stride == 0 && llvm::isa<llvm::LoadInst>(instruction))))
                row += *stride != 0;
            else
                ++other;
        }
    return size <= largest_round && row > 0 && other * 3 <= row;
}

// A counter that starts at each thread's own value and grows alike for all is that value plus one
// counter for all.
void split_counters(Loop& loop, const Agreement& agreement) {
    auto* header = loop.getHeader();
    auto *before = loop.getLoopPreheader(), *latch = loop.getLoopLatch();
    llvm::SmallVector<llvm::PHINode*, 4> phis;
    for (auto& phi : header->phis())
        phis.push_back(&phi);
    for (auto* phi : phis) {
        auto* start = phi->getIncomingValueForBlock(before);
        auto* next = llvm::dyn_cast<Instruction>(phi->getIncomingValueForBlock(latch));
        auto* step = step_of(phi, next);
        if (!step || agreement.uniform(start) || !agreement.uniform(step) ||
            !loop.isLoopInvariant(step))
            continue;
        const bool is_sum = next->getOpcode() == Instruction::Add;
        llvm::IRBuilder<> build(header, header->getFirstInsertionPt());
        auto* counter = llvm::PHINode::Create(step->getType(), 2, "round", header->begin());
        counter->addIncoming(llvm::Constant::getNullValue(step->getType()), before);
        const auto from_start = [&](Value* rounds) -> Value* {
            if (!is_sum) {
                auto* address = llvm::cast<llvm::GetElementPtrInst>(next);
                return build.CreateGEP(address->getSourceElementType(), start, rounds, "",
                                       address->isInBounds());
            }
            return build.CreateAdd(start, rounds, "", next->hasNoUnsignedWrap(),
                                   next->hasNoSignedWrap());
        };
        auto* now = from_start(counter);
        build.SetInsertPoint(next);
        auto* counted = build.CreateAdd(counter, step, "", is_sum && next->hasNoUnsignedWrap(),
                                        is_sum && next->hasNoSignedWrap());
        counter->addIncoming(counted, latch);
        auto* then = from_start(counted);
        next->replaceAllUsesWith(then);
        phi->replaceAllUsesWith(now);
        next->eraseFromParent();
        phi->eraseFromParent();
    }
}

// Whether threads leave the loop where their own counter comes to something on which all agree:
// they have as many rounds as each other, or one less.
bool ends_alike(const Loop& loop, const Agreement& agreement) {
    const auto* leave = llvm::dyn_cast<llvm::BranchInst>(loop.getLoopLatch()->getTerminator());
    const auto* compare =
        leave && leave->isConditional() && loop.getExitingBlock() == loop.getLoopLatch()
            ? llvm::dyn_cast<llvm::ICmpInst>(leave->getCondition())
            : nullptr;
    return compare &&
           (agreement.uniform(compare->getOperand(0)) || agreement.uniform(compare->getOperand(1)));
}

struct Cut {
    Loop* loop;
    llvm::BasicBlock* guard = nullptr;   // asks whether a thread enters the loop at all
    llvm::BasicBlock* meeting = nullptr; // where all ways lead that enter the loop, or do not
    CallInst *step = nullptr, *join = nullptr;
};

// `if (i < n) do { ... } while (...)`: what a rotated loop comes as.
Cut with_guard(Loop& loop) {
    auto* exit = loop.getUniqueExitBlock();
    auto *guard = loop.getLoopPreheader()->getSinglePredecessor(),
         *after = exit->getSingleSuccessor();
    const auto* question =
        guard ? llvm::dyn_cast<llvm::BranchInst>(guard->getTerminator()) : nullptr;
    if (question && question->isConditional() && after &&
        (question->getSuccessor(0) == after || question->getSuccessor(1) == after))
        return {&loop, guard, after};
    return {&loop, nullptr, exit};
}

CallInst* mark(Instruction* before, const char* name) {
    auto* module = before->getModule();
    auto callee = module->getOrInsertFunction(name, llvm::Type::getVoidTy(module->getContext()));
    llvm::cast<llvm::Function>(callee.getCallee())->setConvergent();
    return llvm::IRBuilder<>(before).CreateCall(callee);
}

} // namespace

Steps step_through_loops(llvm::Function& body, bool maybe_several_blocks) {
    llvm::DominatorTree tree(body);
    llvm::LoopInfo loops(tree);
    std::vector<Cut> cuts;
    for (auto* loop : loops.getLoopsInPreorder())
        if (loop->isInnermost() && loop->getLoopPreheader() && loop->getLoopLatch() &&
            loop->getUniqueExitBlock() && goes_along_memory(*loop, body))
            cuts.push_back(with_guard(*loop));
    for (auto& cut : cuts) {
        cut.join = mark(&*cut.meeting->getFirstInsertionPt(), join_marker);
        // Where a round begins, also the first one: the body then stands in one region only.
        cut.step = mark(&*cut.loop->getHeader()->getFirstInsertionPt(), step_marker);
        if (cut.guard)
            cut.guard->getTerminator()->setMetadata(guard_mark,
                                                    llvm::MDNode::get(body.getContext(), {}));
    }
    // Only where every thread comes: else who is in step with whom would depend on the run.
    bool several_blocks = maybe_several_blocks && body.getArg(1)->use_empty();
    for (bool changed = true; changed && !cuts.empty();) {
        changed = false;
        llvm::SmallVector<CallInst*, 16> stops;
        for (auto& instruction : llvm::instructions(body))
            if (is_stop(instruction))
                stops.push_back(llvm::cast<CallInst>(&instruction));
        llvm::SmallVector<const Loop*, 4> stepped;
        for (auto& cut : cuts)
            stepped.push_back(cut.loop);
        const Agreement agreement(body, stops, stepped, loops, several_blocks);
        const auto comes_together = [&](const Cut& cut) {
            return agreement.common(cut.loop->getHeader()) &&
                   agreement.common(cut.join->getParent());
        };
        if (several_blocks && !llvm::all_of(cuts, [&](const Cut& cut) {
                return comes_together(cut) && ends_alike(*cut.loop, agreement);
            })) {
            several_blocks = false;
            changed = true;
            continue;
        }
        bool warps_apart = false;
        for (auto* stop : stops)
            warps_apart |= stop->getCalledFunction()->getName() == "__quern_sync_warp" &&
                           !agreement.common(stop->getParent());
        std::erase_if(cuts, [&](Cut& cut) {
            const bool good = !warps_apart && comes_together(cut);
            if (!good) {
                cut.step->eraseFromParent();
                cut.join->eraseFromParent();
                if (cut.guard)
                    cut.guard->getTerminator()->setMetadata(guard_mark, nullptr);
                changed = true;
            }
            return !good;
        });
        if (!changed)
            for (auto& cut : cuts)
                split_counters(*cut.loop, agreement);
    }
    return {!cuts.empty(), several_blocks && !cuts.empty()};
}

} // namespace quern::host
