// Matrix products by the BLAS of a device: cuBLAS on GPUs, the process's own CBLAS on the CPU. The
// one place that chooses a vendor's library by device.
#pragma once
#include "runtime/array/array.h"

#include <cstdint>
#include <vector>

namespace quern {

// A matrix in memory whose rows lie `pitch` elements apart; `transposed` says that memory holds its
// columns so.
struct GemmMatrix {
    std::uint64_t address = 0;
    std::int64_t pitch = 0;
    bool transposed = false;
};

// A further axis over which the product repeats; steps in elements, 0 where an operand stays.
struct GemmBatch {
    std::int64_t extent = 1, a = 0, b = 0, c = 0;
};

// c = a @ b: (m, n) = (m, k) @ (k, n). `c` lies by rows and is written over.
struct Gemm {
    DType dtype = DType::float32;
    std::int64_t m = 0, n = 0, k = 0;
    GemmMatrix a, b, c;
    std::vector<GemmBatch> batch; // the innermost last
};

// Whether the device has a library with products of this dtype. Loads it the first time.
[[nodiscard]] bool has_gemm(const Device& device, DType dtype);

// Enqueues the product; arrays must live until the stream has run it. float16 and bfloat16 are
// summed in float32. Throws DriverError where the library fails.
void gemm(Device& device, CUstream stream, const Gemm& product);

// The library that serves the device, for explain() and messages; "" where there is none.
[[nodiscard]] std::string gemm_library(const Device& device);

} // namespace quern
