// The two halves of compile.h's functions, for callers that go on between them: the text is written at
// once, the rest is done later, perhaps on another thread.
#pragma once
#include "compiler/compile.h"
#include "compiler/compile_error.h"

#include <string>
#include <utility>

namespace quern {

// A generated kernel's text on its way to a binary. `spec` must live until run() is done.
class Compilation {
  public:
    Compilation(const KernelSpec& spec, LabelledTexts texts, std::string source, const Arch& arch)
        : spec_(spec), texts_(std::move(texts)), source_(std::move(source)), arch_(arch) {}
    // Whether the cache's folder holds it; then run() is a matter of a millisecond.
    [[nodiscard]] bool is_on_disk() const;
    [[nodiscard]] CompiledKernel run() const; // on any thread

  private:
    [[nodiscard]] CompileRequest request() const;
    const KernelSpec& spec_;
    LabelledTexts texts_;
    std::string source_;
    Arch arch_;
};
[[nodiscard]] Compilation begin_elementwise(const ElementwiseSpec& spec, const Signature& signature,
                                            const ElementwiseVariant& variant, const Arch& arch);
[[nodiscard]] Compilation begin_reduction(const ReductionSpec& spec, const Signature& signature,
                                          const ReductionVariant& variant, const Arch& arch);

} // namespace quern
