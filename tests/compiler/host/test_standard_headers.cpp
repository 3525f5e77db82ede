// The headers of C and C++ that a program may include, and what they define.
#include "host_compiler.h"
#include "kernels.h"
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace quern::test {
namespace {

TEST(StandardHeaders, DefineTheirNumbers) {
    const Program program({read_kernels("standard_headers.cu")});
    std::vector<double> out(14);
    program.launch("numbers", {1}, {1}, out.data());
    const double expected[] = {M_PI,    M_SQRT1_2, FLT_MAX,  FLT_EPSILON, DBL_MIN,  M_PI,
                               M_SQRT2, M_LN2,     INFINITY, INFINITY,    INFINITY, UINT32_MAX};
    for (std::size_t k = 0; k < 12; ++k)
        if (k == 7)
            EXPECT_NEAR(out[k], M_LN2, 1e-9); // the upper digits alone
        else
            EXPECT_EQ(out[k], expected[k]) << k;
    EXPECT_TRUE(std::isnan(out[12]) && std::isnan(out[13]));
}

TEST(StandardHeaders, NamesOfStd) {
    using F = std::numeric_limits<float>;
    using D = std::numeric_limits<double>;
    const Program program({read_kernels("standard_headers.cu")});
    const float x = 1.75f;
    std::vector<double> out(23);
    program.launch("names_of_std", {1}, {1}, out.data(), x);
    const double expected[] = {F::infinity(),
                               F::lowest(),
                               F::epsilon(),
                               F::min(),
                               F::denorm_min(),
                               D::max(),
                               D::denorm_min(),
                               D::epsilon(),
                               std::sqrt(x),
                               x,
                               1024,
                               -2,
                               std::exp(double(x)),
                               2,
                               3,
                               7,
                               37,
                               x + 2.5,
                               1,
                               3,
                               2 + x,
                               21,
                               2};
    for (std::size_t k = 0; k < out.size(); ++k)
        EXPECT_DOUBLE_EQ(out[k], expected[k]) << k;
}

// As NVRTC has it: these headers bring the integers of <stdint.h> along.
TEST(CudaHeaders, BringIntegersAndHandles) {
    for (const std::string header : {"cuda.h", "cooperative_groups.h", "cuda_pipeline.h"}) {
        const bool driver = header == "cuda.h";
        const Program program({"#include <" + header + ">\ntypedef " +
                               (driver ? "CUdeviceptr" : "uint64_t") + R"( Address;
extern "C" __global__ void read(Address from, uint32_t* to) { *to = *(const uint32_t*)from + INT32_MAX; })"});
        const std::uint32_t from = 0x90000001;
        std::uint32_t to = 0;
        program.launch("read", {1}, {1}, &from, &to);
        EXPECT_EQ(to, 0x10000000U) << header;
    }
}

TEST(CudaHeaders, GridsBeforeAndAfter) {
    const Program program({R"(#include <cuda_device_runtime_api.h>
extern "C" __global__ void follow(const int* before, int* after) {
    cudaGridDependencySynchronize();
    after[threadIdx.x] = before[threadIdx.x] + 1;
    cudaTriggerProgrammaticLaunchCompletion();
})"});
    const std::vector<int> before = {7, -3, 40};
    std::vector<int> after(3);
    program.launch("follow", {1}, {3}, before.data(), after.data());
    EXPECT_EQ(after, (std::vector{8, -2, 41}));
}

// Sizes that a GPU's programs see.
TEST(CudaHeaders, StructuresOfTheRuntime) {
    const Program program({R"(extern "C" __global__ void sizes(int* out, cudaMemcpy3DParms copy) {
    int k = 0;
    out[k++] = sizeof(cudaPitchedPtr);
    out[k++] = sizeof(cudaMemcpy3DParms);
    out[k++] = sizeof(cudaResourceDesc);
    out[k++] = sizeof(cudaPointerAttributes);
    out[k++] = sizeof(cudaFuncAttributes);
    out[k++] = sizeof(cudaDeviceProp);
    out[k++] = copy.kind == cudaMemcpyDeviceToDevice ? (int)copy.extent.depth : -1;
    out[k++] = cudaErrorStubLibrary + cudaLimitMallocHeapSize;
})"});
    struct Copy {
        std::uint64_t words[19];
        int kind;
    } copy{};
    copy.words[18] = 77;
    copy.kind = 3;
    std::vector<int> out(8);
    program.launch("sizes", {1}, {1}, out.data(), copy);
    EXPECT_EQ(out, (std::vector{32, 160, 144, 88, 144, 1008, 77, 36}));
}

} // namespace
} // namespace quern::test
