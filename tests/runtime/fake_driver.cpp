// Every entry of the table is one generic wrapper: record, fail if asked to, then the body below if
// there is one.
#include "tests/runtime/fake_driver.h"

#include "compiler/base/text.h"
#include "runtime/driver/error_text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace quern {
namespace {

struct FakeContext {
    int device = 0, references = 0;
};
struct FakeStream {
    unsigned flags = 0;
    int priority = 0;
    CUcontext context = nullptr;
};
struct FakeEvent {
    bool recorded = false;
    CUstream stream = nullptr;
    std::uint64_t moment = 0, busy_era = 0; // busy_era: 0 when it finished at once
};
struct FakeFunction {
    std::string name;
    std::map<int, int> attributes;
};
struct FakeModule {
    std::vector<std::unique_ptr<FakeFunction>> functions;
    std::map<std::string, std::unique_ptr<std::uint64_t[]>> globals;
};
struct Block {
    std::size_t bytes;
    bool host;
};
struct Failure {
    std::string name;
    int nth, times;
    CUresult status;
};

template <class T, class Handle> T* as(Handle handle) { return reinterpret_cast<T*>(handle); }
std::byte* at(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

thread_local CUcontext current_context = nullptr;
thread_local const void* current_owner = nullptr; // a context set under an earlier fake is none

} // namespace

struct FakeDriver::State {
    Driver driver;
    mutable std::recursive_mutex mutex;
    std::vector<std::string> log;
    std::vector<Failure> failures;
    std::vector<std::unique_ptr<FakeContext>> contexts;
    std::map<std::uintptr_t, Block> blocks;
    std::size_t memory_bytes = std::size_t{1} << 30, live_bytes = 0, peak_bytes = 0;
    std::map<CUstream, FakeStream> streams;
    std::map<CUevent, std::unique_ptr<FakeEvent>> events;
    std::map<CUmodule, std::unique_ptr<FakeModule>> modules;
    std::map<int, int> attributes;
    std::map<CUstream, std::uint64_t> busy; // stream -> the era it became busy in
    std::set<std::uint64_t> busy_eras;
    std::function<void(const FakeLaunch&)> kernel;
    std::vector<std::size_t> param_bytes; // of every kernel
    std::vector<FakeLaunch> launches;
    std::uint64_t clock = 0, next_handle = 0x1000;

    static inline State* active = nullptr;

    CUresult enter(const char* name) {
        log.emplace_back(name);
        for (auto failure = failures.begin(); failure != failures.end(); ++failure) {
            if (!failure->name.empty() && failure->name != name)
                continue;
            if (--failure->nth > 0)
                continue;
            const CUresult status = failure->status;
            if (--failure->times <= 0)
                failures.erase(failure);
            return status;
        }
        return CUDA_SUCCESS;
    }

    bool has_stream(CUstream s) const {
        return reinterpret_cast<std::uintptr_t>(s) <= 2 || streams.contains(s);
    }
    CUresult make_block(std::size_t bytes, bool host, std::uintptr_t* out) {
        if (bytes == 0)
            return CUDA_ERROR_INVALID_VALUE;
        if (!host && (bytes > memory_bytes || live_bytes + bytes > memory_bytes))
            return CUDA_ERROR_OUT_OF_MEMORY;
        void* block = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
        if (block == nullptr)
            return CUDA_ERROR_OUT_OF_MEMORY;
        *out = reinterpret_cast<std::uintptr_t>(block);
        blocks[*out] = {bytes, host};
        if (!host)
            live_bytes += bytes;
        peak_bytes = std::max(peak_bytes, live_bytes);
        return CUDA_SUCCESS;
    }
    CUresult free_block(std::uintptr_t address, bool host) {
        if (address == 0)
            return CUDA_SUCCESS;
        const auto found = blocks.find(address);
        if (found == blocks.end() || found->second.host != host)
            return CUDA_ERROR_INVALID_VALUE;
        if (!host)
            live_bytes -= found->second.bytes;
        std::free(at(address));
        blocks.erase(found);
        return CUDA_SUCCESS;
    }
    std::map<std::uintptr_t, Block>::iterator block_of(std::uintptr_t address) {
        auto above = blocks.upper_bound(address);
        if (above == blocks.begin())
            return blocks.end();
        --above;
        return address < above->first + above->second.bytes ? above : blocks.end();
    }
    CUresult copy(void* to, const void* from, std::size_t bytes) {
        if (bytes != 0)
            std::memmove(to, from, bytes);
        return CUDA_SUCCESS;
    }
    template <class T> CUresult fill(CUdeviceptr to, T value, std::size_t count) {
        std::fill_n(reinterpret_cast<T*>(to), count, value);
        return CUDA_SUCCESS;
    }

