// Inline PTX: special registers, barriers, and what the lanes of a warp do together, against their
// definitions in the PTX manual.
#include "driver_program.h"
#include "ptx_cases.h"
#include <bit>
#include <chrono>

namespace quern::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

TEST(PtxThreads, SpecialRegisters) {
    const Program program({R"(
#define READ(NAME, AT) { unsigned r; asm volatile("mov.u32 %0, " NAME ";" : "=r"(r)); out[AT] = r; }
extern "C" __global__ void k(unsigned* all) {
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned* out = all + 32 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
    READ("%tid.x", 0) READ("%tid.y", 1) READ("%%tid.z", 2) READ("%ntid.x", 3) READ("%ntid.y", 4) READ("%ntid.z", 5)
    READ("%ctaid.x", 6) READ("%ctaid.y", 7) READ("%ctaid.z", 8) READ("%nctaid.x", 9) READ("%nctaid.y", 10) READ("%nctaid.z", 11)
    READ("%laneid", 12) READ("%warpid", 13) READ("%lanemask_eq", 14) READ("%lanemask_lt", 15) READ("%lanemask_le", 16)
    READ("%lanemask_gt", 17) READ("%lanemask_ge", 18) READ("%smid", 19) READ("%nsmid", 20) READ("%nwarpid", 21)
    READ("%clusterid.x", 22) READ("%nclusterid.z", 23) READ("%cluster_ctarank", 24) READ("%cluster_nctaid.y", 25)
})"});
    const u32 gx = 2, gy = 1, gz = 2, bx = 7, by = 5, bz = 3;
    std::vector<u32> out(32 * gx * gy * gz * bx * by * bz);
    program.launch("k", {gx, gy, gz}, {bx, by, bz}, out.data());
    u32 at = 0;
    for (u32 block = 0; block < gx * gy * gz; ++block)
        for (u32 t = 0; t < bx * by * bz; ++t, at += 32) {
            const u32 lane = t % 32, own = 1u << lane, below = own - 1;
            const std::vector<u32> expected = {t % bx,
                                               t / bx % by,
                                               t / bx / by,
                                               bx,
                                               by,
                                               bz,
                                               block % gx,
                                               block / gx % gy,
                                               block / gx / gy,
                                               gx,
                                               gy,
                                               gz,
                                               lane,
                                               t / 32,
                                               own,
                                               below,
                                               own | below,
                                               ~(own | below),
                                               ~below};
            ASSERT_TRUE(std::equal(expected.begin(), expected.end(), &out[at]))
                << block << " " << t;
            const std::vector<u32> cluster = {block % gx, gz, 0, 1}; // of one block each
            ASSERT_TRUE(std::equal(cluster.begin(), cluster.end(), &out[at + 22]));
            ASSERT_LT(out[at + 19], out[at + 20]);
            ASSERT_LT(out[at + 13], out[at + 21]);
        }
}

TEST(PtxThreads, ClocksGoOn) {
    const Program program({R"(extern "C" __global__ void k(unsigned long long* t, unsigned* low) {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t[0]));
        asm volatile("mov.u64 %0, %clock64;" : "=l"(t[1]));
        asm volatile("mov.u32 %0, %clock;" : "=r"(low[0]));
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(t[2]));
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t[3]));
    })"});
    u64 t[4];
    u32 low;
    const auto now = [] {
        return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count());
    };
    const u64 before = now();
    program.launch("k", {1}, {1}, &t[0], &low);
    const u64 after = now();
    EXPECT_LE(before, t[0]);
    EXPECT_LE(t[0], t[3]);
    EXPECT_LE(t[3], after);
    EXPECT_LT(t[1], t[2]);
    EXPECT_LE(low - static_cast<u32>(t[1]), static_cast<u32>(t[2] - t[1]));
}

