// Digests, text, the CPU's name.
#include "compiler/base/arch.h"
#include "compiler/base/digest.h"
#include "compiler/base/text.h"

#include <set>

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(Digest, IsFramed) {
    const auto of = [](auto... pieces) {
        Hasher hasher;
        (hasher.add(pieces), ...);
        return hasher.digest();
    };
    using sv = std::string_view;
    const std::set<Digest> all{of(),
                               of(sv("")),
                               of(sv(""), sv("")),
                               of(sv("ab"), sv("c")),
                               of(sv("a"), sv("bc")),
                               of(sv("abc")),
                               of(std::uint64_t{0}),
                               of(std::uint64_t{3}, sv("abc")),
                               of(sv("abc"), std::uint64_t{3})};
    EXPECT_EQ(all.size(), 9U);
    EXPECT_EQ(of(sv("ab"), sv("c")), of(sv("ab"), sv("c")));
}

TEST(Digest, HexIsWholeAndStable) {
    EXPECT_EQ((Digest{0x0123456789abcdefULL, 0xfULL}.hex()), "0123456789abcdef000000000000000f");
    EXPECT_EQ(digest_of({}).hex(), "99aa06d3014798d86001c324468d497f")
        << "XXH3-128 of nothing, as published";
}

TEST(Text, JoinAndBytes) {
    EXPECT_EQ(join("a", 1, ' ', 2.5, true), "a1 2.5true");
    EXPECT_EQ(join(), "");
    EXPECT_EQ(format_bytes(0), "0 bytes");
    EXPECT_EQ(format_bytes(1), "1 byte");
    EXPECT_EQ(format_bytes(640), "640 bytes");
    EXPECT_EQ(format_bytes(1024), "1 KiB");
    EXPECT_EQ(format_bytes(1536ULL << 20), "1.5 GiB");
    EXPECT_EQ(format_bytes((1ULL << 30) - 1), "1 GiB") << "not 1024 MiB";
    EXPECT_EQ(format_bytes(~0ULL), "16 EiB");
}

TEST(Arch, Names) {
    EXPECT_EQ(gpu_arch(9, 0).name, "sm_90");
    EXPECT_EQ(gpu_arch(12, 1).name, "sm_121");
    EXPECT_NE(gpu_arch(9, 0), gpu_arch(10, 0));
    const Arch host = host_arch();
    EXPECT_EQ(host.target, Target::cpu);
    EXPECT_EQ(host, host_arch());
#if defined(__x86_64__)
    EXPECT_TRUE(host.name.starts_with("x86-64")) << host.name;
#endif
}

} // namespace
} // namespace quern
