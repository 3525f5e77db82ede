// Kernels compiled, run and compared with the same arithmetic done here.
#include "host_compiler.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace quern::test {
namespace {

template <class T>
std::vector<T> random_values(std::size_t count, double low, double high, unsigned seed = 1) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> values(low, high);
    std::vector<T> result(count);
    for (auto& value : result)
        value = static_cast<T>(values(engine));
    return result;
}

TEST(Kernels, AddsWithThreadIndicesAndATail) {
    const Program program(
        {R"(extern "C" __global__ void vadd(const float* x, const float* y, float* z, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) z[i] = x[i] + y[i];
    })"});
    for (int n : {0, 1, 255, 256, 257, 1000}) {
        const auto x = random_values<float>(1024, -1, 1), y = random_values<float>(1024, -1, 1, 2);
        std::vector<float> z(1024, -7);
        program.launch("vadd", {5}, {256}, x.data(), y.data(), z.data(), n);
        for (int i = 0; i < 1024; ++i)
            ASSERT_EQ(z[i], i < n ? x[i] + y[i] : -7.0f) << i << " of " << n;
    }
    EXPECT_EQ(program.info("vadd").param_count, 4u);
    EXPECT_EQ(program.info("vadd").params[3].offset_bytes, 24u);
    EXPECT_EQ(program.info("vadd").max_threads, 1024u);
}

TEST(Kernels, AddsOverAPlainRange) {
    const Program program(
        {R"(extern "C" __global__ void add(const float* x, const float* y, float* z, long long n) {
        long long per = (n + gridDim.x - 1) / gridDim.x, b = blockIdx.x * per, e = b + per < n ? b + per : n;
        #pragma clang loop vectorize(assume_safety)
        for (long long i = b; i < e; ++i) z[i] = x[i] + y[i];
    })"});
    const auto x = random_values<float>(1003, -1, 1), y = random_values<float>(1003, -1, 1, 2);
    std::vector<float> z(1003);
    program.launch("add", {7}, {}, x.data(), y.data(), z.data(), 1003LL);
    for (int i = 0; i < 1003; ++i)
        ASSERT_EQ(z[i], x[i] + y[i]);
}

TEST(Kernels, ScalesEveryIntegerType) {
    const auto check = [](auto zero, const std::string& type) {
        using T = decltype(zero);
        const Program program(
            {"extern \"C\" __global__ void saxpy(" + type + " a, const " + type + "* x, " + type +
             "* y, unsigned n) {\n unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
             " if (i >= n) return;\n y[i] = a * x[i] + y[i];\n}"});
        const auto x = random_values<T>(300, 0, 100), before = random_values<T>(300, 0, 100, 2);
        auto y = before;
        program.launch("saxpy", {3}, {128}, static_cast<T>(3), x.data(), y.data(), 300u);
        for (int i = 0; i < 300; ++i)
            ASSERT_EQ(y[i], static_cast<T>(static_cast<T>(3) * x[i] + before[i])) << type;
    };
    check(std::int8_t{}, "signed char");
    check(std::uint8_t{}, "unsigned char");
    check(std::int16_t{}, "short");
    check(std::uint16_t{}, "unsigned short");
    check(std::int32_t{}, "int");
    check(std::uint32_t{}, "unsigned int");
    check(std::int64_t{}, "long long");
    check(std::uint64_t{}, "unsigned long long");
}

TEST(Kernels, RunsBlocksAndThreadsOfThreeDimensions) {
    const Program program({R"(extern "C" __global__ void place(unsigned* out, int w, int h, int d) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        int z = blockIdx.z * blockDim.z + threadIdx.z;
        if (x < w && y < h && z < d) out[(z * h + y) * w + x] += 1 + threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z
            + 1000000 * (blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z);
    })"});
    const int w = 19, h = 11, d = 7;
    const Dim block{8, 4, 2}, grid{3, 3, 4};
    std::vector<unsigned> out(w * h * d);
    program.launch("place", grid, block, out.data(), w, h, d);
    for (int z = 0; z < d; ++z)
        for (int y = 0; y < h; ++y)
            for (int x = 0; x < w; ++x)
                ASSERT_EQ(out[(z * h + y) * w + x],
                          1u + x % 8 + 100 * (y % 4) + 10000 * (z % 2) +
                              1000000 * (x / 8 + 10 * (y / 4) + 100 * (z / 2)));
}

TEST(Kernels, StridesOverAGrid) {
    const Program program(
        {R"(extern "C" __global__ void square(const double* x, double* y, long long n) {
        for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
            y[i] = x[i] * x[i];
    })"});
    const auto x = random_values<double>(5001, -9, 9);
    std::vector<double> y(5001);
    program.launch("square", {4}, {64}, x.data(), y.data(), 5001LL);
    for (int i = 0; i < 5001; ++i)
        ASSERT_EQ(y[i], x[i] * x[i]);
}