    // The bodies. Functions of the list without one succeed and do nothing.
    CUresult cuDriverGetVersion(int* version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }
    CUresult cuGetErrorName(CUresult status, const char** name) {
        const ErrorText* text = find_error_text(status);
        *name = text ? text->name : nullptr;
        return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    CUresult cuGetErrorString(CUresult status, const char** string) {
        const ErrorText* text = find_error_text(status);
        *string = text ? text->text : nullptr;
        return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }

    bool has_device(CUdevice device) const {
        return device >= 0 && device < static_cast<int>(contexts.size());
    }
    CUresult cuDeviceGetCount(int* count) {
        return *count = static_cast<int>(contexts.size()), CUDA_SUCCESS;
    }
    CUresult cuDeviceGet(CUdevice* device, int ordinal) {
        return has_device(ordinal) ? (*device = ordinal, CUDA_SUCCESS) : CUDA_ERROR_INVALID_DEVICE;
    }
    CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
        if (!has_device(device) || length < 1)
            return CUDA_ERROR_INVALID_VALUE;
        const std::string text = join("Fake GPU ", device);
        name[text.copy(name, static_cast<std::size_t>(length - 1))] = '\0';
        return CUDA_SUCCESS;
    }
    CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
        return *bytes = memory_bytes, CUDA_SUCCESS;
    }
    CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
        if (!has_device(device))
            return CUDA_ERROR_INVALID_DEVICE;
        const auto found = attributes.find(attribute);
        *value = found == attributes.end() ? 0 : found->second;
        return CUDA_SUCCESS;
    }
    CUresult cuDeviceGetUuid(CUuuid* id, CUdevice device) {
        std::memset(id, device + 1, sizeof *id);
        return CUDA_SUCCESS;
    }
    CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
        return std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device),
               CUDA_SUCCESS;
    }
    CUresult cuDeviceCanAccessPeer(int* can, CUdevice a, CUdevice b) {
        return *can = a != b, CUDA_SUCCESS;
    }

    CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
        if (!has_device(device))
            return CUDA_ERROR_INVALID_DEVICE;
        ++contexts[device]->references;
        *context = reinterpret_cast<CUcontext>(contexts[device].get());
        return CUDA_SUCCESS;
    }
    CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
        if (!has_device(device))
            return CUDA_ERROR_INVALID_DEVICE;
        if (contexts[device]->references == 0)
            return CUDA_ERROR_INVALID_CONTEXT;
        return --contexts[device]->references, CUDA_SUCCESS;
    }
    CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active_now) {
        if (!has_device(device))
            return CUDA_ERROR_INVALID_DEVICE;
        *flags = 0;
        *active_now = contexts[device]->references > 0;
        return CUDA_SUCCESS;
    }
    CUcontext current() const { return current_owner == this ? current_context : nullptr; }
    CUresult cuCtxGetCurrent(CUcontext* context) { return *context = current(), CUDA_SUCCESS; }
    CUresult cuCtxSetCurrent(CUcontext context) {
        current_context = context;
        current_owner = this;
        return CUDA_SUCCESS;
    }
    CUresult cuCtxGetDevice(CUdevice* device) {
        if (current() == nullptr)
            return CUDA_ERROR_INVALID_CONTEXT;
        return *device = as<FakeContext>(current())->device, CUDA_SUCCESS;
    }
    CUresult cuCtxSynchronize() {
        busy.clear();
        busy_eras.clear();
        return CUDA_SUCCESS;
    }
    CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
        if (least)
            *least = 0;
        if (greatest)
            *greatest = -5;
        return CUDA_SUCCESS;
    }

    CUresult cuMemAlloc(CUdeviceptr* out, std::size_t bytes) {
        std::uintptr_t address = 0;
        const CUresult status = make_block(bytes, false, &address);
        if (status == CUDA_SUCCESS)
            *out = address;
        return status;
    }
    CUresult cuMemAllocAsync(CUdeviceptr* out, std::size_t bytes, CUstream stream) {
        return has_stream(stream) ? cuMemAlloc(out, bytes) : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuMemAllocManaged(CUdeviceptr* out, std::size_t bytes, unsigned) {
        return cuMemAlloc(out, bytes);
    }
    CUresult cuMemFree(CUdeviceptr address) { return free_block(address, false); }
    CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
        return has_stream(stream) ? free_block(address, false) : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
        std::uintptr_t address = 0;
        const CUresult status = make_block(bytes, true, &address);
        if (status == CUDA_SUCCESS)
            *out = at(address);
        return status;
    }
    CUresult cuMemFreeHost(void* block) {
        return free_block(reinterpret_cast<std::uintptr_t>(block), true);
    }
    CUresult cuMemHostGetDevicePointer(CUdeviceptr* out, void* block, unsigned) {
        return *out = reinterpret_cast<CUdeviceptr>(block), CUDA_SUCCESS;
    }
    CUresult cuMemGetInfo(std::size_t* free_now, std::size_t* total) {
        *free_now = memory_bytes - live_bytes;
        *total = memory_bytes;
        return CUDA_SUCCESS;
    }
    CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
        const auto found = block_of(address);
        if (found == blocks.end())
            return CUDA_ERROR_NOT_FOUND;
        if (base)
            *base = found->first;
        if (bytes)
            *bytes = found->second.bytes;
        return CUDA_SUCCESS;
    }
    CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
        const auto found = block_of(address);
        if (found == blocks.end())
            return CUDA_ERROR_INVALID_VALUE;
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(out) =
                found->second.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(out) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *static_cast<CUdeviceptr*>(out) = address;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *static_cast<void**>(out) = at(address);
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<CUdeviceptr*>(out) = found->first;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<std::size_t*>(out) = found->second.bytes;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<int*>(out) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *static_cast<CUcontext*>(out) = current();
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attribute, void** out,
                                    CUdeviceptr address) {
        for (unsigned i = 0; i < count; ++i)
            cuPointerGetAttribute(out[i], attribute[i], address);
        return CUDA_SUCCESS;
    }

    CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t n) {
        return copy(at(to), at(from), n);
    }
    CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream s) {
        return has_stream(s) ? copy(at(to), at(from), n) : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t n) {
        return copy(at(to), from, n);
    }
    CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t n, CUstream s) {
        return has_stream(s) ? copy(at(to), from, n) : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t n) {
        return copy(to, at(from), n);
    }
    CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t n, CUstream s) {
        return has_stream(s) ? copy(to, at(from), n) : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t n) {
        return copy(at(to), at(from), n);
    }
    CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream s) {
        return has_stream(s) ? copy(at(to), at(from), n) : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t n) {
        return copy(at(to), at(from), n);
    }
    CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext,
                               std::size_t n, CUstream s) {
        return has_stream(s) ? copy(at(to), at(from), n) : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuMemsetD8(CUdeviceptr to, unsigned char v, std::size_t n) { return fill(to, v, n); }
    CUresult cuMemsetD16(CUdeviceptr to, unsigned short v, std::size_t n) { return fill(to, v, n); }
    CUresult cuMemsetD32(CUdeviceptr to, unsigned v, std::size_t n) { return fill(to, v, n); }
    CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char v, std::size_t n, CUstream) {
        return fill(to, v, n);
    }
    CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short v, std::size_t n, CUstream) {
        return fill(to, v, n);
    }
    CUresult cuMemsetD32Async(CUdeviceptr to, unsigned v, std::size_t n, CUstream) {
        return fill(to, v, n);
    }

    CUresult cuModuleLoadData(CUmodule* out, const void* image) {
        if (image == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        auto loaded = std::make_unique<FakeModule>();
        *out = reinterpret_cast<CUmodule>(loaded.get());
        modules[*out] = std::move(loaded);
        return CUDA_SUCCESS;
    }
    CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned, CUjit_option*, void**) {
        return cuModuleLoadData(out, image);
    }
    CUresult cuModuleUnload(CUmodule loaded) {
        return modules.erase(loaded) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuModuleGetFunction(CUfunction* out, CUmodule loaded,
                                 const char* name) { // any name is there
        const auto found = modules.find(loaded);
        if (found == modules.end())
            return CUDA_ERROR_INVALID_HANDLE;
        found->second->functions.push_back(std::make_unique<FakeFunction>(FakeFunction{name, {}}));
        *out = reinterpret_cast<CUfunction>(found->second->functions.back().get());
        return CUDA_SUCCESS;
    }
    CUresult cuModuleGetGlobal(CUdeviceptr* out, std::size_t* bytes, CUmodule loaded,
                               const char* name) {
        const auto found = modules.find(loaded);
        if (found == modules.end())
            return CUDA_ERROR_INVALID_HANDLE;
        auto& global = found->second->globals[name];
        if (!global)
            global = std::make_unique<std::uint64_t[]>(8);
        if (out)
            *out = reinterpret_cast<CUdeviceptr>(global.get());
        if (bytes)
            *bytes = 64;
        return CUDA_SUCCESS;
    }
    CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
        const auto& set = as<FakeFunction>(function)->attributes;
        const auto found = set.find(attribute);
        *value = found != set.end()                                     ? found->second
                 : attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
                                                                        : 0;
        return CUDA_SUCCESS;
    }
    CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
        return as<FakeFunction>(function)->attributes[attribute] = value, CUDA_SUCCESS;
    }
    CUresult cuFuncGetParamCount(CUfunction, std::size_t* count) {
        *count = param_bytes.size();
        return CUDA_SUCCESS;
    }
    CUresult cuFuncGetParamInfo(CUfunction, std::size_t index, std::size_t* offset,
                                std::size_t* bytes) {
        if (index >= param_bytes.size())
            return CUDA_ERROR_INVALID_VALUE;
        *offset = 16 * index;
        *bytes = param_bytes[index];
        return CUDA_SUCCESS;
    }
    // The runtime's own kernel: bytes, each in a word of its own whose upper half is the turn's
    // number (runtime/memory/small_read.cpp).
    static void read_small(void** params) {
        const auto* from =
            reinterpret_cast<const unsigned char*>(*static_cast<std::uint64_t*>(params[0]));
        auto* to = reinterpret_cast<std::uint64_t*>(*static_cast<std::uint64_t*>(params[1]));
        const auto turn = std::uint64_t{*static_cast<std::uint32_t*>(params[3])} << 32;
        for (std::uint32_t k = 0; k < *static_cast<std::uint32_t*>(params[2]); ++k)
            to[k] = turn | from[k];
    }
    CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream stream,
                            void** params, void**) {
        if (f == nullptr || !has_stream(stream))
            return CUDA_ERROR_INVALID_HANDLE;
        if (!(gx && gy && gz && bx && by && bz))
            return CUDA_ERROR_INVALID_VALUE;
        FakeLaunch launch{
            as<FakeFunction>(f)->name, {gx, gy, gz}, {bx, by, bz}, shared, stream, params};
        if (launch.function == "quern_read_small")
            read_small(params);
        else if (kernel)
            kernel(launch);
        launch.params = nullptr;
        launches.push_back(std::move(launch));
        return CUDA_SUCCESS;
    }
    CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void**) {
        return cuLaunchKernel(f, config->gridDimX, config->gridDimY, config->gridDimZ,
                              config->blockDimX, config->blockDimY, config->blockDimZ,
                              config->sharedMemBytes, config->hStream, params, nullptr);
    }
    CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                       unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                       CUstream stream, void** params) {
        return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, nullptr);
    }
    CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks_out, CUfunction, int threads,
                                                         std::size_t) {
        return threads < 1 ? CUDA_ERROR_INVALID_VALUE
                           : (*blocks_out = 2048 / threads, CUDA_SUCCESS);
    }
    CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig* config) {
        return *clusters = static_cast<int>(132 / config->attrs->value.clusterDim.x), CUDA_SUCCESS;
    }
    CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* threads, CUfunction,
                                              CUoccupancyB2DSize, std::size_t, int) {
        return *grid = 264, *threads = 1024, CUDA_SUCCESS;
    }

    CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
        *out = reinterpret_cast<CUstream>(next_handle += 16);
        streams[*out] = {flags, priority, current()};
        return CUDA_SUCCESS;
    }
    CUresult cuStreamCreate(CUstream* out, unsigned flags) {
        return cuStreamCreateWithPriority(out, flags, 0);
    }
    CUresult cuStreamDestroy(CUstream s) {
        return streams.erase(s) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuStreamSynchronize(CUstream s) {
        if (!has_stream(s))
            return CUDA_ERROR_INVALID_HANDLE;
        if (const auto found = busy.find(s); found != busy.end()) {
            busy_eras.erase(found->second);
            busy.erase(found);
        }
        return CUDA_SUCCESS;
    }
    CUresult cuStreamQuery(CUstream s) {
        if (!has_stream(s))
            return CUDA_ERROR_INVALID_HANDLE;
        return busy.contains(s) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    }
    CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
        return has_stream(s) && events.contains(e) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuStreamGetFlags(CUstream s, unsigned* flags) {
        if (!has_stream(s))
            return CUDA_ERROR_INVALID_HANDLE;
        return *flags = streams.contains(s) ? streams[s].flags : 0, CUDA_SUCCESS;
    }
    CUresult cuStreamGetPriority(CUstream s, int* priority) {
        if (!has_stream(s))
            return CUDA_ERROR_INVALID_HANDLE;
        return *priority = streams.contains(s) ? streams[s].priority : 0, CUDA_SUCCESS;
    }
    CUresult cuStreamGetCtx(CUstream s, CUcontext* context) {
        if (!has_stream(s))
            return CUDA_ERROR_INVALID_HANDLE;
        return *context = streams.contains(s) ? streams[s].context : current(), CUDA_SUCCESS;
    }
    CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
        return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
    }
    CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void* data) {
        return function(data), CUDA_SUCCESS;
    }
    CUresult cuStreamAddCallback(CUstream s, CUstreamCallback function, void* data, unsigned) {
        return function(s, CUDA_SUCCESS, data), CUDA_SUCCESS;
    }

    CUresult cuEventCreate(CUevent* out, unsigned) {
        auto made = std::make_unique<FakeEvent>();
        *out = reinterpret_cast<CUevent>(made.get());
        events[*out] = std::move(made);
        return CUDA_SUCCESS;
    }
    CUresult cuEventDestroy(CUevent e) {
        return events.erase(e) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    CUresult cuEventRecord(CUevent e, CUstream s) {
        if (!events.contains(e) || !has_stream(s))
            return CUDA_ERROR_INVALID_HANDLE;
        const auto found = busy.find(s);
        *events[e] = {true, s, ++clock, found == busy.end() ? 0 : found->second};
        return CUDA_SUCCESS;
    }
    CUresult cuEventQuery(CUevent e) {
        if (!events.contains(e))
            return CUDA_ERROR_INVALID_HANDLE;
        return busy_eras.contains(events[e]->busy_era) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    }
    CUresult cuEventSynchronize(CUevent e) {
        if (!events.contains(e))
            return CUDA_ERROR_INVALID_HANDLE;
        return cuStreamSynchronize(events[e]->stream);
    }
    CUresult cuEventElapsedTime(float* ms, CUevent a, CUevent b) { // one millisecond a recording
        if (!events.contains(a) || !events.contains(b))
            return CUDA_ERROR_INVALID_HANDLE;
        if (!events[a]->recorded || !events[b]->recorded)
            return CUDA_ERROR_INVALID_HANDLE;
        if (cuEventQuery(a) != CUDA_SUCCESS || cuEventQuery(b) != CUDA_SUCCESS)
            return CUDA_ERROR_NOT_READY;
        *ms = static_cast<float>(static_cast<std::int64_t>(events[b]->moment - events[a]->moment));
        return CUDA_SUCCESS;
    }
    CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
        return *graph = reinterpret_cast<CUgraph>(next_handle += 16), CUDA_SUCCESS;
    }
    CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph, unsigned long long) {
        return *exec = reinterpret_cast<CUgraphExec>(next_handle += 16), CUDA_SUCCESS;
    }
};

