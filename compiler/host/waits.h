// The functions by which a thread waits for others: device/barriers.cuh declares them, the host
// driver has them.
#pragma once
#include <llvm/IR/Function.h>

namespace quern::host {

bool is_wait(const llvm::Function& function);

} // namespace quern::host
