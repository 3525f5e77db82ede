// A driver for tests: records every call, fails the n-th one on demand, counts what was not given
// back. Its memory is malloc, its streams and events are counters, its kernels do nothing unless a
// test says what they do.
#pragma once
#include "runtime/driver/api.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct FakeLaunch {
    std::string function;
    unsigned grid[3], block[3], shared_bytes;
    CUstream stream;
    void** params; // the caller's, alive during the call only
};

// One may be alive at a time; the table's functions find it by themselves. Thread safe. Names are
// those of the documentation ("cuMemAlloc", never "cuMemAlloc_v2").
class FakeDriver {
  public:
    explicit FakeDriver(int devices = 1, bool executes_on_cpu = false);
    ~FakeDriver(); // frees what the test leaked; ask leaks() before
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    [[nodiscard]] const Driver& driver() const noexcept;

    // The nth call from now (1 is the next) of `name`, or of any function when `name` is "",
    // answers `status` and does nothing else. `times` calls fail in a row from there on.
    void fail(std::string_view name, int nth, CUresult status, int times = 1);
    void stop_failing();

    [[nodiscard]] std::vector<std::string> calls() const; // names in order
    [[nodiscard]] std::size_t count(std::string_view name) const;
    void forget_calls();

    // What was made and not given back: "" or "2 blocks (1024 bytes), 1 stream". Contexts are not
    // counted.
    [[nodiscard]] std::string leaks() const;
    [[nodiscard]] std::size_t live_bytes() const;
    [[nodiscard]] std::size_t live_blocks() const;
    [[nodiscard]] std::size_t peak_bytes() const;
    [[nodiscard]] std::size_t live_streams() const;
    [[nodiscard]] std::size_t live_events() const;
    [[nodiscard]] std::size_t live_modules() const;
    [[nodiscard]] int context_references(int device) const;

    // More than this much device memory is CUDA_ERROR_OUT_OF_MEMORY. Starts at 1 GiB.
    void set_memory_bytes(std::size_t bytes);
    void set_attribute(CUdevice_attribute attribute, int value); // of every device

    // Work on a busy stream does not finish: the stream and events recorded on it from now on
    // answer CUDA_ERROR_NOT_READY to queries until it is no longer busy. Synchronising returns at
    // once and ends it.
    void set_busy(CUstream stream, bool busy);

    // What launches do, and what was launched so far (params of those are null).
    void set_kernel(std::function<void(const FakeLaunch&)> body);
    // What cuFuncGetParamInfo tells of every kernel. At first: no parameters.
    void set_param_bytes(std::vector<std::size_t> bytes);
    [[nodiscard]] std::vector<FakeLaunch> launches() const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

} // namespace quern
