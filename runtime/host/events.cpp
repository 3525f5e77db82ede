// Events, and captures as seen from streams.
#include "runtime/host/streams.h"

#include <algorithm>
#include <chrono>

namespace quern::host {
namespace {

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

CUresult Streams::record(Event& event, Stream& stream) {
    if (stream.capture) {
        if (stream.capture->invalid())
            return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        event.mark = {stream.capture, stream.capture->progress_of(stream), true};
        return CUDA_SUCCESS;
    }
    if (event.mark.set)
        event.mark = {};
    return submit(
        stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        [&] {
            if (event.has_moment.load(std::memory_order_acquire)) {
                const std::lock_guard lock(mutex_);
                event.moment.reset();
                event.has_moment = false;
            }
            event.ns.store(now_ns(), std::memory_order_relaxed);
            event.recorded.store(true, std::memory_order_release);
        },
        [&](bool) -> Work {
            auto moment = std::make_shared<Moment>();
            {
                const std::lock_guard lock(mutex_);
                event.moment = moment;
                event.has_moment = true;
            }
            event.recorded = true;
            return [moment] {
                moment->ns = now_ns();
                moment->done.store(true, std::memory_order_release);
            };
        });
}

bool Streams::done(Event& event) {
    if (!event.has_moment.load(std::memory_order_acquire))
        return true; // an event never recorded is done
    const std::lock_guard lock(mutex_);
    return !event.moment || event.moment->done.load(std::memory_order_acquire);
}

std::int64_t Streams::time_ns(Event& event) {
    const std::lock_guard lock(mutex_);
    return event.moment ? event.moment->ns : event.ns.load(std::memory_order_relaxed);
}

CUresult Streams::synchronize(Event& event) {
    if (on_scheduler())
        return CUDA_ERROR_NOT_PERMITTED;
    if (!done(event)) {
        std::unique_lock lock(mutex_);
        const auto moment = event.moment;
        changed_.wait(lock,
                      [&] { return !moment || moment->done.load(std::memory_order_acquire); });
    }
    return take_failure();
}

CUresult Streams::wait(Stream& stream, Event& event) {
    const auto marked = event.mark.set ? event.mark.capture.lock() : nullptr;
    if (marked) { // the wait joins this stream to the event's capture
        if (marked->invalid())
            return CUDA_ERROR_INVALID_VALUE;
        if (stream.kind == Stream::Kind::legacy)
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        if (stream.capture && stream.capture != marked) {
            stream.capture->invalidate();
            marked->invalidate();
            return CUDA_ERROR_STREAM_CAPTURE_MERGE;
        }
        if (!idle(stream))
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        if (!stream.capture) {
            stream.capture = marked;
            if (stream.kind == Stream::Kind::blocking)
                ++blocking_captures_;
        }
        marked->join(stream, event.mark.progress);
        return CUDA_SUCCESS;
    }
    if (stream.capture) {
        if (!event.recorded.load())
            return CUDA_SUCCESS;
        stream.capture->invalidate();
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (done(event))
        return CUDA_SUCCESS;
    std::shared_ptr<const Moment> moment;
    {
        const std::lock_guard lock(mutex_);
        moment = event.moment;
    }
    return moment ? enqueue(stream, {}, std::move(moment)) : CUDA_SUCCESS;
}

CUresult Streams::begin_capture(Stream& stream, CUstreamCaptureMode mode) {
    if (stream.kind == Stream::Kind::legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream.capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>(stream, mode);
    const std::lock_guard lock(mutex_);
    stream.capture = capture;
    capturing_.push_back(std::move(capture));
    ++captures_;
    if (stream.kind == Stream::Kind::blocking)
        ++blocking_captures_;
    return CUDA_SUCCESS;
}

void Streams::end_membership(Capture& capture) { // with mutex_ held
    for (const Stream* member : capture.members()) {
        Stream* stream = slots_.find(member);
        if (stream == nullptr || stream->capture.get() != &capture)
            continue;
        if (stream->kind == Stream::Kind::blocking)
            --blocking_captures_;
        stream->capture.reset();
    }
    std::erase_if(capturing_, [&](const auto& other) { return other.get() == &capture; });
    --captures_;
}

CUresult Streams::end_capture(Stream& stream, std::unique_ptr<Graph>& graph) {
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->mode() != CU_STREAM_CAPTURE_MODE_RELAXED && !capture->by_this_thread())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (!capture->is_origin(stream)) {
        capture->invalidate();
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    const std::lock_guard lock(mutex_);
    end_membership(*capture);
    if (capture->invalid())
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!capture->is_joined())
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    graph = capture->take_graph();
    return CUDA_SUCCESS;
}

CUresult Streams::check_capture(const Stream& stream) const noexcept {
    if (stream.kind == Stream::Kind::legacy && blocking_captures_.load() != 0)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (stream.capture && stream.capture->invalid())
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return CUDA_SUCCESS;
}

CUresult Streams::check_unsafe_call() {
    if (captures_.load(std::memory_order_relaxed) == 0 ||
        capture_mode_of_thread == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    const std::lock_guard lock(mutex_);
    for (const auto& capture : capturing_) {
        const bool mine = capture->by_this_thread();
        if (capture->mode() == CU_STREAM_CAPTURE_MODE_RELAXED)
            continue;
        const bool global = capture->mode() == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                            capture_mode_of_thread == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!mine && !global)
            continue;
        capture->invalidate();
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

} // namespace quern::host