TEST(PtxThreads, BarriersWithNamesAndVotes) {
    const DriverProgram program({R"(extern "C" __global__ void k(const unsigned* x, unsigned* out) {
        __shared__ unsigned a[128];
        unsigned t = threadIdx.x;
        a[t] = x[t];
        asm volatile("bar.sync 0;" ::: "memory");
        out[t] = a[127 - t];
        asm volatile("barrier.sync.aligned 3;" ::: "memory");
        a[t] += 1;
        asm volatile("bar.sync %0;" :: "r"(5) : "memory");
        out[t] += a[127 - t];
        asm volatile("barrier.cta.sync 0;" ::: "memory");
        if (t < 64) { // each half of the block by itself
            a[t] = t;
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[128 + t] = a[63 - t];
        } else {
            a[t] = t;
            asm volatile("bar.sync %0, %1;" :: "r"(2), "n"(64) : "memory");
            out[128 + t] = a[191 - t];
        }
        unsigned count, all, any;
        asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 40; bar.red.popc.u32 %0, 0, p; }" : "=r"(count) : "r"(t) : "memory");
        asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 128; bar.red.and.pred q, 0, p; selp.u32 %0, 1, 0, q; }" : "=r"(all) : "r"(t));
        asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 128; bar.red.or.pred q, 0, !p; selp.u32 %0, 1, 0, q; }" : "=r"(any) : "r"(t));
        out[256 + t] = count * 4 + all * 2 + any;
    })"});
    const auto x = ptx_values<u32>(128, 3);
    std::vector<u32> out(384);
    ASSERT_EQ(program.launch("k", {{1}, {128}}, x.data(), out.data()), CUDA_SUCCESS);
    for (u32 t = 0; t < 128; ++t) {
        ASSERT_EQ(out[t], 2 * x[127 - t] + 1);
        ASSERT_EQ(out[128 + t], t < 64 ? 63 - t : 191 - t);
        ASSERT_EQ(out[256 + t], 40 * 4 + 2);
    }
}

// The manual's pseudocode.
std::pair<u32, bool> source_lane(const std::string& mode, int lane, u32 b, u32 c) {
    const int segmask = c >> 8 & 31, bval = b & 31, cval = c & 31;
    const int most = (lane & segmask) | (cval & ~segmask), least = lane & segmask;
    int j = 0;
    bool valid = false;
    if (mode == "up")
        j = lane - bval, valid = j >= most;
    else if (mode == "down")
        j = lane + bval, valid = j <= most;
    else if (mode == "bfly")
        j = lane ^ bval, valid = j <= most;
    else
        j = least | (bval & ~segmask), valid = j <= most;
    return {static_cast<u32>(valid ? j : lane), valid};
}

