// Reads /proc and the control groups, versions 1 and 2.
#include "runtime/host/machine.h"

#include "compiler/base/settings.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <sched.h>
#include <unistd.h>

namespace quern::host {
namespace {

std::optional<std::uint64_t> read_number(const char* path) { // "max" and absent files are none
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? std::optional(value) : std::nullopt;
}

// The value of "key   : value" or "key:   123 kB" in a file of such lines.
std::string find_line(const char* path, const std::string& key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(key))
            continue;
        const auto colon = line.find(':');
        const auto first =
            colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
        return first == std::string::npos ? std::string() : line.substr(first);
    }
    return {};
}

std::optional<int> quota_cpus() {
    double quota = 0, period = 0;
    if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> quota >> period) {
    } else if (std::ifstream limit("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); !(limit >> quota)) {
        return std::nullopt;
    } else {
        period = static_cast<double>(
            read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us").value_or(100000));
    }
    if (quota <= 0 || period <= 0)
        return std::nullopt;
    return std::max(1, static_cast<int>((quota + period - 1) / period));
}

} // namespace

std::string processor_name() {
    const std::string name = find_line("/proc/cpuinfo", "model name");
    return name.empty() ? "CPU" : name;
}

int clock_khz() {
    const std::string mhz = find_line("/proc/cpuinfo", "cpu MHz");
    return mhz.empty() ? 0 : static_cast<int>(std::strtod(mhz.c_str(), nullptr) * 1000);
}

int usable_cpus() {
    if (settings().cpu_threads > 0)
        return std::min(settings().cpu_threads, 1024);
    cpu_set_t mask;
    CPU_ZERO(&mask);
    int cpus = sched_getaffinity(0, sizeof mask, &mask) == 0
                   ? CPU_COUNT(&mask)
                   : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    if (const auto quota = quota_cpus())
        cpus = std::min(cpus, *quota);
    return std::max(cpus, 1);
}

std::size_t usable_memory_bytes() {
    std::uint64_t bytes =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    for (const char* path :
         {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
        if (const auto limit = read_number(path); limit && *limit > 0)
            bytes = std::min(bytes, *limit);
    return bytes;
}

std::size_t free_memory_bytes() {
    const std::string available = find_line("/proc/meminfo", "MemAvailable");
    std::uint64_t bytes = std::strtoull(available.c_str(), nullptr, 10) * 1024;
    constexpr struct {
        const char *limit, *used;
    } groups[] = {{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
                  {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                   "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    for (const auto& group : groups) {
        const auto limit = read_number(group.limit), used = read_number(group.used);
        if (limit && used)
            bytes = std::min(bytes, *limit > *used ? *limit - *used : 0);
    }
    return std::min<std::uint64_t>(bytes, usable_memory_bytes());
}

} // namespace quern::host
