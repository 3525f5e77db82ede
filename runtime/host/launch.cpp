// cuLaunchKernel: check as CUDA does, pack the arguments, run. A small launch runs on the calling
// thread; a launch that turns out to be long is shared with the team.
#include "runtime/host/fibers.h"
#include "runtime/host/hooks.h"
#include "runtime/host/later.h"
#include "runtime/host/output.h"
#include "runtime/host/state.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <immintrin.h>

namespace quern::host {
namespace {

constexpr std::uint64_t long_ticks =
    40000; // of the time-stamp counter: about 15 us, what sharing a loop costs
constexpr std::uint64_t hot_ticks = 20'000'000; // about 8 ms in fibers: worth a better tier
constexpr std::uint64_t chunk_ticks = 10000;    // a chunk of blocks should not be shorter
constexpr std::size_t small_args_bytes = 1024;

// What an H200 keeps in flight at once, for grids that wait for themselves.
constexpr std::uint64_t gpu_multiprocessors = 132, gpu_threads = 2048;

// This thread's shared memory, aligned as far as anyone asks; kept for the next launch. As much as
// a block may have, touched or not: programs know it by its addresses (compiler/host/spaces.cpp).
struct Arena {
    std::byte* bytes = nullptr;
    std::size_t size = 0;
    ~Arena() { std::free(bytes); }

    std::byte* reserve(std::size_t wanted) {
        if (wanted > size) {
            std::free(bytes);
            size = (wanted + 4095) / 4096 * 4096;
            bytes = static_cast<std::byte*>(std::aligned_alloc(4096, size));
            if (bytes == nullptr)
                size = 0;
        }
        return bytes;
    }
};
thread_local Arena arena;

struct Launch {
    const Function* function;
    const KernelCode* code; // when it was asked for
    HostLaunch shape;
    std::uint32_t shared_bytes; // static and dynamic
    std::uint64_t blocks;
};

// False when the range did not end as it should; the streams know why.
bool run_range(const Launch& launch, const KernelCode& code, const void* args, std::uint64_t first,
               std::uint64_t last) noexcept {
    std::byte* shared = arena.reserve(std::max(launch.shared_bytes, shared_bytes_opt_in));
    if (shared == nullptr) {
        state().streams.set_failure(CUDA_ERROR_OUT_OF_MEMORY);
        return false;
    }
    if (!code.can_trap) {
        code.run(&launch.shape, args, first, last, shared);
        return true;
    }
    TrapTarget target;
    target.outer = trap_target;
    trap_target = &target;
    const int status = setjmp(target.place);
    if (status == 0)
        code.run(&launch.shape, args, first, last, shared);
    else
        state().streams.set_failure(static_cast<CUresult>(status));
    trap_target = target.outer;
    flush_output();
    return status == 0;
}

// The fibers' time counts until somebody wants to know that it is much.
void count_waiting(Module& loaded, std::uint64_t ticks) noexcept {
    const std::uint64_t before = loaded.waited_ticks.fetch_add(ticks, std::memory_order_relaxed);
    if (before < hot_ticks && before + ticks >= hot_ticks && loaded.on_hot)
        loaded.on_hot();
}

// Kernels whose threads wait: blocks that wait for other blocks lie parked until all have had a
// turn.
void run_waiting_blocks(const Launch& launch, const void* args) noexcept {
    ParkedBlocks parked;
    std::atomic<bool> failed{false};
    auto run = [&](std::uint64_t first, std::uint64_t last) {
        ParkedBlocks* const outer = std::exchange(parked_blocks, &parked);
        while (first < last && !failed.load(std::memory_order_relaxed)) {
            const KernelCode& code = *launch.function->code.load(std::memory_order_acquire);
            const std::uint64_t next = code.waits ? first + 1 : last, start = __rdtsc();
            if (!run_range(launch, code, args, first, next))
                failed.store(true, std::memory_order_relaxed);
            if (code.waits)
                count_waiting(*launch.function->module, __rdtsc() - start);
            first = next;
        }
        parked_blocks = outer;
    };
    state().team.run_in_order(0, launch.blocks, 1, run);
    for (;;) {
        if (failed.load())
            return;
        const auto round = parked.next_round();
        if (round.empty())
            return;
        state().team.run_in_order(0, round.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t i = first; i < last; ++i)
                run(round[i], round[i] + 1);
        });
    }
}

