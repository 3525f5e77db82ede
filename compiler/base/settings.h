// The one place that reads the environment. Values are read once, when first asked for.
#pragma once
#include <cstdint>
#include <string>

namespace quern {

struct Settings {
    std::string cache_dir;              // QUERN_CACHE_DIR; else $XDG_CACHE_HOME/quern, else ~/.cache/quern; "" = no disk
    std::uint64_t cache_size_bytes = 0; // QUERN_CACHE_SIZE, default 1 GiB
    bool cache_trust_shared = false;    // QUERN_CACHE_TRUST_SHARED=1: a folder others can write is accepted
    std::string device;                 // QUERN_DEVICE: "", "cpu", "cuda", "cuda:1"
    int cpu_threads = 0;                // QUERN_NUM_THREADS; 0: the CPUs this process may run on
    std::uint64_t memory_limit_bytes = 0; // QUERN_MEMORY_LIMIT; 0: none
    bool show_source = false, show_cache = false, show_launch = false; // QUERN_SHOW=source,cache,launch
    std::string cuda_path;              // CUDA_PATH, else CUDA_HOME
};

[[nodiscard]] const Settings& settings();

} // namespace quern
