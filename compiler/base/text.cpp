// Figures as people read them.
#include "compiler/base/text.h"

#include <array>
#include <cstddef>

namespace quern {

std::string format_bytes(unsigned long long bytes) {
    if (bytes < 1024)
        return join(bytes, bytes == 1 ? " byte" : " bytes");
    constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto amount = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    while (amount >= 1023.95 && unit + 1 < units.size()) { // 1023.95 would be printed as 1024.0
        amount /= 1024;
        ++unit;
    }
    std::string text = fmt::format("{:.1f}", amount);
    if (text.ends_with(".0"))
        text.resize(text.size() - 2);
    return join(text, " ", units[unit]);
}

} // namespace quern
