// Values: a fixed point over data and over joins of branches on which threads differ. Waits: the
// branches on which threads differ keep everything up to their join apart, unless one side only
// leads out of the kernel.
#include "compiler/host/agreement.h"
#include "compiler/host/passes.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using Blocks = llvm::DenseSet<const BasicBlock*>;

// Blocks on the ways from `start` that do not pass `end`.
Blocks reachable(const BasicBlock* start, const BasicBlock* end, const Blocks* within) {
    Blocks seen;
    llvm::SmallVector<const BasicBlock*, 16> open;
    const auto visit = [&](const BasicBlock* block) {
        if (block != end && (!within || within->contains(block)) && seen.insert(block).second)
            open.push_back(block);
    };
    visit(start);
    while (!open.empty())
        for (const auto* next : llvm::successors(open.pop_back_val()))
            visit(next);
    return seen;
}

// For each block of a graph the first one that every way from it passes: immediate postdominators,
// by the iteration of Cooper, Harvey and Kennedy over the graph turned round.
class MeetingPoints {
  public:
    template <class Next> MeetingPoints(const Blocks& blocks, Next next) {
        llvm::DenseMap<const BasicBlock*, llvm::SmallVector<const BasicBlock*, 4>> before;
        llvm::SmallVector<const BasicBlock*, 8> ends;
        for (const auto* block : blocks) {
            const auto after = next(block);
            if (after.empty())
                ends.push_back(block);
            for (const auto* other : after)
                before[other].push_back(block);
        }
        // Numbers in postorder from the ends; the virtual end gets the highest.
        struct Open {
            const BasicBlock* block;
            unsigned at;
        };
        Blocks seen;
        for (const auto* end : ends) {
            if (!seen.insert(end).second)
                continue;
            llvm::SmallVector<Open, 16> open = {{end, 0}};
            while (!open.empty()) {
                auto& top = open.back();
                const auto& into = before[top.block];
                if (top.at == into.size()) {
                    number_[top.block] = static_cast<int>(order_.size());
                    order_.push_back(top.block);
                    open.pop_back();
                } else if (const auto* earlier = into[top.at++]; seen.insert(earlier).second) {
                    open.push_back({earlier, 0});
                }
            }
        }
        const int end = static_cast<int>(order_.size());
        meeting_.assign(order_.size() + 1, -1);
        meeting_[order_.size()] = end;
        for (const auto* block : ends)
            meeting_[number_[block]] = end;
        for (bool changed = true; changed;) {
            changed = false;
            for (int i = end - 1; i >= 0; --i) {
                const auto after = next(order_[i]);
                int best = after.empty() ? end : -1;
                for (const auto* other : after)
                    if (const auto found = number_.find(other);
                        found != number_.end() && meeting_[found->second] != -1)
                        best = best == -1 ? found->second : common(found->second, best);
                if (best != -1 && meeting_[i] != best) {
                    meeting_[i] = best;
                    changed = true;
                }
            }
        }
    }

    // nullptr: only outside.
    const BasicBlock* operator()(const BasicBlock* block) const {
        const auto found = number_.find(block);
        if (found == number_.end())
            return nullptr;
        const int at = meeting_[found->second];
        return at < 0 || at == static_cast<int>(order_.size()) ? nullptr : order_[at];
    }

  private:
    int common(int a, int b) const {
        while (a != b) {
            while (a < b)
                a = meeting_[a];
            while (b < a)
                b = meeting_[b];
        }
        return a;
    }
    llvm::DenseMap<const BasicBlock*, int> number_;
    std::vector<const BasicBlock*> order_;
    std::vector<int> meeting_;
};

} // namespace

Agreement::Agreement(llvm::Function& body, llvm::ArrayRef<llvm::CallInst*> stops,
                     llvm::ArrayRef<const llvm::Loop*> stepped, const llvm::LoopInfo& loops,
                     bool several_blocks)
    : body_(body), loops_(loops), behind_(body) {
    stepped_.insert(stepped.begin(), stepped.end());
    find_split_values(several_blocks);
    find_common_blocks(stops);
}

bool Agreement::left_apart(const llvm::Value* value, const BasicBlock* place) const {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction)
        return false;
    for (const auto* loop = loops_.getLoopFor(instruction->getParent());
         loop && !loop->contains(place); loop = loop->getParentLoop())
        if (uneven_.contains(loop))
            return true;
    return false;
}

bool Agreement::uniform_at(const llvm::Value* value, const BasicBlock* place) const {
    return uniform(value) && !left_apart(value, place);
}

