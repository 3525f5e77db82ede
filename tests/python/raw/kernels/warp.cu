// Algorithms at the level of a warp, as CUDA programs write them.
// Of the first `lanes` lanes; the others do not exist.
__device__ float warp_sum(float value, int lane, int lanes) {
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_down_sync(0xffffffff, value, offset);
        if (lane + offset < lanes) value += other;
    }
    return value;
}

// One sum a block, of blocks of any shape: warps first, then the first warp over the warps.
extern "C" __global__ void block_sums(const float* x, float* sums, int n) {
    __shared__ float of_warp[32];
    const int threads = blockDim.x * blockDim.y * blockDim.z;
    const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    float sum = 0;
    for (int i = blockIdx.x * threads + t; i < n; i += gridDim.x * threads) sum += x[i];
    sum = warp_sum(sum, t % 32, min(32, threads - t / 32 * 32));
    if (t % warpSize == 0) of_warp[t / warpSize] = sum;
    __syncthreads();
    if (t < 32) {
        const int warps = (threads + 31) / 32;
        sum = warp_sum(t < warps ? of_warp[t] : 0.0f, t, min(warps, threads));
        if (t == 0) sums[blockIdx.x] = sum;
    }
}

// Inclusive prefix sums of the rows of a matrix, a warp for each row.
template <class T> __global__ void row_scan(const T* x, T* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    T carry = 0;
    for (int first = 0; first < columns; first += 32) {
        const int column = first + lane;
        T value = column < columns ? x[row * columns + column] : T(0);
        for (unsigned step = 1; step < 32; step *= 2) {
            const T before = __shfl_up_sync(~0u, value, step);
            if (lane >= step) value += before;
        }
        if (column < columns) y[row * columns + column] = carry + value;
        carry += __shfl_sync(~0u, value, 31);
    }
}

// The elements above a limit, in their order within each warp; warps come in any order.
extern "C" __global__ void filter(const int* x, int* kept, int* count, int n, int limit) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    const bool keep = i < n && x[i] > limit;
    const unsigned votes = __ballot_sync(0xffffffffu, keep);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep) kept[base + __popc(votes & ((1u << lane) - 1))] = x[i];
}

// One atomic operation for all lanes that found the same bin.
extern "C" __global__ void histogram(const unsigned char* x, int* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned active = __activemask();
        const unsigned same = __match_any_sync(active, x[i]);
        if (__ffs(same) - 1 == (threadIdx.x & 31)) atomicAdd(&bins[x[i]], __popc(same));
    }
}

// Each row of 32 keys sorted by compare and exchange between lanes.
extern "C" __global__ void bitonic(float* x) {
    const int lane = threadIdx.x, i = (blockIdx.x * blockDim.y + threadIdx.y) * 32 + lane;
    float key = x[i];
    for (int size = 2; size <= 32; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, key, step);
            const bool up = (lane & size) == 0, low = (lane & step) == 0;
            key = up == low ? fminf(key, other) : fmaxf(key, other);
        }
    x[i] = key;
}

// Least value of each row and where it stands: both halves of a warp take a row.
extern "C" __global__ void row_argmin(const double* x, double* least, int* where, int rows, int columns) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x, row = t / 16, lane = t % 16;
    const unsigned half = 0xffffu << (threadIdx.x & 16);
    if (row >= rows) return;
    double best = __longlong_as_double(0x7ff0000000000000ll);
    int at = -1;
    for (int column = lane; column < columns; column += 16)
        if (const double value = x[row * columns + column]; value < best) best = value, at = column;
    for (int step = 8; step > 0; step /= 2) {
        const double other = __shfl_xor_sync(half, best, step, 16);
        const int other_at = __shfl_xor_sync(half, at, step, 16);
        if (other < best || (other == best && (unsigned)other_at < (unsigned)at)) best = other, at = other_at;
    }
    if (lane == 0) least[row] = best, where[row] = at;
}

// Per warp of 32 values: sum, least, greatest, and, or, exclusive or; then whether all or any is even.
extern "C" __global__ void facts(const int* x, int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = x[i];
    const int facts[8] = {__reduce_add_sync(~0u, value),
                          __reduce_min_sync(~0u, value),
                          __reduce_max_sync(~0u, value),
                          (int)__reduce_and_sync(~0u, (unsigned)value),
                          (int)__reduce_or_sync(~0u, (unsigned)value),
                          (int)__reduce_xor_sync(~0u, (unsigned)value),
                          __all_sync(~0u, value % 2 == 0),
                          __any_sync(~0u, value % 2 == 0)};
    if (i % 32 < 8) out[i / 32 * 8 + i % 32] = facts[i % 32];
}
