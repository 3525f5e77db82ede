// How much is done to make a program fast. Where the best takes too long, the program is taken once
// more as it was before, and made ready plainly.
#pragma once
#include "compiler/host/front_end.h"
#include "compiler/host/program.h"
#include <llvm/Target/TargetMachine.h>

namespace quern::host {

// What a limit for one kernel means for a program: as much for each, eight times that at most.
[[nodiscard]] unsigned allowed_ms(const Program& program, unsigned limit_ms);

// Puts loops over threads around the kernels and optimises, at the best level that allowed_ms() of
// this thread's time is enough for (0: no limit).
// False, with the reason in `log`, when the passes broke the module.
bool make_fast(Program& program, llvm::TargetMachine& machine, const Cpu& cpu, unsigned limit_ms,
               std::string& log);

} // namespace quern::host
