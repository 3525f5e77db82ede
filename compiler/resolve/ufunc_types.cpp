// The search over loops. A Python scalar beside arrays takes the dtype that promotion gives it;
// below their kind, or as an integer among integers, it stays free to take any dtype of its own
// kind or above.
#include "compiler/resolve/ufunc_types.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <vector>

namespace quern {
namespace {

WeakScalar kind_of(DType dtype) {
    switch (row(dtype).kind) {
    case Kind::boolean:
        return WeakScalar::boolean;
    case Kind::signed_integer:
    case Kind::unsigned_integer:
        return WeakScalar::integer;
    case Kind::floating:
        return WeakScalar::floating;
    case Kind::complex:
        break;
    }
    return WeakScalar::complex;
}

bool fits(const UfuncInput& input, DType loop, Casting casting) {
    if (casting == Casting::unsafe)
        return true;
    return input.weak ? input.kind <= kind_of(loop) : can_cast(input.dtype, loop, casting);
}

std::vector<UfuncInput> settle_scalars(std::span<const UfuncInput> inputs) {
    std::vector<UfuncInput> settled(inputs.begin(), inputs.end());
    std::optional<DType> strong;
    for (const UfuncInput& input : inputs)
        if (!input.weak)
            strong = strong ? result_type(*strong, input.dtype) : input.dtype;
    for (UfuncInput& input : settled) {
        const bool is_free =
            strong && (input.kind < kind_of(*strong) || (input.kind == WeakScalar::integer &&
                                                         kind_of(*strong) == WeakScalar::integer));
        if (!input.weak || is_free)
            continue;
        input.weak = false;
        if (strong)
            input.dtype = result_type(*strong, input.kind);
    }
    return settled;
}

std::string dtype_text(DType dtype) { return join("dtype('", row(dtype).name, "')"); }

std::string_view casting_name(Casting casting) {
    static constexpr std::array<std::string_view, 5> names{"no", "equiv", "safe", "same_kind",
                                                           "unsafe"};
    return names[static_cast<std::size_t>(casting)];
}

[[noreturn]] void refuse(const UfuncRow& row) {
    if (row.id == Ufunc::subtract)
        throw TypeError("numpy boolean subtract, the `-` operator, is not supported, use the "
                        "bitwise_xor, the `^` operator, or the logical_xor function instead.");
    if (row.id == Ufunc::negative)
        throw TypeError("The numpy boolean negative, the `-` operator, is not supported, use the "
                        "`~` operator or the logical_not function instead.");
    throw TypeError(join("ufunc '", row.name, "' is not supported for bool"));
}

} // namespace

UfuncLoop find_loop(const UfuncRow& row, std::span<const UfuncInput> inputs,
                    const UfuncTypes& types) {
    const std::vector<UfuncLoop> loops = loops_of(row);
    const std::size_t nin = inputs.size();
    const bool fixed = std::ranges::any_of(types.fixed, [](auto type) { return type.has_value(); });
    const auto agrees = [&](const UfuncLoop& loop) {
        for (std::size_t k = 0; k < nin + static_cast<std::size_t>(outputs_of(row)); ++k)
            if (types.fixed[k] && *types.fixed[k] != loop.types[k])
                return false;
        return true;
    };
    const auto find = [&](std::span<const UfuncInput> given, bool cast_inputs) {
        return std::ranges::find_if(loops, [&](const UfuncLoop& loop) {
            for (std::size_t k = 0; k < nin; ++k)
                if (!cast_inputs && !types.fixed[k] &&
                    !fits(given[k], loop.types[k], Casting::safe))
                    return false;
            return agrees(loop);
        });
    };
    const std::vector<UfuncInput> settled = settle_scalars(inputs);
    auto found = find(settled, false);
    if (found == loops.end())
        found = find(inputs, false);
    if (found == loops.end() && fixed)
        found = find(settled, true);
    if (found == loops.end() && fixed)
        throw TypeError(join("No loop matching the specified signature and casting was found for "
                             "ufunc ",
                             row.name));
    if (found == loops.end())
        throw TypeError(join("ufunc '", row.name,
                             "' not supported for the input types, and the inputs could not be "
                             "safely coerced to any supported types according to the casting rule "
                             "''safe''"));
    if (found->refused)
        refuse(row);
    for (std::size_t k = 0; k < nin; ++k)
        if (!fits(inputs[k], found->types[k], types.casting))
            throw TypeError(join("Cannot cast ufunc '", row.name, "' input",
                                 nin > 1 ? join(" ", k) : std::string(), " from ",
                                 dtype_text(inputs[k].dtype), " to ", dtype_text(found->types[k]),
                                 " with casting rule '", casting_name(types.casting), "'"));
    return *found;
}

void check_output(const UfuncRow& row, const UfuncLoop& loop, int k, DType given, Casting casting) {
    const DType made = loop.types[static_cast<std::size_t>(inputs_of(row) + k)];
    if (!can_cast(made, given, casting))
        throw TypeError(join("Cannot cast ufunc '", row.name, "' output",
                             outputs_of(row) > 1 ? join(" ", k) : std::string(), " from ",
                             dtype_text(made), " to ", dtype_text(given), " with casting rule '",
                             casting_name(casting), "'"));
}

} // namespace quern
