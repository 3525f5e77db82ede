// The kernels of the Python tests, one a line (tests/python/kernel/conftest.py records them), and
// plans to compile them with.
#pragma once
#include "compiler/codegen/elementwise.h"

#include <string>
#include <vector>

namespace quern {

struct CorpusKernel {
    ElementwiseSpec spec;
    std::vector<ArgType> args;
};

[[nodiscard]] std::vector<CorpusKernel> read_corpus(const std::string& path);

// Variants of a kernel that a target may meet: dense, strided and transposed operands.
[[nodiscard]] std::vector<ElementwiseVariant>
corpus_variants(const CorpusKernel& kernel, const Signature& signature, Target target);

} // namespace quern
