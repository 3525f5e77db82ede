// Recording of graphs: who has seen what.
#include "runtime/host/capture.h"

#include <algorithm>

namespace quern::host {

bool Graph::has_host_function() const noexcept {
    return std::ranges::any_of(
        nodes, [](const Node& node) { return node.type == CU_GRAPH_NODE_TYPE_HOST; });
}

CUresult Capture::record(const Stream& stream, Node node) {
    const std::lock_guard lock(mutex_);
    if (invalid_)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    graph_->nodes.push_back(std::move(node));
    last_[&stream] = seen_[&stream][&stream] = graph_->nodes.size();
    return CUDA_SUCCESS;
}

void Capture::own(std::shared_ptr<void> memory) {
    const std::lock_guard lock(mutex_);
    graph_->owned.push_back(std::move(memory));
}

Progress Capture::progress_of(const Stream& stream) {
    const std::lock_guard lock(mutex_);
    return seen_[&stream];
}

void Capture::join(const Stream& stream, const Progress& progress) {
    const std::lock_guard lock(mutex_);
    Progress& seen = seen_[&stream];
    for (const auto& [other, count] : progress)
        seen[other] = std::max(seen[other], count);
}

bool Capture::is_joined() {
    const std::lock_guard lock(mutex_);
    Progress& seen = seen_[origin_];
    return std::ranges::all_of(
        last_, [&](const auto& entry) { return seen[entry.first] >= entry.second; });
}

std::vector<const Stream*> Capture::members() {
    const std::lock_guard lock(mutex_);
    std::vector<const Stream*> streams;
    for (const auto& [stream, progress] : seen_)
        streams.push_back(stream);
    return streams;
}

} // namespace quern::host
