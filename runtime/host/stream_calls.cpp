// cuStream*, cuEvent*, cuLaunchHostFunc: the table's side of streams.h.
#include "runtime/host/later.h"
#include "runtime/host/state.h"

namespace quern::host {
namespace {

// body(Stream&) if the handle is one and the calling thread has a context.
template <class Body> CUresult with_stream(CUstream handle, Body body) noexcept {
    return guarded([&]() -> CUresult {
        QUERN_CHECK(check_context());
        Stream* stream = state().streams.find(handle);
        return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*stream);
    });
}
template <class Body> CUresult with_event(CUevent handle, Body body) noexcept {
    return guarded([&]() -> CUresult {
        Event* event = state().streams.find_event(handle);
        return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*event);
    });
}

CUresult refuse_in_capture(Stream& stream) { // asking a capturing stream spoils its capture
    QUERN_CHECK(state().streams.check_capture(stream));
    if (!stream.capture)
        return CUDA_SUCCESS;
    stream.capture->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult refuse_captured(const Event& event) { // and so does asking an event recorded in it
    if (!event.mark.set)
        return CUDA_SUCCESS;
    if (const auto capture = event.mark.capture.lock())
        capture->invalidate();
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult submit_host_function(Stream& stream, Work work) {
    QUERN_CHECK(state().streams.check_capture(stream));
    if (stream.capture)
        return stream.capture->record(stream, {CU_GRAPH_NODE_TYPE_HOST, std::move(work)});
    return state().streams.enqueue_host_function(stream, std::move(work));
}

} // namespace

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        if (out == nullptr || flags > CU_STREAM_NON_BLOCKING)
            return CUDA_ERROR_INVALID_VALUE;
        *out = reinterpret_cast<CUstream>(state().streams.create(flags, priority < 0 ? -1 : 0));
        return CUDA_SUCCESS;
    });
}
CUresult cuStreamCreate(CUstream* out, unsigned flags) {
    return host::cuStreamCreateWithPriority(out, flags, 0);
}

CUresult cuStreamDestroy(CUstream handle) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    return with_stream(handle, [](Stream& stream) { return state().streams.destroy(stream); });
}

CUresult cuStreamSynchronize(CUstream handle) {
    return with_stream(handle, [](Stream& stream) {
        QUERN_CHECK(refuse_in_capture(stream));
        return state().streams.synchronize(stream);
    });
}

