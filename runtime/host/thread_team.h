// A team of worker threads for loops over independent items. No thread exists before the first loop
// that wants one.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace quern::host {

// One loop at a time: a caller that finds the team at work does its whole loop alone, so nobody
// waits for anybody. Each thread has a range of the items, the same in every loop of as many, so
// that its core's caches know them; whoever is through helps the others.
class ThreadTeam {
  public:
    explicit ThreadTeam(int threads) // at least 1
        : threads_(threads), ranges_(static_cast<std::size_t>(threads)) {}
    [[nodiscard]] int threads() const noexcept { return threads_; } // the caller counts as one

    // body(first, last) on disjoint stretches that cover [first, last); returns when all are done.
    // body must not throw.
    template <class Body>
    void run(std::uint64_t first, std::uint64_t last, std::uint64_t chunk, Body&& body) {
        run_erased(first, last, chunk, ranges_.size(), call_of<Body>, &body);
    }

    // The same, and no item begins before the ones in front of it have.
    template <class Body>
    void run_in_order(std::uint64_t first, std::uint64_t last, std::uint64_t chunk, Body&& body) {
        run_erased(first, last, chunk, 1, call_of<Body>, &body);
    }

    void after_fork_in_child() noexcept; // the workers are gone: the next loop makes new ones

  private:
    using Call = void (*)(void* self, std::uint64_t first, std::uint64_t last);
    struct Job {
        Call call = nullptr;
        void* self = nullptr;
        std::uint64_t chunk = 1, ranges = 1;
    };
    struct alignas(64) Range {
        std::atomic<std::uint64_t> next{0};
        std::uint64_t last = 0;
    };
    template <class Body>
    static constexpr Call call_of = [](void* self, std::uint64_t from, std::uint64_t to) {
        (*static_cast<std::remove_reference_t<Body>*>(self))(from, to);
    };
    static constexpr std::uint32_t open = 1u << 31; // gate_: open, and how many workers are inside

    void run_erased(std::uint64_t first, std::uint64_t last, std::uint64_t chunk,
                    std::uint64_t ranges, Call call, void* self);
    void start_workers();
    void take_chunks(std::uint64_t own) noexcept;
    void work(std::uint64_t own) noexcept;
    void sleep(std::uint32_t seen) noexcept;

    int threads_;
    std::vector<std::thread> workers_;
    std::atomic<bool> busy_{false};
    std::atomic<int> core_{-1}; // the caller's
    std::atomic<int> asleep_{0};
    Job job_;
    std::vector<Range> ranges_; // of the items: one for each thread
    alignas(64) std::atomic<std::uint32_t> gate_{0};
    alignas(64) std::atomic<std::uint32_t> era_{0}; // one up for each job
};

} // namespace quern::host
