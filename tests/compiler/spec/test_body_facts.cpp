// What bodies tell: one row per snippet. A wrong "assigned first" loses data, so doubt must always
// show as absence.
#include "compiler/spec/body_facts.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

BodyFacts facts_of(std::string_view operation, std::string_view loop_prep = "",
                   std::string_view after_loop = "", std::string_view preamble = "",
                   const std::vector<std::string>& options = {}) {
    static const auto params =
        [] { // bits: x 0, a 1 (written), t 2 (raw); outputs y 3, z 4, w 5, r 6 (raw)
            auto list = parse_params("T x, _non_const T a, raw T t", false);
            for (const auto& param : parse_params("T y, T z, T w, raw T r", true))
                list.push_back(param);
            return list;
        }();
    return find_body_facts({operation, loop_prep, after_loop, preamble, options}, params);
}

std::string assigned(const BodyFacts& facts) {
    static constexpr std::string_view names = "xatyzwr";
    std::string found;
    for (std::size_t k = 0; k < names.size(); ++k)
        if (facts.assigned_first >> k & 1)
            found += names[k];
    return found;
}

struct AssignedRow {
    const char* operation;
    const char* expected; // names of the parameters that are surely assigned first
};

class AssignedFirst : public testing::TestWithParam<AssignedRow> {};

TEST_P(AssignedFirst, Holds) {
    EXPECT_EQ(assigned(facts_of(GetParam().operation)), GetParam().expected);
}

constexpr AssignedRow proven[] = {
    {"z = x + y", "z"},
    {"z = x + y;", "z"},
    {"z = x; w = z * 2;", "zw"},
    {"float s = x; z = s;", "z"},
    {"y = z = x", "yz"},
    {"y = z = w = x;", "yzw"},
    {"y = z = y + 1", "z"},
    {"if (x > 0) z = 1; else z = 2;", "z"},
    {"if (x > 0) { z = 1; } else { z = 2; }", "z"},
    {"if (x > 0) z = 1; else if (x < 0) z = 2; else z = 3;", "z"},
    {"if (x > 0) { T s = x; z = s; w = 1; } else z = 2;", "z"},
    {"if constexpr (sizeof(T) == 4) z = 1; else z = 2;", "z"},
    {"y = x > 0 ? x : -x", "y"},
    {"y = x && true || false", "y"},
    {"{ z = x; }", "z"},
    {"{ { z = x; } w = z; }", "zw"},
    {"a = x; z = a", "az"},
    {"z = x; z += 1", "z"},
    {"z = x; if (z > 1) return;", "z"},
    {"z = x; return; w = 1;", "z"},
    {"int k = 0; while (k < 9) { if (x > k) break; k++; } z = k;", "z"},
    {"for (int k = 0; k < 3; ++k) { if (k == 1) continue; } z = x;", "z"},
    {"T s = 0; for (int k = 0; k < 9; ++k) s += t[k]; z = s;", "z"},
    {"switch ((int)x) { case 1: break; default: break; } z = 2;", "z"},
    {"int k = 0; do { k++; } while (k < 4); z = k", "z"},
    {"z = T(1) /* y = y */; // w", "z"},
    {"#pragma unroll\nfor (int k = 0; k < 3; ++k) ;\nz = x;", "z"},
    {"z = max(x, y), w = 3", "z"},
    {"r[i] = x; z = 1", "z"},
    {"y = [](T v) { return v; }(x)", ""}, // a jump inside a lambda is not followed
    {"z = x == y", "z"},
    {"auto f = \"z += 1\"; z = f[0];", "z"},
    {"; ; z = x", "z"},
    {"if (x > 0) { z = 1; return; } else z = 2;", "z"},
};
INSTANTIATE_TEST_SUITE_P(Proven, AssignedFirst, testing::ValuesIn(proven));