CUresult cuStreamQuery(CUstream handle) {
    return with_stream(handle, [](Stream& stream) {
        QUERN_CHECK(refuse_in_capture(stream));
        return state().streams.done(stream) ? state().streams.take_failure() : CUDA_ERROR_NOT_READY;
    });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
    return with_stream(handle, [&](Stream& stream) {
        return with_event(event_handle,
                          [&](Event& event) { return state().streams.wait(stream, event); });
    });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
    return with_stream(handle, [&](Stream&) {
        if (context == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        return *context = reinterpret_cast<CUcontext>(&state().context), CUDA_SUCCESS;
    });
}
CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
    return with_stream(handle, [&](Stream& stream) {
        if (flags == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *flags =
            stream.kind == Stream::Kind::non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
        return CUDA_SUCCESS;
    });
}
CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    return with_stream(handle, [&](Stream& stream) {
        return priority == nullptr ? CUDA_ERROR_INVALID_VALUE
                                   : (*priority = stream.priority, CUDA_SUCCESS);
    });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
    return with_stream(handle, [&](Stream& stream) {
        if (function == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        return submit_host_function(stream, [function, data] { function(data); });
    });
}
CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback function, void* data,
                             unsigned flags) {
    return with_stream(handle, [&](Stream& stream) {
        if (function == nullptr || flags != 0)
            return CUDA_ERROR_INVALID_VALUE;
        QUERN_CHECK(refuse_in_capture(stream));
        return submit_host_function(stream, [=] { function(handle, CUDA_SUCCESS, data); });
    });
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
    return with_stream(handle, [&](Stream& stream) {
        if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
            return CUDA_ERROR_INVALID_VALUE;
        return state().streams.begin_capture(stream, mode);
    });
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
    return with_stream(handle, [&](Stream& stream) {
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = nullptr;
        std::unique_ptr<Graph> graph;
        QUERN_CHECK(state().streams.end_capture(stream, graph));
        *out = reinterpret_cast<CUgraph>(state().graphs.make(std::move(*graph)));
        return CUDA_SUCCESS;
    });
}
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    return with_stream(handle, [&](Stream& stream) {
        if (status == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *status = !stream.capture             ? CU_STREAM_CAPTURE_STATUS_NONE
                  : stream.capture->invalid() ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
        return stream.capture ? CUDA_SUCCESS : state().streams.check_capture(stream);
    });
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
        *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, capture_mode_of_thread);
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* out, unsigned flags) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        constexpr unsigned known =
            CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
        const bool shared = flags & CU_EVENT_INTERPROCESS;
        if (out == nullptr || (flags & ~known))
            return CUDA_ERROR_INVALID_VALUE;
        if (shared)
            return flags & CU_EVENT_DISABLE_TIMING ? CUDA_ERROR_NOT_SUPPORTED
                                                   : CUDA_ERROR_INVALID_VALUE;
        *out = reinterpret_cast<CUevent>(state().streams.create_event(flags));
        return CUDA_SUCCESS;
    });
}
CUresult cuEventDestroy(CUevent handle) {
    return with_event(
        handle, [](Event& event) { return state().streams.destroy_event(event), CUDA_SUCCESS; });
}
CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
    return with_stream(stream_handle, [&](Stream& stream) {
        return with_event(handle,
                          [&](Event& event) { return state().streams.record(event, stream); });
    });
}
CUresult cuEventQuery(CUevent handle) {
    return with_event(handle, [](Event& event) {
        QUERN_CHECK(refuse_captured(event));
        return state().streams.done(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    });
}
CUresult cuEventSynchronize(CUevent handle) {
    return with_event(handle, [](Event& event) {
        QUERN_CHECK(refuse_captured(event));
        return state().streams.synchronize(event);
    });
}
CUresult cuEventElapsedTime(float* ms, CUevent start_handle, CUevent end_handle) {
    return with_event(start_handle, [&](Event& start) {
        return with_event(end_handle, [&](Event& end) {
            if (ms == nullptr)
                return CUDA_ERROR_INVALID_VALUE;
            if (((start.flags | end.flags) & CU_EVENT_DISABLE_TIMING) || !start.recorded ||
                !end.recorded)
                return CUDA_ERROR_INVALID_HANDLE;
            if (!state().streams.done(start) || !state().streams.done(end))
                return CUDA_ERROR_NOT_READY;
            *ms = static_cast<float>(
                static_cast<double>(state().streams.time_ns(end) - state().streams.time_ns(start)) *
                1e-6);
            return CUDA_SUCCESS;
        });
    });
}

} // namespace quern::host

namespace quern {

namespace host {

CUresult keep_in_stream(CUstream handle, std::function<void()> work) {
    return with_stream(handle, [&](Stream& stream) {
        return state().streams.enqueue_kept(stream, std::move(work));
    });
}
void tell_failure(CUresult status) { state().streams.set_failure(status); }
bool keeps_work() noexcept { return state().streams.keeps_work(); }
void wait_for_kept_work() { state().streams.wait_for_kept_work(); }

} // namespace host

CUresult launch_host_work(CUstream stream, void (*function)(const void*),
                          std::shared_ptr<const void> data) {
    return host::with_stream(stream, [&](host::Stream& its) {
        return host::state().streams.submit(
            its, CU_GRAPH_NODE_TYPE_KERNEL, [&] { function(data.get()); },
            [&](bool) -> host::Work { return [function, data] { function(data.get()); }; });
    });
}

} // namespace quern
