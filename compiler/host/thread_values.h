// What a thunk's values and addresses are about, once place.cpp has widened it.
#pragma once
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>

namespace quern::host {

// Takes variables apart, behind which a thunk's values would hide.
void bring_values_out(llvm::Function& thunk);
// What depends on the thread's own place.
llvm::SmallPtrSet<llvm::Value*, 32> values_of_the_thread(llvm::Function& thunk);
// The same for every thread, as far as its computation shows: constants, arguments, counters.
bool is_common(const llvm::Value* value, const llvm::SmallPtrSetImpl<llvm::Value*>& threads);
// The variable in shared memory that an address lies in: where its way from the arena begins.
const llvm::Value* shared_variable(const llvm::Value* pointer, const llvm::Value* arena);

} // namespace quern::host
