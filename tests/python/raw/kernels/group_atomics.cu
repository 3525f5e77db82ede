// Groups that add what they found to a cuda::atomic_ref.
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <class T> using on_device = cuda::atomic_ref<T, cuda::thread_scope_device>;

// Sum, least, and the exclusive or of all; the sum once more in floating point.
extern "C" __global__ void totals(const int* x, int* sum, int* least, unsigned* odd, float* real, int n) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool in = i < n;
    cg::reduce_update_async(warp, on_device<int>(*sum), in ? x[i] : 0, cg::plus<int>());
    cg::reduce_update_async(warp, on_device<int>(*least), in ? x[i] : 0, cg::less<int>());
    cg::reduce_update_async(warp, on_device<unsigned>(*odd), in ? (unsigned)x[i] : 0u, cg::bit_xor<unsigned>());
    cg::reduce_update_async(warp, on_device<float>(*real), in ? (float)x[i] : 0.0f, cg::plus<float>());
}

// Every thread gets as many places of its own as it asks for: x[i] of them from place[i] on.
extern "C" __global__ void places(const int* x, int* place, int* next) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    place[i] = cg::exclusive_scan_update(tile, on_device<int>(*next), x[i], cg::plus<int>());
}

extern "C" __global__ void last_places(const int* x, int* place, int* next) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    place[i] = cg::inclusive_scan_update(tile, on_device<int>(*next), x[i]);
}

extern "C" __global__ void store_least(const int* x, int* least) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    cg::reduce_store_async(tile, on_device<int>(least[i / 8]), x[i], cg::less<int>());
}
