// Capture: a stretch of submitted work becomes a graph that runs again with one call.
#include "compiler/base/error.h"
#include "runtime/driver/check.h"
#include "runtime/stream/stream.h"

#include <map>
#include <mutex>

namespace quern {
namespace {

// Scratch memory of captures that are going on. A capture that someone else ends keeps it for good.
using Scratch = std::vector<std::shared_ptr<const void>>;
std::mutex scratch_mutex;
std::map<CUstream, Scratch>& open_scratch() {
    static auto* open = new std::map<CUstream, Scratch>; // graphs may outlive static destruction
    return *open;
}

Scratch take_scratch(CUstream stream) {
    const std::lock_guard lock(scratch_mutex);
    const auto found = open_scratch().extract(stream);
    return found.empty() ? Scratch{} : std::move(found.mapped());
}

template <class Function> Function present(Function function, const Device& device) {
    if (function == nullptr)
        throw Error(ErrorKind::not_implemented,
                    join("the driver of ", device.name(), " cannot capture graphs"));
    return function;
}

} // namespace

void Stream::begin_capture(bool thread_only) const {
    const auto begin = present(device_->api().cuStreamBeginCapture, *device_);
    device_->make_current();
    check(device_->api(),
          begin(raw_,
                thread_only ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : CU_STREAM_CAPTURE_MODE_GLOBAL),
          "begin to capture a stream of ", device_->name());
}

Graph Stream::end_capture() const {
    const auto end = present(device_->api().cuStreamEndCapture, *device_);
    CUgraph graph = nullptr;
    device_->make_current();
    Scratch scratch = take_scratch(raw_);
    check(device_->api(), end(raw_, &graph), "end the capture of a stream of ", device_->name());
    return Graph(*device_, graph, std::move(scratch));
}

bool is_capturing(const Device& device, CUstream stream) noexcept {
    const DriverApi& api = device.api();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return api.cuStreamIsCapturing != nullptr &&
           api.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void keep_for_graph(CUstream capturing, std::shared_ptr<const void> scratch) {
    const std::lock_guard lock(scratch_mutex);
    open_scratch()[capturing].push_back(std::move(scratch));
}

bool Stream::capturing() const {
    const DriverApi& api = device_->api();
    if (api.cuStreamIsCapturing == nullptr)
        return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    device_->make_current();
    check(api, api.cuStreamIsCapturing(raw_, &status), "ask whether a stream of ", device_->name(),
          " is capturing");
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Graph::Graph(Device& device, CUgraph captured, Scratch scratch)
    : device_(&device), scratch_(std::move(scratch)), graph_(captured, {&device.api()}),
      exec_(nullptr, {&device.api()}) {
    const DriverApi& api = device.api();
    CUgraphExec exec = nullptr;
    device.make_current();
    check(api, present(api.cuGraphInstantiate, device)(&exec, captured, 0),
          "make a captured graph ready to run on ", device.name());
    exec_.reset(exec);
}

void Graph::upload(CUstream stream) const {
    const DriverApi& api = device_->api();
    if (api.cuGraphUpload == nullptr)
        return;
    device_->make_current();
    check(api, api.cuGraphUpload(exec_.get(), stream), "upload a graph to ", device_->name());
}

void Graph::launch(CUstream stream) const {
    const DriverApi& api = device_->api();
    device_->make_current();
    check(api, present(api.cuGraphLaunch, *device_)(exec_.get(), stream), "launch a graph on ",
          device_->name());
}

std::size_t Graph::node_count() const {
    std::size_t count = 0;
    const DriverApi& api = device_->api();
    check(api, present(api.cuGraphGetNodes, *device_)(graph_.get(), nullptr, &count),
          "count the nodes of a graph");
    return count;
}

} // namespace quern