namespace {

template <class State, class Body> CUresult answer(const char* name, Body body) {
    State* state = State::active;
    if (state == nullptr)
        return CUDA_ERROR_DEINITIALIZED; // the fake is gone, a handle outlived it
    const std::lock_guard lock(state->mutex);
    if (const CUresult status = state->enter(name); status != CUDA_SUCCESS)
        return status;
    return body(*state);
}

template <class State> void fill_table(DriverApi& api) {
#define QUERN_CU(fn)                                                                               \
    api.fn = [](auto... args) -> CUresult {                                                        \
        return answer<State>(#fn, [&](auto& state) -> CUresult {                                   \
            if constexpr (requires { state.fn(args...); })                                         \
                return state.fn(args...);                                                          \
            else                                                                                   \
                return CUDA_SUCCESS;                                                               \
        });                                                                                        \
    };
#define QUERN_CU_OPTIONAL QUERN_CU
#include "runtime/driver/symbols.def"
#undef QUERN_CU
}

} // namespace

FakeDriver::FakeDriver(int devices, bool executes_on_cpu) : state_(std::make_unique<State>()) {
    state_->driver.name = "fake";
    state_->driver.executes_on_cpu = executes_on_cpu;
    fill_table<State>(state_->driver.api);
    for (int device = 0; device < devices; ++device)
        state_->contexts.push_back(std::make_unique<FakeContext>(FakeContext{device, 0}));
    state_->attributes = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 * 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 * 1024},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    };
    State::active = state_.get();
}

