// Streams and events: what happens before what. A current stream for each thread and device; it starts as the null stream.
#pragma once
#include "runtime/device/device.h"
#include "runtime/driver/handles.h"

namespace quern {

class Stream {
  public:
    explicit Stream(Device& device, bool non_blocking = false, int priority = 0); // owns a new stream
    static Stream null(Device& device);
    static Stream external(Device& device, CUstream handle); // someone else's: never destroyed here

    [[nodiscard]] Device& device() const noexcept { return *device_; }
    [[nodiscard]] CUstream handle() const noexcept { return raw_; }
    void synchronize() const;        // releases nothing of Python: bindings drop the GIL around it
    [[nodiscard]] bool done() const; // everything submitted so far has finished
    void wait(CUevent event) const;

  private:
    Device* device_;
    StreamHandle owned_;
    CUstream raw_ = nullptr;
    Stream(Device& device, CUstream handle) : device_(&device), raw_(handle) {}
};

[[nodiscard]] CUstream current_stream(const Device& device) noexcept; // a thread-local read
void set_current_stream(const Device& device, CUstream stream) noexcept;

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
[[nodiscard]] float elapsed_ms(const Event& start, const Event& end); // milliseconds; throws if either did not finish

} // namespace quern
