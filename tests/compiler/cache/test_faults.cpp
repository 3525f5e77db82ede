// A disk that fails, lies, or belongs to someone else: the caller gets the right binary, and no
// half entry is readable.
#include "cache_fixture.h"

#include "compiler/base/error.h"
#include "compiler/cache/entry.h"

#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>

namespace quern {
namespace {

class Hostile : public CacheTest {
  protected:
    // Cold store, hit, more stores until trimming starts, statistics.
    static bool scenario(Cache& cache) {
        bool right = true;
        for (int k = 0; k < 8; ++k)
            right = right && ask(cache, k, 300).right;
        for (int k = 7; k >= 0; --k)
            right = right && ask(cache, k, 300).right;
        (void)cache.stats();
        return right;
    }
    [[nodiscard]] CacheConfig small(Faults& faults) const {
        CacheConfig with = config();
        with.size_bytes = 2500; // five entries or so: the scenario trims several times
        with.keep_source = true;
        with.files = faults.table();
        return with;
    }
    void expect_sound_folder(const std::string& what) {
        Cache after(config()); // a large, healthy cache over what the failure left
        for (int k = 0; k < 8; ++k)
            EXPECT_TRUE(ask(after, k, 300).right) << what;
        for (int k = 0; k < 8; ++k)
            EXPECT_TRUE(hits(after, k, 300)) << what;
        EXPECT_EQ(after.take_warning(), "") << what;
    }
    void expect_memory_only(const char* why) {
        Cache cache(config());
        EXPECT_FALSE(hits(cache, 1)) << why;
        EXPECT_FALSE(hits(cache, 1)) << why;
        const std::string warning = cache.take_warning();
        EXPECT_NE(warning.find("kernel cache"), std::string::npos) << why;
        EXPECT_NE(warning.find("help:"), std::string::npos) << why;
        EXPECT_FALSE(hits(cache, 2)) << why;
        EXPECT_EQ(cache.take_warning(), "") << "one warning only: " << why;
        (void)cache.stats();
    }
};

TEST_F(Hostile, AnySingleFailingCall) {
    Faults none;
    {
        Cache cache(small(none));
        ASSERT_TRUE(scenario(cache));
    }
    ASSERT_GT(none.calls, 100);
    for (const int failure : {EIO, ENOSPC, EROFS, ENOENT})
        for (int n = 0; n < none.calls; ++n) {
            fs::remove_all(folder_);
            Faults faults;
            faults.fail_at = n;
            faults.failure = failure;
            const std::string what = join("call ", n, " fails with ", failure);
            {
                Cache cache(small(faults));
                EXPECT_TRUE(scenario(cache)) << what;
                EXPECT_TRUE(scenario(cache)) << what;
            }
            expect_sound_folder(join(what, " in ", faults.failed));
            if (HasFailure())
                return;
        }
}

TEST_F(Hostile, EveryCallFailsFromTheNthOn) {
    for (int n = 0; n < 60; ++n) {
        fs::remove_all(folder_);
        Faults faults;
        faults.fail_at = n;
        faults.and_after = true;
        Cache cache(small(faults));
        EXPECT_TRUE(scenario(cache));
        expect_sound_folder(join("from call ", n));
        if (HasFailure())
            return;
    }
}

TEST_F(Hostile, DyingAtAnyCallLeavesASoundFolder) {
    Faults none;
    {
        Cache cache(small(none));
        ASSERT_TRUE(scenario(cache));
    }
    for (int n = 0; n < none.calls; n += 3) {
        fs::remove_all(folder_);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            Faults faults;
            faults.fail_at = n;
            faults.instead = [] { ::_exit(0); };
            Cache cache(small(faults));
            (void)scenario(cache);
            ::_exit(1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        expect_sound_folder(join("death at call ", n));
        if (HasFailure())
            return;
    }
}

TEST_F(Hostile, InterruptedAndShortCallsAreTakenUpAgain) {
    Faults faults;
    CacheConfig with = config();
    const FileApi real = real_files();
    int turn = 0;
    with.files.write = [&](int fd, const void* from, std::size_t bytes) {
        if (++turn % 2 == 0)
            return errno = EINTR, ssize_t{-1};
        return real.write(fd, from, std::min<std::size_t>(bytes, 7));
    };
    with.files.read = [&](int fd, void* into, std::size_t bytes) {
        if (++turn % 2 == 0)
            return errno = EINTR, ssize_t{-1};
        return real.read(fd, into, std::min<std::size_t>(bytes, 5));
    };
    Cache cache(with);
    EXPECT_FALSE(hits(cache, 1));
    EXPECT_TRUE(hits(cache, 1));
    EXPECT_EQ(cache.take_warning(), "");
}

TEST_F(Hostile, EveryFlippedByteIsAMiss) {
    const Digest key = key_of(1).digest();
    const Binary binary = binary_of(1, 40);
    const auto good = encode_entry(key, binary);
    ASSERT_TRUE(decode_entry(key, good).has_value());
    EXPECT_TRUE(same(*decode_entry(key, good), binary));
    for (std::size_t k = 0; k < good.size(); ++k)
        for (const int bit : {0, 3, 7}) {
            auto bad = good;
            bad[k] ^= static_cast<std::byte>(1 << bit);
            EXPECT_FALSE(decode_entry(key, bad).has_value()) << "byte " << k;
        }
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_FALSE(decode_entry(key, std::span(good).first(size)).has_value())
            << "cut to " << size;
    auto longer = good;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode_entry(key, longer).has_value());
    EXPECT_FALSE(decode_entry(key_of(2).digest(), good).has_value()) << "another key's entry";
}

TEST_F(Hostile, BadEntriesAreReplaced) {
    Cache cache(config());
    (void)ask(cache, 1);
    const fs::path entry = entries().at(0);
    const std::string good = read_file(entry);
    for (std::string bad : {std::string(), good.substr(0, 30), good.substr(0, good.size() - 1),
                            good + "x", std::string(5000, 'x'), "#!/bin/sh\n" + good}) {
        write_file(entry, bad);
        EXPECT_FALSE(hits(cache, 1));
        EXPECT_EQ(read_file(entry), good);
        EXPECT_TRUE(hits(cache, 1));
    }
    EXPECT_EQ(cache.take_warning(), "");
}

TEST_F(Hostile, ThingsThatAreNotFilesInPlaceOfAnEntry) {
    Cache cache(config());
    (void)ask(cache, 1);
    const fs::path entry = entries().at(0);
    fs::rename(entry, base_ / "elsewhere");
    fs::create_symlink(base_ / "elsewhere", entry);
    EXPECT_FALSE(hits(cache, 1)) << "a link is not followed";
    EXPECT_TRUE(hits(cache, 1));
    EXPECT_TRUE(fs::exists(base_ / "elsewhere"));

    fs::remove(entry);
    ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
    EXPECT_FALSE(hits(cache, 1)) << "a pipe does not hang the reader";
    EXPECT_TRUE(hits(cache, 1));

    fs::remove(entry);
    fs::create_directory(entry);
    EXPECT_FALSE(hits(cache, 1));
    EXPECT_FALSE(hits(cache, 1));
}

TEST_F(Hostile, FileWhereTheFolderShouldBe) {
    write_file(folder_, "I was here first");
    expect_memory_only("a file");
    EXPECT_EQ(read_file(folder_), "I was here first");
}

TEST_F(Hostile, FileInPlaceOfAParent) {
    write_file(base_ / "parent", "");
    folder_ = (base_ / "parent/cache").string();
    expect_memory_only("a file as parent");
}

TEST_F(Hostile, DanglingLink) {
    fs::create_symlink(base_ / "nowhere/at/all", folder_);
    expect_memory_only("a dangling link");
}

TEST_F(Hostile, LinkToAFolderOfOursIsFine) {
    fs::create_directory(base_ / "real");
    fs::permissions(base_ / "real", fs::perms::owner_all);
    fs::create_directory_symlink(base_ / "real", folder_);
    Cache cache(config());
    EXPECT_FALSE(hits(cache, 1));
    EXPECT_TRUE(hits(cache, 1));
}

TEST_F(Hostile, FileInPlaceOfTheVersionFolderOrAShelf) {
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms::owner_all);
    write_file(fs::path(folder_) / "v2", "");
    expect_memory_only("v1 is a file");
}

TEST_F(Hostile, FolderOthersCanWriteIsRefusedUnlessAllowed) {
    {
        Cache cache(config());
        (void)ask(cache, 1);
    }
    for (const fs::perms open : {fs::perms::others_write, fs::perms::group_write}) {
        fs::permissions(folder_, fs::perms::owner_all | open);
        Cache refused(config());
        EXPECT_FALSE(hits(refused, 1));
        const std::string warning = refused.take_warning();
        EXPECT_NE(warning.find("QUERN_CACHE_TRUST_SHARED=1"), std::string::npos) << warning;
        EXPECT_NE(warning.find("chmod"), std::string::npos) << warning;
        CacheConfig with = config();
        with.trust_shared = true;
        Cache allowed(with);
        EXPECT_TRUE(hits(allowed, 1));
        EXPECT_EQ(allowed.take_warning(), "");
    }
}

TEST_F(Hostile, EntryOrFolderOfSomeoneElse) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give files away";
    {
        Cache cache(config());
        (void)ask(cache, 1);
    }
    ASSERT_EQ(::chown(entries().at(0).c_str(), 12345, 12345), 0);
    {
        Cache cache(config());
        EXPECT_FALSE(hits(cache, 1)) << "someone else's entry is not read";
        EXPECT_TRUE(hits(cache, 1)) << "and was replaced";
    }
    ASSERT_EQ(::chown(folder_.c_str(), 12345, 12345), 0);
    expect_memory_only("someone else's folder");
}

