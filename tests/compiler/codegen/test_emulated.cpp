// The text of GPU kernels, run without a GPU: the compiler of this test compiles it as C++, a
// thread for each CUDA thread where there are barriers, and the result is held against a walk over
// the elements. All strategies, random nests.
#include "compiler/codegen/elementwise.h"
#include "compiler/prelude/prelude.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include <dlfcn.h>
#include <unistd.h>

namespace quern {
namespace {

constexpr const char* shim = R"(
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>
#define __device__
#define __global__ __attribute__((visibility("default")))
#define __launch_bounds__(...)
#define __shared__ static
using std::ptrdiff_t;
struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct dim3 { unsigned x, y, z; };
static thread_local dim3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static std::barrier<>* barrier_of_block;
static void __syncthreads() { barrier_of_block->arrive_and_wait(); }
static unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
template <class Body> void launch(unsigned grid, unsigned block, bool barriers, Body body) {
    gridDim = {grid, 1, 1};
    blockDim = {block, 1, 1};
    for (unsigned b = 0; b < grid; ++b) {
        std::barrier<> barrier(block);
        barrier_of_block = &barrier;
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < block; ++t) {
            const auto run = [=] { blockIdx = {b, 0, 0}; threadIdx = {t, 0, 0}; body(); };
            if (barriers) threads.emplace_back(run); else run();
        }
        for (auto& thread : threads) thread.join();
    }
}
)";

struct Case {
    std::string name;
    ElementwiseSpec spec;
    Signature signature;
    std::vector<std::int64_t> shape;
    struct Operand_ {
        std::vector<std::int64_t> shape, strides;
        DType dtype;
        std::int64_t low = 0, bytes = 0; // of the memory it spans, relative to its first element
        std::vector<std::byte> memory;
        std::byte* first = nullptr;
    };
    std::vector<Operand_> operands;
    ElementwisePlan plan;
    bool positions = false;
};

std::mt19937 random_numbers(20);
int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_numbers); }

// Small whole numbers, which every dtype here holds exactly, sums included.
void put_number(DType dtype, std::byte* place, int value) {
    switch (dtype) {
    case DType::int8:
        *reinterpret_cast<std::int8_t*>(place) = static_cast<std::int8_t>(value);
        break;
    case DType::int16:
        *reinterpret_cast<std::int16_t*>(place) = static_cast<std::int16_t>(value);
        break;
    case DType::float32:
        *reinterpret_cast<float*>(place) = static_cast<float>(value);
        break;
    case DType::float64:
        *reinterpret_cast<double*>(place) = value;
        break;
    default:
        FAIL() << "a dtype that this test does not fill";
    }
}
double number(DType dtype, const std::byte* place) {
    switch (dtype) {
    case DType::int8:
        return *reinterpret_cast<const std::int8_t*>(place);
    case DType::int16:
        return *reinterpret_cast<const std::int16_t*>(place);
    case DType::float32:
        return *reinterpret_cast<const float*>(place);
    default:
        return *reinterpret_cast<const double*>(place);
    }
}