constexpr AssignedRow doubted[] = {
    {"", ""},
    {"z += x", ""},
    {"z == x", ""},
    {"z = z + x", ""},
    {"z++", ""},
    {"if (x > 0) z = 1;", ""},
    {"if (x > 0) z = 1; else w = 2;", ""},
    {"if (x > 0) z = 1; else ;", ""},
    {"if (z > 0) z = 1; else z = 2;", ""},
    {"if (x > 0) z += 1; else z = 2;", ""},
    {"if (x > 0) { z = 1; } else if (x < 0) { z = 2; }", ""},
    {"if (x > 0) return; z = 1;", ""},
    {"if (x > 0) { return; } else z = 1;", ""},
    {"if (x > 0) continue; z = 1;", ""},
    {"if (x > 0) break; z = x;", ""},
    {"for (int k = 0; k < x; ++k) z = k;", ""},
    {"for (z = 0; z < 9; z += 1) ;", ""},
    {"while (x > 0) { z = 1; break; }", ""},
    {"do z = 1; while (false);", ""},
    {"switch ((int)x) { case 0: z = 1; }", ""},
    {"x > 0 && (z = 1)", ""},
    {"x > 0 ? (z = 1) : (w = 2)", ""},
    {"(z) = x", ""},
    {"z.x = x", ""},
    {"z[0] = x", ""},
    {"*&z = x", ""},
    {"z = x; atomicAdd(&z, 1)", ""},
    {"z = x & z", ""},
    {"z = 1; T s = bitand z;", ""},
    {"T s = z; z = s", ""},
    {"T& s = z; z = 1; ", ""},
    {"T z = x;", ""},
    {"f(z); z = 1", ""},
    {"w = 1, z = 2", "w"},
    {"t = x", ""}, // raw
    {"x = 1", ""}, // const input
    {"r = 1", ""}, // raw
    {"again: z = x; if (z > 3) goto again;", ""},
    {"start: z = x;", ""},
    {"asm(\"\"); z = x", ""},
    {"{ z = x;", ""},
    {"z = x; }", ""},
    {"z = (x", ""},
    {"else z = 1;", ""},
    {"try { z = 1; } catch (...) {}", ""},
    {"z = x; \"open", ""},
    {"#define z w\nz = x", ""},
    {"#if 0\nz = x;\n#endif", ""},
    {"z \\\n= x", ""},
    {"z = ({ if (x > 0) return; x; })", ""},
    {"if (({ return; x; }) > 0) z = 1; else z = 2;", ""},
    {"auto f = [&] { z += 1; }; f(); z = 2", ""},
};
INSTANTIATE_TEST_SUITE_P(Doubted, AssignedFirst, testing::ValuesIn(doubted));

struct LeavesRow {
    const char* operation;
    bool expected;
};

class LeavesEarly : public testing::TestWithParam<LeavesRow> {};

TEST_P(LeavesEarly, Holds) {
    EXPECT_EQ(facts_of(GetParam().operation).leaves_early, GetParam().expected);
}

constexpr LeavesRow leaving[] = {
    {"z = x", false},
    {"z = x; return;", true},
    {"if (x > 0) return; z = x", true},
    {"if (x > 0) continue;", true},
    {"if (x > 0) break;", true},
    {"for (int k = 0; k < 3; ++k) if (k == x) break;", false},
    {"for (int k = 0; k < 3; ++k) { if (k == x) continue; z = k; }", false},
    {"while (true) { break; }", false},
    {"do { if (x > 1) break; } while (true);", false},
    {"do { if (x > 1) break; } while (true); if (x < 0) break;", true},
    {"switch ((int)x) { case 1: z = 1; break; default: z = 2; }", false},
    {"switch ((int)x) { case 1: continue; }", true},
    {"for (;;) { switch ((int)x) { case 1: continue; default: break; } break; }", false},
    {"for (;;) { return; }", true},
    {"goto end; end: ;", true},
    {"asm volatile(\"nop\");", true},
    {"__asm__(\"nop\");", true},
    {"z = [](T v) { return v; }(x)", true}, // not followed: the costly answer
    {"// return\nz = x /* break */", false},
    {"z = \"return\"[0]", false},
    {"breaker = x; returned = 1", false},
    {"for (;;) { break; ", true}, // brackets do not pair
    {"if (x) break; else for (;;) break;", true},
    {"#line 3\nz = x", false},
    {"#ifdef A\nreturn;\n#endif", true},
};
INSTANTIATE_TEST_SUITE_P(Body, LeavesEarly, testing::ValuesIn(leaving));

TEST(BodyFacts, LoopPrepAndAfterLoop) {
    EXPECT_EQ(assigned(facts_of("z = x", "z = 1")), "");
    EXPECT_EQ(assigned(facts_of("z = x", "int k = 0")), "z");
    EXPECT_EQ(assigned(facts_of("z = x", "", "f(z)")), "");
    EXPECT_TRUE(facts_of("z = x", "if (n > 3) return").leaves_early);
    EXPECT_FALSE(facts_of("z = x", "for (;;) break").leaves_early);
    EXPECT_TRUE(facts_of("z = x", "int k = n").uses_n);
    EXPECT_TRUE(facts_of("z = x", "", "t[i]").uses_i);
}

TEST(BodyFacts, ReservedNames) {
    const auto none = facts_of("z = x; int in = 1; // i n _ind\nauto s = \"i\";");
    EXPECT_FALSE(none.uses_i || none.uses_n || none.uses_ind);
    const auto all = facts_of("z = t[i] + n + _ind.size()");
    EXPECT_TRUE(all.uses_i && all.uses_n && all.uses_ind);
    EXPECT_FALSE(facts_of("z = x", "", "", "int f(int i, int n) { return i + n; }").uses_i);
}

