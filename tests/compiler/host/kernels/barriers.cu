// cuda::barrier and cuda::pipeline: threads that arrive now and wait later, producers and consumers.
#ifdef __CUDACC_RTC__
#pragma nv_diag_suppress static_var_with_dynamic_init
#endif
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// Everybody reads what a distant neighbour wrote before it arrived; thread t leaves after rounds[t] rounds.
extern "C" __global__ void arrive_and_wait(const int* x, const int* rounds, int* out) {
    __shared__ block_barrier bar;
    __shared__ int kept[2][256];
    const auto block = cg::this_thread_block();
    const int t = block.thread_rank(), n = block.size();
    if (t == 0) init(&bar, n);
    kept[0][t] = kept[1][t] = 0;
    block.sync();
    int value = x[t];
    for (int round = 0; round < rounds[t]; ++round) {
        kept[round & 1][t] = value;
        auto token = bar.arrive();
        int local = 0;
        for (int i = 0; i < t % 7; ++i) local += round;
        bar.wait(static_cast<block_barrier::arrival_token&&>(token));
        value = (value + local + kept[round & 1][(t + 1) % n]) & 0xffff;
        bar.arrive_and_wait();
        if (round + 1 == rounds[t]) {
            kept[0][t] = kept[1][t] = 0;
            bar.arrive_and_drop();
        } else {
            bar.arrive_and_wait();
        }
    }
    out[t] = value;
}

// The first warp fills two buffers in turn, the other warps empty them.
extern "C" __global__ void two_buffers(const int* x, int* out, int chunks) {
    __shared__ block_barrier ready[2], filled[2];
    __shared__ int buffer[2][64];
    const auto block = cg::this_thread_block();
    const int t = block.thread_rank();
    if (t < 4) init(t < 2 ? &ready[t] : &filled[t - 2], block.size());
    block.sync();
    if (t < 32) {
        for (int chunk = 0; chunk < chunks; ++chunk) {
            ready[chunk % 2].arrive_and_wait();
            for (int i = t; i < 64; i += 32) buffer[chunk % 2][i] = x[chunk * 64 + i] * 3;
            (void)filled[chunk % 2].arrive();
        }
    } else {
        (void)ready[0].arrive();
        (void)ready[1].arrive();
        int sum = 0;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            filled[chunk % 2].arrive_and_wait();
            for (int i = 0; i < 64; ++i) sum += buffer[chunk % 2][(i + t) % 64] * (i + 1);
            (void)ready[chunk % 2].arrive();
        }
        out[t - 32] = sum;
    }
}

// A block's threads fetch chunk after chunk, three of them on their way at a time.
extern "C" __global__ void staged(const int* x, int* out, int chunks) {
    constexpr int stages = 3;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ int buffer[stages][64];
    const auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    const int t = block.thread_rank();
    int sum = 0;
    for (int chunk = 0, fetched = 0; chunk < chunks; ++chunk) {
        for (; fetched < chunks && fetched < chunk + stages; ++fetched) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[fetched % stages], x + fetched * 64, sizeof(int) * 64, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        for (int i = 0; i < 64; ++i) sum = sum * 3 + buffer[chunk % stages][(i + t) % 64];
        pipe.consumer_release();
    }
    out[t] = sum;
}

// Half of the warps fetch, the others add up.
extern "C" __global__ void roles(const int* x, int* out, int chunks, int by_count) {
    constexpr int stages = 2;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ int buffer[stages][64];
    const auto block = cg::this_thread_block();
    const int t = block.thread_rank(), producers = block.size() / 2;
    const auto role = t < producers ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = by_count ? cuda::make_pipeline(block, &state, producers) : cuda::make_pipeline(block, &state, role);
    if (t < producers) {
        for (int chunk = 0; chunk < chunks; ++chunk) {
            pipe.producer_acquire();
            for (int i = t; i < 64; i += producers)
                cuda::memcpy_async(&buffer[chunk % stages][i], &x[chunk * 64 + i], cuda::aligned_size_t<4>(4), pipe);
            pipe.producer_commit();
        }
    } else {
        int sum = 0;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            pipe.consumer_wait();
            for (int i = 0; i < 64; ++i) sum = sum * 3 + buffer[chunk % stages][(i + t) % 64];
            pipe.consumer_release();
        }
        out[t - producers] = sum;
    }
}

// Copies bound to a barrier, to a thread's own pipeline, and to nothing.
extern "C" __global__ void copies(const int* x, int* out) {
    __shared__ block_barrier bar;
    alignas(16) __shared__ int kept[4][64];
    const auto block = cg::this_thread_block();
    const int t = block.thread_rank();
    if (t == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, kept[0], x, cuda::aligned_size_t<16>(sizeof(int) * 64), bar);
    cuda::memcpy_async(&kept[1][t], &x[t], sizeof(int), bar);
    bar.arrive_and_wait();
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&kept[2][t], &x[t], sizeof(int), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    __pipeline_memcpy_async(&kept[3][t], &x[t], 4, t % 2 ? 4 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    block.sync();
    for (int i = 0; i < 4; ++i) out[64 * i + t] = kept[i][63 - t];
}

// A barrier of the whole device.
extern "C" __global__ void begin_device(cuda::barrier<cuda::thread_scope_device>* bar, int count) { init(bar, count); }
extern "C" __global__ void across_blocks(cuda::barrier<cuda::thread_scope_device>* bar, int* of_block, int* out) {
    const auto block = cg::this_thread_block();
    for (int round = 0; round < 4; ++round) {
        if (block.thread_rank() == 0) {
            of_block[blockIdx.x] = blockIdx.x * 10 + round;
            bar->arrive_and_wait();
        }
        block.sync();
        if (block.thread_rank() < gridDim.x) atomicAdd(&out[blockIdx.x], of_block[block.thread_rank()]);
        block.sync();
        if (block.thread_rank() == 0) bar->arrive_and_wait();
    }
}
