// Streams of the CPU: work runs at once on the calling thread whenever nothing before it is
// pending. Only a host function, which may wait for its caller, and work that waits for a compiler
// (later.h) make a stream pend: they and what comes behind them run on one scheduler thread, in
// order.
#pragma once
#include "runtime/host/capture.h"
#include "runtime/host/slots.h"

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace quern::host {

using Work = std::function<void()>; // owns what it needs; does not throw

struct Moment { // when a pending recording of an event took place
    std::atomic<bool> done{false};
    std::int64_t ns = 0;
};

struct Pending {
    std::uint64_t number; // order of submission over all streams
    Work work;
    std::shared_ptr<const Moment> awaited; // do not start before this
};

struct Stream {
    enum class Kind : std::uint8_t { legacy, blocking, non_blocking };
    explicit Stream(Kind its_kind, int its_priority = 0) : kind(its_kind), priority(its_priority) {}
    const Kind kind;
    const int priority;
    std::atomic<std::uint32_t> running{0}; // one piece of work at a time
    std::atomic<std::uint32_t> pending{0}; // in the queue, the one at work included
    std::deque<Pending> queue;             // guarded by Streams::mutex_
    std::shared_ptr<Capture> capture;      // changed only by calls on this stream
    bool destroyed = false;                // its slot is freed when the queue is empty
};

struct Event {
    unsigned flags = 0;
    std::atomic<bool> recorded{false};
    std::atomic<std::int64_t> ns{0};
    std::shared_ptr<const Moment>
        moment; // of the last recording if it was pending; guarded by Streams::mutex_
    std::atomic<bool> has_moment{false};
    CapturedMark mark; // when last recorded in a capturing stream
};

class Streams {
  public:
    Streams() = default;
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    // nullptr and 1 are the legacy stream, 2 is the calling thread's own; nullptr for a handle that
    // is none.
    [[nodiscard]] Stream* find(CUstream handle) noexcept {
        if (handle == nullptr || handle == CU_STREAM_LEGACY)
            return &legacy_;
        if (handle == CU_STREAM_PER_THREAD)
            return &per_thread();
        return slots_.find(handle);
    }
    [[nodiscard]] Stream* create(unsigned flags, int priority);
    CUresult destroy(Stream& stream);

    // The one way to do something in a stream. `now` is called at once if it may be, else `keep()`
    // makes a Work that owns its data, run later or recorded into a graph.
    template <class Now, class Keep>
    CUresult submit(Stream& stream, CUgraphNodeType type, Now&& now, Keep&& keep) {
        if (failure_.load(std::memory_order_relaxed) != CUDA_SUCCESS) [[unlikely]]
            return take_failure();
        if (captures_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
            if (const auto status = check_capture(stream); status != CUDA_SUCCESS)
                return status;
            if (stream.capture)
                return stream.capture->record(stream, {type, keep(true)});
        }
        if (!enter(stream)) [[unlikely]]
            return enqueue(stream, keep(false), nullptr);
        now();
        leave(stream);
        return CUDA_SUCCESS;
    }
    CUresult enqueue(Stream& stream, Work work, std::shared_ptr<const Moment> awaited);
    CUresult enqueue_host_function(Stream& stream, Work work); // which may wait for the program
    CUresult enqueue_kept(Stream& stream, Work work); // which waits for none of it (later.h)
    // Is anything in a queue, and nothing there that may wait for the program?
    [[nodiscard]] bool keeps_work() const noexcept {
        return queued_.load(std::memory_order_acquire) != 0 && host_functions_.load() == 0;
    }
    void wait_for_kept_work(); // until it is not so

    [[nodiscard]] bool
    idle(const Stream& stream) const noexcept { // nothing pending that comes before new work
        if (stream.kind == Stream::Kind::legacy)
            return pending_legacy_order_.load(std::memory_order_acquire) == 0;
        if (stream.pending.load(std::memory_order_acquire) != 0)
            return false;
        return stream.kind == Stream::Kind::non_blocking ||
               legacy_.pending.load(std::memory_order_acquire) == 0;
    }
    [[nodiscard]] bool done(const Stream& stream) const noexcept;
    CUresult synchronize(Stream& stream);
    CUresult synchronize_all();

    [[nodiscard]] Event* find_event(CUevent handle) noexcept { return events_.find(handle); }
    [[nodiscard]] Event* create_event(unsigned flags) {
        Event* event = events_.make();
        event->flags = flags;
        return event;
    }
    void destroy_event(Event& event) { events_.destroy(&event); }
    CUresult record(Event& event, Stream& stream);
    CUresult wait(Stream& stream, Event& event);
    [[nodiscard]] bool done(Event& event);
    CUresult synchronize(Event& event);
    [[nodiscard]] std::int64_t time_ns(Event& event);

    CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode);
    CUresult end_capture(Stream& stream, std::unique_ptr<Graph>& graph);
    [[nodiscard]] CUresult
    check_capture(const Stream& stream) const noexcept; // may this stream be used now?
    [[nodiscard]] CUresult
    check_unsafe_call(); // allocation and synchronisation while someone captures

    // A kernel failed: the next call that asks for the device's state is told, once.
    void set_failure(CUresult status) noexcept {
        failure_.store(status, std::memory_order_relaxed);
    }
    [[nodiscard]] CUresult take_failure() noexcept { return failure_.exchange(CUDA_SUCCESS); }

    void destroy_all();
    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    void after_fork_in_child() noexcept; // what was pending is gone with the thread that would have
                                         // run it

  private:
    // False if something pends that must come first; else this thread has the stream until leave().
    [[nodiscard]] bool enter(Stream& stream) noexcept {
        if (stream.kind == Stream::Kind::legacy) [[likely]] {
            int none = 0;
            if (!idle(stream))
                return false;
            return legacy_lane_.compare_exchange_strong(none, -1, std::memory_order_acquire) ||
                   enter_slowly(stream);
        }
        return enter_slowly(stream);
    }
    [[nodiscard]] bool enter_slowly(Stream& stream) noexcept;
    [[nodiscard]] bool try_enter(Stream& stream) noexcept;
    void leave(Stream& stream) noexcept {
        if (stream.kind == Stream::Kind::legacy)
            return legacy_lane_.store(0, std::memory_order_release);
        if (stream.kind == Stream::Kind::blocking)
            legacy_lane_.fetch_sub(1, std::memory_order_release);
        stream.running.store(0, std::memory_order_release);
    }
    Stream& per_thread();
    void schedule() noexcept;
    [[nodiscard]] Stream* find_runnable();
    [[nodiscard]] bool on_scheduler() const noexcept {
        return std::this_thread::get_id() == scheduler_id_.load();
    }
    void end_membership(Capture& capture);

    Stream legacy_{Stream::Kind::legacy};
    alignas(64) std::atomic<int> legacy_lane_{
        0}; // -1: the legacy stream runs; n: n blocking streams do
    std::atomic<std::uint32_t> pending_legacy_order_{0}; // over the legacy and all blocking streams
    std::atomic<int> captures_{0}, blocking_captures_{0};
    std::atomic<CUresult> failure_{CUDA_SUCCESS};
    std::atomic<std::uint64_t> era_{0}; // one up when every stream goes: threads forget their own
    Slots<Stream> slots_;
    Slots<Event> events_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Stream*> waiting_; // with something in their queue
    std::uint64_t next_number_ = 0;
    std::atomic<std::uint64_t> queued_{0}, host_functions_{0}; // of all streams
    std::vector<std::shared_ptr<Capture>> capturing_;          // guarded by mutex_
    std::thread scheduler_;
    std::atomic<std::thread::id> scheduler_id_{};
};

// This thread's mode for cuThreadExchangeStreamCaptureMode.
extern thread_local CUstreamCaptureMode capture_mode_of_thread;

} // namespace quern::host