// As many blocks as the last time, when they were worth the team, go to it at once: few and long
// ones would wait for the first. Else ever longer stretches of blocks run here, until the rest is
// known to be worth it.
void run_blocks(const Launch& launch, const void* args) noexcept {
    if (launch.code->waits)
        return run_waiting_blocks(launch, args);
    ThreadTeam& team = state().team;
    if (launch.blocks == 1 || team.threads() == 1)
        return (void)run_range(launch, *launch.code, args, 0, launch.blocks);
    const Function& function = *launch.function;
    const auto timed = [&](std::uint64_t first, std::uint64_t last) { // ticks of a block
        const std::uint64_t start = __rdtsc();
        run_range(launch, *launch.code, args, first, last);
        return (__rdtsc() - start) / (last - first) + 1;
    };
    const auto share = [&](std::uint64_t done, std::uint64_t ticks) {
        const auto part = (launch.blocks - done) / (static_cast<std::uint64_t>(team.threads()) * 8);
        const auto chunk = std::max({part, chunk_ticks / ticks, std::uint64_t{1}});
        function.shared_blocks.store(launch.blocks, std::memory_order_relaxed);
        team.run(done, launch.blocks, chunk, [&](std::uint64_t from, std::uint64_t to) {
            function.block_ticks.store(timed(from, to), std::memory_order_relaxed);
        });
    };
    if (function.shared_blocks.load(std::memory_order_relaxed) == launch.blocks) {
        const auto ticks = function.block_ticks.load(std::memory_order_relaxed);
        if (ticks * launch.blocks >= long_ticks)
            return share(0, ticks);
    }
    std::uint64_t done = 0;
    for (std::uint64_t step = 1; done < launch.blocks; step *= 2) {
        const std::uint64_t last = std::min(done + step, launch.blocks), ticks = timed(done, last);
        done = last;
        if (done < launch.blocks && ticks * (launch.blocks - done) >= long_ticks) {
            function.block_ticks.store(ticks, std::memory_order_relaxed);
            return share(done, ticks);
        }
    }
}

CUresult check_shape(const Function& function, const HostLaunch& shape) {
    const auto [gx, gy, gz] = shape.grid;
    const auto [bx, by, bz] = shape.block;
    if (gx - 1u >= 0x7fffffffu || gy - 1u >= 65535u || gz - 1u >= 65535u)
        return CUDA_ERROR_INVALID_VALUE;
    if (bx - 1u >= 1024u || by - 1u >= 1024u || bz - 1u >= 64u || bx * by * bz > 1024u)
        return CUDA_ERROR_INVALID_VALUE;
    if (bx * by * bz > function.info->max_threads)
        return CUDA_ERROR_INVALID_VALUE;
    if (shape.shared_bytes > function.dynamic_shared_limit.load(std::memory_order_relaxed))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult pack_params(const HostKernelInfo& info, void** params, std::byte* args) {
    for (std::uint32_t i = 0; i < info.param_count; ++i) {
        if (params[i] == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        std::byte* to = args + info.params[i].offset_bytes;
        switch (const std::uint32_t bytes =
                    info.params[i].size_bytes) { // the usual sizes without a call
        case 8:
            std::memcpy(to, params[i], 8);
            break;
        case 4:
            std::memcpy(to, params[i], 4);
            break;
        default:
            std::memcpy(to, params[i], bytes);
        }
    }
    return CUDA_SUCCESS;
}

CUresult pack_extra(const HostKernelInfo& info, void** extra, std::byte* args) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *static_cast<const std::size_t*>(extra[1]);
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (info.args_bytes == 0)
        return CUDA_SUCCESS;
    std::size_t needed = 0; // trailing padding may be missing
    for (std::uint32_t i = 0; i < info.param_count; ++i)
        needed =
            std::max<std::size_t>(needed, info.params[i].offset_bytes + info.params[i].size_bytes);
    if (buffer == nullptr || bytes < needed)
        return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(args, buffer, std::min<std::size_t>(bytes, info.args_bytes));
    return CUDA_SUCCESS;
}

Launch ready_for(const Function& function, const HostLaunch& shape) {
    return {&function, function.code.load(std::memory_order_acquire), shape,
            function.info->static_shared_bytes + shape.shared_bytes,
            std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]};
}

