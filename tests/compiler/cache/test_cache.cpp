// The road of a miss and of a hit, single flight, what is counted and told, size and order of use.
#include "cache_fixture.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace quern {
namespace {

using namespace std::chrono_literals;

TEST_F(CacheTest, MissThenHitInAnotherProcessLife) {
    {
        Cache cache(config());
        EXPECT_FALSE(hits(cache, 1));
        EXPECT_TRUE(hits(cache, 1));
    }
    Cache later(config());
    EXPECT_TRUE(hits(later, 1));
    EXPECT_FALSE(hits(later, 2));
    const CacheStats stats = later.stats();
    EXPECT_EQ(stats.disk_hits, 1U);
    EXPECT_EQ(stats.compiles, 1U);
    EXPECT_EQ(stats.entries, 2U);
    EXPECT_GT(stats.bytes, 200U);
    EXPECT_EQ(later.take_warning(), "");
    EXPECT_TRUE(private_files().empty());
}

TEST_F(CacheTest, EmptyAndLargeBinariesSurvive) {
    Cache cache(config());
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3'000'000}}) {
        const int number = static_cast<int>(size);
        EXPECT_FALSE(hits(cache, number, size));
        EXPECT_TRUE(hits(cache, number, size));
    }
}

TEST_F(CacheTest, NoFolderMeansNoDisk) {
    Cache cache(CacheConfig{.folder = ""});
    EXPECT_FALSE(hits(cache, 1));
    EXPECT_FALSE(hits(cache, 1));
    EXPECT_EQ(cache.stats().entries, 0U);
    cache.clear();
    EXPECT_EQ(cache.take_warning(), "");
}

