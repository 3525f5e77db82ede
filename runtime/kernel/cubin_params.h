// How many parameters a kernel has, read from its cubin: for drivers that only answer whether there
// is one more.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace quern {

// Nothing where the image is no cubin, or says nothing of the kernel.
[[nodiscard]] std::optional<std::size_t> count_cubin_params(std::span<const std::byte> image,
                                                            std::string_view symbol) noexcept;

} // namespace quern
