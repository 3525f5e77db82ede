// See ahead.h.
#include "runtime/kernel/ahead.h"

#include "compiler/base/settings.h"
#include "runtime/driver/call_counts.h"
#include "runtime/host/later.h"
#include "runtime/stream/stream.h"

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace quern {
namespace {

struct Order {
    const char* name;
    Arrival* arrival;
    std::function<void()> make;

    void carry_out() const noexcept {
        bool well = false;
        try {
            make();
            well = true;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "quern: kernel '%s' could not be made: %s\n", name, error.what());
        } catch (...) {
            std::fprintf(stderr, "quern: kernel '%s' could not be made\n", name);
        }
        arrival->settle(well);
    }
};

// Threads that live while there is something to do.
class Crew {
  public:
    static Crew& of_process() {
        static auto* const once = [] {
            pthread_atfork([] { of_process().before_fork(); }, [] { of_process().mutex_.unlock(); },
                           [] { of_process().after_fork_in_child(); });
            return new Crew;
        }();
        return *once;
    }

    void add(Order order, int most) {
        const std::lock_guard lock(mutex_);
        orders_.push_back(std::move(order));
        if (threads_ >= most)
            return;
        try {
            std::thread([this] { work(); }).detach();
            ++threads_;
        } catch (...) { // no thread to be had
            if (threads_ == 0)
                take_and_carry_out();
        }
    }
    void wait() {
        std::unique_lock lock(mutex_);
        wait(lock);
    }

  private:
    void take_and_carry_out() {
        const Order order = std::move(orders_.front());
        orders_.pop_front();
        mutex_.unlock();
        order.carry_out();
        mutex_.lock();
    }
    void work() {
        const std::lock_guard lock(mutex_);
        while (!orders_.empty())
            take_and_carry_out();
        --threads_;
        none_.notify_all();
    }
    // A child has neither these threads nor the streams' own.
    void before_fork() {
        std::unique_lock lock(mutex_);
        wait(lock);
        host::wait_for_kept_work();
        lock.release(); // until the process is copied
    }
    void wait(std::unique_lock<std::mutex>& lock) {
        none_.wait(lock, [&] { return threads_ == 0 && orders_.empty(); });
    }
    void after_fork_in_child() {
        std::construct_at(&mutex_);
        std::construct_at(&none_);
    }

    std::mutex mutex_;
    std::condition_variable none_;
    std::deque<Order> orders_;
    int threads_ = 0;
};

enum class Going : std::uint8_t { not_yet, on, no_more };
std::atomic<Going> going{Going::not_yet};
std::atomic<bool> any_gone{false};

} // namespace

void start_going_ahead() noexcept {
    Going before = Going::not_yet;
    going.compare_exchange_strong(before, Going::on);
}

void stop_going_ahead() {
    if (going.load(std::memory_order_relaxed) == Going::no_more)
        return;
    going = Going::no_more;
    wait_for_ahead();
    host::wait_for_kept_work();
}

bool goes_ahead() noexcept {
    return going.load() == Going::on && find_device("cpu").properties().multiprocessors > 1;
}

bool may_go_ahead(const Device& device, CUstream stream) {
    const Settings& asked = settings();
    return going.load() == Going::on && device.is_cpu() &&
           device.properties().multiprocessors > 1 && !asked.show_source && !asked.show_cache &&
           !asked.show_launch && !calls_are_counted() && !is_capturing(device, stream);
}

void go_ahead(const Device& device, const char* name, Arrival& arrival,
              std::function<void()> make) {
    any_gone.store(true, std::memory_order_release);
    Crew::of_process().add({name, &arrival, std::move(make)}, device.properties().multiprocessors);
}

void wait_for_ahead() {
    if (any_gone.load(std::memory_order_acquire))
        Crew::of_process().wait();
}

} // namespace quern
