// cuModule*, cuFunc*: objects in, kernels and variables out.
#include "runtime/host/promotion.h"
#include "runtime/host/state.h"

#include "compiler/base/text.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace quern::host {
namespace {

constexpr std::string_view run_prefix = "__quern_run_", info_prefix = "__quern_info_";

std::mutex& module_mutex() {
    static auto* const once = new std::mutex;
    return *once;
}

// CUDA_SUCCESS if what the symbol holds can be believed.
CUresult check_info(const LoadedObject::Symbol& symbol, std::string& problem) {
    HostKernelInfo info;
    constexpr std::size_t fixed = offsetof(HostKernelInfo, params);
    problem = "a kernel's description is malformed";
    if (symbol.bytes < fixed ||
        reinterpret_cast<std::uintptr_t>(symbol.address) % alignof(HostKernelInfo) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    std::memcpy(&info, symbol.address, fixed);
    if (info.abi_version != host_abi_version) {
        problem = join("the object speaks version ", info.abi_version,
                       " of the kernel interface, quern speaks ", host_abi_version);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (info.param_count > (symbol.bytes - fixed) / sizeof(HostParam) ||
        info.args_bytes > largest_args_bytes || info.static_shared_bytes > shared_bytes_opt_in ||
        info.max_threads == 0)
        return CUDA_ERROR_INVALID_IMAGE;
    const auto* params = reinterpret_cast<const HostKernelInfo*>(symbol.address)->params;
    for (std::uint32_t i = 0; i < info.param_count; ++i)
        if (params[i].size_bytes > info.args_bytes ||
            params[i].offset_bytes > info.args_bytes - params[i].size_bytes)
            return CUDA_ERROR_INVALID_IMAGE;
    return CUDA_SUCCESS;
}

CUresult load(CUmodule* out, const void* start, std::string& problem) {
    const auto image = copy_image(start);
    if (!image) {
        problem = "not an object made by quern's host compiler";
        return CUDA_ERROR_INVALID_IMAGE;
    }
    LoadProblem refusal;
    std::shared_ptr<const LoadedObject> code = LoadedObject::load(*image, refusal);
    if (!code) {
        problem = refusal.text;
        return refusal.status;
    }
    for (const auto& [name, symbol] : code->symbols())
        if (name.starts_with(info_prefix))
            QUERN_CHECK(check_info(symbol, problem));
    Module* loaded = state().modules.make();
    loaded->code = std::move(code);
    for (const auto& [name, symbol] : loaded->code->symbols()) {
        const auto address = reinterpret_cast<std::uintptr_t>(symbol.address);
        if (symbol.is_function || symbol.bytes == 0 || name.starts_with("__quern_"))
            continue;
        if (state().memory.add(address, symbol.bytes, BlockKind::module_global, 0) == CUDA_SUCCESS)
            loaded->globals.push_back(address);
    }
    *out = reinterpret_cast<CUmodule>(loaded);
    return CUDA_SUCCESS;
}

void write_log(const std::string& text, unsigned count, const CUjit_option* options,
               void** values) {
    char* log = nullptr;
    std::size_t room = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            log = static_cast<char*>(values[i]);
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            room = reinterpret_cast<std::uintptr_t>(values[i]) & 0xffffffffu;
            values[i] = reinterpret_cast<void*>(std::min(room, text.size() + 1));
        }
    }
    if (log != nullptr && room != 0)
        log[text.copy(log, room - 1)] = '\0';
}

void destroy_module(Module& loaded) {
    for (const std::uintptr_t address : loaded.globals)
        state().memory.forget(address);
    for (const auto& [name, function] : loaded.functions)
        state().functions.destroy(function);
    state().modules.destroy(&loaded);
}

// The kernel's other tier, if it describes the same kernel.
void take_better(Function& function) {
    const auto& object = function.module->better;
    const auto* run = object->find(std::string(run_prefix) + function.name);
    const auto* described = object->find(std::string(info_prefix) + function.name);
    if (run == nullptr || described == nullptr || !run->is_function)
        return;
    const auto* info = reinterpret_cast<const HostKernelInfo*>(described->address);
    if (info->args_bytes != function.info->args_bytes ||
        info->static_shared_bytes != function.info->static_shared_bytes)
        return;
    function.tiers[1] = {reinterpret_cast<HostKernel>(run->address), object->can_trap(),
                         (info->flags & host_kernel_waits) != 0, object};
    function.code.store(&function.tiers[1], std::memory_order_release);
}

} // namespace

