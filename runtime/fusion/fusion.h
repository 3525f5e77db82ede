// A fused stretch: elementwise calls and reductions of one thread are kept back while they can
// share kernels. Whatever else happens on a device, or needs what they compute, makes them run
// first.
#pragma once
#include "runtime/fusion/alignment.h"
#include "runtime/fusion/replay.h"
#include "runtime/fusion/stretch.h"
#include "runtime/kernel/recorder.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

class Fusion final : public Recorder {
  public:
    explicit Fusion(std::string name) : stretch_(std::move(name)) {}
    bool take(const RecordedCall& call) override;
    void settle() override; // for something else that is about to happen
    void settle(void (*on_wait)(bool entering));
    void host_reads() override;
    std::function<int()> line;     // of the function that is running; for every call
    std::function<void()> on_read; // values are about to be brought to the host; may throw

    // From now on `trace` is told of every launch, and refuses if anything else happens.
    void note_in(Trace& trace) { stretch_.trace = &trace; }
    // From now on every launch is noted, and every cut.
    void watch() { stretch_.watched = true; }
    [[nodiscard]] const std::vector<FusedEvent>& events() const noexcept { return stretch_.events; }

  private:
    struct Step {
        GraphStep step;
        std::shared_ptr<const void> kernel; // held, so that its spec is there
    };
    struct Aligned;
    enum class Over : std::uint8_t { elements, rows, neither };
    [[nodiscard]] std::optional<Alignment> alignment_of(const RecordedCall& call,
                                                        std::size_t& through) const;
    [[nodiscard]] bool fits(const Alignment& alignment, const RecordedCall& call) const;
    [[nodiscard]] bool keeps_rows(const Alignment& alignment, const Aligned& aligned,
                                  std::size_t through) const;
    [[nodiscard]] Over over(const RecordedCall& call, std::span<const std::int64_t> shape) const;
    [[nodiscard]] Dims strides_of(const Array& array, Over over, int ndim) const;
    [[nodiscard]] std::string_view why_not(const RecordedCall& call) const; // empty: it fits
    void note_cut(std::string_view why, const RecordedCall* call = nullptr);
    [[nodiscard]] bool writes_over() const; // memory that the stretch knew before
    void add(const RecordedCall& call);     // which fits
    void begin(const RecordedCall& call);
    // Of the elements that lie so in memory; no_value: none is known.
    [[nodiscard]] int latest(const Array& array, const Dims& strides) const;
    int value_of(const Array& array, Dims strides);
    int value_of(const Scalar& scalar, DType dtype);
    void find_wanted();

    Stretch stretch_;
    std::vector<Step> steps_;
    bool running_ = false;
};

} // namespace quern
