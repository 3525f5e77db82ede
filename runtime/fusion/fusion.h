// A fused function while it runs: elementwise calls and reductions of one thread are kept back
// while they can share kernels. Whatever else happens on a device, or needs what they compute,
// makes them run first.
#pragma once
#include "runtime/fusion/open_stretch.h"
#include "runtime/fusion/replay.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

class Fusion final : public Recorder {
  public:
    explicit Fusion(std::string name) : name_(std::move(name)) {}
    bool take(const RecordedCall& call) override;
    void settle() override; // for something else that is about to happen
    void settle(void (*on_wait)(bool entering));
    void host_reads() override;
    std::function<int()> line;     // of the function that is running; for every call
    std::function<void()> on_read; // values are about to be brought to the host; may throw

    // From now on `trace` is told of every launch, and refuses if anything else happens.
    void note_in(Trace& trace) { notes_.trace = &trace; }
    // From now on every launch is noted, and every cut.
    void watch() { notes_.watched = true; }
    [[nodiscard]] const std::vector<FusedEvent>& events() const noexcept { return notes_.events; }

  private:
    [[nodiscard]] FusedCut cut_of(std::string_view why, const RecordedCall* call,
                                  const Dims& after) const;
    void note_cut(std::string_view why, const RecordedCall* call = nullptr,
                  const Dims& after = Dims());
    void run(OpenStretch& stretch, void (*on_wait)(bool entering)); // and it is open no more

    std::string name_;
    FusionNotes notes_;
    std::vector<std::unique_ptr<OpenStretch>> open_; // none touches what another one does
    bool running_ = false;
};

} // namespace quern
