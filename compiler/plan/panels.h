// Columns in panels: rows that lie across memory and are too long for a block, held by the blocks
// of a cluster, which take one panel after another and fetch the next one meanwhile.
#pragma once
#include "compiler/plan/kept_nest.h"
#include "compiler/plan/rows.h"

namespace quern {

// `plan` has what it tells of the nest. False where rows are short, lie otherwise, or do not fit.
[[nodiscard]] bool plan_panels(const KeptNest& nest, const RowRequest& request, RowPlan& plan);

} // namespace quern
