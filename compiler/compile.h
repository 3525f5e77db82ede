// The compiler's one door: a kernel and its types in, a loaded-to-be binary out. Needs no device
// and no cuda.h.
#pragma once
#include "compiler/base/kernel_facts.h"
#include "compiler/cache/cache.h"
#include "compiler/codegen/elementwise.h"
#include "compiler/codegen/program.h"
#include "compiler/codegen/reduction.h"
#include "compiler/codegen/rows.h"
#include "compiler/codegen/scan.h"
#include "compiler/codegen/select.h"
#include "compiler/ops/index_kernel.h"
#include "compiler/ops/line_kernel.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/quantile_table.h"
#include "compiler/ops/reduction_kernel.h"
#include "compiler/ops/scan_table.h"
#include "compiler/ops/ufunc_kernel.h"
#include "compiler/ops/ufunc_walk.h"
#include "compiler/resolve/promote.h"
#include "compiler/resolve/ufunc_types.h"
#include "compiler/spec/declared.h"

#include <functional>

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

// The same for a reduction. A split one's second kernel is `symbol` + "_finish".
[[nodiscard]] CompiledKernel compile_reduction(const ReductionSpec& spec,
                                               const Signature& signature,
                                               const ReductionVariant& variant, const Arch& arch);

// The first half of those two: the text is written. The other half is for any thread, while the
// spec lives.
struct Compilation {
    std::function<CompiledKernel()> run; // find or compile
    std::function<bool()> is_on_disk;    // whether the cache's folder holds it: then run() is short
};
[[nodiscard]] Compilation begin_elementwise(const ElementwiseSpec& spec, const Signature& signature,
                                            const ElementwiseVariant& variant, const Arch& arch);
[[nodiscard]] Compilation begin_reduction(const ReductionSpec& spec, const Signature& signature,
                                          const ReductionVariant& variant, const Arch& arch);

// The same for a scan. A split one's first kernel on a CPU is `symbol` + "_totals".
[[nodiscard]] CompiledKernel compile_scan(const ReductionSpec& spec, const Signature& signature,
                                          const ScanVariant& variant, const Arch& arch);

// The same for a row kernel.
[[nodiscard]] CompiledKernel compile_rows(const RowSpec& spec, const Signature& signature,
                                          const RowLayout& layout, const Arch& arch);

// A program of the user's own: its text goes to the toolchain as it stands.
struct RawSource {
    std::string code;
    std::string label =
        "kernel.cu"; // of the text in the toolchain's messages; a path, if it has one
    std::vector<std::string> options;
    std::vector<std::string> name_expressions; // C++ names whose symbols `Binary` shall tell
    bool with_nvcc = false;                    // on GPUs; a CPU has one toolchain
    bool translate_cucomplex = false;          // cuComplex.h becomes its names over complex<T>
    std::string binary;                        // a cubin, a fatbin or PTX instead of `code`
    std::string folder; // of the file that `code` was read from: its #includes start there
};

// Reads source, cubin, fatbin or PTX into `code` or `binary`. Throws DriverError
// (CUDA_ERROR_FILE_NOT_FOUND).
[[nodiscard]] RawSource read_raw_file(const std::string& path);

struct CompiledRaw {
    Binary binary;
    std::string toolchain; // Backend::identity()
    bool from_cache = false;
    double compile_ms = 0;          // of the toolchain, or of reading the cache
    std::vector<KernelFacts> facts; // from toolchains that tell
};

// The same road for such a program. `name` (of the kernel or module) and `origin` ("script.py:12",
// who asked) are for messages only. Throws CompileError as above.
[[nodiscard]] CompiledRaw compile_raw(const RawSource& source, const Arch& arch,
                                      const std::string& name, const std::string& origin);

// Options that are accepted and change nothing on this target, with the reason. Opens the
// toolchain.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
ignored_options(const RawSource& source, const Arch& arch);

// The parameters of a kernel whose symbol is known, as far as symbol and text tell them; empty when
// they do not.
[[nodiscard]] std::vector<DeclaredParam> declared_params(const RawSource& source,
                                                         const std::string& symbol);

// Opens the GPU toolchain's library in the background, once, so that the first compile need not
// wait for it.
void preload_gpu_toolchain() noexcept;

// The cache that every kernel of this process shares.
[[nodiscard]] Cache& process_cache();

} // namespace quern
