// Keeping the folder below its size, oldest use first; totals; clearing.
//
// A store does not look through the folder. It appends the bytes it added to <folder>/v2/sizes and
// adds that short list up; when the sum passes the limit, or the list is long, the folder is
// scanned, trimmed, and the list starts anew.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/cache/disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fcntl.h>
#include <time.h>

namespace quern {
namespace {

constexpr std::size_t longest_list = 1024;
constexpr std::int64_t hour_ns = 3'600'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return nanoseconds(time);
}

bool is_hex(std::string_view text, std::size_t length) {
    return text.size() == length &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

} // namespace

void Disk::account(std::uint64_t bytes) {
    const std::string list = root_ + "/sizes";
    const int fd =
        files_.open(list.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    std::vector<std::uint64_t> added;
    struct stat about {};
    bool known = fd >= 0 && write_all(fd, std::as_bytes(std::span(&bytes, 1))) &&
                 files_.fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                 static_cast<std::uint64_t>(about.st_size) <= longest_list * sizeof bytes;
    if (known) {
        // O_APPEND left the position at the end; a fresh descriptor reads from the start.
        const int again = files_.open(list.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
        added.resize(static_cast<std::size_t>(about.st_size) / sizeof bytes);
        const auto content =
            again < 0 ? std::nullopt : read_all(again, added.size() * sizeof bytes);
        known = content.has_value();
        if (known)
            std::memcpy(added.data(), content->data(), content->size());
        if (again >= 0)
            files_.close(again);
    }
    if (fd >= 0)
        files_.close(fd);
    std::uint64_t sum = 0;
    for (const std::uint64_t size : added)
        sum = size > std::numeric_limits<std::uint64_t>::max() - sum
                  ? std::numeric_limits<std::uint64_t>::max()
                  : sum + size;
    if (!known || sum > config_.size_bytes)
        trim();
}

std::vector<Disk::Found> Disk::scan() {
    std::vector<Found> found;
    std::vector<std::string> shelves;
    if (!files_.list(root_.c_str(), shelves)) {
        if (errno != ENOENT)
            trouble("look through", root_, errno);
        return found;
    }
    const std::int64_t oldest_private = now_ns() - hour_ns; // older ones have lost their writer
    const auto look_at = [&](const std::string& path, struct stat& about) {
        return files_.lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
    };
    const auto sweep = [&](const std::string& path) {
        struct stat about {};
        if (look_at(path, about) && nanoseconds(about.st_mtim) < oldest_private)
            files_.unlink(path.c_str());
    };
    for (const std::string& shelf : shelves) {
        if (shelf.starts_with(".tmp-"))
            sweep(join(root_, "/", shelf));
        if (!is_hex(shelf, 2))
            continue;
        std::vector<std::string> names;
        files_.list(join(root_, "/", shelf).c_str(),
                    names); // what it could not list, the next scan will
        for (const std::string& name : names) {
            std::string path = join(root_, "/", shelf, "/", name);
            if (name.starts_with(".tmp-"))
                sweep(path);
            const bool is_entry = name.size() == 35 && name.ends_with(".qbin");
            const bool is_source = name.size() == 33 && name.ends_with(".cu");
            if ((!is_entry && !is_source) || !is_hex(std::string_view(name).substr(0, 30), 30))
                continue;
            struct stat about {};
            if (!look_at(path, about))
                continue;
            const auto bytes = static_cast<std::uint64_t>(about.st_size);
            found.push_back({std::move(path), bytes, nanoseconds(about.st_mtim), is_entry});
        }
    }
    return found;
}

void Disk::trim() {
    std::vector<Found> found = scan();
    std::uint64_t sum = 0;
    for (const Found& file : found)
        sum += file.bytes;
    if (sum > config_.size_bytes) {
        // Somewhat below the limit, so that not every store after this one scans again.
        const std::uint64_t goal = config_.size_bytes - config_.size_bytes / 8;
        std::ranges::sort(found, {}, [](const Found& file) {
            return std::pair(file.used_ns, std::string_view(file.path));
        });
        for (const Found& file : found) {
            const bool newest = &file == &found.back(); // stays, though it be large
            if (sum <= goal || (newest && sum <= config_.size_bytes))
                break;
            if (files_.unlink(file.path.c_str()) == 0 || errno == ENOENT)
                sum -= file.bytes; // ENOENT: trimmed by another
        }
    }
    if (!write_file(root_, root_ + "/sizes", std::as_bytes(std::span(&sum, 1))))
        files_.unlink((root_ + "/sizes").c_str());
}

Disk::Totals Disk::totals() {
    Totals totals;
    if (config_.folder.empty() || !folder_is_ours())
        return totals;
    for (const Found& file : scan()) {
        totals.entries += file.is_entry ? 1 : 0;
        totals.bytes += file.bytes;
    }
    return totals;
}

void Disk::clear() {
    if (config_.folder.empty() || !folder_is_ours())
        return;
    for (const Found& file : scan())
        if (files_.unlink(file.path.c_str()) != 0 && errno != ENOENT)
            throw Error(ErrorKind::io, join("cannot remove ", file.path,
                                            " from the kernel cache: ", std::strerror(errno)));
    files_.unlink((root_ + "/sizes").c_str());
}

} // namespace quern