Case make_case(int index) {
    Case made;
    made.name = "kernel_" + std::to_string(index);
    made.positions = index % 5 == 4;
    const bool partial = index % 7 == 6;
    ElementwiseText text;
    text.name = made.name;
    text.in_params = "A x, B y";
    text.out_params = "C z";
    text.operation = made.positions ? "z = x + y + i % 16 + n % 8"
                     : partial      ? "if (x > 0) z = x + y"
                                    : "z = x + y";
    made.spec = make_elementwise_spec(text);

    static constexpr DType dtypes[] = {DType::int8, DType::int16, DType::float32, DType::float64};
    const int way = index % 6; // dense, transposed, random order, broadcast, strided, offset
    // Tiles of several lanes: both sides long enough, and aligned or not.
    const bool wide = index % 36 == 7;
    const int ndim = wide ? 2 : way == 1 ? pick(2, 3) : pick(1, 3);
    for (int d = 0; d < ndim; ++d)
        made.shape.push_back(wide                        ? 4 * pick(257, 270) + index / 36 % 3
                             : way == 1 && d + 2 >= ndim ? pick(130, 200)
                             : ndim == 1                 ? pick(1, 3000)
                             : ndim == 2                 ? pick(1, 200)
                                                         : pick(1, 70));
    std::vector<ArgType> args;
    for (int k = 0; k < 3; ++k) {
        Case::Operand_ operand;
        operand.dtype = dtypes[wide ? index / 36 % 2 : pick(0, 3)];
        operand.shape = made.shape;
        std::vector<int> order(operand.shape.size());
        std::iota(order.rbegin(), order.rend(), 0); // innermost first
        if (k < 2 && way == 1 && k == index % 2)
            std::reverse(order.begin(), order.end());
        if (way == 2 && pick(0, 1))
            std::shuffle(order.begin(), order.end(), random_numbers);
        if (k < 2 && way == 3)
            for (auto& extent : operand.shape)
                extent = pick(0, 1) ? extent : 1;
        operand.strides.assign(operand.shape.size(), 0);
        auto stride = static_cast<std::int64_t>(bytes_of(operand.dtype));
        const auto item = stride;
        if (way == 4)
            stride *= pick(1, 2);
        for (const int d : order) {
            const auto at = static_cast<std::size_t>(d);
            operand.strides[at] = way == 4 && pick(0, 3) == 0 ? -stride : stride;
            stride *= operand.shape[at] + (way == 4 ? pick(0, 2) : 0);
        }
        std::int64_t low = 0, high = item;
        for (std::size_t d = 0; d < operand.shape.size(); ++d)
            (operand.strides[d] < 0 ? low : high) += operand.strides[d] * (operand.shape[d] - 1);
        const std::int64_t offset = (way == 5 ? pick(0, 5) : 0) * item;
        operand.memory.resize(static_cast<std::size_t>(high - low + offset + 64));
        auto base = reinterpret_cast<std::uintptr_t>(operand.memory.data());
        base = (base + 15) / 16 * 16;
        operand.first = reinterpret_cast<std::byte*>(base) + offset - low;
        args.push_back({ArgType::Kind::array, operand.dtype, ndim, nullptr});
        made.operands.push_back(std::move(operand));
    }
    made.signature = resolve(made.spec, args);
    PlanRequest request;
    std::vector<Operand> operands;
    for (std::size_t k = 0; k < 3; ++k) {
        const Case::Operand_& operand = made.operands[k];
        operands.push_back({operand.shape.data(), operand.strides.data(), ndim,
                            static_cast<std::uint32_t>(bytes_of(operand.dtype)),
                            reinterpret_cast<std::uint64_t>(operand.first), k == 2});
    }
    request.shape = made.shape;
    request.operands = operands;
    request.body.keep_order = made.positions;
    request.block_size = way == 1 || pick(0, 1) ? 128 : 32 * pick(1, 6);
    EXPECT_TRUE(plan_elementwise(request, made.plan));
    if (index % 11 == 10)
        made.plan.layout.index_bits = 64;
    return made;
}

std::vector<double> walk(Case& test, bool fill) {
    std::vector<double> values; // of z, in C order
    std::vector<std::int64_t> at(test.shape.size(), 0);
    const std::int64_t count =
        std::accumulate(test.shape.begin(), test.shape.end(), std::int64_t{1}, std::multiplies<>{});
    for (std::int64_t i = 0; i < count; ++i) {
        std::byte* places[3];
        for (std::size_t k = 0; k < 3; ++k) {
            Case::Operand_& operand = test.operands[k];
            places[k] = operand.first;
            for (std::size_t d = 0; d < at.size(); ++d)
                places[k] += operand.shape[d] == 1 ? 0 : at[d] * operand.strides[d];
        }
        const DType z = test.operands[2].dtype;
        if (fill) {
            for (std::size_t k = 0; k < 3; ++k)
                put_number(test.operands[k].dtype, places[k], pick(-30, 30));
        } else {
            const double x = number(test.operands[0].dtype, places[0]),
                         y = number(test.operands[1].dtype, places[1]);
            double expected = x + y;
            if (test.positions)
                expected += static_cast<double>(i % 16 + count % 8);
            if (test.spec.operation.starts_with("if") && !(x > 0))
                expected = number(z, places[2]);
            values.push_back(expected);
        }
        for (std::size_t d = at.size(); d-- > 0 && ++at[d] == test.shape[d];)
            at[d] = 0;
    }
    return values;
}