TEST_F(CacheTest, NothingIsOpenedBeforeTheFirstCall) {
    Faults faults;
    CacheConfig with = config();
    with.files = faults.table();
    Cache cache(with);
    EXPECT_EQ(cache.folder(), folder_);
    EXPECT_EQ(faults.calls, 0);
    EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CacheTest, FoldersAndFilesArePrivate) {
    Cache cache(config());
    (void)ask(cache, 1);
    EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
    ASSERT_EQ(entries().size(), 1U);
    EXPECT_EQ(fs::status(entries()[0]).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
    const fs::path relative = fs::relative(entries()[0], folder_);
    EXPECT_EQ(relative.begin()->string(), "v2");
    EXPECT_EQ(relative.parent_path().filename().string().size(), 2U);
}

TEST_F(CacheTest, SourceIsKeptOnRequest) {
    CacheConfig with = config();
    with.keep_source = true;
    Cache cache(with);
    (void)ask(cache, 7);
    ASSERT_EQ(entries(".cu").size(), 1U);
    EXPECT_EQ(read_file(entries(".cu")[0]), key_of(7).source);
    EXPECT_EQ(entries(".cu")[0].stem(), entries()[0].stem());
    EXPECT_EQ(cache.stats().entries, 1U);
    cache.clear();
    EXPECT_TRUE(entries(".cu").empty());
}

TEST_F(CacheTest, ClearRemovesEntriesOnly) {
    Cache cache(config());
    for (int k = 0; k < 20; ++k)
        (void)ask(cache, k);
    write_file(fs::path(folder_) / "mine.txt", "not yours");
    cache.clear();
    EXPECT_EQ(cache.stats().entries, 0U);
    EXPECT_TRUE(fs::exists(fs::path(folder_) / "mine.txt"));
    EXPECT_FALSE(hits(cache, 3));
    EXPECT_TRUE(hits(cache, 3));
}

TEST_F(CacheTest, FolderThatVanishesIsMadeAgain) {
    Cache cache(config());
    (void)ask(cache, 1);
    fs::remove_all(folder_);
    EXPECT_FALSE(hits(cache, 1));
    EXPECT_TRUE(hits(cache, 1));
    EXPECT_EQ(cache.take_warning(), "");
}

TEST_F(CacheTest, LastMissNamesWhatDiffers) {
    Cache cache(config());
    (void)ask(cache, 1);
    EXPECT_EQ(cache.stats().last_miss, key_of(1).fields())
        << "the first has nothing to be compared with";
    CacheKey key = key_of(1);
    key.options = {"-DX=1"};
    key.arch = gpu_arch(8, 0);
    (void)cache.find_or_compile(key, [] { return binary_of(1); });
    const std::vector<std::pair<std::string, std::string>> expected{{"options", "'-DX=1'"},
                                                                    {"arch", "gpu sm_80"}};
    EXPECT_EQ(cache.stats().last_miss, expected);
    (void)ask(cache, 1); // a hit changes nothing
    EXPECT_EQ(cache.stats().last_miss, expected);
}

TEST_F(CacheTest, ShowPrintsHitsAndMisses) {
    CacheConfig with = config();
    with.show = true;
    Cache cache(with);
    testing::internal::CaptureStderr();
    (void)ask(cache, 1);
    (void)ask(cache, 1);
    CacheKey key = key_of(1);
    key.options = {"-DX=1"};
    (void)cache.find_or_compile(key, [] { return binary_of(1); });
    const std::string shown = testing::internal::GetCapturedStderr();
    EXPECT_NE(shown.find("quern cache: miss k1 "), std::string::npos) << shown;
    EXPECT_NE(shown.find("quern cache: hit  k1 "), std::string::npos) << shown;
    EXPECT_NE(shown.find("differs in options:  -> '-DX=1'"), std::string::npos) << shown;
    EXPECT_EQ(std::ranges::count(shown, '\n'), 3);
}

TEST_F(CacheTest, ThreadsThatMissTogetherCompileOnce) {
    Cache cache(config());
    std::atomic<int> compiled = 0;
    std::barrier start(8);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int k = 0; k < 20; ++k) {
                start.arrive_and_wait();
                const Binary binary = cache.find_or_compile(key_of(k), [&] {
                    ++compiled;
                    std::this_thread::sleep_for(1ms);
                    return binary_of(k);
                });
                EXPECT_TRUE(same(binary, binary_of(k)));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(compiled, 20);
    const CacheStats stats = cache.stats();
    EXPECT_EQ(stats.compiles, 20U);
    EXPECT_EQ(stats.memory_hits + stats.disk_hits, 140U);
}

TEST_F(CacheTest, DifferentKeysCompileAtOnce) {
    Cache cache(config());
    std::barrier both(2); // passes only if the two compilers run together
    const auto compile = [&](int k) {
        return [&both, k] {
            both.arrive_and_wait();
            return binary_of(k);
        };
    };
    std::thread other([&] { (void)cache.find_or_compile(key_of(1), compile(1)); });
    (void)cache.find_or_compile(key_of(2), compile(2));
    other.join();
}

TEST_F(CacheTest, ErrorReachesAllAndTheNextTriesAgain) {
    Cache cache(config());
    std::atomic<int> tries = 0, caught = 0;
    std::barrier start(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            start.arrive_and_wait();
            try {
                (void)cache.find_or_compile(key_of(1), [&]() -> Binary {
                    ++tries;
                    std::this_thread::sleep_for(100ms);
                    throw std::runtime_error("no");
                });
            } catch (const std::runtime_error& error) {
                caught += std::string(error.what()) == "no" ? 1 : 0;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(caught, 4);
    EXPECT_EQ(tries, 1);
    EXPECT_FALSE(hits(cache, 1));
    EXPECT_TRUE(hits(cache, 1));
}

TEST_F(CacheTest, OldestUseIsTrimmedFirst) {
    CacheConfig with = config();
    with.size_bytes = 20'000;
    Cache cache(with);
    for (int k = 0; k < 18; ++k) {
        (void)ask(cache, k, 800);              // near 1 kB each with its header and names
        for (const fs::path& file : entries()) // age all: time stands still between quick calls
            fs::last_write_time(file, fs::last_write_time(file) - 10s);
    }
    EXPECT_TRUE(hits(cache, 0, 800)) << "used again, so young again";
    for (int k = 18; k < 26; ++k)
        (void)ask(cache, k, 800);
    EXPECT_LE(cache.stats().bytes, 20'000U);
    EXPECT_GE(cache.stats().bytes, 20'000U * 3 / 4);
    EXPECT_TRUE(hits(cache, 0, 800));
    EXPECT_TRUE(hits(cache, 25, 800));
    EXPECT_FALSE(hits(cache, 1, 800));
}

TEST_F(CacheTest, SizeHoldsOverManyStoresAndProcessLives) {
    CacheConfig with = config();
    with.size_bytes = 50'000;
    for (int life = 0; life < 10; ++life) {
        Cache cache(with);
        for (int k = 0; k < 30; ++k)
            (void)ask(cache, 100 * life + k, 700);
        EXPECT_LE(cache.stats().bytes, 50'000U);
    }
}

TEST_F(CacheTest, EntryLargerThanTheCacheIsNotStored) {
    CacheConfig with = config();
    with.size_bytes = 1000;
    Cache cache(with);
    EXPECT_FALSE(hits(cache, 1, 5000));
    EXPECT_FALSE(hits(cache, 1, 5000));
    EXPECT_FALSE(hits(cache, 2, 700)); // fits, alone
    EXPECT_TRUE(hits(cache, 2, 700));
    EXPECT_FALSE(hits(cache, 3, 700));
    EXPECT_TRUE(hits(cache, 3, 700));
    EXPECT_LE(cache.stats().bytes, 1000U);
    EXPECT_EQ(cache.take_warning(), "");
}

TEST_F(CacheTest, ForgottenPrivateFilesAreSwept) {
    Cache cache(config());
    (void)ask(cache, 1);
    const fs::path shelf = entries()[0].parent_path();
    write_file(shelf / ".tmp-1-old", "half");
    write_file(shelf.parent_path() / ".tmp-1-old", "half");
    write_file(shelf / ".tmp-1-new", "half");
    for (const fs::path& old : {shelf / ".tmp-1-old", shelf.parent_path() / ".tmp-1-old"})
        fs::last_write_time(old, fs::file_time_type::clock::now() - 2h);
    (void)cache.stats();
    EXPECT_FALSE(fs::exists(shelf / ".tmp-1-old"));
    EXPECT_FALSE(fs::exists(shelf.parent_path() / ".tmp-1-old"));
    EXPECT_TRUE(fs::exists(shelf / ".tmp-1-new"));
}

} // namespace
} // namespace quern
