// The part of a body that one region runs: from where it begins to the stops that end it. Copying
// no more than that keeps the work of all regions together in proportion to the body.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

namespace quern::host {

class RegionCopy {
  public:
    // A new function with the body's arguments. `stop_at` has the number of the stop that a block
    // ends with. Unless the region begins where the body does, its entry is an empty block, to be
    // filled with a way to the copy of `start`.
    RegionCopy(llvm::Function& body, llvm::BasicBlock& start,
               const llvm::DenseMap<const llvm::BasicBlock*, std::size_t>& stop_at,
               const llvm::Twine& name);

    [[nodiscard]] llvm::Function* region() const { return region_; }
    // The stops that can be reached, in the body's order.
    [[nodiscard]] llvm::ArrayRef<std::size_t> ends() const { return ends_; }
    // The copy of something that the region has; of one of the body's variables also where nothing
    // has used it yet.
    template <class T> [[nodiscard]] T* local(T* value) {
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(value))
            need(*variable);
        return llvm::cast<T>(static_cast<llvm::Value*>(map_[value]));
    }
    // nullptr for a variable that nothing has used.
    [[nodiscard]] llvm::Value* find_local(const llvm::AllocaInst* variable) const {
        return map_.lookup(variable);
    }

  private:
    void need(llvm::AllocaInst& variable);

    llvm::Function* region_;
    llvm::ValueToValueMapTy map_;
    llvm::SmallVector<std::size_t, 4> ends_;
};

} // namespace quern::host
