// Inline PTX as text: scopes, predicates, labels, comments, numbers, operands of every width; and
// what is refused, by name and place.
#include "ptx_cases.h"
#include <algorithm>

namespace quern::test {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

TEST(PtxText, ScopesCommentsAndNumbers) {
    check_ptx<u32, u32, u32>({
        {"{\\n\\t.reg .u32 t1, t2; // two $1\\n\\t/* the sum; */ add.u32 t1, %1, %2;\\n\\t"
         "{ .reg .u32 t1; mov.u32 t1, 0b101; add.u32 t2, t1, 010; }\\n\\tadd.u32 %0, t1, t2;\\n}",
         [](u32 a, u32 b) { return a + b + 13; }},
        {"add.u32 %0, %1, -1; sub.u32 %0, %0, %2;", [](u32 a, u32 b) { return a - 1 - b; }},
        {"{ .reg.b32 r<4>; mov.b32 r0, 0fBF800000; mov.b32 r3, r0; xor.b32 %0, r3, WARP_SZ; }",
         [](u32, u32) { return 0xbf800000u ^ 32; }},
        {"{ .reg .b32 %%t; mov.u32 %%t, %1; add.u32 %0, %%t, 0xFFU; }",
         [](u32 a, u32) { return a + 255; }},
        {"{ .reg .b16 low, high; mov.b32 {low, high}, %1; mov.b32 %0, {high, low}; }",
         [](u32 a, u32) { return a << 16 | a >> 16; }},
        {"{ .reg .b8 a, b, c, d; mov.b32 {a, b, c, d}, %1; mov.b32 %0, {d, c, b, a}; }",
         [](u32 a, u32) { return __builtin_bswap32(a); }},
    });
    check_ptx<u32, u64>({
        {"mov.b64 {_, %0}, %1;", [](u64 a) { return u32(a >> 32); }},
        {"{ .reg .b16 a, b; mov.b64 {a, _, _, b}, %1; mov.b32 %0, {a, b}; }",
         [](u64 a) { return u32(a & 0xffff) | u32(a >> 48) << 16; }},
    });
    check_ptx<u64, u32, u32>({
        {"mov.b64 %0, {%1, %2};", [](u32 a, u32 b) { return u64{b} << 32 | a; }},
    });
}

TEST(PtxText, PredicatesLabelsAndLoops) {
    const auto factors = [](u32 a, u32 b) {
        u32 r = 1;
        for (u32 i = 0; i < (b & 15); ++i)
            r *= a;
        return r;
    };
    check_ptx<u32, u32, u32>({
        {"{ .reg .pred p; setp.lt.u32 p, %1, %2; @p mov.u32 %0, 1; @!p mov.u32 %0, 2; }",
         [](u32 a, u32 b) { return a < b ? 1u : 2u; }},
        {"{ .reg .pred p, q; setp.ge.s32 p|q, %1, %2; selp.u32 %0, %1, %2, p; @q add.u32 %0, %0, "
         "1; }",
         [](u32 a, u32 b) { return int(a) >= int(b) ? a : b + 1; }},
        {"{ .reg .pred p, q; setp.eq.u32 p, %1, 3; setp.lo.and.u32 q, %1, %2, !p;"
         "  and.pred p, q, p; or.pred q, p, q; selp.u32 %0, 1, 0, q; }",
         [](u32 a, u32 b) { return u32{a < b && a != 3}; }},
        {"{ .reg .pred p; .reg .u32 n; and.b32 n, %2, 15; mov.u32 %0, 1;\\n"
         "AGAIN: setp.eq.u32 p, n, 0; @p bra DONE; mul.lo.u32 %0, %0, %1; sub.u32 n, n, 1;\\n"
         "bra.uni AGAIN; DONE: }",
         factors},
        {"{ .reg .pred p; setp.ne.s32 p, %1, 0; @p bra L%=; mov.u32 %0, 7; bra M%=;"
         " L%=: mov.u32 %0, %2; M%=: }",
         [](u32 a, u32 b) { return a ? b : 7u; }},
        {"{ .reg .pred p; setp.gt.u32 p, %1, %2; { .reg .u32 t; @p bra IN; mov.u32 t, 5;"
         " @!p mov.u32 %0, t; IN: } @p mov.u32 %0, 6; }",
         [](u32 a, u32 b) { return a > b ? 6u : 5u; }},
    });
}

TEST(PtxText, TiedOperandsSeveralOutputsAndConstants) {
    const Program program({R"(
template <int n> __device__ unsigned plus(unsigned x) {
    asm("add.u32 %0, %0, %1;" : "+r"(x) : "n"(n));
    return x;
}
extern "C" __global__ void k(unsigned* p, float* f, double* d, unsigned short* h, unsigned* unused) {
    unsigned a = p[0], b = p[1], sum, difference;
    asm("add.u32 %0, %2, %3;\n\tsub.u32 %1, %2, %3;" : "=&r"(sum), "=r"(difference) : "r"(a), "r"(b));
    p[2] = sum, p[3] = difference;
    asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "n"(1 << 4) : "memory");
    p[4] = a;
    asm("xor.b32 %0, %1, %0;" : "=r"(b) : "r"(p[1]), "0"(b));
    p[5] = b;
    p[6] = plus<-3>(p[0]);
    asm("fma.rn.f32 %0, %1, %1, 0f3F800000;" : "=f"(f[1]) : "f"(f[0]));
    asm("{ add.f64 %0, %1, 1.5; }" : "=d"(d[1]) : "d"(d[0]));
    asm("add.u16 %0, %1, 1;" : "=h"(h[1]) : "h"(h[0]));
    unsigned long long address;
    asm("mov.u64 %0, %1;" : "=l"(address) : "l"(p));
    p[7] = *(unsigned*)address;
    asm("");
    asm volatile("" : "+f"(f[1]) : "r"(a) : "memory");
    asm volatile("// nothing\n");
    unsigned lane; // as NVCC takes it: one % before names
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    p[8] = lane;
    asm("add.u32 %[out], %[left], %[right];" : [out] "=r"(p[9]) : [left] "r"(p[0]), [right] "r"(p[1]));
})"});
    std::vector<u32> p = {1000, 7, 0, 0, 0, 1, 0, 0, 99, 0};
    std::vector<float> f = {3, 0};
    std::vector<double> d = {2, 0};
    std::vector<u16> h = {65535, 7};
    program.launch("k", {1}, {1}, p.data(), f.data(), d.data(), h.data(), p.data());
    EXPECT_EQ(p, (std::vector<u32>{1000, 7, 1007, 993, 7016, 0, 997, 1000, 0, 1007}));
    EXPECT_EQ(f[1], 10);
    EXPECT_EQ(d[1], 3.5);
    EXPECT_EQ(h[1], 0);
}

// --- refusals ---

std::string refusal(const std::string& statement) {
    const auto result =
        compile({"__device__ void deep(unsigned* p, float* f) {\n  unsigned r = 0, s; "
                 "unsigned long long l = 0; float x = 0; unsigned short h = 0;\n  " +
                 statement +
                 "\n  p[0] = r + s + l + x + h;\n}\ntemplate <class T> __global__ void "
                 "sum(T* p, float* f) { deep(p, f); }\ntemplate __global__ void "
                 "sum<unsigned>(unsigned*, float*);"});
    EXPECT_EQ(result.status, QUERN_CC_REFUSED) << statement;
    EXPECT_TRUE(result.object.empty());
    EXPECT_NE(result.log.find("in a function that kernel 'sum' reaches"), std::string::npos)
        << result.log;
    return result.log;
}

TEST(PtxRefusals, NameTheInstructionItsLineAndTheKernel) {
    for (const std::string name :
         {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %0, %0, %0}, {%0, %0, %0, %0}, "
          "{%0, %0}, {%0, %0, %0, %0}",
          "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%0, %0}, [%2]",
          "wgmma.fence.sync.aligned",
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %0, %0, %0}, [%0]",
          "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%0}",
          "mapa.u64 %2, %2, %0",
          "mbarrier.init.shared.b64 [%0], %0",
          "tcgen05.alloc.sync.aligned.shared::cta.b32 [%0], 32",
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%2, "
          "{%0, %0}], [%0]",
          "setmaxnreg.inc.sync.aligned.u32 40",
          "tex.2d.v4.f32.f32 {%0, %0, %0, %0}, [%2, {%0, %0}]",
          "bar.arrive 1, 64",
          "vote.all.pred %0, %0",
          "shfl.down.b32 %0, %0, 1, 31",
          "multimem.red.add.f32 [%2], %0",
          "fence.proxy.async",
          "call (%0), f, (%0)",
          "ret",
          "atom.global.cas.b128 %0, [%2], %0, %0",
          "no.such.thing %0"}) {
        const auto log =
            refusal("asm volatile(\"" + name + ";\" : \"=r\"(r), \"=r\"(s) : \"l\"(l), \"f\"(x));");
        const auto named = "kernel.cu:3:16: error: the PTX instruction '" +
                           name.substr(0, name.find(' ')) + "' cannot run on the CPU";
        EXPECT_NE(log.find(named), std::string::npos) << log;
    }
}