TEST(Kernels, RunsEveryThreadOfAKernelThatAsksForNone) {
    const Program program(
        {R"(extern "C" __global__ void count(int* hits) { hits[blockIdx.x]++; })"});
    std::vector<int> hits(5);
    program.launch("count", {5}, {4, 3, 2}, hits.data());
    EXPECT_EQ(hits, std::vector<int>(5, 24));
}

TEST(Kernels, SwitchesAndLoops) {
    const Program program({R"(extern "C" __global__ void choose(const int* x, int* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        int s = 0;
        switch (x[i] % 5) { case 0: s = 1; break; case 1: s = -x[i]; case 2: s += 7; break; case 3: return; default: s = x[i] * 3; }
        for (int k = 0; k < x[i] % 4; ++k) s += k;
        y[i] = s;
    })"});
    const auto x = random_values<int>(500, 0, 1000);
    std::vector<int> y(500, -1);
    program.launch("choose", {4}, {128}, x.data(), y.data(), 500);
    for (int i = 0; i < 500; ++i) {
        int s = 0;
        bool stop = false;
        switch (x[i] % 5) {
        case 0:
            s = 1;
            break;
        case 1:
            s = -x[i];
            [[fallthrough]];
        case 2:
            s += 7;
            break;
        case 3:
            stop = true;
            break;
        default:
            s = x[i] * 3;
        }
        for (int k = 0; k < x[i] % 4; ++k)
            s += k;
        ASSERT_EQ(y[i], stop ? -1 : s);
    }
}

TEST(Kernels, TakesStructsByValueOfEverySize) {
    struct Small {
        char a;
        short b;
    };
    struct Pair {
        double x;
        int n;
    };
    struct Floats {
        float x, y, z;
    };
    struct Big {
        double m[5];
        int n;
        char tag;
    };
    struct Empty {};
    const Program program({R"(
        struct Small { char a; short b; }; struct Pair { double x; int n; }; struct Floats { float x, y, z; };
        struct Big { double m[5]; int n; char tag; }; struct Empty {};
        extern "C" __global__ void take(bool flag, Small s, Empty, Pair p, char c, Floats f, Big b, double* out, float4 v) {
            int i = threadIdx.x;
            b.m[0] += i;
            out[i] = flag * 1000 + s.a + s.b * 10.0 + p.x * p.n + c + f.x + f.y * f.z + b.m[0] + b.m[i % 5] + b.n + b.tag + v.w;
        })"});
    struct alignas(16) Float4 {
        float x, y, z, w;
    };
    Big b{{1, 2, 3, 4, 5}, 6, 7};
    std::vector<double> out(16);
    program.launch("take", {}, {16}, true, Small{3, -4}, Empty{}, Pair{2.5, 3}, 'a',
                   Floats{1, 2, 3}, b, out.data(), Float4{1, 2, 3, 9});
    for (int i = 0; i < 16; ++i) {
        Big own = b;
        own.m[0] += i;
        ASSERT_EQ(out[i], 1000 + 3 - 40 + 7.5 + 'a' + 1 + 6 + own.m[0] + own.m[i % 5] + 6 + 7 + 9);
    }
}

TEST(Kernels, TemplatesComeByNameExpression) {
    const Program program({R"(
        namespace tools { template <class T, int N> __global__ void fill(T* p, T v) { p[threadIdx.x * N] = v; }
            __constant__ int table[4] = {1, 2, 3, 4}; static __device__ float hidden = 2.5f; }
        __global__ void plain(int* p) { *p = 5; })",
                           {},
                           {"tools::fill<float, 2>", "&tools::fill<double, 1>", "plain",
                            "tools::table", "&tools::hidden"}});
    ASSERT_EQ(program.names().size(), 5u);
    EXPECT_EQ(program.names()[2], "_Z5plainPi");
    std::vector<float> f(8);
    program.launch(program.names()[0], {}, {4}, f.data(), 3.0f);
    EXPECT_EQ(f, (std::vector<float>{3, 0, 3, 0, 3, 0, 3, 0}));
    std::vector<double> d(4);
    program.launch(program.names()[1], {}, {4}, d.data(), 4.0);
    EXPECT_EQ(d, (std::vector<double>{4, 4, 4, 4}));
    EXPECT_EQ(static_cast<int*>(program.symbol(program.names()[3]))[2], 3);
    EXPECT_EQ(*static_cast<float*>(program.symbol(program.names()[4])), 2.5f);
}