FakeDriver::~FakeDriver() {
    if (State::active == state_.get())
        State::active = nullptr;
    for (const auto& [address, block] : state_->blocks)
        std::free(at(address));
}

const Driver& FakeDriver::driver() const noexcept { return state_->driver; }

void FakeDriver::fail(std::string_view name, int nth, CUresult status, int times) {
    const std::lock_guard lock(state_->mutex);
    state_->failures.push_back({std::string(name), nth, times, status});
}
void FakeDriver::stop_failing() {
    const std::lock_guard lock(state_->mutex);
    state_->failures.clear();
}
std::vector<std::string> FakeDriver::calls() const {
    const std::lock_guard lock(state_->mutex);
    return state_->log;
}
std::size_t FakeDriver::count(std::string_view name) const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<std::size_t>(std::ranges::count(state_->log, name));
}
void FakeDriver::forget_calls() {
    const std::lock_guard lock(state_->mutex);
    state_->log.clear();
}
std::string FakeDriver::leaks() const {
    const std::lock_guard lock(state_->mutex);
    std::string text;
    const auto say = [&](std::size_t count, const char* what) {
        if (count != 0)
            text += join(text.empty() ? "" : ", ", count, " ", what, count == 1 ? "" : "s");
    };
    say(state_->blocks.size(), "block");
    if (!text.empty())
        text += join(" (", state_->live_bytes, " bytes on the device)");
    say(state_->streams.size(), "stream");
    say(state_->events.size(), "event");
    say(state_->modules.size(), "module");
    return text;
}
std::size_t FakeDriver::live_bytes() const { return state_->live_bytes; }
std::size_t FakeDriver::live_blocks() const { return state_->blocks.size(); }
std::size_t FakeDriver::peak_bytes() const { return state_->peak_bytes; }
std::size_t FakeDriver::live_streams() const { return state_->streams.size(); }
std::size_t FakeDriver::live_events() const { return state_->events.size(); }
std::size_t FakeDriver::live_modules() const { return state_->modules.size(); }
int FakeDriver::context_references(int device) const {
    return state_->contexts.at(device)->references;
}
void FakeDriver::set_memory_bytes(std::size_t bytes) { state_->memory_bytes = bytes; }
void FakeDriver::set_attribute(CUdevice_attribute attribute, int value) {
    state_->attributes[attribute] = value;
}
void FakeDriver::set_busy(CUstream stream, bool busy) {
    const std::lock_guard lock(state_->mutex);
    if (const auto found = state_->busy.find(stream); found != state_->busy.end()) {
        state_->busy_eras.erase(found->second);
        state_->busy.erase(found);
    }
    if (!busy)
        return;
    state_->busy[stream] = ++state_->clock;
    state_->busy_eras.insert(state_->clock);
}
void FakeDriver::set_param_bytes(std::vector<std::size_t> bytes) {
    const std::lock_guard lock(state_->mutex);
    state_->param_bytes = std::move(bytes);
}
void FakeDriver::set_kernel(std::function<void(const FakeLaunch&)> body) {
    state_->kernel = std::move(body);
}
std::vector<FakeLaunch> FakeDriver::launches() const {
    const std::lock_guard lock(state_->mutex);
    return state_->launches;
}

} // namespace quern
