// What the text of every generated kernel shares: its head, the prelude pieces it needs, its
// parameters and the prefix of our own names.
#pragma once
#include "compiler/codegen/writer.h"
#include "compiler/resolve/signature.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

// How a raw array reaches the kernel: template arguments of CArray.
struct RawLayout {
    std::uint8_t ndim = 1;
    bool c_contiguous = true;
    bool narrow = true; // offsets fit 31 bits
    friend bool operator==(const RawLayout&, const RawLayout&) = default;
};

// The label under which compilers name the user's own preamble in diagnostics.
inline constexpr std::string_view preamble_label = "preamble";

[[nodiscard]] bool starts_with_any(const std::vector<std::string>& identifiers,
                                   std::initializer_list<std::string_view> beginnings);

// Functions of quern::ufunc that ufunc.cuh has and ufunc_plain.cuh has not, sorted.
inline constexpr std::array<std::string_view, 28> long_ufuncs{
    "acos",          "acosh", "arctan2",   "asin",         "asinh", "atan",      "atanh",
    "bitwise_count", "cosh",  "divmod",    "floor_divide", "fmod",  "frexp",     "gcd",
    "hypot",         "lcm",   "ldexp",     "left_shift",   "log1p", "logaddexp", "logaddexp2",
    "nextafter",     "power", "remainder", "right_shift",  "sinh",  "spacing",   "tan"};

// "q_", or longer: what no text of the user's begins with.
[[nodiscard]] std::string own_prefix(const KernelSpec& spec);

// Names of the prelude pieces that the text includes, in order: `mains`, then what it mentions.
[[nodiscard]] std::vector<std::string>
kernel_pieces(const KernelSpec& spec, const Signature& signature, std::vector<std::string> mains);

// Title, plan, includes, structures, placeholders, preamble.
void write_head(Writer& out, std::string_view kind, const KernelSpec& spec,
                const Signature& signature, std::string_view plan,
                const std::vector<std::string>& pieces);

// Type of a parameter's elements, as the kernel's text spells it.
[[nodiscard]] std::string type_in_kernel(const KernelSpec& spec, const Signature& signature,
                                         std::size_t k);
[[nodiscard]] inline std::string constness(const Param& param) {
    return param.output || param.non_const ? "" : "const ";
}

// "const float* q_data_x, const CArray<...> t, const int n, ": every parameter of the spec.
[[nodiscard]] std::string kernel_params(const KernelSpec& spec, const Signature& signature,
                                        const std::vector<RawLayout>& raw,
                                        const std::string& prefix);

} // namespace quern
