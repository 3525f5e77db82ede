// Who may run now, the queue for what may not, and waiting.
#include "runtime/host/streams.h"

#include <algorithm>
#include <chrono>

#include <immintrin.h>
#include <sched.h>

namespace quern::host {

thread_local CUstreamCaptureMode capture_mode_of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;

Stream* Streams::create(unsigned flags, int priority) {
    return slots_.make(flags & CU_STREAM_NON_BLOCKING ? Stream::Kind::non_blocking
                                                      : Stream::Kind::blocking,
                       priority);
}

CUresult Streams::destroy(Stream& stream) {
    if (stream.kind == Stream::Kind::legacy || slots_.find(&stream) == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    std::unique_lock lock(mutex_);
    if (const auto capture = stream.capture) { // as if the capture ended with an error
        capture->invalidate();
        if (capture->is_origin(stream))
            end_membership(*capture);
        else if (stream.kind == Stream::Kind::blocking)
            --blocking_captures_;
        stream.capture.reset();
    }
    slots_.retire(&stream);
    stream.destroyed = true;
    if (stream.pending.load() != 0)
        return CUDA_SUCCESS; // the scheduler frees it
    lock.unlock();
    while (stream.running.load(std::memory_order_acquire) != 0)
        sched_yield();
    slots_.destroy(&stream);
    return CUDA_SUCCESS;
}

Stream& Streams::per_thread() {
    struct Own {
        Streams* streams = nullptr;
        Stream* stream = nullptr;
        std::uint64_t era = 0;
        [[nodiscard]] bool alive() const {
            return stream != nullptr && era == streams->era_.load();
        }
        ~Own() {
            if (alive())
                streams->destroy(*stream);
        }
    };
    thread_local Own own;
    if (!own.alive()) {
        own.streams = this;
        own.stream = create(CU_STREAM_DEFAULT, 0);
        own.era = era_.load();
    }
    return *own.stream;
}

bool Streams::try_enter(Stream& stream) noexcept {
    int now = legacy_lane_.load(std::memory_order_relaxed);
    if (stream.kind == Stream::Kind::legacy) {
        now = 0;
        return legacy_lane_.compare_exchange_strong(now, -1, std::memory_order_acquire);
    }
    if (stream.running.exchange(1, std::memory_order_acquire) != 0)
        return false;
    if (stream.kind == Stream::Kind::non_blocking)
        return true;
    while (now >= 0)
        if (legacy_lane_.compare_exchange_weak(now, now + 1, std::memory_order_acquire))
            return true;
    stream.running.store(0, std::memory_order_release);
    return false;
}

bool Streams::enter_slowly(
    Stream& stream) noexcept { // another thread's work runs: it ends by itself
    for (unsigned tries = 0;; ++tries) {
        if (!idle(stream))
            return false;
        if (try_enter(stream))
            return true;
        if (tries < 256)
            _mm_pause();
        else if (tries < 512)
            sched_yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

CUresult Streams::enqueue(Stream& stream, Work work, std::shared_ptr<const Moment> awaited) {
    const std::lock_guard lock(mutex_);
    if (!scheduler_.joinable()) {
        scheduler_ = std::thread([this] { schedule(); });
        scheduler_id_ = scheduler_.get_id();
    }
    if (stream.queue.empty())
        waiting_.push_back(&stream);
    stream.queue.push_back({next_number_++, std::move(work), std::move(awaited)});
    if (stream.kind != Stream::Kind::non_blocking)
        ++pending_legacy_order_;
    ++stream.pending;
    ++queued_;
    changed_.notify_all();
    return CUDA_SUCCESS;
}

CUresult Streams::enqueue_host_function(Stream& stream, Work work) {
    ++host_functions_;
    return enqueue(
        stream,
        [this, work = std::move(work)] {
            work();
            --host_functions_;
        },
        nullptr);
}

CUresult Streams::enqueue_kept(Stream& stream, Work work) {
    if (const auto status = check_capture(stream); status != CUDA_SUCCESS)
        return status;
    return stream.capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                          : enqueue(stream, std::move(work), nullptr);
}

void Streams::wait_for_kept_work() {
    if (!keeps_work() || on_scheduler())
        return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !keeps_work(); });
}

Stream* Streams::find_runnable() {
    const auto first_of = [](const Stream& stream) { return stream.queue.front().number; };
    const auto comes_first = [&](const Stream* other,
                                 const Stream* stream) { // of two streams with queues
        const bool ordered =
            (other->kind == Stream::Kind::legacy && stream->kind == Stream::Kind::blocking) ||
            (other->kind == Stream::Kind::blocking && stream->kind == Stream::Kind::legacy);
        return ordered && first_of(*other) < first_of(*stream);
    };
    for (Stream* stream : waiting_) {
        const Pending& head = stream->queue.front();
        if (head.awaited && !head.awaited->done.load(std::memory_order_acquire))
            continue;
        if (std::ranges::none_of(waiting_,
                                 [&](const Stream* other) { return comes_first(other, stream); }))
            return stream;
    }
    return nullptr;
}

void Streams::schedule() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
        Stream* stream = find_runnable();
        if (stream == nullptr) {
            changed_.wait(lock);
            continue;
        }
        const Work work = std::move(stream->queue.front().work);
        lock.unlock();
        while (!try_enter(*stream))
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        if (work)
            work();
        leave(*stream);
        lock.lock();
        stream->queue.pop_front();
        if (stream->queue.empty())
            std::erase(waiting_, stream);
        if (stream->kind != Stream::Kind::non_blocking)
            --pending_legacy_order_;
        if (--stream->pending == 0 && stream->destroyed)
            slots_.destroy(stream);
        --queued_;
        changed_.notify_all();
    }
}

