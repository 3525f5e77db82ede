// CacheKey -> Binary: in this process by single flight, on disk whole or not at all.
#pragma once
#include "compiler/backend/backend.h"
#include "compiler/base/digest.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quern {

// Whatever can change the binary is a field here, and one test per field proves it.
struct CacheKey {
    std::string name;   // of the kernel: for people, and so that its text may name the symbol
    std::string source; // complete main text
    std::vector<SourceFile> headers;           // prelude pieces handed along
    std::vector<SourceFile> included;          // files read through -I, with their contents
    std::vector<std::string> options;          // in order
    std::vector<std::string> name_expressions; // in order
    std::string backend;                       // Backend::identity()
    Arch arch;
    bool check_mode = false;
    std::uint32_t format = 1; // of the cache entry and of host_abi.h

    [[nodiscard]] Digest digest() const;
    // Field by field, short enough to print: (name, value or digest of value). Same order always.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> fields() const;
};

struct CacheConfig; // config.h

struct CacheStats {
    std::uint64_t memory_hits =
        0; // counted by the kernels' own signature tables and by single flight
    std::uint64_t disk_hits = 0;
    std::uint64_t compiles = 0;
    std::uint64_t entries = 0; // on disk
    std::uint64_t bytes = 0;   // on disk
    // The fields of the last missed key that differ from the nearest entry seen by this process (or
    // all of them).
    std::vector<std::pair<std::string, std::string>> last_miss;
};

class Cache {
  public:
    // Settings: QUERN_CACHE_DIR, QUERN_CACHE_SIZE (bytes or "512M", "2G"; default 1 GiB; LRU).
    // Opens nothing yet.
    Cache();
    explicit Cache(CacheConfig config);
    ~Cache();
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    // The road of a miss: disk, else `compile` (once per key among threads), then stored. Errors of
    // `compile` reach every waiting thread; errors of the disk never do: they cost one warning and
    // the disk is left alone.
    [[nodiscard]] Binary find_or_compile(const CacheKey& key,
                                         const std::function<Binary()>& compile);

    // What a toolchain leaves for its later compilations: the disk's part of the above, counted
    // nowhere.
    [[nodiscard]] std::optional<Binary> find(const CacheKey& key);
    void keep(const CacheKey& key, const Binary& binary);

    void count_memory_hit() noexcept;
    [[nodiscard]] CacheStats stats() const;
    void clear(); // removes every entry on disk and forgets what single flight remembers
    [[nodiscard]] std::string folder() const;
    // The one warning, "" while there was none: what happened to the disk and what to do. Read and
    // cleared.
    [[nodiscard]] std::string take_warning();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace quern
