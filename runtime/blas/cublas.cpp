// cuBLAS on GPUs, loaded on the first product: one handle a device, its calls one after the other.
#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/base/text.h"
#include "runtime/blas/providers.h"

#include <array>
#include <mutex>
#include <optional>

namespace quern::cublas {
namespace {

// What cublas_api.h and library_types.h say; they may be absent where this is built.
constexpr int op_n = 0, op_t = 1, compute_32f = 68, compute_64f = 70, default_algorithm = -1;
using Handle = void*;

struct Api {
    int (*create)(Handle*) = nullptr;
    int (*set_stream)(Handle, CUstream) = nullptr;
    int (*gemm)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const void*,
                const void*, int, std::int64_t, long long, const void*, int, std::int64_t,
                long long, const void*, void*, int, std::int64_t, long long, std::int64_t, int,
                int) = nullptr;
    const char* (*status_name)(int) = nullptr;
    std::string path;
};

const Api* find_api() {
    static const Api* const found = []() -> const Api* {
        const Library library = load_library("cublas");
        if (!library)
            return nullptr;
        auto* api = new Api;
        const auto bind = [&](auto& entry, const char* name) {
            entry =
                reinterpret_cast<std::remove_reference_t<decltype(entry)>>(library.symbol(name));
            return entry != nullptr;
        };
        api->path = library.path();
        const bool complete = bind(api->create, "cublasCreate_v2") &&
                              bind(api->set_stream, "cublasSetStream_v2") &&
                              bind(api->gemm, "cublasGemmStridedBatchedEx_64") &&
                              bind(api->status_name, "cublasGetStatusName");
        return complete ? api : nullptr;
    }();
    return found;
}

// One and zero as the compute type's scale: two numbers, so that complex ones can read them too.
struct Types {
    int data, compute;
    bool double_scale;
};
std::optional<Types> types_of(DType dtype) {
    switch (dtype) {
    case DType::float16:
        return Types{2, compute_32f, false};
    case DType::bfloat16:
        return Types{14, compute_32f, false};
    case DType::float32:
        return Types{0, compute_32f, false};
    case DType::complex64:
        return Types{4, compute_32f, false};
    case DType::float64:
        return Types{1, compute_64f, true};
    case DType::complex128:
        return Types{5, compute_64f, true};
    default:
        return std::nullopt;
    }
}

void check(const Api& api, int status, std::string_view deed) {
    if (status != 0)
        throw DriverError(join("cuBLAS could not ", deed, ": ", api.status_name(status)), status,
                          api.status_name(status));
}

struct DeviceHandle {
    std::mutex mutex;
    Handle handle = nullptr;
};
DeviceHandle& handle_of(const Device& device) {
    static auto* const handles = new std::array<DeviceHandle, max_devices>;
    return (*handles)[static_cast<std::size_t>(device.index())];
}

} // namespace

bool has(DType dtype) { return types_of(dtype).has_value() && find_api() != nullptr; }

const std::string& path() {
    static const std::string none;
    const Api* api = find_api();
    return api == nullptr ? none : api->path;
}

// cuBLAS reads matrices by columns, where ours by rows are their transposes: c' = b' @ a'.
void gemm(Device& device, CUstream stream, const Gemm& product) {
    const Api& api = *find_api();
    const Types types = *types_of(product.dtype);
    static constexpr double one[2] = {1, 0}, zero[2] = {0, 0};
    static constexpr float one_float[2] = {1, 0}, zero_float[2] = {0, 0};
    const void* alpha = types.double_scale ? static_cast<const void*>(one) : one_float;
    const void* beta = types.double_scale ? static_cast<const void*>(zero) : zero_float;
    const std::size_t item = bytes_of(product.dtype);

    device.make_current();
    DeviceHandle& own = handle_of(device);
    const std::lock_guard lock(own.mutex);
    if (own.handle == nullptr)
        check(api, api.create(&own.handle), "start");
    check(api, api.set_stream(own.handle, stream), "use the stream");

    GemmBatch inner; // in one call
    std::size_t outer = product.batch.size();
    if (outer != 0)
        inner = product.batch[--outer];
    for (GemmWalk walk(product.batch, outer); !walk.done(); walk.next()) {
        const auto at = [&](const GemmMatrix& matrix, std::int64_t offset) {
            return reinterpret_cast<void*>(matrix.address +
                                           static_cast<std::uint64_t>(offset) * item);
        };
        check(api,
              api.gemm(own.handle, product.b.transposed ? op_t : op_n,
                       product.a.transposed ? op_t : op_n, product.n, product.m, product.k, alpha,
                       at(product.b, walk.b()), types.data, product.b.pitch, inner.b,
                       at(product.a, walk.a()), types.data, product.a.pitch, inner.a, beta,
                       at(product.c, walk.c()), types.data, product.c.pitch, inner.c, inner.extent,
                       types.compute, default_algorithm),
              "multiply matrices");
    }
}

} // namespace quern::cublas
