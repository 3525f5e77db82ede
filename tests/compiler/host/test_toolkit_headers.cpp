// Headers of a CUDA toolkit, read by the CPU's compiler as NVRTC reads them: random numbers,
// cuda::std, cub.
#include "compiler/base/library.h"
#include "driver_program.h"
#include "host_compiler.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace quern::test {
namespace {

bool has_header(const char* name) {
    const auto folders = cuda_include_folders();
    return std::ranges::any_of(folders, [&](const std::string& folder) {
        return std::filesystem::exists(folder + "/" + name);
    });
}
#define NEEDS(HEADER)                                                                              \
    if (!has_header(HEADER))                                                                       \
    GTEST_SKIP() << "no " HEADER " on this machine"

Source with_toolkit(const std::string& text) {
    Source source{text};
    source.toolkit = true;
    return source;
}

// Salmon and others, "Parallel random numbers: as easy as 1, 2, 3": ten rounds of Philox 4x32.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0],
                   static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1],
                   static_cast<std::uint32_t>(a)};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return counter;
}

TEST(Curand, PhiloxIsThePapers) {
    NEEDS("curand_kernel.h");
    const Program program(with_toolkit(R"(#include <curand_kernel.h>
extern "C" __global__ void draw(unsigned* out, float* uniform, unsigned long long seed, unsigned long long offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, offset, &state);
    for (int k = 0; k < 8; ++k) out[8 * i + k] = curand(&state);
    curand_init(seed, i, offset, &state);
    for (int k = 0; k < 8; ++k) uniform[8 * i + k] = curand_uniform(&state);
})"));
    // Of the paper's own test vectors.
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
              (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    const std::uint64_t seed = 0x123456789abcdefULL, offset = 6;
    std::vector<std::uint32_t> out(8 * 64);
    std::vector<float> uniform(8 * 64);
    program.launch("draw", {2}, {32}, out.data(), uniform.data(), seed, offset);
    for (std::uint32_t i = 0; i < 64; ++i)
        for (std::uint32_t k = 0; k < 8; ++k) {
            const auto at = static_cast<std::uint32_t>(offset + k);
            const auto four = philox({at / 4, 0, i, 0}, {static_cast<std::uint32_t>(seed),
                                                         static_cast<std::uint32_t>(seed >> 32)});
            EXPECT_EQ(out[8 * i + k], four[at % 4]) << i << " " << k;
            EXPECT_NEAR(uniform[8 * i + k], (four[at % 4] + 0.5) / 4294967296.0, 1e-7);
        }
}

// Marsaglia, "Xorshift RNGs", page 5.
TEST(Curand, XorwowStepsAsMarsagliasAndSkips) {
    NEEDS("curand_kernel.h");
    const Program program(with_toolkit(R"(#include <curand_kernel.h>
extern "C" __global__ void steps(unsigned* out, unsigned* first) {
    curandState state;
    curand_init(1234, 0, 0, &state);
    for (int k = 0; k < 5; ++k) first[k] = state.v[k];
    first[5] = state.d;
    for (int k = 0; k < 3000; ++k) out[k] = curand(&state);
}
extern "C" __global__ void skips(unsigned* out) {
    int i = threadIdx.x;
    curandState state;
    curand_init(1234, 0, 100 * i, &state);
    out[i] = curand(&state);
    curand_init(1234, 0, 0, &state);
    skipahead(100 * i, &state);
    out[32 + i] = curand(&state);
})"));
    std::vector<std::uint32_t> out(3000), first(6), skipped(64);
    program.launch("steps", {1}, {1}, out.data(), first.data());
    std::array<std::uint32_t, 5> v{first[0], first[1], first[2], first[3], first[4]};
    std::uint32_t d = first[5];
    for (const std::uint32_t value : out) {
        const std::uint32_t t = v[0] ^ (v[0] >> 2);
        v = {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
        d += 362437;
        ASSERT_EQ(value, v[4] + d);
    }
    program.launch("skips", {1}, {30}, skipped.data());
    for (std::uint32_t i = 0; i < 30; ++i) {
        EXPECT_EQ(skipped[i], out[100 * i]);
        EXPECT_EQ(skipped[32 + i], out[100 * i]);
    }
}

TEST(Curand, DistributionsHaveTheirMoments) {
    NEEDS("curand_kernel.h");
    const Program program(with_toolkit(R"(#include <curand_kernel.h>
template <class State> __device__ void fill(double* out, int n, int i) {
    State state;
    curand_init(77, i, 0, &state);
    out[i] = curand_uniform_double(&state);
    out[n + i] = curand_normal(&state);
    out[2 * n + i] = curand_normal_double(&state);
    out[3 * n + i] = curand_log_normal(&state, 0.5f, 0.25f);
    out[4 * n + i] = curand_poisson(&state, 7.5);
}
extern "C" __global__ void xorwow(double* out, int n) { fill<curandStateXORWOW_t>(out, n, blockIdx.x * blockDim.x + threadIdx.x); }
extern "C" __global__ void mrg(double* out, int n) { fill<curandStateMRG32k3a_t>(out, n, blockIdx.x * blockDim.x + threadIdx.x); }
extern "C" __global__ void philox(double* out, int n) { fill<curandStatePhilox4_32_10_t>(out, n, blockIdx.x * blockDim.x + threadIdx.x); }
)"));
    constexpr int n = 16384;
    const double log_mean = std::exp(0.5 + 0.25 * 0.25 / 2);
    const double moments[5][2] = {{0.5, 1.0 / 12},
                                  {0, 1},
                                  {0, 1},
                                  {log_mean, log_mean * log_mean * std::expm1(0.0625)},
                                  {7.5, 7.5}};
    for (const char* kernel : {"xorwow", "mrg", "philox"}) {
        std::vector<double> out(5 * n);
        program.launch(kernel, {n / 128}, {128}, out.data(), n);
        for (int k = 0; k < 5; ++k) {
            const auto* x = out.data() + k * n;
            const double mean = std::accumulate(x, x + n, 0.0) / n;
            double variance = 0;
            for (int i = 0; i < n; ++i)
                variance += (x[i] - mean) * (x[i] - mean) / n;
            const auto [expected, spread] = moments[k];
            EXPECT_NEAR(mean, expected, 5 * std::sqrt(spread / n)) << kernel << k;
            EXPECT_NEAR(variance, spread, 0.06 * spread) << kernel << k;
        }
    }
}

TEST(Curand, SobolFillsTheUnitIntervalEvenly) {
    NEEDS("curand_kernel.h");
    const Program program(with_toolkit(R"(#include <curand_kernel.h>
extern "C" __global__ void points(unsigned* directions, float* out) {
    curandStateSobol32_t state;
    curand_init(directions, 0, &state);
    for (int k = 0; k < 256; ++k) out[k] = curand_uniform(&state);
})"));
    std::vector<std::uint32_t> directions(32);
    for (unsigned bit = 0; bit < 32; ++bit) // the first dimension: van der Corput's sequence
        directions[bit] = 0x80000000u >> bit;
    std::vector<float> out(256);
    program.launch("points", {1}, {1}, directions.data(), out.data());
    std::sort(out.begin(), out.end());
    for (int k = 0; k < 256; ++k)
        EXPECT_NEAR(out[static_cast<std::size_t>(k)], k / 256.0, 1e-6);
}

TEST(CudaStd, ComplexTupleSpanBitAndChrono) {
    NEEDS("cuda/std/version");
    const Program program(with_toolkit(R"(
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace cs = cuda::std;
using C = cs::complex<float>;
static_assert(cs::is_same_v<cs::common_type_t<int, double>, double> && sizeof(cs::int64_t) == 8);
extern "C" __global__ void complexes(const C* a, const C* b, C* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[4 * i] = a[i] * b[i]; out[4 * i + 1] = a[i] / b[i]; out[4 * i + 2] = cs::exp(a[i]); out[4 * i + 3] = cs::sqrt(b[i]); }
}
extern "C" __global__ void others(long long* out, int* data, int n) {
    cs::array<int, 3> three{4, 5, 6};
    cs::span<int> all(data, n);
    auto [low, high] = cs::make_tuple(all.front(), all.back());
    int sum = 0;
    for (int x : all.subspan(1)) sum = cs::plus<>{}(sum, x);
    cs::chrono::milliseconds time = cs::chrono::seconds(3) + cs::chrono::milliseconds(7);
    long long values[] = {three[1] + (int)three.size(), low, high, sum, cs::popcount(0xf0f0u), cs::countl_zero(1u),
                          cs::bit_cast<int>(1.0f), (long long)cs::bit_ceil(37u), time.count(),
                          cs::numeric_limits<int>::max(), (long long)cs::numeric_limits<float>::digits,
                          cs::exchange(data[0], 99), data[0]};
    for (int k = 0; k < 13; ++k) out[k] = values[k];
})"));
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<std::complex<float>> a(100), b(100), out(400);
    for (auto* x : {&a, &b})
        for (auto& value : *x)
            value = {normal(random), normal(random)};
    program.launch("complexes", {1}, {128}, a.data(), b.data(), out.data(), 100);
    using Z = std::complex<double>;
    for (std::size_t i = 0; i < 100; ++i) {
        const Z x = a[i], y = b[i];
        const Z expected[] = {x * y, x / y, std::exp(x), std::sqrt(y)};
        for (std::size_t k = 0; k < 4; ++k)
            EXPECT_LT(std::abs(Z(out[4 * i + k]) - expected[k]),
                      1e-5 * std::abs(expected[k]) + 1e-6);
    }
    std::vector<int> data{7, 1, 2, 3, 40};
    std::vector<long long> values(13);
    program.launch("others", {1}, {1}, values.data(), data.data(), 5);
    EXPECT_EQ(values, (std::vector<long long>{8, 7, 40, 46, 8, 31, 0x3f800000, 64, 3007, 2147483647,
                                              24, 7, 99}));
}

TEST(CudaStd, AtomicsCount) {
    NEEDS("cuda/std/version");
    const Program program(with_toolkit(R"(#include <cuda/atomic>
#include <cuda/std/atomic>
__device__ cuda::atomic<int, cuda::thread_scope_device> total;
extern "C" __global__ void count(int* plain, float* sum, long long* most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    total.fetch_add(i, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_block>(*plain)++;
    cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(0.5f);
    cuda::std::atomic_ref<long long> last(*most);
    long long seen = last.load();
    while (seen < i && !last.compare_exchange_weak(seen, i)) {}
}
extern "C" __global__ void read(int* out) { out[0] = total.load(); out[1] = total.exchange(5); out[2] = total; }
)"));
    int plain = 0, out[3] = {};
    float sum = 0;
    long long most = 0;
    program.launch("count", {4}, {250}, &plain, &sum, &most);
    program.launch("read", {1}, {1}, &out[0]);
    EXPECT_EQ(plain, 1000);
    EXPECT_EQ(sum, 500.0f);
    EXPECT_EQ(most, 999);
    EXPECT_EQ(out[0], 999 * 1000 / 2);
    EXPECT_EQ(out[1], out[0]);
    EXPECT_EQ(out[2], 5);
}

TEST(Cub, BlockAndWarpCollectives) {
    NEEDS("cub/cub.cuh");
    const DriverProgram program(with_toolkit(R"(
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
extern "C" __global__ void reduce(const int* x, int* total, int* most) {
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage storage;
    int i = blockIdx.x * 128 + threadIdx.x;
    int sum = Reduce(storage).Sum(x[i]);
    __syncthreads();
    int peak = Reduce(storage).Reduce(x[i], [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x == 0) { total[blockIdx.x] = sum; most[blockIdx.x] = peak; }
}
extern "C" __global__ void scan(const int* x, int* out) {
    using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
    using Scan = cub::BlockScan<int, 64>;
    __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; typename Scan::TempStorage scan; } storage;
    int items[4];
    Load(storage.load).Load(x + blockIdx.x * 256, items);
    __syncthreads();
    Scan(storage.scan).ExclusiveSum(items, items);
    __syncthreads();
    Store(storage.store).Store(out + blockIdx.x * 256, items);
}
extern "C" __global__ void sort(const unsigned* x, unsigned* out) {
    using Sort = cub::BlockRadixSort<unsigned, 64, 4>;
    __shared__ typename Sort::TempStorage storage;
    unsigned items[4];
    for (int k = 0; k < 4; ++k) items[k] = x[blockIdx.x * 256 + threadIdx.x * 4 + k];
    Sort(storage).Sort(items);
    for (int k = 0; k < 4; ++k) out[blockIdx.x * 256 + threadIdx.x * 4 + k] = items[k];
}
extern "C" __global__ void warps(const float* x, float* sums, int* ranks) {
    __shared__ typename cub::WarpReduce<float>::TempStorage a[4];
    __shared__ typename cub::WarpScan<int>::TempStorage b[4];
    int warp = threadIdx.x / 32;
    float sum = cub::WarpReduce<float>(a[warp]).Sum(x[threadIdx.x]);
    int rank;
    cub::WarpScan<int>(b[warp]).InclusiveSum(x[threadIdx.x] > 0, rank);
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
    ranks[threadIdx.x] = rank;
})"));
    std::mt19937 random(2);
    std::vector<int> x(512), total(4), most(4), scanned(512);
    std::vector<unsigned> keys(512), sorted(512);
    std::vector<float> f(128), sums(4);
    std::vector<int> ranks(128);
    for (auto& value : x)
        value = static_cast<int>(random() % 2001) - 1000;
    for (auto& value : keys)
        value = static_cast<unsigned>(random());
    for (auto& value : f)
        value = static_cast<float>(static_cast<int>(random() % 201) - 100);

    ASSERT_EQ(program.launch("reduce", {{4}, {128}}, x.data(), total.data(), most.data()),
              CUDA_SUCCESS);
    for (std::size_t b = 0; b < 4; ++b) {
        const auto* first = x.data() + 128 * b;
        EXPECT_EQ(total[b], std::accumulate(first, first + 128, 0));
        EXPECT_EQ(most[b], *std::max_element(first, first + 128));
    }
    ASSERT_EQ(program.launch("scan", {{2}, {64}}, x.data(), scanned.data()), CUDA_SUCCESS);
    std::vector<int> expected(512);
    for (std::size_t b = 0; b < 512; b += 256)
        std::exclusive_scan(x.data() + b, x.data() + b + 256, expected.data() + b, 0);
    EXPECT_EQ(scanned, expected);
    ASSERT_EQ(program.launch("sort", {{2}, {64}}, keys.data(), sorted.data()), CUDA_SUCCESS);
    std::sort(keys.begin(), keys.begin() + 256);
    std::sort(keys.begin() + 256, keys.end());
    EXPECT_EQ(sorted, keys);
    ASSERT_EQ(program.launch("warps", {{1}, {128}}, f.data(), sums.data(), ranks.data()),
              CUDA_SUCCESS);
    for (std::size_t w = 0; w < 4; ++w) {
        EXPECT_EQ(sums[w], std::accumulate(f.data() + 32 * w, f.data() + 32 * w + 32, 0.0f));
        int rank = 0;
        for (std::size_t i = 32 * w; i < 32 * w + 32; ++i)
            EXPECT_EQ(ranks[i], rank += f[i] > 0);
    }
}

// What a toolkit's headers bring along and ours stand in for.
TEST(Toolkit, OursStandBesideTheirs) {
    NEEDS("curand_kernel.h");
    const auto result = compile(with_toolkit(R"(#include <curand_kernel.h>
#include <cuda_fp16.h>
#include <cuComplex.h>
#include <math_constants.h>
#include <vector_types.h>
extern "C" __global__ void k(half* h, cuFloatComplex* c, double* d) {
    h[0] = __hadd(h[0], __float2half(1.0f));
    c[0] = cuCmulf(c[0], make_cuFloatComplex(CUDART_PI_F, 0.0f));
    d[0] = CUDART_SQRT_TWO + CUDART_LN2_LO + CUDART_PIO4_HI;
})"));
    EXPECT_EQ(result.status, QUERN_CC_OK) << result.log;
    EXPECT_EQ(result.log, "");
}

// Texture headers of a toolkit name what ours have already.
TEST(Toolkit, TextureHeadersAreOurs) {
    NEEDS("texture_types.h");
    const auto result = compile(with_toolkit(R"(#include <texture_types.h>
#include <surface_types.h>
#include <texture_indirect_functions.h>
#include <surface_indirect_functions.h>
extern "C" __global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, float* p) {
    const cudaTextureAddressMode mode = cudaAddressModeBorder;
    surf2Dwrite(tex2D<float>(t, p[0], mode), s, 0, 0, cudaBoundaryModeZero);
})"));
    EXPECT_EQ(result.status, QUERN_CC_OK) << result.log;
    EXPECT_EQ(result.log, "");
}

TEST(Toolkit, AFolderGivenByHandLeavesOursInPlace) {
    NEEDS("cuda_runtime_api.h");
    for (const auto& folder : cuda_include_folders()) {
        if (!std::filesystem::exists(folder + "/cuda_runtime_api.h"))
            continue;
        const DriverProgram program(
            {"#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n"
             "extern \"C\" __global__ void k(int* p) {\n"
             "  auto block = cooperative_groups::this_thread_block();\n"
             "  __shared__ __half kept[64];\n"
             "  kept[threadIdx.x] = __float2half(threadIdx.x);\n  block.sync();\n"
             "  p[threadIdx.x] = (int)__half2float(kept[63 - threadIdx.x]); }",
             {"-I" + folder}});
        std::vector<int> out(64);
        ASSERT_EQ(program.launch("k", {{1}, {64}}, out.data()), CUDA_SUCCESS);
        for (int i = 0; i < 64; ++i)
            EXPECT_EQ(out[i], 63 - i);
        break;
    }
}

TEST(Toolkit, TensorCoresAreRefusedByName) {
    const auto result = compile({R"(#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(half* a, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::load_matrix_sync(x, a, 16);
})"});
    EXPECT_EQ(result.status, QUERN_CC_REFUSED);
    EXPECT_NE(result.log.find("kernel.cu:5"), std::string::npos) << result.log;
    EXPECT_NE(result.log.find("tensor cores exist on NVIDIA GPUs only"), std::string::npos);
}

} // namespace
} // namespace quern::test
