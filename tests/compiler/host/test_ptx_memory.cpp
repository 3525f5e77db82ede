// Inline PTX: loads and stores of every width, shared addresses of 32 bits, copies, atomic
// operations.
#include "driver_program.h"
#include "ptx_cases.h"
#include <algorithm>
#include <bit>
#include <numeric>

namespace quern::test {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

TEST(PtxMemory, LoadsAndStoresOfEveryWidth) {
    const Program program({R"(
extern "C" __global__ void k(const unsigned char* from, unsigned char* to, unsigned* words, unsigned long long* longs) {
    int i = threadIdx.x;
    const unsigned char* p = from + 64 * i;
    unsigned char* q = to + 64 * i;
    unsigned b, h; int sb, sh;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(b) : "l"(p));
    asm volatile("ld.s8 %0, [%1+1];" : "=r"(sb) : "l"(p));
    asm("ld.global.nc.u16 %0, [%1 + 2];" : "=r"(h) : "l"(p));
    asm("ld.global.cs.s16 %0, [%1 + 4];" : "=r"(sh) : "l"(p));
    words[4 * i] = b, words[4 * i + 1] = sb, words[4 * i + 2] = h, words[4 * i + 3] = sh;
    unsigned short half;
    asm volatile("ld.global.L1::no_allocate.L2::128B.b16 %0, [%1];" : "=h"(half) : "l"(p + 6) : "memory");
    asm volatile("st.global.wt.b16 [%0], %1;" :: "l"(q + 6), "h"(half) : "memory");
    unsigned x, y, z, w;
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(p + 16));
    asm volatile("st.global.cs.v4.b32 [%0], {%4, %3, %2, %1};" :: "l"(q + 16), "r"(x), "r"(y), "r"(z), "r"(w));
    float f, g;
    asm volatile("ld.global.v2.f32 {%0,%1}, [%2+%3];" : "=f"(f), "=f"(g) : "l"(p), "n"(32));
    asm volatile("st.volatile.global.v2.f32 [%0], {%1,%2};" :: "l"(q + 32), "f"(g), "f"(f));
    unsigned long long l, m, policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.v2.u64 {%0, %1}, [%2], %3;" : "=l"(l), "=l"(m) : "l"(p + 48), "l"(policy));
    asm volatile("st.release.gpu.global.u64 [%0], %1;" :: "l"(q + 48), "l"(m));
    asm volatile("st.relaxed.sys.u64 [%0+8], %1;" :: "l"(q + 48), "l"(l) : "memory");
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(longs[i]) : "l"(p + 48));
    asm volatile("st.u8 [%0], %1;" :: "l"(q), "r"(b + 256));
    asm volatile("prefetch.global.L2 [%0];" :: "l"(p));
    asm volatile("membar.gl; fence.acq_rel.sys; fence.sc.cta;" ::: "memory");
    long long local = i; // the thread's own memory
    asm volatile("{ .reg .u64 a; cvta.to.local.u64 a, %1; ld.local.s64 %0, [a]; }" : "=l"(local) : "l"(&local));
    longs[i] += local;
})"});
    const unsigned n = 16;
    std::vector<u8> from(64 * n), to(64 * n);
    std::mt19937 engine(1);
    for (auto& byte : from)
        byte = static_cast<u8>(engine());
    std::vector<u32> words(4 * n);
    std::vector<u64> longs(n);
    program.launch("k", {1}, {n}, from.data(), to.data(), words.data(), longs.data());
    const auto read = [&]<class T>(T, unsigned at) {
        T value;
        std::memcpy(&value, &from[at], sizeof(T));
        return value;
    };
    for (unsigned i = 0; i < n; ++i) {
        const unsigned at = 64 * i;
        EXPECT_EQ(words[4 * i], from[at]);
        EXPECT_EQ(words[4 * i + 1], u32(int(static_cast<std::int8_t>(from[at + 1]))));
        EXPECT_EQ(words[4 * i + 2], read(u16{}, at + 2));
        EXPECT_EQ(words[4 * i + 3], u32(int(read(std::int16_t{}, at + 4))));
        EXPECT_EQ(longs[i], read(u64{}, at + 48) + i);
        std::vector<u8> expected(64);
        expected[0] = from[at];
        const auto copy = [&](unsigned into, unsigned out, unsigned bytes) {
            std::copy_n(&from[at + out], bytes, &expected[into]);
        };
        copy(6, 6, 2);
        for (unsigned k = 0; k < 4; ++k)
            copy(16 + 4 * k, 28 - 4 * k, 4);
        copy(32, 36, 4);
        copy(36, 32, 4);
        copy(48, 56, 8);
        copy(56, 48, 8);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), &to[at])) << i;
    }
}