TEST(Kernels, GlobalsAreReadAndWrittenByName) {
    const Program program(
        {R"(__constant__ float scale[2]; __device__ int counter = 41; __managed__ double total = 0.5;
        extern "C" __global__ void use(float* out) { out[threadIdx.x] = scale[threadIdx.x]; if (threadIdx.x == 0) { counter++; total *= 2; } })"});
    auto* scale = static_cast<float*>(program.symbol("scale"));
    scale[0] = 8;
    scale[1] = 9;
    std::vector<float> out(2);
    program.launch("use", {}, {2}, out.data());
    EXPECT_EQ(out, (std::vector<float>{8, 9}));
    EXPECT_EQ(*static_cast<int*>(program.symbol("counter")), 42);
    EXPECT_EQ(*static_cast<double*>(program.symbol("total")), 1.0);
}

TEST(Kernels, SharedMemoryHasItsPlaceInTheArena) {
    const Program program({R"(extern __shared__ double dynamic[];
        extern "C" __global__ void shared(double* out) {
            __shared__ int counts[32]; __shared__ char bytes[3];
            int i = threadIdx.x;
            counts[i] = i; bytes[i % 3] = 1; dynamic[i] = 100 + i;
            out[i] = counts[i] + dynamic[i] + bytes[i % 3];
        }
        extern "C" __global__ void other(double* out) { out[threadIdx.x] = 1; })"});
    EXPECT_EQ(program.info("shared").static_shared_bytes, 144u);
    EXPECT_EQ(program.info("other").static_shared_bytes, 0u);
    std::vector<double> out(32);
    program.launch_shared("shared", {2}, {32}, 256, out.data());
    for (int i = 0; i < 32; ++i)
        ASSERT_EQ(out[i], 2 * i + 101);
}

TEST(Kernels, FunctionsThatCannotBeInlinedKnowTheirThread) {
    const Program program({R"(
        __device__ int depth(int n) { return n == 0 ? threadIdx.x + 100 * blockIdx.x : 1 + depth(n - 1); }
        __device__ __noinline__ int apart(int k) { __shared__ int store[8]; store[threadIdx.x] = k; return store[threadIdx.x] + blockDim.x; }
        __device__ int even(int n); __device__ int odd(int n) { return n == 0 ? (int)threadIdx.x : even(n - 1); }
        __device__ int even(int n) { return n == 0 ? -(int)threadIdx.x : odd(n - 1); }
        __device__ int first(int a) { return a + threadIdx.x; }  __device__ int second(int a) { return a - threadIdx.x; }
        extern "C" __global__ void deep(int* out, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            int (*chosen)(int) = i % 2 ? first : second;
            out[i] = depth(n) + 1000 * apart(i) + 100000 * even(n) + chosen(7);
        })"});
    std::vector<int> out(24);
    program.launch("deep", {3}, {8}, out.data(), 4);
    for (int i = 0; i < 24; ++i) {
        const int t = i % 8;
        ASSERT_EQ(out[i],
                  t + 100 * (i / 8) + 4 + 1000 * (i + 8) + 100000 * -t + (i % 2 ? 7 + t : 7 - t));
    }
}

TEST(Kernels, ClassesLambdasAndVirtualCalls) {
    const Program program({R"(
        struct Shape { __device__ virtual float area() const = 0; };
        struct Square : Shape { float s; __device__ Square(float v) : s(v) {} __device__ float area() const override { return s * s; } };
        struct Disc : Shape { float r; __device__ Disc(float v) : r(v) {} __device__ float area() const override { return 3 * r * r + threadIdx.x; } };
        template <class F> __device__ float apply(F f, float x) { return f(x); }
        float plain(float x) { return x + 1; }
        extern "C" __global__ void classes(float* out) {
            int i = threadIdx.x;
            Square a(i); Disc b(i);
            const Shape* s = i % 2 ? (const Shape*)&a : (const Shape*)&b;
            float k = 2;
            out[i] = s->area() + apply([=](float x) { return x * k + plain(x); }, 5.0f);
        })"});
    std::vector<float> out(8);
    program.launch("classes", {}, {8}, out.data());
    for (int i = 0; i < 8; ++i)
        ASSERT_EQ(out[i], (i % 2 ? i * i : 3 * i * i + i) + 16);
}

TEST(Kernels, VectorisedExponentialsAreAccurate) {
    const Program program({R"(extern "C" __global__ void e(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = expf(x[i]); })"});
    const auto x = random_values<float>(1000, -80, 80);
    std::vector<float> y(1000);
    program.launch("e", {4}, {256}, x.data(), y.data(), 1000);
    for (int i = 0; i < 1000; ++i)
        ASSERT_NEAR(y[i] / std::exp(static_cast<double>(x[i])), 1.0, 4e-7);
}

TEST(Kernels, LaunchBoundsAreInTheInfo) {
    const Program program(
        {R"(extern "C" __global__ void __launch_bounds__(128, 2) bounded(int* p) { *p = 1; }
        extern "C" __global__ void none() {})"});
    EXPECT_EQ(program.info("bounded").max_threads, 128u);
    EXPECT_EQ(program.info("none").param_count, 0u);
    program.launch("none", {2}, {3});
}

TEST(Kernels, HeadersOptionsAndLineDirectives) {
    const Program program(
        {"#include \"quern/a.cuh\"\n#include <cstdint>\n"
         "extern \"C\" __global__ void h(int* out) { *out = A + B + (int)sizeof(int64_t); }",
         {"-DB=30", "-std=c++20", "--gpu-architecture=sm_90"},
         {},
         {{"quern/a.cuh", "#define A 4\n"}}});
    int out = 0;
    program.launch("h", {}, {}, &out);
    EXPECT_EQ(out, 42);
}

} // namespace
} // namespace quern::test
