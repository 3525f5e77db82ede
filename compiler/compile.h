// The compiler's one door: a kernel and its types in, a loaded-to-be binary out. Needs no device
// and no cuda.h.
#pragma once
#include "compiler/cache/cache.h"
#include "compiler/codegen/elementwise.h"
#include "compiler/ops/op_table.h"

namespace quern {

struct CompiledKernel {
    Binary binary;
    std::string symbol; // of the kernel in the binary
    std::string source; // generated CUDA C++
};

// spec + signature + variant -> text -> cache or toolchain. Throws CompileError with the user's own
// lines, numbered, a caret under the mistake, and the Python line that made the kernel: the same
// text from both toolchains.
[[nodiscard]] CompiledKernel compile_elementwise(const ElementwiseSpec& spec,
                                                 const Signature& signature,
                                                 const ElementwiseVariant& variant,
                                                 const Arch& arch);

// Opens the GPU toolchain's library in the background, once, so that the first compile need not
// wait for it.
void preload_gpu_toolchain() noexcept;

// The cache that every kernel of this process shares.
[[nodiscard]] Cache& process_cache();

} // namespace quern
