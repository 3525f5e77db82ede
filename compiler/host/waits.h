// The functions by which a thread waits for others: device/barriers.cuh declares them, the host
// driver has them.
#pragma once
#include "compiler/host/program.h"
#include <llvm/IR/Function.h>

namespace quern::host {

bool is_wait(const llvm::Function& function);

// A kernel whose threads turn out to wait for each other after all.
void begin_to_wait(Kernel& kernel);

} // namespace quern::host
