// The kernel that a part of a graph became: made once for all parts like it.
#pragma once
#include "compiler/fusion/cut.h"
#include "runtime/kernel/elementwise.h"
#include "runtime/kernel/reduction.h"
#include "runtime/kernel/rows.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace quern {

// What a launch needs besides its arguments.
struct FusedCall {
    std::vector<std::int64_t> reduced_axes; // of its reductions or rows
    std::int64_t elements = 1;              // of a kernel that takes no array
    RowWays ways = RowWays::all;            // of rows
};

struct FusedKernel {
    std::unique_ptr<ElementwiseKernel> elementwise; // either this
    std::unique_ptr<ReductionKernel> reduction;     // or that
    std::unique_ptr<RowKernel> rows;                // or that
    std::vector<int> values;                        // of the part's graph: its parameters

    [[nodiscard]] const KernelSpec& spec() const;
    [[nodiscard]] std::string launched_code() const; // generated CUDA C++
    // False: not in this way, and nothing has run.
    bool operator()(std::span<const Argument> args, const FusedCall& call, CUstream stream,
                    void (*on_wait)(bool entering));
};

// Throws SpecError where it would have too many parameters.
[[nodiscard]] FusedKernel& kernel_of(const GraphPart& part, const std::string& name);

} // namespace quern
