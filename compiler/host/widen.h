// A function of numbers, for all lanes of a vector at once.
#pragma once
#include <functional>
#include <llvm/IR/IRBuilder.h>

namespace quern::host {

// Finds the function of some lanes that takes the place of a scalar one, or null.
using LanesOf = std::function<llvm::Function*(llvm::Function& scalar, unsigned lanes)>;

// Writes the body of `scalar` with vectors in place of its operands and returns what it returns;
// null, and nothing written, where the body has loops or more than arithmetic, which may be done
// for nothing.
llvm::Value* widen(llvm::IRBuilder<>& build, llvm::Function& scalar,
                   llvm::ArrayRef<llvm::Value*> operands, const LanesOf& lanes_of);

} // namespace quern::host
