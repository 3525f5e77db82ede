// Lines and words.
#include "compiler/base/kernel_facts.h"

#include <array>
#include <charconv>

namespace quern {

std::vector<KernelFacts> read_kernel_facts(std::string_view lines) {
    std::vector<KernelFacts> list;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        std::array<std::string_view, 6> words;
        for (std::string_view& word : words) {
            const std::size_t tab = std::min(line.find('\t'), line.size());
            word = line.substr(0, tab);
            line.remove_prefix(std::min(tab + 1, line.size()));
        }
        const auto number = [](std::string_view word) {
            std::uint32_t value = 0;
            std::from_chars(word.data(), word.data() + word.size(), value);
            return value;
        };
        if (!words[0].empty())
            list.push_back({std::string(words[0]), std::string(words[1]), number(words[2]),
                            number(words[3]), number(words[4]), std::string(words[5])});
    }
    return list;
}

} // namespace quern
