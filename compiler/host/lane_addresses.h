// Addresses in shared memory as sums, so that those of two lanes can be held against each other.
#pragma once
#include <cstdint>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/DataLayout.h>

namespace quern::host {

inline constexpr std::int64_t warp_lanes = 32;

// The same computation, if perhaps written twice.
bool is_same(const llvm::Value* a, const llvm::Value* b, unsigned depth = 6);

// A sum of values, each so many times, and a number.
struct Sum {
    llvm::SmallVector<std::pair<const llvm::Value*, std::int64_t>, 4> parts;
    std::int64_t number = 0;

    void add(const llvm::Value* value, std::int64_t times);
    void add(const Sum& other, std::int64_t times);
};

// Adds `value` so many times, taken apart as far as it is a sum itself. Lanes differ in `thread &
// 31` as they do in `thread`.
void take_apart(const llvm::Value* value, std::int64_t times, Sum& sum, unsigned depth = 12);

// In bytes from the arena, in which `pointer` lies (shared_variable()).
Sum address_of(const llvm::Value* pointer, const llvm::Value* arena, const llvm::DataLayout& data);

// A distance between lanes: a small number, or a counter of all threads that goes by such numbers
// or by factors.
bool is_distance(const llvm::Value* value, std::int64_t most);

// Where the rounds begin from one to the next of which the value changes.
void find_rounds(const llvm::Value* value, llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& found,
                 unsigned depth = 6);

} // namespace quern::host
