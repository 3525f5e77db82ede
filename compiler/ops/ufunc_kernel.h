// A row of the ufunc table, closed over a loop and the dtypes of a call, as the spec of an
// elementwise kernel.
#pragma once
#include "compiler/ops/ufunc_table.h"
#include "compiler/spec/kernel_spec.h"

#include <compare>
#include <vector>

namespace quern {

inline constexpr std::size_t most_ufunc_inputs = 3, most_ufunc_operands = 4; // with outputs

// The types that one loop computes in: "fi->f" by its letters.
struct UfuncLoop {
    std::array<DType, most_ufunc_operands> types{}; // inputs, then outputs
    bool refused = false;                           // a `!` in the table
    friend auto operator<=>(const UfuncLoop&, const UfuncLoop&) = default;
};
[[nodiscard]] std::vector<UfuncLoop> loops_of(const UfuncRow& row);
[[nodiscard]] std::vector<std::string> loop_texts(const UfuncRow& row); // as NumPy's ufunc.types

// What decides such a kernel's text.
struct UfuncForm {
    Ufunc ufunc{};
    UfuncLoop loop;
    std::array<DType, most_ufunc_operands> given{}; // of the arguments: inputs, then outputs
    bool masked = false;                            // writes only where its last input is true
    friend auto operator<=>(const UfuncForm&, const UfuncForm&) = default;
};
[[nodiscard]] ElementwiseSpec ufunc_spec(const UfuncForm& form);

// "const float a = x0;": an element of dtype `from` as the loop computes with it.
[[nodiscard]] std::string ufunc_operand(const UfuncRow& row, DType from, DType loop,
                                        std::string_view name, std::string_view element);
// The type that a loop's dtype is computed in.
[[nodiscard]] std::string_view ufunc_compute_type(const UfuncRow& row, DType loop);

} // namespace quern
