// All state of the host driver, in one object, and the declarations of its table functions.
#pragma once
#include "runtime/driver/api.h"
#include "runtime/host/machine.h"
#include "runtime/host/memory.h"
#include "runtime/host/module.h"
#include "runtime/host/streams.h"
#include "runtime/host/textures.h"
#include "runtime/host/thread_team.h"

#include <array>
#include <atomic>
#include <new>

namespace quern::host {

struct Context { // the primary one, the only one; its address is the handle
    std::atomic<int> references{0};
    std::array<std::atomic<std::size_t>, CU_LIMIT_MAX> limits{};
};

struct HostState {
    Context context;
    ThreadTeam team{usable_cpus()};
    Memory memory{usable_memory_bytes()};
    Streams streams;
    Slots<Module> modules;
    Slots<Function> functions;
    Slots<TexelArray> arrays;
    Slots<HostTexture> textures; // and surfaces
    Slots<Graph> graphs;
    Slots<std::shared_ptr<const Graph>> graph_execs;
};

inline HostState& state() {
    static auto* const once =
        new HostState; // outlives every static destructor: handles may close late
    return *once;
}

extern thread_local Context* current_context;

// What most functions ask first. Also refuses a context whose last holder let it go.
[[nodiscard]] inline CUresult check_context() noexcept {
    if (current_context == nullptr) [[unlikely]]
        return CUDA_ERROR_INVALID_CONTEXT;
    if (current_context->references.load(std::memory_order_relaxed) == 0) [[unlikely]]
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return CUDA_SUCCESS;
}

// Bodies of table functions may allocate: what they throw becomes a status.
template <class Body> CUresult guarded(Body&& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
        return CUDA_ERROR_UNKNOWN;
    }
}

void unload_all_modules();

#define QUERN_CU(fn) decltype(::fn) fn;
#include "runtime/driver/symbols.def"
#undef QUERN_CU

#define QUERN_CHECK(status)                                                                        \
    if (const CUresult quern_status = (status); quern_status != CUDA_SUCCESS) [[unlikely]]         \
    return quern_status

} // namespace quern::host
