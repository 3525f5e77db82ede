// Every file-system call of the cache, as one table: real by default, and in tests a table whose
// n-th call fails. Conventions are the system's: -1 (or false) and errno.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace quern {

struct FileApi {
    std::function<int(const char* path, int flags, mode_t mode)> open;
    std::function<int(int fd)> close;
    std::function<ssize_t(int fd, void* into, std::size_t bytes)> read;
    std::function<ssize_t(int fd, const void* from, std::size_t bytes)> write;
    std::function<int(int fd)> flush; // starts writing to the device, does not wait (see disk.cpp)
    std::function<int(int fd, struct stat* about)> fstat;
    std::function<int(int fd)> touch; // sets the time of last use to now
    std::function<int(const char* path, struct stat* about)> stat;
    std::function<int(const char* path, struct stat* about)> lstat;
    std::function<int(const char* path, mode_t mode)> mkdir;
    std::function<int(const char* from, const char* to)> rename;
    std::function<int(const char* path)> unlink;
    std::function<bool(const char* path, std::vector<std::string>& names)>
        list; // without "." and ".."
};

[[nodiscard]] FileApi real_files();

} // namespace quern