// Addresses of shared memory are numbers of 32 bits that count from the block's own start.
TEST(PtxMemory, SharedAddresses) {
    const DriverProgram program({R"(
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned by_instruction(const void* p) {
    unsigned a;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p));
    return a;
}
__device__ __noinline__ unsigned read_back(unsigned at) {
    unsigned r;
    asm volatile("ld.shared.u32 %0, [%1+4];" : "=r"(r) : "r"(at) : "memory");
    return r;
}
extern "C" __global__ void k(unsigned* out, const unsigned* in) {
    __shared__ unsigned first[64];
    __shared__ __align__(16) unsigned second[64];
    extern __shared__ unsigned dynamic[];
    unsigned t = threadIdx.x, at = shared_address(&second[t]);
    if (t == 0) {
        out[320] = shared_address(dynamic) < 1024 && at < 1024 && by_instruction(dynamic) == shared_address(dynamic);
        out[321] = (unsigned)(shared_address(&first[9]) - shared_address(&first[2]));
        out[322] = __cvta_shared_to_generic(at) == (void*)&second[t];
        unsigned long long generic;
        asm("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"((unsigned long long)at));
        out[323] = generic == (unsigned long long)&second[t];
    }
    asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"(in[t]) : "memory");
    first[t] = 0, dynamic[t] = 5;
    asm volatile("bar.sync 0;" ::: "memory");
    out[t] = second[63 - t];
    out[64 + t] = t < 63 ? read_back(at) : 0;
    unsigned old;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(shared_address(&first[t & 3])), "r"(t) : "memory");
    asm volatile("red.shared::cta.max.u32 [%0], %1;" :: "r"(shared_address(&dynamic[0])), "r"(t));
    __syncthreads();
    out[128 + t] = t < 4 ? first[t] : dynamic[0];
    __syncthreads();
    if (t < 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(&second[4 * t])), "l"(in + 4 * t));
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" :: "r"(shared_address(&dynamic[4 * t])), "l"(in + 4 * t), "n"(16), "r"(8));
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;\n cp.async.wait_all;" ::: "memory");
    }
    __syncthreads();
    out[192 + t] = second[t];
    out[256 + t] = dynamic[t];
})"});
    std::vector<u32> out(324), in = ptx_values<u32>(64, 4);
    ASSERT_EQ(program.launch("k", {{1}, {64}, 256}, out.data(), in.data()), CUDA_SUCCESS);
    for (unsigned t = 0; t < 64; ++t) {
        ASSERT_EQ(out[t], in[63 - t]);
        ASSERT_EQ(out[64 + t], t < 63 ? in[t + 1] : 0);
        ASSERT_EQ(out[128 + t], t < 4 ? 16 * t + 4 * 120 : 63) << t;
        ASSERT_EQ(out[192 + t], in[t]);
        ASSERT_EQ(out[256 + t], t % 4 < 2 ? in[t] : 0);
    }
    EXPECT_EQ(out[320], 1);
    EXPECT_EQ(out[321], 28);
    EXPECT_EQ(out[322], 1);
    EXPECT_EQ(out[323], 1);
}

