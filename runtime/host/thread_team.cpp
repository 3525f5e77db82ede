// Workers enter an open gate, share the items by one counter, and leave; the caller closes the gate
// and waits until nobody is inside, so a late worker never sees a job that is over.
#include "runtime/host/thread_team.h"

#include <memory>
#include <system_error>

#include <immintrin.h>

namespace quern::host {
namespace {

// Of the time-stamp counter, about 100 us, then sleep: workers are there yet when the next launch
// has looked at its first block.
constexpr std::uint64_t spin_ticks = 300000;

template <class Done> bool spin_until(Done done) {
    const std::uint64_t start = __rdtsc();
    while (!done()) {
        if (__rdtsc() - start > spin_ticks)
            return false;
        _mm_pause();
    }
    return true;
}

} // namespace

void ThreadTeam::run_erased(std::uint64_t first, std::uint64_t last, std::uint64_t chunk, Call call,
                            void* self) {
    if (first >= last)
        return;
    if (threads_ <= 1 || last - first <= chunk || busy_.exchange(true, std::memory_order_acquire))
        return call(self, first, last);
    if (workers_.empty())
        start_workers();
    job_ = {call, self, last, chunk};
    next_.store(first, std::memory_order_relaxed);
    gate_.store(open, std::memory_order_release);
    era_.fetch_add(1, std::memory_order_release);
    era_.notify_all();
    take_chunks();
    std::uint32_t inside = gate_.fetch_and(~open, std::memory_order_acq_rel) & ~open;
    if (inside != 0 &&
        !spin_until([&] { return (inside = gate_.load(std::memory_order_acquire)) == 0; }))
        while ((inside = gate_.load(std::memory_order_acquire)) != 0)
            gate_.wait(inside, std::memory_order_acquire);
    busy_.store(false, std::memory_order_release);
}

void ThreadTeam::take_chunks() noexcept {
    const Job job = job_;
    for (;;) {
        const std::uint64_t from = next_.fetch_add(job.chunk, std::memory_order_relaxed);
        if (from >= job.last)
            return;
        job.call(job.self, from, job.last - from < job.chunk ? job.last : from + job.chunk);
    }
}

void ThreadTeam::work() noexcept {
    std::uint32_t seen = 0;
    for (;;) {
        if (!spin_until([&] { return era_.load(std::memory_order_acquire) != seen; }))
            era_.wait(seen, std::memory_order_acquire);
        seen = era_.load(std::memory_order_acquire);
        std::uint32_t gate = gate_.load(std::memory_order_acquire);
        while ((gate & open) &&
               !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
        }
        if (!(gate & open))
            continue;
        take_chunks();
        if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            gate_.notify_one(); // closed, and the last one out
    }
}

void ThreadTeam::start_workers() {
    workers_.reserve(static_cast<std::size_t>(threads_ - 1));
    for (int i = 1; i < threads_; ++i) {
        try {
            workers_.emplace_back([this] { work(); });
        } catch (const std::system_error&) { // the system has no more threads: do with fewer
            if (workers_.empty())
                threads_ = 1;
            return;
        }
    }
}

void ThreadTeam::after_fork_in_child() noexcept {
    std::construct_at(&workers_); // thread objects of threads that do not exist here: neither
                                  // joined nor destroyed
    busy_.store(false);
    gate_.store(0);
    era_.store(0);
}

} // namespace quern::host