TEST_F(Hostile, ReadOnlyCacheServesWithoutAWarning) {
    {
        Cache cache(config());
        (void)ask(cache, 1);
    }
    CacheConfig with = config();
    const FileApi real = real_files();
    with.files.touch = [](int) { return errno = EROFS, -1; };
    with.files.unlink = [](const char*) { return errno = EROFS, -1; };
    with.files.open = [real](const char* path, int flags, mode_t mode) {
        return (flags & O_CREAT) != 0 ? (errno = EROFS, -1) : real.open(path, flags, mode);
    };
    Cache cache(with);
    EXPECT_TRUE(hits(cache, 1));
    EXPECT_EQ(cache.take_warning(), "");
    EXPECT_FALSE(hits(cache, 2));
    EXPECT_NE(cache.take_warning().find("Read-only file system"), std::string::npos);
    EXPECT_TRUE(hits(cache, 1));
    EXPECT_THROW(cache.clear(), Error);
}

TEST_F(Hostile, AnotherProcessBeginsAtAnyCall) {
    const auto counted = [&](Faults& faults) {
        CacheConfig with = config();
        with.files = faults.table();
        return with;
    };
    Faults none;
    {
        Cache cache(counted(none));
        ASSERT_TRUE(scenario(cache));
    }
    for (int n = 0; n < none.calls; ++n) {
        fs::remove_all(folder_);
        Faults faults;
        faults.fail_at = n;
        faults.instead = [&] {
            Cache other(config());
            EXPECT_TRUE(scenario(other));
        };
        Cache cache(counted(faults));
        EXPECT_TRUE(scenario(cache));
        EXPECT_EQ(cache.take_warning(), "") << "begun at call " << n << ", " << faults.failed;
    }
}