// One thread: every operation's old value and what it leaves.
TEST(PtxAtomics, OperationsOfOneThread) {
    struct Row {
        std::string name;
        std::function<u32(u32, u32)> next;
    };
    const auto s = [](u32 x) { return static_cast<int>(x); };
    const std::vector<Row> rows = {
        {"add.u32", [](u32 a, u32 b) { return a + b; }},
        {"add.s32", [](u32 a, u32 b) { return a + b; }},
        {"min.u32", [](u32 a, u32 b) { return std::min(a, b); }},
        {"max.u32", [](u32 a, u32 b) { return std::max(a, b); }},
        {"min.s32", [=](u32 a, u32 b) { return u32(std::min(s(a), s(b))); }},
        {"max.s32", [=](u32 a, u32 b) { return u32(std::max(s(a), s(b))); }},
        {"and.b32", [](u32 a, u32 b) { return a & b; }},
        {"or.b32", [](u32 a, u32 b) { return a | b; }},
        {"xor.b32", [](u32 a, u32 b) { return a ^ b; }},
        {"exch.b32", [](u32, u32 b) { return b; }},
        {"inc.u32", [](u32 a, u32 b) { return a >= b ? 0 : a + 1; }},
        {"dec.u32", [](u32 a, u32 b) { return a == 0 || a > b ? b : a - 1; }},
        {"add.f32",
         [](u32 a, u32 b) {
             return std::bit_cast<u32>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
         }},
    };
    std::string source;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool real = rows[i].name == "add.f32";
        const std::string letter = real ? "f" : "r", type = real ? "float" : "unsigned";
        source += "extern \"C\" __global__ void k" + std::to_string(i) + "(" + type + "* a, " +
                  type + "* b, " + type +
                  "* old) { int i = blockIdx.x * 64 + threadIdx.x;\n  asm volatile(\"atom.global." +
                  rows[i].name + " %0, [%1], %2;\" : \"=" + letter +
                  "\"(old[i]) : \"l\"(a + i), \"" + letter +
                  "\"(b[i]) : \"memory\");\n  asm volatile(\"red.relaxed.gpu." + rows[i].name +
                  " [%0], %1;\" :: \"l\"(a + i), \"" + letter + "\"(b[i]));\n}\n";
    }
    if (rows[9].name == "exch.b32") // red has no exch: the same value again changes nothing
        source.replace(source.find("red.relaxed.gpu.exch.b32 [%0], %1;"), 34,
                       "st.global.b32 [%0], %1;          ");
    const Program program({source});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool real = rows[i].name == "add.f32";
        auto a = ptx_values<u32>(1024, 1), b = ptx_values<u32>(1024, 2);
        if (real)
            for (auto* list : {&a, &b})
                for (auto& x : *list)
                    x = std::bit_cast<u32>(static_cast<float>(static_cast<int>(x)) * 0.25f);
        const auto before = a;
        std::vector<u32> old(1024);
        program.launch("k" + std::to_string(i), {16}, {64}, a.data(), b.data(), old.data());
        for (std::size_t k = 0; k < 1024; ++k) {
            ASSERT_EQ(old[k], before[k]) << rows[i].name;
            ASSERT_EQ(a[k], rows[i].next(rows[i].next(before[k], b[k]), b[k])) << rows[i].name;
        }
    }
}

// Many threads and blocks at once on a few places.
TEST(PtxAtomics, ManyThreadsOnFewPlaces) {
    const DriverProgram program({R"(
extern "C" __global__ void k(unsigned* sum, unsigned long long* wide, double* real, unsigned* halves, unsigned short* half,
                             unsigned* lock, unsigned* guarded) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, slot = t % 3;
    asm volatile("red.global.add.u32 [%0], %1;" :: "l"(sum + slot), "r"(t));
    unsigned long long old;
    asm volatile("atom.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(wide + slot), "l"(1ull << 32 | t));
    asm volatile("red.global.add.f64 [%0], %1;" :: "l"(real + slot), "d"(0.5 * t));
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" :: "l"(halves + slot), "r"(0x3c003c00u));
    if (t % 2) asm volatile("{ .reg .b16 old; atom.global.add.noftz.f16 old, [%0], %1; }" :: "l"(half + slot), "h"((unsigned short)0x3c00));
    unsigned seen;
    do asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(seen) : "l"(lock) : "memory"); while (seen != 0);
    *(volatile unsigned*)guarded = *(volatile unsigned*)guarded + 1;
    asm volatile("atom.release.gpu.global.exch.b32 %0, [%1], 0;" : "=r"(seen) : "l"(lock) : "memory");
})"});
    const unsigned threads = 64, blocks = 12, n = threads * blocks;
    std::vector<u32> sum(3), halves(3), lock(1), guarded(1);
    std::vector<u64> wide(3);
    std::vector<double> real(3);
    std::vector<u16> half(4);
    ASSERT_EQ(program.launch("k", {{blocks}, {threads}}, sum.data(), wide.data(), real.data(),
                             halves.data(), half.data(), lock.data(), guarded.data()),
              CUDA_SUCCESS);
    for (unsigned slot = 0; slot < 3; ++slot) {
        u32 expected = 0, count = 0, odd = 0;
        for (unsigned t = slot; t < n; t += 3)
            expected += t, ++count, odd += t % 2;
        EXPECT_EQ(sum[slot], expected);
        EXPECT_EQ(wide[slot], u64{count} << 32 | expected);
        EXPECT_EQ(real[slot], 0.5 * expected);
        EXPECT_EQ(halves[slot], 0x5c005c00u); // 256.0, twice
        EXPECT_EQ(count, 256u);
        EXPECT_EQ(half[slot], odd == 128 ? 0x5800 : 0);
    }
    EXPECT_EQ(guarded[0], n);
}

} // namespace
} // namespace quern::test
