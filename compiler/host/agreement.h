// What the threads of a block agree on: which values are the same for all of them, and which waits
// all of them reach together.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {

inline constexpr const char* guard_mark = "quern.guard"; // metadata of a branch

class Agreement {
  public:
    // `stops` are the places where threads are held, also those that only keep them in step;
    // `stepped` the loops whose every round is such a place. Threads that leave one wait for the
    // others, and so do those that do not enter: that question is marked guard_mark. `body` is a
    // thunk with its positions. With `several_blocks` the threads are those of neighbours along x.
    Agreement(llvm::Function& body, llvm::ArrayRef<llvm::CallInst*> stops,
              llvm::ArrayRef<const llvm::Loop*> stepped, const llvm::LoopInfo& loops,
              bool several_blocks);

    // The same for every thread that computes it in the same step.
    [[nodiscard]] bool uniform(const llvm::Value* value) const { return !split_.contains(value); }
    // Every thread that is still there comes to this block, as often as the others.
    [[nodiscard]] bool common(const llvm::BasicBlock* block) const {
        return !apart_.contains(block);
    }
    // Uniform, and still so at `place`: threads may have left a loop between at different rounds.
    [[nodiscard]] bool uniform_at(const llvm::Value* value, const llvm::BasicBlock* place) const;

  private:
    bool splits(const llvm::Instruction& instruction) const;
    bool left_apart(const llvm::Value* value, const llvm::BasicBlock* place) const;
    void find_split_values(bool several_blocks);
    void find_common_blocks(llvm::ArrayRef<llvm::CallInst*> stops);
    void taint_joins(const llvm::Instruction& branch);

    llvm::Function& body_;
    const llvm::LoopInfo& loops_;
    llvm::PostDominatorTree behind_;
    llvm::DenseSet<const llvm::Loop*> stepped_;
    llvm::DenseSet<const llvm::Value*> split_,
        parting_; // values, and branches, on which threads differ
    llvm::DenseSet<const llvm::BasicBlock*> joins_, apart_;
    llvm::DenseSet<const llvm::Loop*> uneven_; // loops that threads leave at different rounds
};

} // namespace quern::host
