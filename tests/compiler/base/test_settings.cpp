// The environment: what is read, and what a malformed value costs.
#include "compiler/base/settings.h"

#include <map>

#include <gtest/gtest.h>

namespace quern {
namespace {

Settings from(const std::map<std::string, std::string>& environment) {
    return read_settings([&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
}

TEST(Settings, Defaults) {
    const Settings s = from({{"HOME", "/h/ada"}});
    EXPECT_EQ(s.cache_dir, "/h/ada/.cache/quern");
    EXPECT_EQ(s.cache_size_bytes, 1ULL << 30);
    EXPECT_EQ(s.memory_limit_bytes, 0U);
    EXPECT_EQ(s.cpu_threads, 0);
    EXPECT_FALSE(s.cache_trust_shared || s.cache_source || s.show_source || s.show_cache ||
                 s.show_launch);
    EXPECT_EQ(s.device + s.cuda_path + s.conda_prefix + s.cc_library + s.warning, "");
}

TEST(Settings, CacheFolder) {
    EXPECT_EQ(from({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).cache_dir, "/x/quern");
    EXPECT_EQ(from({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).cache_dir, "/h/.cache/quern");
    EXPECT_EQ(
        from({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"QUERN_CACHE_DIR", "/q/"}}).cache_dir,
        "/q");
    EXPECT_EQ(from({{"HOME", "/h"}, {"QUERN_CACHE_DIR", "~/c"}}).cache_dir, "/h/c");
    EXPECT_EQ(from({{"HOME", "/h"}, {"QUERN_CACHE_DIR", ""}}).cache_dir, "") << "no disk";
    EXPECT_EQ(from({}).cache_dir.substr(0, 1), "/") << "no HOME: the user database knows";
}

TEST(Settings, Sizes) {
    const auto size = [](const char* text) { return from({{"QUERN_CACHE_SIZE", text}}); };
    const std::map<const char*, std::uint64_t> good{
        {"0", 0},           {"4096", 4096},     {"512M", 512ULL << 20},
        {"2G", 2ULL << 30}, {"2g", 2ULL << 30}, {"1.5 GiB", 3ULL << 29},
        {"64kB", 64 << 10}, {"10 B", 10},       {" 1T ", 1ULL << 40}};
    for (const auto& [text, bytes] : good) {
        EXPECT_EQ(size(text).cache_size_bytes, bytes) << text;
        EXPECT_EQ(size(text).warning, "") << text;
    }
    for (const char* text : {"lots", "-1", "5X", "1GG", "M", "1e3", "9999999T", "nan", "inf"}) {
        EXPECT_EQ(size(text).cache_size_bytes, 1ULL << 30) << text;
        EXPECT_NE(size(text).warning.find("QUERN_CACHE_SIZE"), std::string::npos) << text;
        EXPECT_NE(size(text).warning.find("1 GiB"), std::string::npos) << text;
    }
    EXPECT_EQ(from({{"QUERN_MEMORY_LIMIT", "8G"}}).memory_limit_bytes, 8ULL << 30);
}

TEST(Settings, FlagsDevicesThreads) {
    EXPECT_TRUE(from({{"QUERN_CACHE_TRUST_SHARED", "1"}}).cache_trust_shared);
    EXPECT_FALSE(from({{"QUERN_CACHE_TRUST_SHARED", "maybe"}}).cache_trust_shared);
    EXPECT_NE(from({{"QUERN_CACHE_TRUST_SHARED", "maybe"}}).warning, "");
    for (const char* device : {"cpu", "cuda", "cuda:0", "cuda:15"}) {
        EXPECT_EQ(from({{"QUERN_DEVICE", device}}).device, device);
        EXPECT_EQ(from({{"QUERN_DEVICE", device}}).warning, "");
    }
    for (const char* device : {"gpu", "cuda:", "cuda:x", "CPU"}) {
        EXPECT_EQ(from({{"QUERN_DEVICE", device}}).device, "");
        EXPECT_NE(from({{"QUERN_DEVICE", device}}).warning, "");
    }
    EXPECT_EQ(from({{"QUERN_NUM_THREADS", "3"}}).cpu_threads, 3);
    for (const char* count : {"-1", "three", "3.5", "1000000"}) {
        EXPECT_EQ(from({{"QUERN_NUM_THREADS", count}}).cpu_threads, 0);
        EXPECT_NE(from({{"QUERN_NUM_THREADS", count}}).warning, "");
    }
}

TEST(Settings, ShowAndPaths) {
    const Settings s =
        from({{"QUERN_SHOW", "source, launch"}, {"CUDA_HOME", "/c"}, {"CONDA_PREFIX", "/conda"}});
    EXPECT_TRUE(s.show_source && s.show_launch);
    EXPECT_FALSE(s.show_cache);
    EXPECT_EQ(s.cuda_path, "/c");
    EXPECT_EQ(s.conda_prefix, "/conda");
    EXPECT_EQ(s.warning, "");
    EXPECT_EQ(from({{"CUDA_HOME", "/c"}, {"CUDA_PATH", "/p"}}).cuda_path, "/p");
    const Settings odd = from({{"QUERN_SHOW", "everything,cache"}, {"QUERN_NUM_THREADS", "x"}});
    EXPECT_TRUE(odd.show_cache);
    EXPECT_NE(odd.warning.find("everything"), std::string::npos);
    EXPECT_NE(odd.warning.find('\n'), std::string::npos) << "one line each";
}

} // namespace
} // namespace quern
