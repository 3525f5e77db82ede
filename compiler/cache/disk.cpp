// Reading and storing of entries. Trimming, totals and clearing are in trim.cpp.
//
// Whole or not at all: an entry is written under a private name in its own folder and renamed. The
// flush only starts the write-back: after a power cut a renamed file may be short, and then its
// checksum makes it a miss; waiting for the device would cost milliseconds on the road of every
// first call.
#include "compiler/cache/disk.h"
#include "compiler/base/text.h"
#include "compiler/cache/entry.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace quern {
namespace {

constexpr std::uint64_t largest_entry_bytes = std::uint64_t{1} << 31;

std::string absolute(const std::string& folder) {
    if (folder.empty())
        return folder;
    std::error_code failure;
    const auto path = std::filesystem::absolute(folder, failure);
    return failure ? folder : path.lexically_normal().string();
}

} // namespace

Disk::Disk(CacheConfig config) : config_(std::move(config)), files_(config_.files) {
    config_.folder = absolute(config_.folder);
    root_ = join(config_.folder, "/v", entry_format);
}

void Disk::trouble(std::string_view deed, const std::string& path, int failure,
                   std::string_view cure) {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(warned_, true))
        return;
    if (cure.empty())
        cure = "see to that folder, or set QUERN_CACHE_DIR to another ('' for none)";
    warning_ = join("the kernel cache could not ", deed, " ", path);
    if (failure != 0)
        warning_ += join(" (", std::strerror(failure), ")");
    warning_ += join("; kernels are kept in memory only where that happens\n    help: ", cure);
}

std::string Disk::take_warning() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(warning_, {});
}

