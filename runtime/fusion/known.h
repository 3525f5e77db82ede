// What is made on first use and kept: all that is alike shares it.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace quern {

template <class Made, class Make> Made& known(const std::string& key, const Make& make) {
    static auto* const all = new std::unordered_map<std::string, std::unique_ptr<Made>>;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    auto& found = (*all)[key];
    if (!found)
        found = std::make_unique<Made>(make());
    return *found;
}

} // namespace quern
