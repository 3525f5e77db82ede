// Which library serves a device.
#include "runtime/blas/gemm.h"

#include "runtime/blas/providers.h"

namespace quern {

bool has_gemm(const Device& device, DType dtype) {
    return device.is_cpu() ? cblas::has(dtype) : cublas::has(dtype);
}

void gemm(Device& device, CUstream stream, const Gemm& product) {
    device.make_current(); // what was kept back runs first
    (device.is_cpu() ? cblas::gemm : cublas::gemm)(device, stream, product);
}

std::string gemm_library(const Device& device) {
    return device.is_cpu() ? cblas::path() : cublas::path();
}

} // namespace quern
