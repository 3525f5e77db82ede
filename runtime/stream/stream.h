// Streams and events: what happens before what. A current stream for each thread and device; it
// starts as the null stream.
#pragma once
#include "runtime/device/device.h"
#include "runtime/driver/handles.h"

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace quern {

// A stream that its owner lets go of is kept and handed out again, never destroyed: work may still
// be running on it, and memory pools know streams by their handles.
struct StreamKeeper {
    Device* device = nullptr;
    bool non_blocking = false;
    int priority = 0;
    void operator()(CUstream stream) const noexcept;
};

class Graph;

class Stream {
  public:
    explicit Stream(Device& device, bool non_blocking = false,
                    int priority = 0); // owns a new stream
    static Stream null(Device& device);
    static Stream external(Device& device, CUstream handle); // someone else's: never destroyed here

    [[nodiscard]] Device& device() const noexcept { return *device_; }
    [[nodiscard]] CUstream handle() const noexcept { return raw_; }
    void synchronize() const;        // releases nothing of Python: bindings drop the GIL around it
    [[nodiscard]] bool done() const; // everything submitted so far has finished
    void wait(CUevent event) const;  // later work waits for what `event` recorded; the CPU does not

    // What is submitted between the two becomes a graph instead of running. `thread_only` leaves
    // other threads' calls alone; otherwise a call that would break the capture fails in every
    // thread.
    void begin_capture(bool thread_only = false) const;
    [[nodiscard]] Graph end_capture() const;
    [[nodiscard]] bool capturing() const;

  private:
    Device* device_;
    std::unique_ptr<CUstream_st, StreamKeeper> owned_;
    CUstream raw_ = nullptr;
    Stream(Device& device, CUstream handle) : device_(&device), raw_(handle) {}
};

[[nodiscard]] CUstream current_stream(const Device& device) noexcept; // a thread-local read
void set_current_stream(const Device& device, CUstream stream) noexcept;

struct PriorityRange {
    int least = 0, greatest = 0; // smaller numbers run first
};
[[nodiscard]] PriorityRange stream_priorities(const Device& device);

class Event {
  public:
    explicit Event(Device& device, bool timing = true, bool blocking = false);
    void record(CUstream stream);
    void synchronize() const;
    [[nodiscard]] bool done() const;
    [[nodiscard]] CUevent handle() const noexcept { return handle_.get(); }
    [[nodiscard]] Device& device() const noexcept { return *device_; }

  private:
    Device* device_;
    EventHandle handle_;
};
[[nodiscard]] float elapsed_ms(const Event& start,
                               const Event& end); // milliseconds; throws if either did not finish

[[nodiscard]] bool is_capturing(const Device& device, CUstream stream) noexcept;

// What launches on `stream` need besides their caller's arrays: if the stream is capturing, it
// lives as long as the graph, else until here.
void keep_for_graph(CUstream capturing, std::shared_ptr<const void> scratch);
template <class T> void keep_for_graph(const Device& device, CUstream stream, T&& scratch) {
    if (is_capturing(device, stream))
        keep_for_graph(stream, std::make_shared<const std::decay_t<T>>(std::forward<T>(scratch)));
}

// Captured work, ready to run again with one call. Arrays that it uses must stay alive.
class Graph {
  public:
    // Takes ownership; `scratch` lives as long.
    Graph(Device& device, CUgraph captured, std::vector<std::shared_ptr<const void>> scratch = {});
    void upload(CUstream stream) const; // what launch would do once, before it matters
    void launch(CUstream stream) const;
    [[nodiscard]] std::size_t node_count() const;
    [[nodiscard]] Device& device() const noexcept { return *device_; }

  private:
    Device* device_;
    std::vector<std::shared_ptr<const void>> scratch_;
    Handle<CUgraph_st, &DriverApi::cuGraphDestroy> graph_;
    Handle<CUgraphExec_st, &DriverApi::cuGraphExecDestroy> exec_;
};

} // namespace quern
