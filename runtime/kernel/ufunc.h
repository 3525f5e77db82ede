// NumPy's ufuncs over arrays: a row of the ufunc table, closed over a loop and dtypes, is an
// elementwise kernel.
#pragma once
#include "runtime/kernel/elementwise.h"

namespace quern {

struct UfuncCall {
    std::span<const Argument> inputs;      // arrays and scalars, as many as the ufunc has
    std::array<const Array*, 2> outputs{}; // nullptr: made
    const Argument* where = nullptr;       // a bool or an array of bool; nullptr: everywhere
    UfuncTypes types;                      // casting=, and dtype= or signature=
    char order = 'K';                      // of outputs that are made: C, F, A, K
};

// Computes. Returns the outputs that were made, in order. Inputs that share memory with an output
// in another place are copied first. Throws TypeError where no loop or no cast serves, ValueError
// for shapes and read-only outputs.
std::vector<Array> call_ufunc(Ufunc ufunc, const UfuncCall& call,
                              void (*on_wait)(bool entering) = nullptr);

// The loop that such inputs take, without a call.
[[nodiscard]] UfuncLoop find_loop(Ufunc ufunc, std::span<const Argument> inputs,
                                  const UfuncTypes& types);

[[nodiscard]] std::optional<Ufunc> ufunc_named(std::string_view name) noexcept;

} // namespace quern
