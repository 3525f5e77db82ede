// The cache's folder: <folder>/v2/ab/cdef....qbin, one file an entry. Nothing here throws for what
// the disk does: trouble makes a miss or an entry not stored, and the first trouble is kept as a
// warning.
#pragma once
#include "compiler/backend/backend.h"
#include "compiler/base/digest.h"
#include "compiler/cache/config.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

class Disk {
  public:
    explicit Disk(CacheConfig config);

    // Any thread, any process. A hit counts as a use.
    [[nodiscard]] std::optional<Binary> find(const Digest& key);
    // Complete or absent, whatever fails. `source` is kept beside it if the configuration says so.
    void store(const Digest& key, const Binary& binary, std::string_view source);

    struct Totals {
        std::uint64_t entries = 0, bytes = 0;
    };
    [[nodiscard]] Totals totals();
    // Removes every entry; throws Error (io) when one withstands.
    void clear();

    [[nodiscard]] const std::string& folder() const noexcept { return config_.folder; }
    [[nodiscard]] std::string take_warning();

  private:
    struct Found {
        std::string path;
        std::uint64_t bytes = 0;
        std::int64_t used_ns = 0;
        bool is_entry = false; // else the readable source beside one
    };
    [[nodiscard]] bool folder_is_ours();
    [[nodiscard]] bool make_folders(const std::string& shelf);
    [[nodiscard]] bool make_folder(const std::string& path, int depth);
    [[nodiscard]] bool write_file(const std::string& shelf, const std::string& path,
                                  std::span<const std::byte> bytes);
    [[nodiscard]] bool write_all(int fd, std::span<const std::byte> bytes);
    [[nodiscard]] std::optional<std::vector<std::byte>> read_all(int fd, std::uint64_t size);
    void account(std::uint64_t bytes);
    void trim();
    // Every file of ours, and the sum of their bytes; sweeps forgotten private files.
    [[nodiscard]] std::vector<Found> scan();
    void trouble(std::string_view deed, const std::string& path, int failure,
                 std::string_view cure = {});
    [[nodiscard]] bool is_trusted(const struct stat& about) const;

    CacheConfig config_;
    const FileApi& files_;
    std::string root_; // <folder>/v2
    std::atomic<bool> checked_ = false;
    std::mutex mutex_; // of the warning
    bool warned_ = false;
    std::string warning_;
};

} // namespace quern
