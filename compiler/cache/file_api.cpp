// The real file-system calls behind FileApi.
#include "compiler/cache/file_api.h"

#include <cerrno>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace quern {
namespace {

bool list_folder(const char* path, std::vector<std::string>& names) {
    DIR* folder = ::opendir(path);
    if (folder == nullptr)
        return false;
    errno = 0;
    while (const dirent* entry = ::readdir(folder)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            names.emplace_back(name);
        errno = 0;
    }
    const int failure = errno;
    ::closedir(folder);
    errno = failure;
    return failure == 0;
}

} // namespace

FileApi real_files() {
    return {
        .open = [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
        .close = ::close,
        .read = ::read,
        .write = ::write,
        .flush = [](int fd) { return ::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); },
        .fstat = [](int fd, struct stat* about) { return ::fstat(fd, about); },
        .touch = [](int fd) { return ::futimens(fd, nullptr); },
        .stat = [](const char* path, struct stat* about) { return ::stat(path, about); },
        .lstat = [](const char* path, struct stat* about) { return ::lstat(path, about); },
        .mkdir = ::mkdir,
        .rename = ::rename,
        .unlink = ::unlink,
        .list = list_folder,
    };
}

} // namespace quern
