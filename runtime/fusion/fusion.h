// A fused stretch: elementwise calls of one thread are kept back while they can become one kernel.
// Whatever else happens on a device, or needs what they compute, makes them run first.
#pragma once
#include "compiler/fusion/graph.h"
#include "runtime/kernel/recorder.h"

#include <functional>
#include <string>
#include <vector>

namespace quern {

// A kernel that ran for a stretch.
struct FusedLaunch {
    std::string graph;                  // after all passes, in text
    std::string source;                 // generated CUDA C++; empty unless asked for
    std::vector<int> lines;             // of the function that went into it, each once
    int calls = 0;                      // that were recorded for it
    std::int64_t read = 0, written = 0; // bytes
};

class Fusion final : public Recorder {
  public:
    explicit Fusion(std::string name) : name_(std::move(name)) {}
    bool take(const RecordedCall& call) override;
    void settle() override;
    void host_reads() override {
        if (on_read && !running_)
            on_read();
    }
    std::function<int()> line;     // of the function that is running; for every call
    std::function<void()> on_read; // values are about to be brought to the host; may throw

    // From now on every launch is noted.
    void watch() { watched_ = true; }
    [[nodiscard]] const std::vector<FusedLaunch>& launches() const noexcept { return launches_; }

  private:
    struct Value {
        Array array; // of an array's elements
        Scalar scalar;
        GraphValue facts;
    };
    struct Step {
        GraphStep step;
        std::shared_ptr<const void> kernel; // held, so that its spec is there
    };
    [[nodiscard]] bool fits(const RecordedCall& call) const;
    [[nodiscard]] int latest(const Array& array) const; // no_value: it is not known yet
    int value_of(const Array& array);
    int value_of(const Scalar& scalar, DType dtype);
    int made_value(const Array& array);
    void find_wanted();
    void run(std::size_t first, std::size_t last);
    void launch(const FusionGraph& graph, const std::vector<int>& values, int calls);

    std::string name_;
    std::vector<Value> values_;
    std::vector<Step> steps_;
    Dims shape_;
    Device* device_ = nullptr;
    CUstream stream_ = nullptr;
    bool running_ = false, watched_ = false;
    std::vector<FusedLaunch> launches_;
};

} // namespace quern
