// Workers enter an open gate, take stretches of their range and then of the others', each by one
// counter, and leave; the caller closes the gate and waits until nobody is inside, so a late worker
// never sees a job that is over.
#include "runtime/host/thread_team.h"

#include <algorithm>
#include <memory>
#include <system_error>

#include <immintrin.h>
#include <sched.h>

namespace quern::host {
namespace {

// Of the time-stamp counter, about 100 us, then sleep: workers are there yet when their caller
// comes with its next launch. To wake one from sleep takes longer than to wait for that.
constexpr std::uint64_t spin_ticks = 300000;

// Lets go of the core again and again: whoever is waited for may be on the same one.
template <class Done> bool spin_until(Done done) {
    const std::uint64_t start = __rdtsc();
    for (unsigned turns = 1; !done(); ++turns) {
        if (__rdtsc() - start > spin_ticks)
            return false;
        if (turns % 64 == 0)
            std::this_thread::yield();
        else
            _mm_pause();
    }
    return true;
}

// To any other core that this thread may use: schedulers may wake it on its caller's, and leave
// both there for milliseconds.
void leave_core(int core) noexcept {
    cpu_set_t usable, others;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return;
    others = usable;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) != 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof usable, &usable);
}

} // namespace

void ThreadTeam::run_erased(std::uint64_t first, std::uint64_t last, std::uint64_t chunk,
                            std::uint64_t ranges, Call call, void* self) {
    if (first >= last)
        return;
    chunk = std::max(chunk, std::uint64_t{1});
    if (threads_ <= 1 || last - first <= chunk || busy_.exchange(true, std::memory_order_acquire))
        return call(self, first, last);
    if (workers_.empty())
        start_workers();
    const std::uint64_t count = last - first, chunks = (count - 1) / chunk + 1;
    job_ = {call, self, chunk, std::min(ranges, chunks)};
    core_.store(sched_getcpu(), std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < job_.ranges; ++i) {
        ranges_[i].next.store(first + chunks * i / job_.ranges * chunk, std::memory_order_relaxed);
        ranges_[i].last = std::min(last, first + chunks * (i + 1) / job_.ranges * chunk);
    }
    gate_.store(open, std::memory_order_release);
    era_.fetch_add(1, std::memory_order_release);
    era_.notify_all();
    if (asleep_.load(std::memory_order_relaxed) != 0)
        std::this_thread::yield(); // to a worker woken on this core, that it leaves it
    take_chunks(0);
    std::uint32_t inside = gate_.fetch_and(~open, std::memory_order_acq_rel) & ~open;
    if (inside != 0 &&
        !spin_until([&] { return (inside = gate_.load(std::memory_order_acquire)) == 0; }))
        while ((inside = gate_.load(std::memory_order_acquire)) != 0)
            gate_.wait(inside, std::memory_order_acquire);
    busy_.store(false, std::memory_order_release);
}

void ThreadTeam::take_chunks(std::uint64_t own) noexcept {
    const Job job = job_;
    for (std::uint64_t i = 0; i < job.ranges; ++i) {
        Range& range = ranges_[(own + i) % job.ranges];
        while (range.next.load(std::memory_order_relaxed) < range.last) {
            const std::uint64_t from = range.next.fetch_add(job.chunk, std::memory_order_relaxed);
            if (from >= range.last)
                break;
            job.call(job.self, from, std::min(range.last, from + job.chunk));
        }
    }
}

void ThreadTeam::work(std::uint64_t own) noexcept {
    std::uint32_t seen = 0;
    for (;;) {
        if (!spin_until([&] { return era_.load(std::memory_order_acquire) != seen; }))
            sleep(seen);
        seen = era_.load(std::memory_order_acquire);
        if (const int core = core_.load(std::memory_order_relaxed); core == sched_getcpu())
            leave_core(core);
        std::uint32_t gate = gate_.load(std::memory_order_acquire);
        while ((gate & open) &&
               !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
        }
        if (!(gate & open))
            continue;
        take_chunks(own);
        if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            gate_.notify_one(); // closed, and the last one out
    }
}

void ThreadTeam::sleep(std::uint32_t seen) noexcept {
    asleep_.fetch_add(1, std::memory_order_relaxed);
    era_.wait(seen, std::memory_order_acquire);
    asleep_.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadTeam::start_workers() {
    workers_.reserve(static_cast<std::size_t>(threads_ - 1));
    for (int i = 1; i < threads_; ++i) {
        try {
            workers_.emplace_back([this, i] { work(static_cast<std::uint64_t>(i)); });
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
    asleep_.store(0);
    era_.store(0);
}

} // namespace quern::host
