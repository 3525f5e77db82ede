// The one place that reads the environment. Values are read once, when first asked for.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace quern {

struct Settings {
    std::string
        cache_dir; // QUERN_CACHE_DIR; else $XDG_CACHE_HOME/quern, else ~/.cache/quern; "" = no disk
    std::uint64_t cache_size_bytes = 0; // QUERN_CACHE_SIZE, default 1 GiB
    bool cache_trust_shared =
        false;           // QUERN_CACHE_TRUST_SHARED=1: a folder others can write is accepted
    std::string device;  // QUERN_DEVICE: "", "cpu", "cuda", "cuda:1"
    int cpu_threads = 0; // QUERN_NUM_THREADS; 0: the CPUs this process may run on
    std::uint64_t memory_limit_bytes = 0; // QUERN_MEMORY_LIMIT; 0: none
    bool show_source = false, show_cache = false,
         show_launch = false; // QUERN_SHOW=source,cache,launch
    bool cache_source =
        false; // QUERN_CACHE_SOURCE=1: the readable source is kept beside each cache entry
    std::string cuda_path;    // CUDA_PATH, else CUDA_HOME
    std::string conda_prefix; // CONDA_PREFIX
    std::string cc_library;   // QUERN_CC_LIBRARY: a libquern_cc.so to take when none lies beside us
    std::string
        warning; // what was malformed and which default was taken instead, one line each; or ""
};

[[nodiscard]] const Settings& settings();

// The same from any environment: `variable` answers as std::getenv does. For tests.
[[nodiscard]] Settings read_settings(const std::function<const char*(const char*)>& variable);

} // namespace quern
