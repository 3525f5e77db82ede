// CUDA C++ to LLVM IR: Clang in CUDA device mode for an x86-64 triple, files in memory, our headers
// precompiled. The module that comes back holds the user's functions plus one thunk per kernel (see
// entry.h).
#pragma once
#include "compiler/host/options.h"
#include "compiler/host/program.h"
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class LLVMContext;
}

namespace quern::host {

struct SourceFile {
    std::string_view name, text;
};

struct Cpu {
    std::string name;                  // x86-64-v3
    std::vector<std::string> features; // +avx512bf16

    bool has(std::string_view feature) const; // asks LLVM's tables
};

Cpu parse_cpu(std::string_view arch);

struct FrontEndInput {
    SourceFile main;
    std::span<const SourceFile> headers;
    std::span<const std::string> name_expressions;
    std::span<const std::string> toolkit_folders;
    const Options* options;
    const Cpu* cpu;
    const quern_cc_store* store = nullptr; // of images of the toolkit's headers
    bool use_images = true;                // of those; the built-in ones always are
};

// QUERN_CC_OK, _ERROR or _REFUSED; diagnostics go to `log` either way.
quern_cc_status run_front_end(const FrontEndInput& input, std::string_view precompiled,
                              llvm::LLVMContext& context, Program& program, std::string& log);

} // namespace quern::host
