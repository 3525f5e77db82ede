// A kernel's parameters: widths from the driver, types from the object (CPU), the symbol or the
// text (GPU).
#include "runtime/kernel/cubin_params.h"
#include "runtime/kernel/raw_arguments.h"

#include <algorithm>

namespace quern {
namespace {

constexpr std::size_t most_params = 32768; // CUDA's parameters hold fewer bytes

std::uint32_t declared_bytes(const CType& type) { return type.pointer ? 8 : type.bytes; }

// An older driver answers only whether there is one more, and a refusal is an error to whoever
// watches its calls: the cubin is asked first.
std::size_t count_params(const LoadedProgram& loaded, const RawFunction& function) {
    const DriverApi& api = function.device->api();
    std::size_t count = 0;
    if (api.cuFuncGetParamCount != nullptr &&
        api.cuFuncGetParamCount(function.handle, &count) == CUDA_SUCCESS)
        return std::min(count, most_params);
    return std::min(
        count_cubin_params(loaded.compiled.binary.image, function.symbol).value_or(most_params),
        most_params);
}

std::vector<std::uint32_t> driver_bytes(const LoadedProgram& loaded, const RawFunction& function) {
    const DriverApi& api = function.device->api();
    std::vector<std::uint32_t> list;
    if (api.cuFuncGetParamInfo == nullptr)
        return list;
    const std::size_t count = count_params(loaded, function);
    for (std::size_t offset = 0, bytes = 0;
         list.size() < count &&
         api.cuFuncGetParamInfo(function.handle, list.size(), &offset, &bytes) == CUDA_SUCCESS;)
        list.push_back(static_cast<std::uint32_t>(bytes));
    return list;
}

std::vector<DeclaredParam> find_declared_params(const LoadedProgram& loaded,
                                                const RawFunction& function,
                                                const RawSource& source) {
    if (!loaded.device->is_cpu())
        return declared_params(source, function.symbol);
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const std::string name = "__quern_params_" + function.symbol;
    if (loaded.device->api().cuModuleGetGlobal(&address, &bytes, loaded.module.get(),
                                               name.c_str()) != CUDA_SUCCESS)
        return {};
    return read_described({reinterpret_cast<const char*>(address), bytes});
}

} // namespace

std::vector<RawParam> find_params(const LoadedProgram& loaded, const RawFunction& function,
                                  const RawSource& source) {
    std::vector<DeclaredParam> declared = find_declared_params(loaded, function, source);
    std::vector<std::uint32_t> bytes = driver_bytes(loaded, function);
    if (loaded.device->api().cuFuncGetParamInfo == nullptr) { // an old driver: the text alone
        for (const DeclaredParam& param : declared)
            bytes.push_back(declared_bytes(param.c_type));
        if (std::ranges::find(bytes, 0u) != bytes.end())
            return {};
    }
    if (declared.size() != bytes.size())
        declared.assign(bytes.size(), {});
    std::vector<RawParam> params;
    for (std::size_t k = 0; k < bytes.size(); ++k) {
        RawParam param;
        param.bytes = bytes[k];
        param.declared = std::move(declared[k]);
        CType& type = param.declared.c_type;
        if (const std::uint32_t told = declared_bytes(type); told != 0 && told != param.bytes)
            type = {}; // another type of that name: only the width is sure
        for (const DTypeRow& row : dtype_table)
            if (param.bytes == sizeof(CUdeviceptr) && (!type.pointer || points_at(type, row.id)))
                param.accepts |= static_cast<std::uint16_t>(1u << static_cast<unsigned>(row.id));
        const bool may_hold_address = type.pointer || type.kind == CType::Kind::unknown ||
                                      type.kind == CType::Kind::signed_integer ||
                                      type.kind == CType::Kind::unsigned_integer;
        if (!may_hold_address)
            param.accepts = 0;
        params.push_back(std::move(param));
    }
    return params;
}

} // namespace quern