TEST(EmulatedGpu, EveryStrategyComputesEveryElement) {
    std::vector<Case> cases;
    for (int k = 0; k < 90; ++k)
        cases.push_back(make_case(k));
    for (std::size_t k = 0; k < cases.size();
         ++k) // memory may have moved with the vector; addresses may not
        ASSERT_GE(cases[k].operands[0].first, cases[k].operands[0].memory.data());

    std::ostringstream program;
    program << shim;
    for (const char* piece : {"quern/elementwise.cuh", "quern/carray.cuh"})
        program << prelude_piece(piece).text;
    int seen[3] = {};
    for (const Case& test : cases) {
        ElementwiseVariant variant;
        variant.layout = test.plan.layout;
        ++seen[static_cast<int>(variant.layout.strategy)];
        std::istringstream text(emit_elementwise(test.spec, test.signature, variant));
        program << "namespace space_" << test.name << " {\n";
        for (std::string line; std::getline(text, line);)
            if (!line.starts_with("#include") && !line.starts_with("#line"))
                program << line << '\n';
        program << "}\nextern \"C\" __global__ void run_" << test.name
                << "(unsigned grid, unsigned block, bool barriers, void** p) {\n"
                << "    using namespace space_" << test.name
                << ";\n    const auto nest = *static_cast<q_nest_type*>(p[3]);\n"
                << "    launch(grid, block, barriers, [=] { " << test.name
                << "(*static_cast<A**>(p[0]), *static_cast<B**>(p[1]), *static_cast<C**>(p[2]), "
                   "nest); });\n}\n";
    }
    EXPECT_GT(seen[0], 10) << "vector";
    EXPECT_GT(seen[1], 10) << "scattered";
    EXPECT_GT(seen[2], 5) << "tile";

    const auto folder =
        std::filesystem::temp_directory_path() / ("quern-emulated-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const std::string source = folder / "kernels.cpp", library = folder / "kernels.so",
                      log = folder / "log";
    std::ofstream(source) << program.str();
    const std::string command = std::string(QUERN_CXX) +
                                " -std=c++20 -O1 -w -fPIC -shared -pthread " + source + " -o " +
                                library + " 2> " + log;
    if (std::system(command.c_str()) != 0) {
        std::ifstream errors(log);
        FAIL() << std::string(std::istreambuf_iterator<char>(errors), {}).substr(0, 4000);
    }
    void* handle = dlopen(library.c_str(), RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    for (Case& test : cases) {
        walk(test, true);
        const std::vector<double> expected = walk(test, false);
        std::byte nest[nest_bytes_limit];
        pack_nest(nest_fields(test.plan.layout), test.plan, nest);
        void* addresses[3] = {test.operands[0].first, test.operands[1].first,
                              test.operands[2].first};
        void* parameters[4] = {&addresses[0], &addresses[1], &addresses[2], nest};
        const auto run = reinterpret_cast<void (*)(unsigned, unsigned, bool, void**)>(
            dlsym(handle, ("run_" + test.name).c_str()));
        ASSERT_NE(run, nullptr);
        const unsigned grid =
            std::min(test.plan.grid, 3u); // fewer blocks than work: the loops must stride
        run(grid, test.plan.block, test.plan.layout.strategy == Strategy::tile, parameters);

        // Read z back in C order.
        std::vector<std::int64_t> at(test.shape.size(), 0);
        const Case::Operand_& z = test.operands[2];
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const std::byte* place = z.first;
            for (std::size_t d = 0; d < at.size(); ++d)
                place += at[d] * z.strides[d];
            ASSERT_EQ(number(z.dtype, place), expected[i])
                << test.name << ": " << describe(test.plan.layout) << " at " << i;
            for (std::size_t d = at.size(); d-- > 0 && ++at[d] == test.shape[d];)
                at[d] = 0;
        }
    }
    dlclose(handle);
    std::filesystem::remove_all(folder);
}

} // namespace
} // namespace quern
