// Kernel discovery and entry thunks: the one place that knows how x86-64 passes C++ parameters.
#pragma once
#include "compiler/host/program.h"

namespace clang {
class ASTContext;
class CodeGenerator;
} // namespace clang

namespace quern::host {

// Finds every emitted __global__ function and gives it a thunk `void __quern_thunk_NAME(ptr args)`
// that reads each parameter at its place in the packed buffer. False, with `log` set, for a
// parameter that cannot be passed so.
bool make_entries(clang::CodeGenerator& generator, clang::ASTContext& ast, Program& program,
                  llvm::Module& module, std::string& log);

} // namespace quern::host