CUresult launch(const Function& function, const HostLaunch& shape, Stream& stream, void** params,
                void** extra, std::byte* args) {
    const HostKernelInfo& info = *function.info;
    if (params != nullptr && extra != nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra != nullptr) {
        QUERN_CHECK(pack_extra(info, extra, args));
    } else if (params != nullptr) {
        QUERN_CHECK(pack_params(info, params, args));
    } else if (info.param_count != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Launch ready = ready_for(function, shape);
    return state().streams.submit(
        stream, CU_GRAPH_NODE_TYPE_KERNEL, [&] { run_blocks(ready, args); },
        [&](bool) -> Work {
            struct Packed {
                alignas(64) std::byte bytes[64];
            };
            auto kept = std::make_shared<std::vector<Packed>>((info.args_bytes + 63) / 64);
            if (info.args_bytes != 0)
                std::memcpy(kept->data(), args, info.args_bytes);
            return [ready, kept, object = ready.code->object] { run_blocks(ready, kept->data()); };
        });
}

// With room for the packed arguments.
template <class Body> CUresult with_room(const Function& function, Body&& body) {
    return guarded([&]() -> CUresult {
        if (function.info->args_bytes <= small_args_bytes) [[likely]] {
            alignas(64) std::byte args[small_args_bytes];
            return body(args);
        }
        struct alignas(64) Line {
            std::byte bytes[64];
        };
        std::vector<Line> args((function.info->args_bytes + 63) / 64);
        return body(args.data()->bytes);
    });
}

CUresult launch_as(const HostLaunch& shape, CUfunction handle, CUstream stream_handle,
                   void** params, void** extra) {
    QUERN_CHECK(check_context());
    const Function* function = state().functions.find(handle);
    Stream* stream = state().streams.find(stream_handle);
    if (function == nullptr || stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    QUERN_CHECK(check_shape(*function, shape));
    return with_room(*function, [&](std::byte* args) {
        return launch(*function, shape, *stream, params, extra, args);
    });
}

} // namespace

void run_kernel(CUfunction handle, unsigned grid, unsigned block, unsigned shared_bytes,
                void** params) {
    const HostLaunch shape{{grid, 1, 1}, {block, 1, 1}, shared_bytes, 0};
    const Function* function = state().functions.find(handle);
    CUresult status =
        function == nullptr ? CUDA_ERROR_INVALID_HANDLE : check_shape(*function, shape);
    if (status == CUDA_SUCCESS)
        status = with_room(*function, [&](std::byte* args) {
            QUERN_CHECK(pack_params(*function->info, params, args));
            run_blocks(ready_for(*function, shape), args);
            return CUDA_SUCCESS;
        });
    if (status != CUDA_SUCCESS)
        tell_failure(status);
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                        void** params, void** extra) {
    return launch_as({{gx, gy, gz}, {bx, by, bz}, shared_bytes, 0}, handle, stream, params, extra);
}

// Kernels of a stream run one after the other here, whatever may overlap.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction handle, void** params,
                          void** extra) {
    if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < config->numAttrs; ++k)
        if (config->attrs[k].id != CU_LAUNCH_ATTRIBUTE_IGNORE &&
            config->attrs[k].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return CUDA_ERROR_NOT_SUPPORTED;
    return launch_as({{config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                      config->sharedMemBytes,
                      0},
                     handle, config->hStream, params, extra);
}

// A grid that waits for itself must fit on the device at once: here as on an H200.
CUresult cuLaunchCooperativeKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
                                   CUstream stream, void** params) {
    const std::uint64_t threads = std::max<std::uint64_t>(1, std::uint64_t{bx} * by * bz);
    const std::uint64_t together =
        gpu_multiprocessors * std::clamp<std::uint64_t>(gpu_threads / threads, 1, 32);
    if (std::uint64_t{gx} * gy * gz > together)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return launch_as({{gx, gy, gz}, {bx, by, bz}, shared_bytes, 1}, handle, stream, params,
                     nullptr);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads,
                                                     std::size_t shared) {
    QUERN_CHECK(check_context());
    const Function* function = state().functions.find(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (blocks == nullptr || threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    const bool fits = threads <= static_cast<int>(function->info->max_threads) &&
                      shared <= function->dynamic_shared_limit.load(std::memory_order_relaxed);
    *blocks = fits ? 1 : 0; // a worker runs one block at a time
    return CUDA_SUCCESS;
}

// Blocks of a cluster would have to wait for each other.
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle,
                                      const CUlaunchConfig* config) {
    QUERN_CHECK(check_context());
    if (state().functions.find(handle) == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    return clusters == nullptr || config == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                    : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* threads, CUfunction handle,
                                          CUoccupancyB2DSize, std::size_t, int limit) {
    QUERN_CHECK(check_context());
    const Function* function = state().functions.find(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (grid == nullptr || threads == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *threads = static_cast<int>(std::min(function->info->max_threads, 1024u));
    if (limit > 0)
        *threads = std::min(*threads, limit);
    *grid = state().team.threads();
    return CUDA_SUCCESS;
}

} // namespace quern::host
