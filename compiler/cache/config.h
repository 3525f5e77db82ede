// How a Cache is set up. Cache() takes all of it from the environment; tests say it themselves.
#pragma once
#include "compiler/cache/file_api.h"

#include <cstdint>
#include <string>

namespace quern {

struct CacheConfig {
    std::string folder; // "" = nothing on disk
    std::uint64_t size_bytes = std::uint64_t{1}
                               << 30; // entries are trimmed to this, oldest use first
    bool trust_shared = false; // a folder or an entry that others own or can write is accepted
    bool keep_source = false;  // the main source is kept beside each entry, as a .cu file
    bool show = false;         // one line per hit and miss on stderr
    FileApi files = real_files();
};

} // namespace quern
