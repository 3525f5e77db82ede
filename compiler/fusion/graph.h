// Kernels over one shape as a graph: steps that read and make values. A value is made once; writing
// an array makes the next one of it. Elements that a reduction joins are a row, along whatever axes
// they lie; all reductions of a graph have the same rows.
#pragma once
#include "compiler/resolve/signature.h"
#include "compiler/spec/reduction_spec.h"

#include <string>
#include <vector>

namespace quern {

inline constexpr int no_value = -1;

struct GraphValue {
    DType dtype = DType::float32;
    bool given = false;   // a parameter: an array's elements, or a scalar
    bool scalar = false;  // given, and one for all elements
    bool wanted = false;  // an array's elements afterwards
    bool per_row = false; // made, one for all elements of a row
};

struct GraphStep {
    const ElementwiseSpec* spec = nullptr;
    const Signature* signature = nullptr;
    std::vector<int> inputs;  // a value for each input
    std::vector<int> before;  // for each output the value whose elements the body may keep, or none
    std::vector<int> outputs; // a value for each output
    int line = 0;             // of the function's source; 0: unknown
    bool per_row = false;     // makes values of rows, not of elements
    const ReductionSpec* reduction = nullptr; // then `spec` is null
    std::uint64_t number = 0;                 // of the kernel, which no other one has

    [[nodiscard]] const KernelSpec& kernel() const {
        return spec != nullptr ? static_cast<const KernelSpec&>(*spec) : *reduction;
    }
    // It ends and does no harm whatever it reads.
    [[nodiscard]] bool total() const {
        return spec != nullptr ? spec->total : reduction->maps_anything;
    }
};

// Calls visit(value) for every value that a step reads.
template <class Visit> void each_read(const GraphStep& step, const Visit& visit) {
    for (const auto* list : {&step.inputs, &step.before})
        for (const int value : *list)
            if (value != no_value)
                visit(value);
}

struct FusionGraph {
    std::vector<GraphValue> values;
    std::vector<GraphStep> steps; // in an order in which they can run
};

// "v3 = quern_add(v0, v1)", a line for each step.
[[nodiscard]] std::string text_of(const FusionGraph& graph);

// The first rule that the graph breaks, in words; empty if none.
[[nodiscard]] std::string complaint_about(const FusionGraph& graph);

// Can the kernel be a step? Not with raw arrays, places, structures, code around its loop, or a
// body that may leave it. One that uses `i` can where nothing is reduced.
[[nodiscard]] bool can_be_step(const ElementwiseSpec& spec, const Signature& signature);
// Not with raw arrays or structures either, or expressions that look at other places than `_J`.
[[nodiscard]] bool can_be_step(const ReductionSpec& spec, const Signature& signature);

} // namespace quern
