// Which loop of a ufunc a call takes: NumPy's rules, over the loops of the ufunc table.
#pragma once
#include "compiler/ops/ufunc_kernel.h"
#include "compiler/resolve/promote.h"

#include <optional>
#include <span>

namespace quern {

// An input: an array or a NumPy scalar of a dtype, or a Python scalar of a kind.
struct UfuncInput {
    bool weak = false;
    WeakScalar kind = WeakScalar::integer;
    DType dtype = DType::int64; // of a Python scalar: what it is by itself
};

struct UfuncTypes {
    std::array<std::optional<DType>, most_ufunc_operands> fixed; // dtype=, signature=
    Casting casting = Casting::same_kind;
};

// The first loop that every input can be cast to safely; with fixed types, of those that have them.
// Throws TypeError, as NumPy does, where there is none, where the table refuses, and where
// `casting` does not let an input become what the loop has.
[[nodiscard]] UfuncLoop find_loop(const UfuncRow& row, std::span<const UfuncInput> inputs,
                                  const UfuncTypes& types);

// Throws TypeError where `casting` does not let the loop's result number `k` become `given`.
void check_output(const UfuncRow& row, const UfuncLoop& loop, int k, DType given, Casting casting);

} // namespace quern
