// Kernels of the library's own texts, of which nothing has to be told to their caller: on a CPU of
// several threads they are compiled side by side while the program goes on. Their launches wait for
// them in their stream. So what was computed is there where somebody waits for the stream, as on a
// GPU, and not at once: front ends that ask for values through quern alone say that they want it.
#pragma once
#include "runtime/device/device.h"

#include <atomic>
#include <cstdint>
#include <functional>

#include <unistd.h>

namespace quern {

// Whether what a thread makes is there.
class Arrival {
  public:
    [[nodiscard]] bool is_here() const noexcept { // at first nobody is waited for
        return state_.load(std::memory_order_acquire) == State::here;
    }
    // Also in a forked child for what a thread of its parent was about to order.
    [[nodiscard]] bool has_failed() const noexcept {
        const State state = state_.load(std::memory_order_acquire);
        return state != State::here && (state == State::failed || expected_in_ != getpid());
    }
    void expect() noexcept {
        expected_in_ = getpid();
        state_.store(State::on_its_way, std::memory_order_release);
    }
    void settle(bool well) noexcept {
        state_.store(well ? State::here : State::failed, std::memory_order_release);
        state_.notify_all();
    }
    void wait() const noexcept { state_.wait(State::on_its_way, std::memory_order_acquire); }

  private:
    enum class State : std::uint8_t { here, on_its_way, failed };
    std::atomic<State> state_{State::here};
    pid_t expected_in_ = 0;
};

// Nothing goes ahead before the first call of this, nor after the first of the other one, which
// also waits for what is kept: memory of the CPU can be seen or changed beyond quern at any time
// then, or the process is about to end, which must not find the compiler at work.
void start_going_ahead() noexcept;
void stop_going_ahead();

[[nodiscard]] bool goes_ahead() noexcept; // between the two, where the CPU has several threads

// Whether work of this device and stream may wait: not where launches are shown or counted, nor
// into a graph.
[[nodiscard]] bool may_go_ahead(const Device& device, CUstream stream);

// make() runs on a thread of its own, as many at a time as the device has; then `arrival` is
// settled, which lives as long as what make() owns. What it throws goes to stderr.
void go_ahead(const Device& device, const char* name, Arrival& arrival, std::function<void()> make);

// Returns when all of it has settled, so that figures of the cache and lists of texts are whole.
void wait_for_ahead();

} // namespace quern
