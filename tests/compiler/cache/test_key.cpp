// Whatever can change the binary changes the key: one test per field.
#include "compiler/cache/cache.h"

#include <functional>

#include <gtest/gtest.h>

namespace quern {
namespace {

CacheKey sample() {
    CacheKey key;
    key.name = "saxpy";
    key.source = "source";
    key.headers = {{"a.cuh", "alpha"}, {"b.cuh", "beta"}};
    key.included = {{"/x/c.h", "gamma"}};
    key.options = {"-DX=1", "-DY=2"};
    key.name_expressions = {"f<float>", "g"};
    key.backend = "nvrtc 13.0";
    key.arch = gpu_arch(9, 0);
    return key;
}

// Changes one thing: the digest and exactly one printed field must follow.
void expect_in_key(const char* field, const std::function<void(CacheKey&)>& change) {
    const CacheKey before = sample();
    CacheKey after = sample();
    change(after);
    EXPECT_NE(before.digest(), after.digest()) << field;
    const auto a = before.fields(), b = after.fields();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k)
        EXPECT_EQ(a[k].second != b[k].second, a[k].first == field) << a[k].first;
}

TEST(CacheKey, SameFieldsSameDigest) {
    EXPECT_EQ(sample().digest(), sample().digest());
    EXPECT_EQ(sample().fields(), sample().fields());
}

TEST(CacheKey, Name) {
    expect_in_key("name", [](CacheKey& k) { k.name = "daxpy"; });
}
TEST(CacheKey, Source) {
    expect_in_key("source", [](CacheKey& k) { k.source += " "; });
}
TEST(CacheKey, HeaderText) {
    expect_in_key("headers", [](CacheKey& k) { k.headers[1].text += " "; });
}
TEST(CacheKey, HeaderName) {
    expect_in_key("headers", [](CacheKey& k) { k.headers[1].name = "c.cuh"; });
}
TEST(CacheKey, HeaderOrder) {
    expect_in_key("headers", [](CacheKey& k) { std::swap(k.headers[0], k.headers[1]); });
}
TEST(CacheKey, IncludedText) {
    expect_in_key("included", [](CacheKey& k) { k.included[0].text = "delta"; });
}
TEST(CacheKey, IncludedName) {
    expect_in_key("included", [](CacheKey& k) { k.included[0].name = "/y/c.h"; });
}
TEST(CacheKey, OptionValue) {
    expect_in_key("options", [](CacheKey& k) { k.options[0] = "-DX=2"; });
}
TEST(CacheKey, OptionOrder) {
    expect_in_key("options", [](CacheKey& k) { std::swap(k.options[0], k.options[1]); });
}
TEST(CacheKey, OptionBoundary) {
    expect_in_key("options", [](CacheKey& k) { k.options = {"-DX=1 -DY=2"}; });
}
TEST(CacheKey, NameExpressions) {
    expect_in_key("name_expressions", [](CacheKey& k) { k.name_expressions[0] = "f<int>"; });
}
TEST(CacheKey, Backend) {
    expect_in_key("backend", [](CacheKey& k) { k.backend = "nvrtc 13.1"; });
}
TEST(CacheKey, ArchName) {
    expect_in_key("arch", [](CacheKey& k) { k.arch.name = "sm_90a"; });
}
TEST(CacheKey, ArchTarget) {
    expect_in_key("arch", [](CacheKey& k) { k.arch.target = Target::cpu; });
}
TEST(CacheKey, CheckMode) {
    expect_in_key("check_mode", [](CacheKey& k) { k.check_mode = true; });
}
TEST(CacheKey, Format) {
    expect_in_key("format", [](CacheKey& k) { k.format = 2; });
}

TEST(CacheKey, PiecesDoNotFlowIntoEachOther) {
    CacheKey a = sample(), b = sample();
    a.options = {"x"}, a.name_expressions = {"y", "z"};
    b.options = {"x", "y"}, b.name_expressions = {"z"};
    EXPECT_NE(a.digest(), b.digest());
    a = sample(), b = sample();
    a.included.clear();
    b.headers.clear();
    a.headers = b.included;
    EXPECT_NE(a.digest(), b.digest());
}

TEST(CacheKey, LongFieldsStayShort) {
    CacheKey key = sample();
    key.options.assign(500, "-DSOMETHING=1");
    key.headers.assign(100, {"h", "t"});
    for (const auto& [name, value] : key.fields())
        EXPECT_LT(value.size(), 200U) << name;
    const auto before = key.fields();
    key.options[499] = "-DSOMETHING=2";
    EXPECT_NE(before, key.fields());
}

} // namespace
} // namespace quern
