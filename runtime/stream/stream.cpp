// Streams: made, kept for reuse, waited for; and each thread's current one.
#include "runtime/stream/stream.h"

#include "compiler/base/error.h"
#include "runtime/device/faults.h"
#include "runtime/driver/check.h"

#include <mutex>
#include <pthread.h>
#include <vector>

namespace quern {
namespace {

struct KeptStream {
    const Device* device;
    bool non_blocking;
    int priority;
    CUstream stream;
};
struct Keeping {
    std::mutex mutex;
    std::vector<KeptStream> streams;
};
Keeping& keeping() {
    // Never deleted: it outlives static destruction. Quiet while the process forks.
    static auto* kept = [] {
        pthread_atfork([] { keeping().mutex.lock(); }, [] { keeping().mutex.unlock(); },
                       [] { keeping().mutex.unlock(); });
        return new Keeping;
    }();
    return *kept;
}

CUstream take_kept(const StreamKeeper& wanted) {
    const std::lock_guard guard(keeping().mutex);
    auto& streams = keeping().streams;
    for (auto it = streams.rbegin(); it != streams.rend(); ++it)
        if (it->device == wanted.device && it->non_blocking == wanted.non_blocking &&
            it->priority == wanted.priority) {
            const CUstream stream = it->stream;
            streams.erase(std::next(it).base());
            return stream;
        }
    return nullptr;
}

CUstream make_stream(const StreamKeeper& wanted) {
    if (const CUstream kept = take_kept(wanted))
        return kept;
    const Device& device = *wanted.device;
    const DriverApi& api = device.api();
    const unsigned flags = wanted.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
    CUstream stream = nullptr;
    device.make_current();
    if (wanted.priority != 0 && api.cuStreamCreateWithPriority != nullptr)
        check(api, api.cuStreamCreateWithPriority(&stream, flags, wanted.priority),
              "make a stream of priority ", wanted.priority, " on ", device.name());
    else
        check(api, api.cuStreamCreate(&stream, flags), "make a stream on ", device.name());
    return stream;
}

// All thread-local data of the library must fit into the few hundred bytes that the loader keeps
// for libraries opened late: so few streams stand there, and those of further devices elsewhere.
constexpr int near_devices = 16;
constinit thread_local CUstream near_streams[near_devices]{};
thread_local std::unique_ptr<CUstream[]> far_streams;

} // namespace

void StreamKeeper::operator()(CUstream stream) const noexcept {
    const DriverApi& api = device->api();
    const ContextScope context(*device);
    if (!context.ok())
        return; // a forked child: nothing here reaches the parent's stream
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (api.cuStreamIsCapturing != nullptr && api.cuStreamEndCapture != nullptr &&
        api.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
        status != CU_STREAM_CAPTURE_STATUS_NONE) {
        CUgraph dropped = nullptr;
        if (api.cuStreamEndCapture(stream, &dropped) == CUDA_SUCCESS && dropped != nullptr)
            api.cuGraphDestroy(dropped);
    }
    try {
        const std::lock_guard guard(keeping().mutex);
        keeping().streams.push_back({device, non_blocking, priority, stream});
    } catch (...) { // no memory to remember it by: it stays the driver's
    }
}

Stream::Stream(Device& device, bool non_blocking, int priority) : device_(&device) {
    const StreamKeeper keeper{&device, non_blocking, priority};
    owned_ = {make_stream(keeper), keeper};
    raw_ = owned_.get();
}

Stream Stream::null(Device& device) { return Stream(device, CUstream{}); }
Stream Stream::external(Device& device, CUstream handle) { return Stream(device, handle); }

void Stream::synchronize() const {
    device_->make_current();
    check(device_->api(), device_->api().cuStreamSynchronize(raw_), "wait for a stream of ",
          device_->name());
    throw_fault(*device_);
}

bool Stream::done() const {
    device_->make_current();
    const CUresult status = device_->api().cuStreamQuery(raw_);
    if (status == CUDA_ERROR_NOT_READY)
        return false;
    check(device_->api(), status, "ask whether a stream of ", device_->name(), " is done");
    return true;
}

void Stream::wait(CUevent event) const {
    device_->make_current();
    check(device_->api(), device_->api().cuStreamWaitEvent(raw_, event, 0), "make a stream of ",
          device_->name(), " wait for an event");
}

CUstream current_stream(const Device& device) noexcept {
    const int index = device.index();
    if (index < near_devices) [[likely]]
        return near_streams[index];
    return far_streams ? far_streams[static_cast<std::size_t>(index)] : nullptr;
}

void set_current_stream(const Device& device, CUstream stream) noexcept {
    const int index = device.index();
    if (index < near_devices) [[likely]] {
        near_streams[index] = stream;
        return;
    }
    if (!far_streams)
        far_streams = std::make_unique<CUstream[]>(max_devices);
    far_streams[static_cast<std::size_t>(index)] = stream;
}

PriorityRange stream_priorities(const Device& device) {
    PriorityRange range;
    const DriverApi& api = device.api();
    if (api.cuCtxGetStreamPriorityRange == nullptr)
        return range;
    device.make_current();
    check(api, api.cuCtxGetStreamPriorityRange(&range.least, &range.greatest),
          "read the stream priorities of ", device.name());
    return range;
}

} // namespace quern
