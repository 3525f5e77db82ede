// What a kernel cannot do on the CPU: functions that are marked so.
#pragma once
#include "compiler/host/program.h"

namespace clang {
class SourceManager;
}

namespace quern::host {

// True when some kernel reaches such a thing; `log` then names the kernel, the deed and its line.
// Wants Clang's raw IR.
bool find_refusals(llvm::Module& module, const Program& program,
                   const clang::SourceManager& sources, std::string& log);

} // namespace quern::host