TEST(PtxWarp, Shuffles) {
    for (const std::string mode : {"up", "down", "bfly", "idx"}) {
        const DriverProgram program(
            {R"(extern "C" __global__ void k(const unsigned* x, const unsigned* b, const unsigned* c, unsigned* out, int rounds) {
            unsigned t = threadIdx.x;
            for (int i = 0; i < rounds; ++i) {
                unsigned got, valid;
                asm volatile("{ .reg .pred p; shfl.sync.)" +
             mode + R"(.b32 %0|p, %2, %3, %4, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                             : "=r"(got), "=r"(valid) : "r"(x[t]), "r"(b[i]), "r"(c[i]));
                out[2 * (i * blockDim.x + t)] = got, out[2 * (i * blockDim.x + t) + 1] = valid;
            }
            float f = t;
            asm volatile("shfl.sync.)" +
             mode + R"(.b32 %0, %0, 1, 0x1f, -1;" : "+f"(f));
            out[2 * rounds * blockDim.x + t] = f;
        })"});
        const auto x = ptx_values<u32>(64, 1);
        std::vector<u32> b, c;
        for (u32 width : {1u, 2u, 4u, 8u, 16u, 32u})
            for (u32 distance : {0u, 1u, 3u, 7u, 16u, 31u, 33u}) {
                b.push_back(distance);
                c.push_back((32 - width) << 8 | (mode == "up" ? 0 : 31));
            }
        const int rounds = static_cast<int>(b.size());
        std::vector<u32> out(2 * b.size() * 64 + 64);
        ASSERT_EQ(
            program.launch("k", {{1}, {64}}, x.data(), b.data(), c.data(), out.data(), rounds),
            CUDA_SUCCESS);
        for (std::size_t i = 0; i < b.size(); ++i)
            for (u32 t = 0; t < 64; ++t) {
                const auto [lane, valid] = source_lane(mode, int(t % 32), b[i], c[i]);
                ASSERT_EQ(out[2 * (i * 64 + t)], x[t / 32 * 32 + lane])
                    << mode << " " << b[i] << " " << c[i];
                ASSERT_EQ(out[2 * (i * 64 + t) + 1], valid);
            }
        for (u32 t = 0; t < 64; ++t)
            ASSERT_EQ(out[2 * b.size() * 64 + t],
                      t / 32 * 32 + source_lane(mode, int(t % 32), 1, 31).first);
    }
}

TEST(PtxWarp, VotesMatchesAndReductions) {
    const DriverProgram program({R"(
#define VOTE(HOW, AT) { unsigned r; asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync." HOW ".pred q, p, %2; selp.u32 %0, 1, 0, q; }" \
    : "=r"(r) : "r"(x[t] & 1), "r"(mask)); out[AT] = r; }
#define REDUX(HOW, AT) { unsigned r; asm volatile("redux.sync." HOW " %0, %1, %2;" : "=r"(r) : "r"(x[t]), "r"(mask)); out[AT] = r; }
extern "C" __global__ void k(const unsigned* x, unsigned* all, unsigned low_mask) {
    unsigned t = threadIdx.x, lane = t % 32;
    unsigned* out = all + 16 * t;
    unsigned mask = low_mask >> lane & 1 ? low_mask : ~low_mask;
    if (low_mask >> lane & 1) {
        asm volatile("activemask.b32 %0;" : "=r"(out[12]));
    }
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    VOTE("all", 0) VOTE("any", 1) VOTE("uni", 2)
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }" : "=r"(out[3]) : "r"(x[t] & 1), "r"(mask));
    REDUX("add.u32", 4) REDUX("min.u32", 5) REDUX("max.u32", 6) REDUX("min.s32", 7) REDUX("max.s32", 8) REDUX("and.b32", 9) REDUX("or.b32", 10) REDUX("xor.b32", 11)
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(out[13]) : "r"(x[t] & 3), "r"(mask));
    asm volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }" : "=r"(out[14]), "=r"(out[15])
        : "l"((unsigned long long)(x[t] & 1) << 40), "r"(mask));
    if (t == 5) asm volatile("nanosleep.u32 100; pmevent 1; griddepcontrol.wait;");
})"});
    for (u32 low_mask : {0xffffu, 0x80000001u, 0xff00ff00u}) {
        auto x = ptx_values<u32>(64, low_mask);
        for (u32 t = 0; t < 16; ++t)
            x[t] |= 1; // all of some groups agree
        std::vector<u32> out(64 * 16);
        ASSERT_EQ(program.launch("k", {{1}, {64}}, x.data(), out.data(), low_mask), CUDA_SUCCESS);
        for (u32 t = 0; t < 64; ++t) {
            const u32 lane = t % 32, first = t - lane;
            const u32 mask = low_mask >> lane & 1 ? low_mask : ~low_mask;
            u32 odd = 0, sum = 0, least = ~0u, most = 0, both = ~0u, any = 0, differ = 0, same = 0;
            int low = INT_MAX, high = INT_MIN;
            for (u32 other = 0; other < 32; ++other) {
                if (!(mask >> other & 1))
                    continue;
                const u32 value = x[first + other];
                odd |= (value & 1) << other;
                sum += value, least = std::min(least, value), most = std::max(most, value);
                low = std::min(low, int(value)), high = std::max(high, int(value));
                both &= value, any |= value, differ ^= value;
                same |= u32{(value & 3) == (x[t] & 3)} << other;
            }
            const bool agree = odd == mask || odd == 0;
            const std::vector<u32> expected = {odd == mask,
                                               odd != 0,
                                               agree,
                                               odd,
                                               sum,
                                               least,
                                               most,
                                               u32(low),
                                               u32(high),
                                               both,
                                               any,
                                               differ,
                                               low_mask >> lane & 1 ? low_mask : 0,
                                               same,
                                               agree ? mask : 0,
                                               agree};
            for (std::size_t i = 0; i < expected.size(); ++i)
                ASSERT_EQ(out[16 * t + i], expected[i]) << "thread " << t << ", answer " << i;
        }
    }
}

TEST(PtxThreads, ExitAndTrap) {
    const DriverProgram program({R"(
__device__ __noinline__ void leave() { asm volatile("exit;"); }
extern "C" __global__ void k(unsigned* out, unsigned n) {
    unsigned t = threadIdx.x;
    asm volatile("{ .reg .pred p; setp.ge.u32 p, %0, %1; @p exit; }" :: "r"(t), "r"(n));
    out[t] = 1;
    if (t % 2) leave();
    asm volatile("bar.sync 0;");
    out[t] = 2;
}
extern "C" __global__ void alone(unsigned* out, unsigned n) {
    asm volatile("{ .reg .pred p; setp.ge.u32 p, %0, %1; @p exit; }" :: "r"(threadIdx.x), "r"(n));
    out[threadIdx.x] = 3;
}
extern "C" __global__ void fails() { asm volatile("trap;"); })"});
    std::vector<u32> out(64);
    ASSERT_EQ(program.launch("k", {{1}, {64}}, out.data(), 40u), CUDA_SUCCESS);
    for (u32 t = 0; t < 64; ++t)
        ASSERT_EQ(out[t], t >= 40 ? 0 : t % 2 ? 1 : 2) << t;
    ASSERT_EQ(program.launch("alone", {{1}, {64}}, out.data(), 50u), CUDA_SUCCESS);
    for (u32 t = 0; t < 64; ++t)
        ASSERT_EQ(out[t], t < 50 ? 3 : 0) << t;
    EXPECT_EQ(program.launch("fails", {{1}, {1}}), CUDA_ERROR_LAUNCH_FAILED);
}

} // namespace
} // namespace quern::test
