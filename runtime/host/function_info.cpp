// What a module and its kernels tell about themselves: names and parameters.
#include "runtime/host/state.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace quern::host {
namespace {

constexpr std::string_view info_prefix = "__quern_info_";

std::vector<std::string> kernel_names(const Module& loaded) {
    std::vector<std::string> names;
    for (const auto& [name, symbol] : loaded.code->symbols())
        if (name.starts_with(info_prefix))
            names.push_back(name.substr(info_prefix.size()));
    std::ranges::sort(names);
    return names;
}

} // namespace

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const Module* loaded = state().modules.find(handle);
        if (loaded == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (count == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *count = static_cast<unsigned>(kernel_names(*loaded).size());
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const Module* loaded = state().modules.find(handle);
        if (loaded == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (functions == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        const std::vector<std::string> names = kernel_names(*loaded);
        for (std::size_t k = 0; k < std::min<std::size_t>(count, names.size()); ++k)
            QUERN_CHECK(host::cuModuleGetFunction(&functions[k], handle, names[k].c_str()));
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
    const Function* function = state().functions.find(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *name = function->name.c_str();
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamCount(CUfunction handle, std::size_t* count) {
    const Function* function = state().functions.find(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *count = function->info->param_count;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
    const Function* function = state().functions.find(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (offset == nullptr || index >= function->info->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    const HostParam& param = function->info->params[index];
    *offset = param.offset_bytes;
    if (bytes != nullptr)
        *bytes = param.size_bytes;
    return CUDA_SUCCESS;
}

} // namespace quern::host
