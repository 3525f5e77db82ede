// What a thread must still know after a place where it was held: which values live on, and which of
// them are cheaper to compute again than to keep.
#pragma once
#include "compiler/host/agreement.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>
#include <map>

namespace quern::host {

// Integer and address arithmetic, and loads that always give the same: cheaper computed again than
// kept, and harmless anywhere.
[[nodiscard]] bool is_cheap(const llvm::Instruction& instruction);

// What a block needs at its end beside what its instructions use.
using Needs = llvm::DenseMap<llvm::BasicBlock*, llvm::SetVector<llvm::Instruction*>>;

class LiveValues {
  public:
    LiveValues(llvm::Function& body, const Needs& needs);
    // Values defined before `block` and used in it or after it.
    [[nodiscard]] llvm::SetVector<llvm::Instruction*> at(llvm::BasicBlock& block) const {
        return in_.lookup(&block);
    }

  private:
    Needs in_;
};

// How to compute values again from the arguments and from values that were kept.
class Recipes {
  public:
    Recipes() = default;
    ~Recipes();
    Recipes(const Recipes&) = delete;
    Recipes& operator=(const Recipes&) = delete;

    // Whether `value` can be had so; what all threads agree on at `place`, and must be kept for it,
    // goes to `leaves`.
    static bool know(llvm::Instruction* value, const Agreement& agreement,
                     const llvm::BasicBlock* place, llvm::SetVector<llvm::Instruction*>& leaves);
    // Writes the recipe down: from here on the body may change.
    void keep(llvm::Value* value, const llvm::SetVector<llvm::Instruction*>& leaves);
    // Emits the computation into `region`, whose arguments are the body's. `known` are the values
    // that are there already, and grows.
    llvm::Value* follow(llvm::IRBuilder<>& build, llvm::Function& region, llvm::Value* value,
                        llvm::MapVector<llvm::Value*, llvm::Value*>& known) const;

  private:
    struct Recipe {
        llvm::Instruction* model; // a copy without operands
        llvm::SmallVector<llvm::Value*, 4> operands;
    };
    std::map<llvm::Value*, Recipe> recipes_;
};

} // namespace quern::host
