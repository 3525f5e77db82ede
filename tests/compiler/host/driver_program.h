// A program compiled for the CPU and run by the host driver itself: what a kernel needs whose
// threads wait for each other.
#pragma once
#include "host_compiler.h"
#include "runtime/driver/api.h"
#include "runtime/host/host_driver.h"
#include <cuda.h>

namespace quern::test {

class DriverProgram {
  public:
    explicit DriverProgram(const Source& source);
    ~DriverProgram();
    DriverProgram(const DriverProgram&) = delete;
    DriverProgram& operator=(const DriverProgram&) = delete;

    struct Launch {
        Dim grid, block;
        std::uint32_t shared_bytes = 0;
        bool cooperative = false;
    };
    // The launch's status, or that of the synchronisation after it.
    template <class... Args>
    CUresult launch(const std::string& kernel, const Launch& how, const Args&... args) const {
        void* params[] = {const_cast<void*>(static_cast<const void*>(&args))..., nullptr};
        return run(kernel, how, params);
    }
    void* variable(const std::string& name) const;

  private:
    CUresult run(const std::string& kernel, const Launch& how, void** params) const;
    const DriverApi& api_ = host_driver().api;
    CUcontext context_ = nullptr;
    CUmodule module_ = nullptr;
};

} // namespace quern::test
