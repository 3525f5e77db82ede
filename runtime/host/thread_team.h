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
// waits for anybody.
class ThreadTeam {
  public:
    explicit ThreadTeam(int threads) : threads_(threads) {}
    [[nodiscard]] int threads() const noexcept { return threads_; } // the caller counts as one

    // body(first, last) on disjoint ranges that cover [first, last); returns when all are done.
    // body must not throw.
    template <class Body>
    void run(std::uint64_t first, std::uint64_t last, std::uint64_t chunk, Body&& body) {
        run_erased(
            first, last, chunk == 0 ? 1 : chunk,
            [](void* self, std::uint64_t from, std::uint64_t to) {
                (*static_cast<std::remove_reference_t<Body>*>(self))(from, to);
            },
            &body);
    }

    void after_fork_in_child() noexcept; // the workers are gone: the next loop makes new ones

  private:
    using Call = void (*)(void* self, std::uint64_t first, std::uint64_t last);
    struct Job {
        Call call = nullptr;
        void* self = nullptr;
        std::uint64_t last = 0, chunk = 1;
    };
    static constexpr std::uint32_t open = 1u << 31; // gate_: open, and how many workers are inside

    void run_erased(std::uint64_t first, std::uint64_t last, std::uint64_t chunk, Call call,
                    void* self);
    void start_workers();
    void take_chunks() noexcept;
    void work() noexcept;

    int threads_;
    std::vector<std::thread> workers_;
    std::atomic<bool> busy_{false};
    Job job_;
    alignas(64) std::atomic<std::uint64_t> next_{0};
    alignas(64) std::atomic<std::uint32_t> gate_{0};
    alignas(64) std::atomic<std::uint32_t> era_{0}; // one up for each job
};

} // namespace quern::host