void expect_everything(const BodyFacts& facts) {
    EXPECT_TRUE(facts.uses_i && facts.uses_n && facts.uses_ind && facts.leaves_early);
    EXPECT_EQ(facts.assigned_first, 0u);
}

TEST(BodyFacts, MacrosThatMayHideSomething) {
    expect_everything(facts_of("STORE(x)", "", "", "#define STORE(v) z = v; return"));
    expect_everything(facts_of("z = INDEX", "", "", "#define INDEX i"));
    expect_everything(facts_of("z = x", "HERE", "",
                               "  #  define HERE"
                               " y"));
    expect_everything(facts_of("z = SUM", "", "", "#define SUM 1 + \\\n i"));
    expect_everything(facts_of("z = x", "", "", "#include \"mine.h\""));
    expect_everything(facts_of("z = X", "", "", "", {"-DX=i"}));
    expect_everything(facts_of("z = X", "", "", "", {"-D", "X=i"}));
    expect_everything(facts_of("z = X(1)", "", "", "", {"--define-macro=X(v)=v"}));
    expect_everything(facts_of("z = x", "", "", "", {"-include", "mine.h"}));
    expect_everything(facts_of("#undef z\nz = x"));
    expect_everything(facts_of("z = x", "", "", "/* open"));
}

TEST(BodyFacts, MacrosThatHideNothing) {
    EXPECT_EQ(assigned(facts_of("z = x", "", "", "#define STORE(v) z = v")), "z"); // not used
    EXPECT_EQ(assigned(facts_of("z = x * PI", "", "", "#define PI 3.14159f")), "z");
    EXPECT_EQ(assigned(facts_of("z = x * N", "", "", "#define N (1 << 4)\n#undef N")), "z");
    EXPECT_EQ(assigned(facts_of("z = x * N", "", "", "", {"-DN=5", "-lineinfo"})), "z");
    EXPECT_EQ(assigned(facts_of("z = x", "", "", "#include <cmath>\n#include <cupy/complex.cuh>")),
              "z");
    EXPECT_EQ(assigned(facts_of("z = x", "", "", "#include <cfloat>\n#include \"quern/bits.cuh\"")),
              "z");
    EXPECT_FALSE(facts_of("z = x * N", "", "", "#define N 5").uses_i);
}

TEST(BodyFacts, Mentions) {
    const auto none = facts_of("z = x");
    EXPECT_FALSE(none.mentions_complex || none.mentions_half || none.mentions_bfloat16);
    EXPECT_TRUE(facts_of("z = complex<float>(x, y)").mentions_complex);
    EXPECT_TRUE(facts_of("z = thrust::abs(x)").mentions_complex);
    EXPECT_TRUE(facts_of("z = conj(x)").mentions_complex);
    EXPECT_TRUE(
        facts_of("z = f(x)", "", "", "__device__ int f(complex<double>);").mentions_complex);
    EXPECT_TRUE(facts_of("z = C(x)", "", "", "#define C complex<float>").mentions_complex);
    EXPECT_FALSE(facts_of("z = norm").mentions_complex);
    EXPECT_TRUE(facts_of("z = (float16)x").mentions_half);
    EXPECT_TRUE(facts_of("z = __half2float(x)").mentions_half);
    EXPECT_FALSE(facts_of("z = (bfloat16)x").mentions_half);
    EXPECT_TRUE(facts_of("z = (bfloat16)x").mentions_bfloat16);
    EXPECT_TRUE(facts_of("z = __nv_bfloat162(x)").mentions_bfloat16);
    const auto either = facts_of("z = __hadd(x, y)");
    EXPECT_TRUE(either.mentions_half && either.mentions_bfloat16);
}

TEST(BodyFacts, IdentifiersAreSortedAndUnique) {
    const auto facts = facts_of("z = foo(x, x)", "int k", "done()", "#define A b\nstruct S;");
    const std::vector<std::string> expected{"A",   "S", "b",      "define", "done", "foo",
                                            "int", "k", "struct", "x",      "z"};
    EXPECT_EQ(facts.identifiers, expected);
}

TEST(BodyFacts, DeepNestingEndsInDoubt) {
    const std::string deep = std::string(5000, '{') + "z = x;" + std::string(5000, '}');
    EXPECT_EQ(assigned(facts_of(deep)), "");
    std::string brackets = "z = " + std::string(100000, '(') + "x" + std::string(100000, ')');
    EXPECT_EQ(assigned(facts_of(brackets)), "z");
}

} // namespace
} // namespace quern