TEST_F(Hostile, SixteenProcessesOnOneColdCache) {
    constexpr int processes = 16, kernels = 24;
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    std::vector<pid_t> children;
    for (int p = 0; p < processes; ++p) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::close(gate[1]);
            char byte = 0;
            (void)!::read(gate[0], &byte,
                          1); // returns when the parent closes the gate: all start together
            bool right = true;
            Cache cache(config());
            for (int round = 0; round < 3; ++round)
                for (int k = 0; k < kernels; ++k)
                    right = right && ask(cache, (k + p) % kernels, 20'000).right;
            right = right && cache.take_warning().empty() && cache.stats().compiles <= kernels;
            ::_exit(right ? 0 : 1);
        }
        children.push_back(child);
    }
    ::close(gate[0]);
    ::close(gate[1]);
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(entries().size(), static_cast<std::size_t>(kernels));
    EXPECT_TRUE(private_files().empty());
    Cache cache(config());
    for (int k = 0; k < kernels; ++k)
        EXPECT_TRUE(hits(cache, k, 20'000));
}

TEST_F(Hostile, ProcessesThatTrimAndClearAgainstEachOther) {
    std::vector<pid_t> children;
    for (int p = 0; p < 6; ++p) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            CacheConfig with = config();
            with.size_bytes = 20'000;
            Cache cache(with);
            bool right = true;
            for (int k = 0; k < 150; ++k) {
                right = right && ask(cache, (k * 7 + p) % 60, 900).right;
                if (p == 0 && k % 20 == 19)
                    cache.clear();
            }
            const std::string warning = cache.take_warning();
            if (!warning.empty())
                std::fprintf(stderr, "%s\n", warning.c_str());
            ::_exit(right && warning.empty() ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    CacheConfig with = config();
    with.size_bytes = 20'000;
    Cache cache(with);
    for (int k = 0; k < 40; ++k)
        (void)ask(cache, 1000 + k, 900);
    EXPECT_LE(cache.stats().bytes, 20'000U);
}

} // namespace
} // namespace quern
