// Graphs, and the recording of one from streams. Nodes are kept in the order of recording, which
// respects every dependency, and are replayed in that order.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace quern::host {

struct Stream;

struct Node {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    std::function<void()> work;
};

struct Graph {
    std::vector<Node> nodes;
    std::vector<std::shared_ptr<void>> owned; // memory that was allocated while recording
    [[nodiscard]] bool has_host_function() const noexcept;
};

// How far each stream of a capture has been seen: the number of nodes recorded before that moment.
using Progress = std::map<const Stream*, std::size_t>;

class Capture {
  public:
    Capture(Stream& origin, CUstreamCaptureMode mode)
        : origin_(&origin), mode_(mode), thread_(std::this_thread::get_id()), seen_{{&origin, {}}} {
    }

    CUresult record(const Stream& stream, Node node);
    void own(std::shared_ptr<void> memory);
    [[nodiscard]] Progress progress_of(const Stream& stream);
    void join(const Stream& stream,
              const Progress& progress); // the stream waited for an event of this capture
    void invalidate() noexcept { invalid_ = true; }

    [[nodiscard]] bool invalid() const noexcept { return invalid_; }
    [[nodiscard]] bool is_origin(const Stream& stream) const noexcept { return origin_ == &stream; }
    [[nodiscard]] bool
    is_joined(); // everything recorded anywhere comes before the origin's present
    [[nodiscard]] CUstreamCaptureMode mode() const noexcept { return mode_; }
    [[nodiscard]] bool by_this_thread() const noexcept {
        return thread_ == std::this_thread::get_id();
    }
    [[nodiscard]] std::vector<const Stream*> members();
    [[nodiscard]] std::unique_ptr<Graph> take_graph() { return std::move(graph_); }

  private:
    Stream* origin_;
    CUstreamCaptureMode mode_;
    std::thread::id thread_;
    bool invalid_ = false;
    std::mutex mutex_;
    std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
    Progress last_;                          // of each stream: its last node's number plus one
    std::map<const Stream*, Progress> seen_; // what comes before each stream's present
};

struct CapturedMark { // an event recorded in a capturing stream: a place in the graph, not in time
    std::weak_ptr<Capture> capture;
    Progress progress;
    bool set = false;
};

} // namespace quern::host