bool Disk::is_trusted(const struct stat& about) const {
    return config_.trust_shared ||
           (about.st_uid == ::geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

// Only a good answer is remembered: what stood in the way may go away.
bool Disk::folder_is_ours() {
    if (checked_)
        return true;
    struct stat about {};
    if (files_.stat(config_.folder.c_str(), &about) != 0) {
        struct stat link {}; // absent is no trouble, a dangling link is
        const int failure = errno;
        // Anything but a link was made between the two looks, by another process that begins now.
        const bool dangling = failure == ENOENT &&
                              files_.lstat(config_.folder.c_str(), &link) == 0 &&
                              S_ISLNK(link.st_mode);
        if (failure != ENOENT || dangling)
            trouble("look at", config_.folder, failure);
        return false;
    }
    if (!S_ISDIR(about.st_mode)) {
        trouble("use", config_.folder, ENOTDIR);
        return false;
    }
    if (!is_trusted(about)) {
        trouble(about.st_uid == ::geteuid() ? "trust (others can write it)"
                                            : "trust (it belongs to someone else)",
                config_.folder, 0,
                join("chmod go-w ", config_.folder,
                     ", choose another with QUERN_CACHE_DIR, or accept whatever others put "
                     "there with QUERN_CACHE_TRUST_SHARED=1"));
        return false;
    }
    checked_ = true;
    return true;
}

bool Disk::make_folder(const std::string& path, int depth) {
    if (files_.mkdir(path.c_str(), 0700) == 0 || errno == EEXIST)
        return true;
    const std::size_t slash = path.rfind('/');
    if (errno != ENOENT || depth == 0 || slash == 0 || slash == std::string::npos)
        return false;
    if (!make_folder(path.substr(0, slash), depth - 1))
        return false;
    return files_.mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

bool Disk::make_folders(const std::string& shelf) {
    if (!make_folder(config_.folder, 64)) {
        trouble("make the folder", config_.folder, errno);
        return false;
    }
    if (!folder_is_ours())
        return false;
    if (make_folder(root_, 0) && make_folder(shelf, 0))
        return true;
    trouble("make the folder", shelf, errno);
    return false;
}

std::optional<std::vector<std::byte>> Disk::read_all(int fd, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = files_.read(fd, bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return std::nullopt;
        if (count == 0) { // shorter than it said: not an entry
            errno = 0;
            return std::nullopt;
        }
        done += static_cast<std::size_t>(count);
    }
    return bytes;
}

bool Disk::write_all(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = files_.write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            errno = ENOSPC;
        if (count <= 0)
            return false;
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

std::optional<Binary> Disk::find(const Digest& key) try {
    if (config_.folder.empty() || !folder_is_ours())
        return std::nullopt;
    const std::string digits = key.hex();
    const std::string path = join(root_, "/", digits.substr(0, 2), "/", digits.substr(2), ".qbin");
    // O_NONBLOCK: what lies there may be a pipe.
    const int fd = files_.open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) {
        if (errno != ENOENT)
            trouble("open", path, errno);
        return std::nullopt;
    }
    std::optional<Binary> binary;
    struct stat about {};
    if (files_.fstat(fd, &about) != 0) {
        trouble("read", path, errno);
    } else if (S_ISREG(about.st_mode) && is_trusted(about) &&
               static_cast<std::uint64_t>(about.st_size) < largest_entry_bytes) {
        if (const auto bytes = read_all(fd, static_cast<std::uint64_t>(about.st_size)))
            binary = decode_entry(key, *bytes);
        else if (errno != 0)
            trouble("read", path, errno);
    }
    if (binary)
        files_.touch(fd); // a read-only cache is a good cache: only its order of use is lost
    files_.close(fd);
    return binary;
} catch (const std::bad_alloc&) {
    return std::nullopt;
}

bool Disk::write_file(const std::string& shelf, const std::string& path,
                      std::span<const std::byte> bytes) {
    // Unlike any other name in use: by process, by when it began to write, by call. (Not by
    // random_device: it may throw when every process of a machine asks at once.)
    static const auto salt = std::chrono::system_clock::now().time_since_epoch().count();
    static std::atomic<std::uint64_t> serial = 0;
    const std::string own =
        join(shelf, "/.tmp-", ::getpid(), "-", fmt::format("{:x}", salt), "-", serial++);
    int fd = -1;
    for (int attempt = 0; attempt < 2 && fd < 0; ++attempt) {
        if (attempt > 0)
            checked_ = false; // the folder went away under us
        if (!checked_ && !make_folders(shelf))
            return false;
        fd = files_.open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != ENOENT)
            break;
    }
    if (fd < 0) {
        trouble("write into", shelf, errno);
        return false;
    }
    const bool written = write_all(fd, bytes);
    int failure = written ? 0 : errno;
    if (written)
        files_.flush(fd); // not every file system can; the checksum stands guard either way
    if (files_.close(fd) != 0 && failure == 0)
        failure = errno;
    if (failure == 0 && files_.rename(own.c_str(), path.c_str()) == 0)
        return true;
    if (failure == 0)
        failure = errno;
    files_.unlink(own.c_str());
    if (failure != ENOENT)
        trouble("write into", shelf, failure); // ENOENT: cleared by another process meanwhile
    return false;
}

void Disk::store(const Digest& key, const Binary& binary, std::string_view source) try {
    if (config_.folder.empty())
        return;
    const std::vector<std::byte> bytes = encode_entry(key, binary);
    if (bytes.size() > config_.size_bytes || bytes.size() >= largest_entry_bytes)
        return;
    const std::string digits = key.hex();
    const std::string shelf = join(root_, "/", digits.substr(0, 2));
    const std::string stem = join(shelf, "/", digits.substr(2));
    std::uint64_t stored = 0;
    if (config_.keep_source && write_file(shelf, stem + ".cu", std::as_bytes(std::span(source))))
        stored += source.size();
    if (write_file(shelf, stem + ".qbin", bytes))
        stored += bytes.size();
    if (stored != 0)
        account(stored);
} catch (const std::bad_alloc&) { // the caller has its binary; it is only not kept
}

} // namespace quern
