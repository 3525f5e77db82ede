// What the plans of reductions for GPUs and for the CPU share.
#pragma once
#include "compiler/plan/kept_nest.h"
#include "compiler/plan/reduction.h"

namespace quern {

[[nodiscard]] bool exceeds(const ReductionRequest& request, const ReductionPlan& plan);
// Cuts `steps` for `wanted` blocks, each a multiple of `unit`.
void split_steps(const ReductionRequest& request, std::int64_t wanted, std::int64_t unit,
                 ReductionPlan& plan);

// CPU: two columns beside each other are rows with something between their elements; up to four
// where places are wanted.
[[nodiscard]] bool lies_between(const KeptNest& nest, const ReductionRequest& request);

// CPU, where kept axes stand between the reduced ones: short runs along a row, each far from the
// next, become columns of their own that meet at the end, so that memory is read in its order.
// Longer runs are folded each, and outputs are what the columns hold.
enum class Runs : std::uint8_t { none, columns, folded };
[[nodiscard]] Runs runs_of(const KeptNest& nest, const ReductionRequest& request);
void make_runs(const ReductionRequest& request, KeptNest& nest, ReductionPlan& plan, Runs runs);

// CPU: where few columns lie beside each other, some rows become one line of more columns, which
// meet at the end: vectors have more elements than such rows.
void wrap_rows(const ReductionRequest& request, KeptNest& nest, ReductionPlan& plan);

// CPU: units of work are rows or tiles of columns, cut further where they are too few.
void plan_cpu(const ReductionRequest& request, const KeptNest& nest, ReductionPlan& plan);

} // namespace quern
