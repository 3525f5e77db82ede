// cuMemAlloc* and relatives, and what a pointer belongs to.
#include "runtime/host/state.h"

#include <cstring>

namespace quern::host {
namespace {

void* to_pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

CUresult allocate(std::size_t bytes, BlockKind kind, unsigned flags, std::uintptr_t& base) {
    QUERN_CHECK(check_context());
    QUERN_CHECK(state().streams.check_unsafe_call());
    return state().memory.allocate(bytes, kind, flags, base);
}

CUresult release(std::uintptr_t base, BlockKind kind, BlockKind or_kind) {
    if (base == 0)
        return CUDA_SUCCESS;
    QUERN_CHECK(check_context());
    QUERN_CHECK(state().streams.check_unsafe_call());
    if (const CUresult status = state().streams.synchronize_all();
        status == CUDA_ERROR_NOT_PERMITTED)
        return status;
    return state().memory.release(base, kind, or_kind);
}

CUresult attribute_of(const Block& block, CUdeviceptr address, CUpointer_attribute attribute,
                      void* out) {
    const auto set = [&](auto value) {
        std::memcpy(out, &value, sizeof value);
        return CUDA_SUCCESS;
    };
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return set(&state().context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return set(
            static_cast<unsigned>(block.pinned() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return set(address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return set(to_pointer(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return set(0u);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return set(block.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return set(static_cast<unsigned>(block.kind == BlockKind::managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return set(0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return set(0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return set(static_cast<CUdeviceptr>(block.base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return set(block.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return set(1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return set(std::uint64_t{0});
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return set(static_cast<void*>(nullptr));
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

// What cuPointerGetAttributes says of memory that is nobody's: zero of the attribute's size.
CUresult clear_attribute(CUpointer_attribute attribute, void* out) {
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) { // -2: no device
        constexpr int no_device = -2;
        std::memcpy(out, &no_device, sizeof no_device);
        return CUDA_SUCCESS;
    }
    const Block nobody;
    std::uint64_t scratch = 0;
    QUERN_CHECK(attribute_of(nobody, 0, attribute, &scratch));
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
        std::memset(out, 0, sizeof(unsigned));
        break;
    default:
        std::memset(out, 0, sizeof(std::uint64_t));
    }
    return CUDA_SUCCESS;
}

} // namespace

CUresult cuMemAlloc(CUdeviceptr* out, std::size_t bytes) {
    return guarded([&] {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        std::uintptr_t base = 0;
        QUERN_CHECK(allocate(bytes, BlockKind::device, 0, base));
        return *out = base, CUDA_SUCCESS;
    });
}

CUresult cuMemAllocManaged(CUdeviceptr* out, std::size_t bytes, unsigned flags) {
    return guarded([&] {
        if (out == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
            return CUDA_ERROR_INVALID_VALUE;
        std::uintptr_t base = 0;
        QUERN_CHECK(allocate(bytes, BlockKind::managed, flags, base));
        return *out = base, CUDA_SUCCESS;
    });
}

CUresult cuMemFree(CUdeviceptr base) {
    return guarded([&] { return release(base, BlockKind::device, BlockKind::managed); });
}

CUresult cuMemAllocAsync(CUdeviceptr* out, std::size_t bytes, CUstream handle) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        Stream* stream = state().streams.find(handle);
        if (stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        QUERN_CHECK(state().streams.check_capture(*stream));
        std::uintptr_t base = 0;
        QUERN_CHECK(state().memory.allocate(bytes, BlockKind::device, 0, base));
        if (stream->capture) // lives as long as the graph and what is made of it
            stream->capture->own(std::shared_ptr<void>(to_pointer(base), [](void* block) {
                (void)state().memory.release(reinterpret_cast<std::uintptr_t>(block),
                                             BlockKind::device, BlockKind::device);
            }));
        return *out = base, CUDA_SUCCESS;
    });
}

CUresult cuMemFreeAsync(CUdeviceptr base, CUstream handle) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        Stream* stream = state().streams.find(handle);
        if (stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (base == 0)
            return CUDA_SUCCESS;
        const auto block = state().memory.find(base);
        if (!block || block->base != base || block->kind != BlockKind::device)
            return CUDA_ERROR_INVALID_VALUE;
        QUERN_CHECK(state().streams.check_capture(*stream));
        if (stream->capture)
            return CUDA_SUCCESS; // the graph owns what was allocated in it
        const auto give_back = [base] {
            (void)state().memory.release(base, BlockKind::device, BlockKind::device);
        };
        return state().streams.submit(*stream, CU_GRAPH_NODE_TYPE_MEM_FREE, give_back,
                                      [&](bool) -> Work { return give_back; });
    });
}

CUresult cuMemGetInfo(std::size_t* free_now, std::size_t* total) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        if (free_now != nullptr)
            *free_now = free_memory_bytes();
        if (total != nullptr)
            *total = state().memory.total_bytes();
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags) {
    return guarded([&] {
        constexpr unsigned known =
            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
        if (out == nullptr || (flags & ~known))
            return CUDA_ERROR_INVALID_VALUE;
        std::uintptr_t base = 0;
        QUERN_CHECK(allocate(bytes, BlockKind::host, flags, base));
        return *out = to_pointer(base), CUDA_SUCCESS;
    });
}

CUresult cuMemFreeHost(void* base) {
    return guarded([&] {
        return release(reinterpret_cast<std::uintptr_t>(base), BlockKind::host, BlockKind::host);
    });
}

CUresult cuMemHostRegister(void* base, std::size_t bytes, unsigned flags) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        if (base == nullptr || bytes == 0)
            return CUDA_ERROR_INVALID_VALUE;
        return state().memory.add(reinterpret_cast<std::uintptr_t>(base), bytes,
                                  BlockKind::registered, flags);
    });
}

CUresult cuMemHostUnregister(void* base) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const CUresult status = state().memory.release(
            reinterpret_cast<std::uintptr_t>(base), BlockKind::registered, BlockKind::registered);
        return status == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : status;
    });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* out, void* host, unsigned flags) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const auto block = state().memory.find(reinterpret_cast<std::uintptr_t>(host));
        if (out == nullptr || flags != 0 || !block || !block->pinned())
            return CUDA_ERROR_INVALID_VALUE;
        return *out = reinterpret_cast<CUdeviceptr>(host), CUDA_SUCCESS;
    });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const auto block = state().memory.find(address);
        if (!block)
            return CUDA_ERROR_NOT_FOUND;
        if (base != nullptr)
            *base = block->base;
        if (bytes != nullptr)
            *bytes = block->bytes;
        return CUDA_SUCCESS;
    });
}

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
    return guarded([&] {
        const auto block = state().memory.find(address);
        if (out == nullptr || !block)
            return CUDA_ERROR_INVALID_VALUE;
        return attribute_of(*block, address, attribute, out);
    });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                CUdeviceptr address) {
    return guarded([&] {
        if (count == 0 || attributes == nullptr || out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        const auto block = state().memory.find(address);
        for (unsigned i = 0; i < count; ++i)
            QUERN_CHECK(block ? attribute_of(*block, address, attributes[i], out[i])
                              : clear_attribute(attributes[i], out[i]));
        return CUDA_SUCCESS;
    });
}

} // namespace quern::host
