// A folder of its own for each test, keys and binaries made from a number, and a file table whose
// n-th call fails.
#pragma once
#include "compiler/base/text.h"
#include "compiler/cache/cache.h"
#include "compiler/cache/config.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace quern {

namespace fs = std::filesystem;

inline CacheKey key_of(int number) {
    CacheKey key;
    key.name = join("k", number);
    key.source = join("source ", number);
    key.backend = "nvrtc 13.0";
    key.arch = gpu_arch(9, 0);
    return key;
}

inline Binary binary_of(int number, std::size_t size = 100) {
    Binary binary;
    for (std::size_t k = 0; k < size; ++k)
        binary.image.push_back(static_cast<std::byte>(k * 7 + number));
    binary.lowered_names = {{join("f<", number, ">"), "_Z1f"}, {"&g", ""}};
    binary.log = join("log ", number);
    binary.facts = join("f\tloops\t0\t2\t", number, "\t\n");
    binary.toolchain_ms = number + 0.25;
    return binary;
}

inline bool same(const Binary& a, const Binary& b) {
    return a.image == b.image && a.lowered_names == b.lowered_names && a.log == b.log &&
           a.facts == b.facts && a.toolchain_ms == b.toolchain_ms;
}

// Counts calls; the one with index `fail_at` fails with `failure`, or runs `instead` and goes on.
struct Faults {
    int fail_at = -1, failure = EIO;
    bool and_after = false; // every later call fails too
    std::function<void()> instead;
    int calls = 0;
    std::string failed; // which function it was

    bool strike(const char* function) {
        const int call = calls++;
        if (fail_at < 0 || call < fail_at || (call > fail_at && !and_after))
            return false;
        failed = function;
        if (instead) {
            instead();
            return false;
        }
        errno = failure;
        return true;
    }

    FileApi table() {
        FileApi t = real_files();
        const FileApi real = real_files();
        t.open = [this, real](const char* p, int f, mode_t m) {
            return strike("open") ? -1 : real.open(p, f, m);
        };
        t.close = [this, real](int fd) {
            const int result = real.close(fd);
            return strike("close") ? -1 : result;
        };
        t.read = [this, real](int fd, void* p, std::size_t n) {
            return strike("read") ? -1 : real.read(fd, p, n);
        };
        t.write = [this, real](int fd, const void* p, std::size_t n) {
            if (!strike("write"))
                return real.write(fd, p, n);
            const int kept = errno; // half of it goes out before the failure
            (void)real.write(fd, p, n / 2);
            errno = kept;
            return ssize_t{-1};
        };
        t.flush = [this, real](int fd) { return strike("flush") ? -1 : real.flush(fd); };
        t.fstat = [this, real](int fd, struct stat* s) {
            return strike("fstat") ? -1 : real.fstat(fd, s);
        };
        t.touch = [this, real](int fd) { return strike("touch") ? -1 : real.touch(fd); };
        t.stat = [this, real](const char* p, struct stat* s) {
            return strike("stat") ? -1 : real.stat(p, s);
        };
        t.lstat = [this, real](const char* p, struct stat* s) {
            return strike("lstat") ? -1 : real.lstat(p, s);
        };
        t.mkdir = [this, real](const char* p, mode_t m) {
            return strike("mkdir") ? -1 : real.mkdir(p, m);
        };
        t.rename = [this, real](const char* a, const char* b) {
            return strike("rename") ? -1 : real.rename(a, b);
        };
        t.unlink = [this, real](const char* p) { return strike("unlink") ? -1 : real.unlink(p); };
        t.list = [this, real](const char* p, std::vector<std::string>& n) {
            return !strike("list") && real.list(p, n);
        };
        return t;
    }
};

class CacheTest : public testing::Test {
  protected:
    void SetUp() override {
        static std::atomic<int> serial = 0;
        std::error_code absent; // thousands of small files: in memory where there is such a place
        const fs::path place =
            fs::is_directory("/dev/shm", absent) ? "/dev/shm" : fs::temp_directory_path();
        base_ = place / join("quern_cache_", ::getpid(), "_", serial++);
        fs::create_directories(base_);
        folder_ = (base_ / "cache").string();
    }
    void TearDown() override {
        std::error_code failure;
        fs::remove_all(base_, failure);
    }

    [[nodiscard]] CacheConfig config() const { return {.folder = folder_}; }

    // What the cache answers for a key, and whether it had to compile.
    struct Answer {
        bool right, compiled;
    };
    static Answer ask(Cache& cache, int number, std::size_t size = 100) {
        bool compiled = false;
        const Binary binary = cache.find_or_compile(key_of(number), [&] {
            compiled = true;
            return binary_of(number, size);
        });
        return {same(binary, binary_of(number, size)), compiled};
    }
    static bool hits(Cache& cache, int number, std::size_t size = 100) {
        const Answer answer = ask(cache, number, size);
        EXPECT_TRUE(answer.right);
        return !answer.compiled;
    }
    [[nodiscard]] std::vector<fs::path> entries(const char* extension = ".qbin") const {
        std::vector<fs::path> found;
        if (fs::is_directory(folder_))
            for (const auto& file : fs::recursive_directory_iterator(folder_))
                if (file.path().extension() == extension)
                    found.push_back(file.path());
        return found;
    }
    [[nodiscard]] std::vector<fs::path> private_files() const {
        std::vector<fs::path> found;
        for (const auto& file : fs::recursive_directory_iterator(folder_))
            if (file.path().filename().string().starts_with(".tmp-"))
                found.push_back(file.path());
        return found;
    }

    fs::path base_;
    std::string folder_;
};

inline std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

} // namespace quern
