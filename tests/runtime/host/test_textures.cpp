// CUDA arrays, textures and surfaces by the driver's own calls: what they refuse, and copies of
// boxes. Each test runs on the host driver, and on libcuda where there is a GPU.
#include "tests/runtime/host/objects.h"

#include "runtime/host/host_driver.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace quern {
namespace {

class Textures : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        std::string why;
        const Driver* driver =
            std::string_view(GetParam()) == "host" ? &host_driver() : find_cuda_driver(&why);
        if (driver == nullptr)
            GTEST_SKIP() << why;
        api = driver->api;
        on_cpu = driver->executes_on_cpu;
        ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        ASSERT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
    }
    void TearDown() override {
        if (context == nullptr)
            return;
        EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_EQ(api.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    }

    static CUDA_ARRAY3D_DESCRIPTOR shape(std::size_t width, std::size_t height, std::size_t depth,
                                         CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT16,
                                         unsigned channels = 2, unsigned flags = 0) {
        return {width, height, depth, format, channels, flags};
    }
    CUarray make(const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
        CUarray array = nullptr;
        EXPECT_EQ(api.cuArray3DCreate(&array, &wanted), CUDA_SUCCESS);
        return array;
    }
    CUresult refuses(const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
        CUarray array = nullptr;
        return api.cuArray3DCreate(&array, &wanted);
    }
    static CUDA_RESOURCE_DESC of(CUarray array) {
        CUDA_RESOURCE_DESC resource{};
        resource.resType = CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = array;
        return resource;
    }

    DriverApi api;
    bool on_cpu = false;
    CUcontext context = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Providers, Textures, testing::Values("host", "libcuda"),
                         [](const auto& info) { return std::string(info.param); });

constexpr std::size_t texel = 4; // bytes of the tests' two channels

std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> made(bytes);
    for (std::byte& each : made)
        each = static_cast<std::byte>(random());
    return made;
}

