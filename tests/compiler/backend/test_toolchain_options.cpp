// Options that only one toolchain knows.
#include "compiler/backend/toolchain_options.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

using Words = std::vector<std::string>;

TEST(ToolchainOptions, NvccsOwnAreLeftOutElsewhere) {
    const Words given{"-DX=1",
                      "-O3",
                      "-Xcompiler",
                      "-fPIC",
                      "--compiler-options=-Wall",
                      "-lineinfo",
                      "-lm",
                      "-gencode=a",
                      "--gencode-x",
                      "-Wno-deprecated",
                      "-L/lib",
                      "-G",
                      "--expt-relaxed-constexpr"};
    const SortedOptions sorted = sort_options(given, Toolchain::nvrtc);
    EXPECT_EQ(sorted.used, (Words{"-DX=1", "-lineinfo", "--gencode-x", "-G"}));
    ASSERT_EQ(sorted.ignored.size(), 8u);
    EXPECT_EQ(sorted.ignored[1].first, "-Xcompiler -fPIC");
    for (const auto& [option, why] : sorted.ignored)
        EXPECT_FALSE(why.empty()) << option;
    EXPECT_EQ(sort_options(given, Toolchain::host).used, sorted.used);
    EXPECT_EQ(sort_options(given, Toolchain::nvcc).used, given);
}

TEST(ToolchainOptions, NvrtcsOwnAreLeftOutForNvcc) {
    const Words given{"--minimal", "-DX",  "-pch",
                      "--pch-dir", "here", "-builtin-move-forward=true"};
    EXPECT_EQ(sort_options(given, Toolchain::nvcc).used, Words{"-DX"});
    EXPECT_EQ(sort_options(given, Toolchain::nvrtc).used, given);
}

TEST(ToolchainOptions, TheCpusOwnAreLeftOutForGpus) {
    const Words given{"--quern-waiting=regions", "--quern-optimise-limit", "500", "-DX"};
    EXPECT_EQ(sort_options(given, Toolchain::nvrtc).used, Words{"-DX"});
    EXPECT_EQ(sort_options(given, Toolchain::nvcc).used, Words{"-DX"});
    EXPECT_EQ(sort_options(given, Toolchain::nvrtc).ignored.back().first,
              "--quern-optimise-limit 500");
    EXPECT_EQ(sort_options(given, Toolchain::host).used, given);
}

} // namespace
} // namespace quern
