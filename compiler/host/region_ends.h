// Where the ways through a region lead, and what its threads agree on there: the latter is written
// once for all of them, behind the loops over threads.
#pragma once
#include "compiler/host/guard.h"
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <optional>

namespace quern::host {

// Whether threads use threadIdx.x as blockIdx.x * blockDim.x + threadIdx.x alone.
bool counts_through_blocks(llvm::Function& body);

bool has_effects(llvm::Function& body);

// The states that a region's body may return, in rising order; none where they are too many or not
// known.
using Ends = llvm::SmallVector<std::uint8_t, 4>;
Ends find_ends(llvm::Function& body);

// Where threads come to one of two ends: `then` where the condition holds, which RowShapes can
// copy, else `otherwise`. All threads of a block (or of `several_blocks`) agree on it; or those of
// a row do as far as `row` says.
struct Fork {
    llvm::Value* condition = nullptr;
    std::uint8_t then = 0, otherwise = 0;
    std::optional<RowFacts> row = std::nullopt;
};
std::optional<Fork> find_fork(llvm::Function& body, bool several_blocks);

struct Agreed {
    std::uint8_t end;     // where the threads come to
    std::uint32_t offset; // from keep_at on
    llvm::Value* value;   // the same for all threads of a block: RowShapes can copy it
    llvm::Align align;
};

// What belongs to which end: kept values of state s lie in [offset, offset + bytes) of places[s].
struct KeptPlace {
    std::uint32_t offset = 0, bytes = 0;
};

// Takes the stores of such values out of the body.
llvm::SmallVector<Agreed, 4>
take_agreed_stores(llvm::Function& body, llvm::ArrayRef<KeptPlace> places, bool several_blocks);

} // namespace quern::host
