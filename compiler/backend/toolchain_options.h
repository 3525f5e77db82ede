// Options that one toolchain knows and another need not: dropped with a reason, never silently.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quern {

enum class Toolchain : std::uint8_t { nvrtc, nvcc, host };

struct SortedOptions {
    std::vector<std::string> used;
    std::vector<std::pair<std::string, std::string>> ignored; // as given; why
};

// What the toolchain shall be given of these, in order.
[[nodiscard]] SortedOptions sort_options(const std::vector<std::string>& given,
                                         Toolchain toolchain);

} // namespace quern
