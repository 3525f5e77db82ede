// The one promotion table: NumPy 2 with NEP 50, bfloat16 as ml_dtypes registers it. Ufuncs, fusion
// and array routines ask here and nowhere else.
#pragma once
#include "compiler/base/dtype.h"

#include <optional>
#include <span>
#include <string_view>

namespace quern {

// The dtype of `a + b` in NumPy for arrays of these dtypes. (numpy.result_type agrees wherever it
// answers; for bfloat16 with float16 or with integers of 16 bits and more only the ufuncs do.)
[[nodiscard]] DType result_type(DType a, DType b) noexcept;

// Of several arrays together, at least one. Kinds are promoted from the highest down: int16, uint16
// and float32 give float32 in any order.
[[nodiscard]] DType result_type(std::span<const DType> dtypes) noexcept;

// A Python scalar is weak: only its kind counts.
enum class WeakScalar : std::uint8_t { boolean, integer, floating, complex };

[[nodiscard]] DType result_type(DType array, WeakScalar scalar) noexcept;
[[nodiscard]] DType default_dtype(WeakScalar scalar) noexcept; // bool, int64, float64, complex128

enum class Casting : std::uint8_t { no, equiv, safe, same_kind, unsafe };

[[nodiscard]] std::optional<Casting> find_casting(std::string_view name) noexcept; // "same_kind"
[[nodiscard]] bool can_cast(DType from, DType to, Casting casting) noexcept;

} // namespace quern
