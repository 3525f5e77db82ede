// Inline PTX becomes LLVM IR: every asm statement that a kernel reaches.
#pragma once
#include "compiler/host/front_end.h"
#include "compiler/host/program.h"

namespace clang {
class SourceManager;
}

namespace quern::host {

// False when an instruction cannot run on the CPU; `log` then names it, its line and the kernel.
// Wants Clang's raw IR.
bool translate_ptx(llvm::Module& module, const Program& program,
                   const clang::SourceManager& sources, std::string& log);

// library.cpp: instructions that device/ptx.cuh defines are compiled and linked in, if any are
// used.
bool link_ptx_library(const FrontEndInput& user, std::string_view precompiled, Program& program,
                      std::string& log);

// After inlining: each function has a carry flag of its own, which lives in registers.
void place_carry(llvm::Module& module);

} // namespace quern::host
