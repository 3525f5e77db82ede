// A reduction as its author wrote it: map each element, reduce pairs, post-map the result.
#pragma once
#include "compiler/spec/kernel_spec.h"

namespace quern {

struct ReductionSpec : KernelSpec {
    std::string map_expr, reduce_expr, post_map_expr;
    std::string identity;    // "" where there is none
    std::string reduce_type; // of `a` and `b`; "" is the first output's
    std::string inner_type;  // a narrower type that a thread's own sum fits in, or ""
    // Where a thread may look at its elements twice: what it finds first, from which it then
    // measures them in an accumulator of the type's `Own`; or "".
    std::string about_type;
    std::int64_t inner_steps = 0;        // of so many elements at most; 0: of any number
    bool inner_takes_packs = false;      // it maps a pack of neighbours and its place in one step
    bool refuses_empty = false;          // there is a value to start from, but none for no elements
    std::uint32_t accumulator_bytes = 0; // 0 where only a compiler knows
    bool maps_anything = false;          // map_expr can be asked about values that take no part
    std::string atomic_join;             // of atomic_join.cuh, or "": blocks may join by atomics
    bool exact = false;                  // reduce_expr rounds nothing: its order is not seen
    std::string settled;                 // the one of two results that no element changes, or ""
    bool ends_early = false;             // mostly the first elements decide
    // What the expressions look at besides elements.
    bool uses_position = false; // `_J`: where the element stands along the reduced axes
    bool uses_row = false;      // `_i`: which output it belongs to
    bool uses_in_ind = false, uses_out_ind = false;
};

// What the constructor of ReductionKernel receives, unchecked.
struct ReductionText {
    std::string_view in_params, out_params, map_expr, reduce_expr, post_map_expr, identity;
    std::string_view name = "reduce_kernel";
    std::string_view reduce_type, preamble;
    bool reduce_dims = true;
    std::vector<std::string> options;
    std::string origin;
};

// Throws SpecError: what make_elementwise_spec throws, no output, an empty expression.
[[nodiscard]] ReductionSpec make_reduction_spec(const ReductionText& text);

} // namespace quern
