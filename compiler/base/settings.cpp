// The environment, read once. A malformed value never stops anything: it costs a warning, and the
// default is taken.
#include "compiler/base/settings.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <pwd.h>
#include <unistd.h>

namespace quern {
namespace {

using Variable = std::function<const char*(const char*)>;

// "1073741824", "512M", "2G", "1.5 GiB", "64 kB" (binary units throughout).
std::optional<std::uint64_t> parse_size(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    double amount = 0;
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
    if (failure != std::errc{} || !(amount >= 0))
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    double unit = 1;
    if (!text.empty()) {
        constexpr std::string_view units = "kmgtKMGT";
        if (const std::size_t at = units.find(text.front()); at != std::string_view::npos) {
            for (std::size_t k = 0; k <= at % 4; ++k)
                unit *= 1024;
            text.remove_prefix(1);
            if (text.starts_with('i'))
                text.remove_prefix(1);
        }
        if (text.starts_with('b') || text.starts_with('B'))
            text.remove_prefix(1);
    }
    const double bytes = amount * unit;
    if (!text.empty() || bytes >= 9.2e18)
        return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

struct Reader {
    const Variable& variable;
    std::string warning;

    [[nodiscard]] std::string text(const char* name) const {
        const char* value = variable(name);
        return value == nullptr ? std::string() : std::string(value);
    }

    void refuse(const char* name, const std::string& value, std::string_view wanted,
                std::string_view taken) {
        if (!warning.empty())
            warning += '\n';
        warning += join(name, "='", value, "' is not ", wanted, "; taking ", taken);
    }

    std::uint64_t size(const char* name, std::uint64_t otherwise, std::string_view taken) {
        const std::string value = text(name);
        if (value.empty())
            return otherwise;
        if (const auto bytes = parse_size(value))
            return *bytes;
        refuse(name, value, "a size such as 512M or 2G", taken);
        return otherwise;
    }

    bool flag(const char* name) {
        const std::string value = text(name);
        if (value == "1" || value == "true" || value == "yes" || value == "on")
            return true;
        if (!value.empty() && value != "0" && value != "false" && value != "no" && value != "off")
            refuse(name, value, "0 or 1", "0");
        return false;
    }

    int count(const char* name) {
        const std::string value = text(name);
        if (value.empty())
            return 0;
        int number = 0;
        const char* last = value.data() + value.size();
        const auto [end, failure] = std::from_chars(value.data(), last, number);
        if (failure == std::errc{} && end == last && number >= 0 && number <= 4096)
            return number;
        refuse(name, value, "a number of threads from 1 to 4096",
               "the CPUs this process may run on");
        return 0;
    }
};

std::string home_folder(const Variable& variable) {
    const char* home = variable("HOME");
    if (home != nullptr && home[0] == '/')
        return home;
    passwd entry{};
    passwd* found = nullptr;
    char buffer[4096];
    if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr)
        return {};
    return found->pw_dir != nullptr && found->pw_dir[0] == '/' ? found->pw_dir : "";
}

std::string cache_folder(const Variable& variable) {
    if (const char* chosen = variable("QUERN_CACHE_DIR"); chosen != nullptr) {
        std::string folder = chosen;
        if (folder == "~" || folder.starts_with("~/"))
            folder = home_folder(variable) + folder.substr(1);
        while (folder.size() > 1 && folder.ends_with('/'))
            folder.pop_back();
        return folder; // "" asks for no disk cache
    }
    // The XDG rules: a relative path is to be ignored.
    if (const char* xdg = variable("XDG_CACHE_HOME"); xdg != nullptr && xdg[0] == '/')
        return std::string(xdg) + "/quern";
    const std::string home = home_folder(variable);
    return home.empty() ? "" : home + "/.cache/quern";
}

bool known_device(std::string_view device) {
    if (device.empty() || device == "cpu" || device == "cuda")
        return true;
    if (!device.starts_with("cuda:") || device.size() < 6 || device.size() > 8)
        return false;
    return device.substr(5).find_first_not_of("0123456789") == std::string_view::npos;
}

} // namespace

Settings read_settings(const Variable& variable) {
    Reader read{variable, {}};
    Settings s;
    s.cache_dir = cache_folder(variable);
    s.cache_size_bytes = read.size("QUERN_CACHE_SIZE", std::uint64_t{1} << 30, "1 GiB");
    s.cache_trust_shared = read.flag("QUERN_CACHE_TRUST_SHARED");
    s.cache_source = read.flag("QUERN_CACHE_SOURCE");
    s.device = read.text("QUERN_DEVICE");
    if (!known_device(s.device)) {
        read.refuse("QUERN_DEVICE", s.device, "cpu, cuda or cuda:N", "the first GPU, else the CPU");
        s.device.clear();
    }
    s.cpu_threads = read.count("QUERN_NUM_THREADS");
    s.memory_limit_bytes = read.size("QUERN_MEMORY_LIMIT", 0, "no limit");
    s.cuda_path = read.text("CUDA_PATH");
    if (s.cuda_path.empty())
        s.cuda_path = read.text("CUDA_HOME");
    s.conda_prefix = read.text("CONDA_PREFIX");
    s.cc_library = read.text("QUERN_CC_LIBRARY");

    const std::string show = read.text("QUERN_SHOW");
    for (std::size_t from = 0; from < show.size();) {
        const std::size_t comma = std::min(show.find(',', from), show.size());
        std::string word = show.substr(from, comma - from);
        std::erase(word, ' ');
        from = comma + 1;
        if (word == "source")
            s.show_source = true;
        else if (word == "cache")
            s.show_cache = true;
        else if (word == "launch")
            s.show_launch = true;
        else if (!word.empty())
            read.refuse("QUERN_SHOW", word, "source, cache or launch", "the others");
    }
    s.warning = std::move(read.warning);
    return s;
}

const Settings& settings() {
    static const Settings once = read_settings([](const char* name) { return std::getenv(name); });
    return once;
}

} // namespace quern