TEST(PtxRefusals, PointAtTheirOwnLine) {
    const auto log =
        refusal("asm volatile(\"add.u32 %0, %0, 1;\\n\\t\"\n    \"mov.u32 %1, %0;\\n\\t\"\n"
                "    \"wgmma.fence;\" : \"+r\"(r), \"=r\"(s));");
    EXPECT_NE(log.find("kernel.cu:5:6: error: the PTX instruction 'wgmma.fence'"),
              std::string::npos)
        << log;
}

// The text is longer than what stands in the file: names of registers are escaped on the way.
TEST(PtxRefusals, ManyLinesWithPlainRegisterNames) {
    std::string text = "asm volatile(\"mov.u32 %0, %laneid;\\n\\t\"\n";
    for (int i = 0; i < 30; ++i)
        text += "    \"mov.u32 %1, %tid.x;\\n\\t\"\n";
    const auto log = refusal(text + "    \"wgmma.fence;\\n\" : \"+r\"(r), \"=r\"(s));");
    EXPECT_NE(log.find("error: the PTX instruction 'wgmma.fence'"), std::string::npos) << log;
}

TEST(PtxRefusals, MistakesAreNamed) {
    const std::pair<std::string, std::string> mistakes[] = {
        {"add.u32 %0, %0, %2", "%2 has 64 bits where it wants 32"},
        {"add.u64 %2, %2, %2", "not an output"},
        {"add.u32 %0, %0, t", "'t' is not declared here"},
        {"add.u32 %0, %0", "2 operands instead of 3"},
        {"add.nonsense.u32 %0, %0, %1", "'.nonsense' is not supported"},
        {"mov.u32 %0, %%envreg3", "there is no '%envreg3' here"},
        {"bra nowhere", "no label 'nowhere'"},
        {"{ add.u32 %0, %0, 1", "'}' is missing"},
        {"{ add.u32 %0, %0, 1 }", "';' is missing in 'add.u32' before '}'"},
        {"add.u32 %0, %0, 1; }", "'}' without '{'"},
        {"add.f32 %0, %0, 1", "written 0f3F800000"},
        {"lop3.b32 %0, %0, %0, %0, %1", "has to be a constant"},
        {".shared .b32 x; mov.u32 %0, 1", "'.shared'"},
        {"add.u32 %0, %0, 12x", "'12x' is no number"},
        {"cvt.f32.s32 %0, %1", "it wants a rounding"},
        {"ld.global.u32 %0, [%1]", "64 bits"},
    };
    for (const auto& [text, expected] : mistakes) {
        const auto log =
            refusal("asm volatile(\"" + text + ";\" : \"+r\"(r), \"+r\"(s) : \"l\"(l));");
        EXPECT_NE(log.find("kernel.cu:3:16: error: "), std::string::npos) << text << "\n" << log;
        EXPECT_NE(log.find(expected), std::string::npos) << text << "\n" << log;
    }
}

TEST(PtxRefusals, OnlyWhatAKernelReaches) {
    const std::string unreached = "__device__ void no() { asm volatile(\"wgmma.fence;\"); }\n";
    EXPECT_EQ(compile({unreached + "extern \"C\" __global__ void k(int* p) { *p = 1; }"}).status,
              QUERN_CC_OK);
    const auto table =
        compile({unreached + "__device__ void (*const calls[1])() = {no};\nextern \"C\" "
                             "__global__ void k(int n) { calls[n](); }"});
    EXPECT_EQ(table.status, QUERN_CC_REFUSED);
    EXPECT_NE(table.log.find("'wgmma.fence'"), std::string::npos) << table.log;
    const auto method =
        compile({"struct A { __device__ virtual void f() { asm volatile(\"wgmma.fence;\"); } "
                 "};\nextern \"C\" __global__ void k(int n) { A a; A* p = &a; p->f(); }"});
    EXPECT_EQ(method.status, QUERN_CC_REFUSED);
    EXPECT_NE(method.log.find("'wgmma.fence'"), std::string::npos) << method.log;
}

} // namespace
} // namespace quern::test
