// Products of arrays summed over shared axes: matmul, dot, inner, tensordot and each step of an
// einsum are one contraction.
#pragma once
#include "compiler/base/error.h"
#include "runtime/array/array.h"

#include <optional>
#include <span>
#include <string>

namespace quern {

struct ProductCall {
    std::optional<DType> dtype; // computed in and stored; else what the operands promote to
    const Array* out = nullptr; // of the result's shape; `dtype` must cast to its own
    bool conjugate = false;     // of `a`
};

// Each axis of an operand has a label, once. Labels of both operands that are not in `labels` are
// summed over, those that are, are paired; each label in `labels` is of an operand. An axis of
// extent 1 stretches. The result's axes come in the order of `labels`, in C order in memory.
// Throws ValueError for extents that differ and for an `out` of another shape, TypeError for one
// that cannot hold the result.
[[nodiscard]] Array contract(const Array& a, std::span<const int> labels_a, const Array& b,
                             std::span<const int> labels_b, std::span<const int> labels,
                             const ProductCall& call = {},
                             void (*on_wait)(bool entering) = nullptr);

// numpy.matmul: (..., m, k) @ (..., k, n); an operand of one axis is a row or a column.
[[nodiscard]] Array matmul(const Array& a, const Array& b, const ProductCall& call = {},
                           void (*on_wait)(bool entering) = nullptr);

// The complaint about an operand without axes, the first (0) or the second.
[[nodiscard]] ValueError scalar_in_matmul(int operand);

// numpy.tensordot: sums over `axes_a` of `a` and `axes_b` of `b`, pair by pair; what is left of `a`
// comes before what is left of `b`.
[[nodiscard]] Array tensordot(const Array& a, std::span<const std::int64_t> axes_a, const Array& b,
                              std::span<const std::int64_t> axes_b, const ProductCall& call = {},
                              void (*on_wait)(bool entering) = nullptr);

// numpy.dot: the last axis of `a` with the second to last of `b`.
[[nodiscard]] Array dot(const Array& a, const Array& b, const ProductCall& call = {},
                        void (*on_wait)(bool entering) = nullptr);

// numpy.vdot of arrays of one shape: the sum of products of all elements, those of `a` conjugated.
[[nodiscard]] Array vdot(const Array& a, const Array& b, void (*on_wait)(bool entering) = nullptr);

// How contract() computes such a product: by which library, or as a reduction or a ufunc.
[[nodiscard]] std::string explain_contract(const Array& a, std::span<const int> labels_a,
                                           const Array& b, std::span<const int> labels_b,
                                           std::span<const int> labels,
                                           const ProductCall& call = {});

} // namespace quern