bool Agreement::splits(const llvm::Instruction& instruction) const {
    for (const auto& operand : instruction.operands())
        if (!uniform(operand.get()) || left_apart(operand.get(), instruction.getParent()))
            return true;
    if (llvm::isa<llvm::PHINode>(instruction))
        return joins_.contains(instruction.getParent());
    if (llvm::isa<llvm::AllocaInst>(instruction) || instruction.isAtomic() ||
        instruction.isVolatile())
        return true;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
        return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(load->getPointerOperand(), 0));
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        const auto* callee = call->getCalledFunction();
        if (callee && callee->getName() == "__quern_sync_block")
            return false; // everyone gets the same answer
        return !call->doesNotAccessMemory() && !llvm::isa<llvm::AssumeInst>(call);
    }
    return false;
}

// Threads that part here come together again at places that several sides lead to, no later than
// where all ways from here meet.
void Agreement::taint_joins(const llvm::Instruction& branch) {
    const auto* block = branch.getParent();
    for (const auto* loop = loops_.getLoopFor(block); loop; loop = loop->getParentLoop())
        if (loop->isLoopExiting(block))
            uneven_.insert(loop);
    const auto* node = behind_.getNode(block);
    const auto* meeting = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    llvm::DenseMap<const BasicBlock*, unsigned> ways;
    llvm::SmallVector<const BasicBlock*, 4> sides;
    for (const auto* side : llvm::successors(block))
        if (!llvm::is_contained(sides, side))
            sides.push_back(side);
    for (const auto* side : sides)
        for (const auto* reached : reachable(side, meeting, nullptr))
            ++ways[reached];
    for (const auto& [reached, count] : ways)
        if (count > 1)
            joins_.insert(reached);
    if (meeting)
        joins_.insert(meeting);
}

void Agreement::find_split_values(bool several_blocks) {
    if (several_blocks)
        split_.insert(body_.getArg(block_at));
    for (unsigned axis = 0; axis < 3; ++axis)
        split_.insert(body_.getArg(thread_at + axis));
    for (unsigned i = grid_size_at + 3; i < body_.arg_size(); ++i)
        split_.insert(body_.getArg(i));
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& instruction : llvm::instructions(body_)) {
            if (!split_.contains(&instruction) && splits(instruction)) {
                split_.insert(&instruction);
                changed = true;
            }
            if (!instruction.isTerminator() || instruction.getNumSuccessors() < 2)
                continue;
            const auto* what = instruction.getOperand(0);
            if (const auto* jump = llvm::dyn_cast<llvm::BranchInst>(&instruction))
                what = jump->getCondition();
            if ((!uniform(what) || left_apart(what, instruction.getParent())) &&
                parting_.insert(&instruction).second) {
                taint_joins(instruction);
                changed = true;
            }
        }
    }
}

void Agreement::find_common_blocks(llvm::ArrayRef<llvm::CallInst*> stops) {
    Blocks held; // blocks from which a stop can be reached
    llvm::SmallVector<const BasicBlock*, 16> open;
    for (const auto* stop : stops)
        if (held.insert(stop->getParent()).second)
            open.push_back(stop->getParent());
    while (!open.empty())
        for (const auto* before : llvm::predecessors(open.pop_back_val()))
            if (held.insert(before).second)
                open.push_back(before);

    const auto next_of = [&](const BasicBlock* block) {
        llvm::SmallVector<const BasicBlock*, 4> next;
        for (const auto* side : llvm::successors(block))
            if (held.contains(side) && !llvm::is_contained(next, side))
                next.push_back(side);
        return next;
    };
    const MeetingPoints meeting_of(held, next_of);
    for (const auto* block : held) {
        const auto* end = block->getTerminator();
        const auto sides = next_of(block);
        if (sides.size() < 2)
            continue;
        const auto* jump = llvm::dyn_cast<llvm::BranchInst>(end);
        const llvm::Value* what = jump ? jump->getCondition() : end->getOperand(0);
        if (uniform(what) && !left_apart(what, block))
            continue;
        const auto* loop = loops_.getLoopFor(block);
        if (loop && stepped_.contains(loop) && loop->isLoopExiting(block))
            continue; // its rounds are in step, and who leaves waits for the others
        if (end->getMetadata(guard_mark))
            continue; // who does not enter waits there too
        const auto* join = meeting_of(block);
        for (const auto* side : sides)
            for (const auto* apart : reachable(side, join, &held))
                apart_.insert(apart);
    }
}

} // namespace quern::host
