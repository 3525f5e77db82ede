// Counting thunks around the entries of a driver's table.
#include "runtime/driver/call_counts.h"

#include <array>
#include <atomic>

namespace quern {
namespace {

enum class Deed : std::uint8_t { launch, copy, fill, wait };

// One of each provider: the CPU's and libcuda's.
struct Counted {
    bool started = false;
    DriverApi original;
    std::array<std::atomic<std::uint64_t>, 4> deeds{};
};
template <int Provider> Counted& counted() {
    static auto* const state = new Counted;
    return *state;
}

template <int Provider, auto Member, Deed deed, class... Args>
CUresult CUDAAPI count(Args... args) {
    Counted& state = counted<Provider>();
    state.deeds[static_cast<std::size_t>(deed)].fetch_add(1, std::memory_order_relaxed);
    return (state.original.*Member)(args...);
}

template <int Provider, auto Member, Deed deed, class... Args>
void replace(DriverApi& api, CUresult(CUDAAPI* entry)(Args...)) {
    if (entry != nullptr)
        api.*Member = &count<Provider, Member, deed, Args...>;
}

template <int Provider> void start(DriverApi& api) {
    Counted& state = counted<Provider>();
    state.started = true;
    state.original = api;
#define QUERN_COUNT(deed, fn) replace<Provider, &DriverApi::fn, Deed::deed>(api, api.fn);
    QUERN_COUNT(launch, cuLaunchKernel)
    QUERN_COUNT(launch, cuLaunchKernelEx)
    QUERN_COUNT(launch, cuLaunchCooperativeKernel)
    QUERN_COUNT(copy, cuMemcpyHtoD)
    QUERN_COUNT(copy, cuMemcpyHtoDAsync)
    QUERN_COUNT(copy, cuMemcpyDtoD)
    QUERN_COUNT(copy, cuMemcpyDtoDAsync)
    QUERN_COUNT(fill, cuMemsetD8Async)
    QUERN_COUNT(wait, cuMemcpyDtoH)
    QUERN_COUNT(wait, cuMemcpyDtoHAsync)
    QUERN_COUNT(wait, cuStreamSynchronize)
    QUERN_COUNT(wait, cuEventSynchronize)
    QUERN_COUNT(wait, cuCtxSynchronize)
#undef QUERN_COUNT
}

template <int Provider> CallCounts counts(DriverApi& api) {
    Counted& state = counted<Provider>();
    if (!state.started)
        start<Provider>(api);
    const auto of = [&](Deed deed) { return state.deeds[static_cast<std::size_t>(deed)].load(); };
    return {of(Deed::launch), of(Deed::copy), of(Deed::fill), of(Deed::wait)};
}

} // namespace

CallCounts call_counts(const DriverApi& api, bool on_cpu) {
    // Providers make their tables once, as plain objects, and hand them out as const.
    auto& own = const_cast<DriverApi&>(api);
    return on_cpu ? counts<0>(own) : counts<1>(own);
}

bool calls_are_counted() noexcept { return counted<0>().started; }

void forget_launch() noexcept {
    Counted& state = counted<1>();
    if (state.started)
        state.deeds[static_cast<std::size_t>(Deed::launch)].fetch_sub(1, std::memory_order_relaxed);
}

void count_wait() noexcept {
    Counted& state = counted<1>();
    if (state.started)
        state.deeds[static_cast<std::size_t>(Deed::wait)].fetch_add(1, std::memory_order_relaxed);
}

} // namespace quern
