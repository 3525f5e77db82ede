// How to tell a person where in their source something is.
#pragma once
#include <llvm/IR/Instruction.h>
#include <string>

namespace clang {
class SourceManager;
}

namespace quern::host {

// "kernel.cu:3:5: " of a call that Clang noted the place of, else nothing. `line` counts within an
// asm text.
std::string place_of(const llvm::Instruction& instruction, const clang::SourceManager& sources,
                     unsigned line = 0);

// The name as a person wrote it, without arguments and types.
std::string plain_name(llvm::StringRef symbol);

} // namespace quern::host
