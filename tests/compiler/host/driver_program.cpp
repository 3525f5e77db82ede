// See driver_program.h.
#include "driver_program.h"
#include <gtest/gtest.h>
#include <stdexcept>

namespace quern::test {
namespace {

void expect(CUresult status, const char* what) {
    if (status != CUDA_SUCCESS)
        throw std::runtime_error(std::string(what) + ": status " + std::to_string(status));
}

} // namespace

DriverProgram::DriverProgram(const Source& source) {
    const auto compiled = compile(source);
    if (compiled.status != QUERN_CC_OK)
        throw std::runtime_error("status " + std::to_string(compiled.status) + "\n" + compiled.log);
    expect(api_.cuDevicePrimaryCtxRetain(&context_, 0), "cuDevicePrimaryCtxRetain");
    expect(api_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    expect(api_.cuModuleLoadData(&module_, compiled.object.data()), "cuModuleLoadData");
}

DriverProgram::~DriverProgram() {
    (void)api_.cuModuleUnload(module_);
    (void)api_.cuCtxSetCurrent(nullptr);
    (void)api_.cuDevicePrimaryCtxRelease(0);
}

void* DriverProgram::variable(const std::string& name) const {
    CUdeviceptr address = 0;
    expect(api_.cuModuleGetGlobal(&address, nullptr, module_, name.c_str()), "cuModuleGetGlobal");
    return reinterpret_cast<void*>(address);
}

CUresult DriverProgram::run(const std::string& kernel, const Launch& how, void** params) const {
    CUfunction function = nullptr;
    expect(api_.cuCtxSetCurrent(context_), "cuCtxSetCurrent"); // another program may have gone
    expect(api_.cuModuleGetFunction(&function, module_, kernel.c_str()), "cuModuleGetFunction");
    if (how.shared_bytes > 48 * 1024)
        expect(api_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(how.shared_bytes)),
               "cuFuncSetAttribute");
    const auto& [gx, gy, gz] = how.grid;
    const auto& [bx, by, bz] = how.block;
    const CUresult status = how.cooperative
                                ? api_.cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz,
                                                                 how.shared_bytes, nullptr, params)
                                : api_.cuLaunchKernel(function, gx, gy, gz, bx, by, bz,
                                                      how.shared_bytes, nullptr, params, nullptr);
    return status != CUDA_SUCCESS ? status : api_.cuCtxSynchronize();
}

} // namespace quern::test
