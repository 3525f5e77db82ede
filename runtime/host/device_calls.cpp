// cuInit, cuDevice*, cuCtx*: one device, one context.
#include "runtime/driver/error_text.h"
#include "runtime/host/output.h"
#include "runtime/host/state.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

namespace quern::host {

thread_local Context* current_context = nullptr;

namespace {

struct AttributeRow {
    CUdevice_attribute attribute;
    int value;
};
constexpr AttributeRow attribute_table[] = {
    // the rest is 0, or asked of the machine below
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, shared_bytes_default},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_bytes_opt_in},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_bytes_opt_in + 1024},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 * 1024},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65536},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16384},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 1},
};

CUresult check_device(CUdevice device) {
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

void reset() { // the last holder of the context let it go: so does everything that lived in it
    state().streams.destroy_all();
    unload_all_modules();
    state().textures.for_each([](HostTexture* each) { state().textures.destroy(each); });
    state().arrays.for_each([](TexelArray* each) { state().arrays.destroy(each); });
    state().memory.release_all();
}

} // namespace

CUresult cuInit(unsigned flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
CUresult cuDriverGetVersion(int* version) {
    return version == nullptr ? CUDA_ERROR_INVALID_VALUE : (*version = CUDA_VERSION, CUDA_SUCCESS);
}
CUresult cuGetErrorName(CUresult status, const char** name) {
    if (name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const ErrorText* known = find_error_text(status);
    *name = known ? known->name : nullptr;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult status, const char** text) {
    if (text == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const ErrorText* known = find_error_text(status);
    *text = known ? known->text : nullptr;
    if (status == CUDA_ERROR_ASSERT) // which one: the text lives until this thread asks again
        if (auto failed = last_assertion(); !failed.empty()) {
            thread_local std::string kept;
            kept = std::string(known->text) + ": " + failed;
            *text = kept.c_str();
        }
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int* count) {
    return count == nullptr ? CUDA_ERROR_INVALID_VALUE : (*count = 1, CUDA_SUCCESS);
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return ordinal == 0 ? (*device = 0, CUDA_SUCCESS) : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    return guarded([&] {
        QUERN_CHECK(check_device(device));
        if (name == nullptr || length <= 0)
            return CUDA_ERROR_INVALID_VALUE;
        name[processor_name().copy(name, static_cast<std::size_t>(length - 1))] = '\0';
        return CUDA_SUCCESS;
    });
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
    QUERN_CHECK(check_device(device));
    return bytes == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : (*bytes = state().memory.total_bytes(), CUDA_SUCCESS);
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    return guarded([&] {
        QUERN_CHECK(check_device(device));
        if (value == nullptr || attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0;
        if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            *value = state().team.threads();
        if (attribute == CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
            *value = clock_khz();
        const auto* row = std::ranges::find(attribute_table, attribute, &AttributeRow::attribute);
        if (row != std::ranges::end(attribute_table))
            *value = row->value;
        return CUDA_SUCCESS;
    });
}
CUresult cuDeviceGetUuid(CUuuid* id, CUdevice device) {
    QUERN_CHECK(check_device(device));
    if (id == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(id->bytes, "quern CPU device", sizeof id->bytes);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char*, int, CUdevice device) {
    QUERN_CHECK(check_device(device));
    return CUDA_ERROR_NOT_SUPPORTED; // a CPU sits on no bus
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    QUERN_CHECK(check_device(device));
    QUERN_CHECK(check_device(peer));
    return can == nullptr ? CUDA_ERROR_INVALID_VALUE
                          : (*can = 0, CUDA_SUCCESS); // itself is no peer
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
    QUERN_CHECK(check_device(device));
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    ++state().context.references;
    *out = reinterpret_cast<CUcontext>(&state().context);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return guarded([&] {
        QUERN_CHECK(check_device(device));
        auto& references = state().context.references;
        int before = references.load();
        do
            if (before == 0)
                return CUDA_ERROR_INVALID_CONTEXT;
        while (!references.compare_exchange_weak(before, before - 1));
        if (before == 1)
            reset();
        return CUDA_SUCCESS;
    });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return guarded([&] {
        QUERN_CHECK(check_device(device));
        reset();
        return CUDA_SUCCESS;
    });
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    QUERN_CHECK(check_device(device));
    if (flags == nullptr || active == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = 0;
    *active = state().context.references.load() != 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* out) {
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return *out = reinterpret_cast<CUcontext>(current_context), CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext handle) {
    auto* ours = &state().context;
    if (handle != nullptr && handle != reinterpret_cast<CUcontext>(ours))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (handle != nullptr && ours->references.load() == 0)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    current_context = handle == nullptr ? nullptr : ours;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
    QUERN_CHECK(check_context());
    return device == nullptr ? CUDA_ERROR_INVALID_VALUE : (*device = 0, CUDA_SUCCESS);
}
CUresult cuCtxSynchronize() {
    return guarded([&] {
        QUERN_CHECK(check_context());
        QUERN_CHECK(state().streams.check_unsafe_call());
        return state().streams.synchronize_all();
    });
}
CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
    QUERN_CHECK(check_context());
    if (value == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit < 0 || limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return *value = state().context.limits[limit].load(), CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) { // remembered; a CPU grows what it needs
    QUERN_CHECK(check_context());
    if (limit < 0 || limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return state().context.limits[limit] = value, CUDA_SUCCESS;
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    QUERN_CHECK(check_context());
    if (least != nullptr)
        *least = 0;
    if (greatest != nullptr)
        *greatest = -1;
    return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; }
CUresult cuCtxDisablePeerAccess(CUcontext) { return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED; }

} // namespace quern::host