void call_when_hot(CUmodule handle, std::function<void()> call) {
    if (Module* loaded = state().modules.find(handle))
        loaded->on_hot = std::move(call);
}

bool replace_code(CUmodule handle, std::span<const std::byte> image) {
    const std::lock_guard lock(module_mutex());
    Module* loaded = state().modules.find(handle);
    if (loaded == nullptr || loaded->better)
        return false;
    LoadProblem problem;
    std::shared_ptr<const LoadedObject> code =
        LoadedObject::load(image, problem, loaded->code.get());
    if (!code)
        return false;
    for (const auto& [name, symbol] : code->symbols())
        if (name.starts_with(info_prefix) && check_info(symbol, problem.text) != CUDA_SUCCESS)
            return false;
    loaded->better = std::move(code);
    for (auto& [name, function] : loaded->functions)
        take_better(*function);
    return true;
}

void unload_all_modules() {
    const std::lock_guard lock(module_mutex());
    state().modules.for_each([](Module* loaded) { destroy_module(*loaded); });
}

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                            void** values) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        if (out == nullptr || image == nullptr || (count != 0 && (!options || !values)))
            return CUDA_ERROR_INVALID_VALUE;
        std::string problem;
        const CUresult status = load(out, image, problem);
        write_log(status == CUDA_SUCCESS ? std::string() : problem, count, options, values);
        return status;
    });
}

CUresult cuModuleLoadData(CUmodule* out, const void* image) {
    return host::cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}

CUresult cuModuleUnload(CUmodule handle) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        Module* loaded = state().modules.find(handle);
        if (loaded == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        QUERN_CHECK(state().streams.synchronize_all());
        const std::lock_guard lock(module_mutex());
        destroy_module(*loaded);
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        Module* loaded = state().modules.find(handle);
        if (loaded == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (out == nullptr || name == nullptr || *name == '\0')
            return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(module_mutex());
        Function*& function = loaded->functions[name];
        if (function == nullptr) {
            const auto* run = loaded->code->find(std::string(run_prefix) + name);
            const auto* info = loaded->code->find(std::string(info_prefix) + name);
            if (run == nullptr || info == nullptr || !run->is_function) {
                loaded->functions.erase(name);
                return CUDA_ERROR_NOT_FOUND;
            }
            function = state().functions.make();
            function->name = name;
            function->module = loaded;
            function->info = reinterpret_cast<const HostKernelInfo*>(info->address);
            function->tiers[0] = {reinterpret_cast<HostKernel>(run->address),
                                  loaded->code->can_trap(),
                                  (function->info->flags & host_kernel_waits) != 0, loaded->code};
            function->code = function->tiers.data();
            if (loaded->better)
                take_better(*function);
            const std::uint32_t fixed = function->info->static_shared_bytes;
            function->dynamic_shared_limit =
                fixed < shared_bytes_default ? shared_bytes_default - fixed : 0;
        }
        *out = reinterpret_cast<CUfunction>(function);
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule handle,
                           const char* name) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const Module* loaded = state().modules.find(handle);
        if (loaded == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (name == nullptr || *name == '\0')
            return CUDA_ERROR_INVALID_VALUE;
        const auto* symbol = loaded->code->find(name);
        if (symbol == nullptr || symbol->is_function)
            return CUDA_ERROR_NOT_FOUND;
        if (address != nullptr)
            *address = reinterpret_cast<CUdeviceptr>(symbol->address);
        if (bytes != nullptr)
            *bytes = symbol->bytes;
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
    const Function* function = state().functions.find(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (value == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = static_cast<int>(function->info->max_threads);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = static_cast<int>(function->info->static_shared_bytes);
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = static_cast<int>(function->dynamic_shared_limit.load());
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = function->carveout.load();
        break;
    default:
        if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0; // registers, local and constant bytes, versions: a CPU has none to report
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    QUERN_CHECK(check_context());
    Function* function = state().functions.find(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    }
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    if (value < 0 || static_cast<std::uint32_t>(value) + function->info->static_shared_bytes >
                         shared_bytes_opt_in)
        return CUDA_ERROR_INVALID_VALUE;
    function->dynamic_shared_limit = static_cast<std::uint32_t>(value);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
    return state().functions.find(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

} // namespace quern::host
