// Which functions a kernel can come to: by calls, by addresses, by tables of addresses.
#pragma once
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Function.h>

namespace quern::host {

// `from` and every function, declared or defined, that it reaches, in the order they are found.
llvm::SetVector<llvm::Function*> reached_from(llvm::Function& from);

bool calls_by_address(const llvm::Function& function); // whom, only the run shows

// Some function of `targets` is reached, or something is called by address, which may be any of
// them.
bool may_reach(llvm::Function& from, const llvm::SetVector<llvm::Function*>& targets);

} // namespace quern::host
