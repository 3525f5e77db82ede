// Joining text: the one way messages and generated source are put together from values.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace quern {

template <class... Parts> [[nodiscard]] std::string join(const Parts&... parts) {
    std::string text;
    (fmt::format_to(std::back_inserter(text), "{}", parts), ...);
    return text;
}

// "1.5 GiB", "640 bytes"
[[nodiscard]] std::string format_bytes(unsigned long long bytes);

} // namespace quern
