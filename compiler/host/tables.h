// Tables of sixteen numbers that a loop of vectors holds in registers: __quern_table_NAME(index) of
// the prelude reads one. A function of it for each width permutes registers where the CPU can, so
// that no lane goes to memory.
#pragma once
#include "compiler/host/front_end.h"
#include <llvm/IR/Function.h>

namespace quern::host {

inline constexpr llvm::StringRef table_prefix = "__quern_table_";

// Writes the body of `lanes`: for each lane of its operand, what `scalar` has for it.
void write_table_lanes(llvm::Function& lanes, llvm::Function& scalar, const Cpu& cpu);

} // namespace quern::host