bool Streams::done(const Stream& stream) const noexcept {
    if (!idle(stream) || stream.running.load(std::memory_order_acquire) != 0)
        return false;
    return stream.kind != Stream::Kind::legacy || legacy_lane_.load(std::memory_order_acquire) == 0;
}

CUresult Streams::synchronize(Stream& stream) {
    if (on_scheduler())
        return CUDA_ERROR_NOT_PERMITTED; // a host function may not call the driver
    if (!idle(stream)) {
        std::unique_lock lock(mutex_);
        // Later work of other threads is not waited for: numbers are in order of submission.
        const std::uint64_t limit = next_number_;
        const auto finished = [&](const Stream& one) {
            return one.queue.empty() || one.queue.front().number >= limit;
        };
        changed_.wait(lock, [&] {
            if (stream.kind == Stream::Kind::non_blocking)
                return finished(stream);
            if (stream.kind == Stream::Kind::blocking)
                return finished(stream) && finished(legacy_);
            return std::ranges::all_of(waiting_, [&](const Stream* other) {
                return other->kind == Stream::Kind::non_blocking || finished(*other);
            });
        });
    }
    if (!done(stream) && enter(stream))
        leave(stream); // another thread's work, running now
    return take_failure();
}

CUresult Streams::synchronize_all() {
    if (on_scheduler())
        return CUDA_ERROR_NOT_PERMITTED;
    if (legacy_.pending.load() != 0 || pending_legacy_order_.load() != 0 || !done(legacy_)) {
        const CUresult status = synchronize(legacy_);
        if (status != CUDA_SUCCESS)
            return status;
    }
    std::vector<Stream*> others;
    slots_.for_each([&](Stream* stream) {
        if (!done(*stream))
            others.push_back(stream);
    });
    for (Stream* stream : others)
        if (const CUresult status = synchronize(*stream); status != CUDA_SUCCESS)
            return status;
    return take_failure();
}

void Streams::destroy_all() {
    synchronize_all();
    ++era_;
    events_.for_each([&](Event* event) { events_.destroy(event); });
    slots_.for_each([&](Stream* stream) { destroy(*stream); });
    failure_ = CUDA_SUCCESS;
}

void Streams::after_fork_in_child() noexcept {
    std::construct_at(&mutex_);
    std::construct_at(&changed_);
    std::construct_at(&scheduler_);
    scheduler_id_ = std::thread::id{};
    slots_.after_fork_in_child();
    events_.after_fork_in_child();
    for (Stream* stream : waiting_)
        stream->queue.clear();
    waiting_.clear();
    const auto calm = [](Stream* stream) {
        stream->running = 0;
        stream->pending = 0;
    };
    calm(&legacy_);
    slots_.for_each(calm);
    events_.for_each([](Event* event) { event->has_moment = false; });
    legacy_lane_ = 0;
    pending_legacy_order_ = 0;
    queued_ = host_functions_ = 0;
}

} // namespace quern::host