TEST_P(Textures, BoxesGoWhereTheyShould) {
    constexpr std::size_t w = 13, h = 7, d = 5;
    const CUarray array = make(shape(w, h, d));
    std::vector<std::byte> all = noise(w * h * d * texel, 1), back(all.size());
    CUDA_MEMCPY3D how{};
    how.srcMemoryType = CU_MEMORYTYPE_HOST;
    how.srcHost = all.data();
    how.srcPitch = w * texel;
    how.srcHeight = h;
    how.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    how.dstArray = array;
    how.WidthInBytes = w * texel;
    how.Height = h;
    how.Depth = d;
    ASSERT_EQ(api.cuMemcpy3D(&how), CUDA_SUCCESS);

    // A box from device memory with a pitch of its own into the middle.
    constexpr std::size_t bw = 6, bh = 3, bd = 2, pitch = 64, rows = 5;
    const std::vector<std::byte> box = noise(pitch * rows * (bd + 1), 2);
    CUdeviceptr memory = 0;
    ASSERT_EQ(api.cuMemAlloc(&memory, box.size()), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyHtoD(memory, box.data(), box.size()), CUDA_SUCCESS);
    CUDA_MEMCPY3D part{};
    part.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    part.srcDevice = memory;
    part.srcPitch = pitch;
    part.srcHeight = rows;
    part.srcXInBytes = 2 * texel;
    part.srcY = 1;
    part.srcZ = 1;
    part.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    part.dstArray = array;
    part.dstXInBytes = 3 * texel;
    part.dstY = 2;
    part.dstZ = 3;
    part.WidthInBytes = bw * texel;
    part.Height = bh;
    part.Depth = bd;
    ASSERT_EQ(api.cuMemcpy3DAsync(&part, nullptr), CUDA_SUCCESS);
    for (std::size_t z = 0; z < bd; ++z)
        for (std::size_t y = 0; y < bh; ++y)
            std::memcpy(&all[(((z + 3) * h + y + 2) * w + 3) * texel],
                        &box[(z + 1) * pitch * rows + (y + 1) * pitch + 2 * texel], bw * texel);

    CUDA_MEMCPY3D out{};
    out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    out.srcArray = array;
    out.dstMemoryType = CU_MEMORYTYPE_HOST;
    out.dstHost = back.data();
    out.dstPitch = w * texel;
    out.dstHeight = h;
    out.WidthInBytes = w * texel;
    out.Height = h;
    out.Depth = d;
    ASSERT_EQ(api.cuMemcpy3D(&out), CUDA_SUCCESS);
    EXPECT_EQ(back, all);

    // Over the edge, in each direction, on either side.
    const auto wrong = [&](auto change) {
        CUDA_MEMCPY3D changed = part;
        change(changed);
        return api.cuMemcpy3D(&changed);
    };
    EXPECT_EQ(wrong([](auto& c) { c.dstXInBytes = 8 * texel; }), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(wrong([](auto& c) { c.dstY = 5; }), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(wrong([](auto& c) { c.dstZ = 4; }), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(wrong([](auto& c) { c.srcPitch = 4 * texel; }), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemcpy3D(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(wrong([](auto& c) { c.Height = 0; }), CUDA_SUCCESS); // nothing
    EXPECT_EQ(api.cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_EQ(api.cuArrayDestroy(array), CUDA_SUCCESS);
}

TEST_P(Textures, RowsOfAnArrayGoThroughTheFlatCopyToo) {
    constexpr std::size_t w = 13, h = 7;
    const CUarray array = make(shape(w, h, 0));
    const std::vector<std::byte> all = noise(w * h * texel, 3);
    std::vector<std::byte> back(5 * texel * 4);
    CUDA_MEMCPY2D in{}, out{};
    in.srcMemoryType = CU_MEMORYTYPE_HOST;
    in.srcHost = all.data();
    in.srcPitch = w * texel;
    in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    in.dstArray = array;
    in.WidthInBytes = w * texel;
    in.Height = h;
    ASSERT_EQ(api.cuMemcpy2D(&in), CUDA_SUCCESS);
    out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    out.srcArray = array;
    out.srcXInBytes = 2 * texel;
    out.srcY = 3;
    out.dstMemoryType = CU_MEMORYTYPE_HOST;
    out.dstHost = back.data();
    out.dstPitch = 5 * texel;
    out.WidthInBytes = 5 * texel;
    out.Height = 4;
    ASSERT_EQ(api.cuMemcpy2DAsync(&out, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    for (std::size_t y = 0; y < 4; ++y)
        EXPECT_EQ(std::memcmp(&back[y * 5 * texel], &all[((y + 3) * w + 2) * texel], 5 * texel), 0);
    EXPECT_EQ(api.cuArrayDestroy(array), CUDA_SUCCESS);
}

TEST_P(Textures, ArraysThatCannotBe) {
    EXPECT_EQ(refuses(shape(0, 0, 0)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses(shape(8, 0, 0, CU_AD_FORMAT_FLOAT, 3)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses(shape(1u << 20, 0, 0)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses(shape(8, 1u << 20, 0)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses(shape(8, 8, 1u << 20)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses(shape(8, 8, 1u << 14, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED)),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses(shape(16384, 16384, 16384, CU_AD_FORMAT_FLOAT, 4)),
              CUDA_ERROR_OUT_OF_MEMORY); // 64 TiB
    const auto good = shape(8, 0, 0);
    EXPECT_EQ(api.cuArray3DCreate(nullptr, &good), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(Textures, TexturesThatCannotBe) {
    const CUarray array = make(shape(8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4));
    const CUDA_RESOURCE_DESC resource = of(array);
    CUDA_TEXTURE_DESC how{};
    CUtexObject texture = 0;
    EXPECT_EQ(api.cuTexObjectCreate(nullptr, &resource, &how, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuTexObjectCreate(&texture, nullptr, &how, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuTexObjectCreate(&texture, &resource, nullptr, nullptr),
              CUDA_ERROR_INVALID_VALUE);

    CUdeviceptr memory = 0;
    ASSERT_EQ(api.cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC linear{};
    linear.resType = CU_RESOURCE_TYPE_LINEAR;
    linear.res.linear = {memory + 4, CU_AD_FORMAT_FLOAT, 1, 64};
    how.flags = CU_TRSF_READ_AS_INTEGER;
    EXPECT_EQ(api.cuTexObjectCreate(&texture, &linear, &how, nullptr), CUDA_ERROR_INVALID_VALUE);
    linear.res.linear.devPtr = memory;
    ASSERT_EQ(api.cuTexObjectCreate(&texture, &linear, &how, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuTexObjectDestroy(texture), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC pitch{};
    pitch.resType = CU_RESOURCE_TYPE_PITCH2D;
    pitch.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 5, 4, 20};
    EXPECT_EQ(api.cuTexObjectCreate(&texture, &pitch, &how, nullptr), CUDA_ERROR_INVALID_VALUE);
    pitch.res.pitch2D.pitchInBytes = 32;
    ASSERT_EQ(api.cuTexObjectCreate(&texture, &pitch, &how, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuTexObjectDestroy(texture), CUDA_SUCCESS);

    CUsurfObject surface = 0; // no surface of an array that was not made for it, or of memory
    if (std::string_view(GetParam()) == "host") { // libcuda does not look
        EXPECT_EQ(api.cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(api.cuSurfObjectCreate(&surface, &linear), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_EQ(api.cuArrayDestroy(array), CUDA_SUCCESS);
}

TEST_P(Textures, StaleHandlesAreErrorsOnTheCpu) {
    if (!on_cpu)
        GTEST_SKIP() << "libcuda need not look";
    const CUarray array = make(shape(8, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST));
    const CUDA_RESOURCE_DESC resource = of(array);
    CUDA_TEXTURE_DESC how{};
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    ASSERT_EQ(api.cuTexObjectCreate(&texture, &resource, &how, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
    EXPECT_EQ(api.cuTexObjectDestroy(surface), CUDA_ERROR_INVALID_VALUE); // of the other kind
    EXPECT_EQ(api.cuSurfObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuArrayDestroy(array), CUDA_SUCCESS); // the objects keep its texels
    EXPECT_EQ(api.cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuTexObjectDestroy(texture), CUDA_SUCCESS);
    EXPECT_EQ(api.cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuSurfObjectDestroy(surface), CUDA_SUCCESS);
    EXPECT_EQ(api.cuTexObjectDestroy(0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuTexObjectCreate(&texture, &resource, &how, nullptr), CUDA_ERROR_INVALID_HANDLE);
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.WidthInBytes = copy.Height = copy.Depth = 1;
    EXPECT_EQ(api.cuMemcpy3D(&copy), CUDA_ERROR_INVALID_HANDLE);
}

TEST_P(Textures, CapturedCopiesRunWithTheGraph) {
    const CUarray array = make(shape(16, 0, 0));
    CUdeviceptr memory = 0;
    ASSERT_EQ(api.cuMemAlloc(&memory, 16 * texel), CUDA_SUCCESS);
    CUstream stream = nullptr;
    ASSERT_EQ(api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUDA_MEMCPY3D in{};
    in.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    in.srcDevice = memory;
    in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    in.dstArray = array;
    in.WidthInBytes = 16 * texel;
    in.Height = in.Depth = 1;
    CUDA_MEMCPY3D out{};
    out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    out.srcArray = array;
    out.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    out.dstDevice = memory;
    out.WidthInBytes = 16 * texel;
    out.Height = out.Depth = 1;
    ASSERT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpy3DAsync(&in, stream), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    ASSERT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    CUgraphExec ready = nullptr;
    ASSERT_EQ(api.cuGraphInstantiate(&ready, graph, 0), CUDA_SUCCESS);
    const std::vector<std::byte> sent = noise(16 * texel, 4);
    std::vector<std::byte> back(sent.size());
    ASSERT_EQ(api.cuMemcpyHtoD(memory, sent.data(), sent.size()), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(ready, stream), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemsetD8(memory, 0, sent.size()), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpy3D(&out), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyDtoH(back.data(), memory, back.size()), CUDA_SUCCESS);
    EXPECT_EQ(back, sent);
    EXPECT_EQ(api.cuGraphExecDestroy(ready), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamDestroy(stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_EQ(api.cuArrayDestroy(array), CUDA_SUCCESS);
}

} // namespace
} // namespace quern
