// A stretch that calls still join.
#pragma once
#include "runtime/fusion/alignment.h"
#include "runtime/fusion/stretch.h"
#include "runtime/kernel/recorder.h"

#include <optional>
#include <string_view>
#include <vector>

namespace quern {

[[nodiscard]] inline Dims shape_of(const RecordedCall& call) {
    return Dims(std::span(call.shape.extents, static_cast<std::size_t>(call.shape.ndim)));
}

inline constexpr std::string_view other_shape = "is over another shape";

class OpenStretch {
  public:
    // `apart`: why its first call joined none that was open.
    OpenStretch(FusionNotes& notes, const std::string& name, std::optional<FusedCut> apart)
        : stretch_(notes, name), apart_(std::move(apart)) {}
    // Takes the call, of that line of the function, or tells why not. The first is always taken.
    [[nodiscard]] std::string_view join(const RecordedCall& call, int line);
    [[nodiscard]] std::string_view why_not(const RecordedCall& call) const; // empty: it fits
    // Must it run before the call does, unless the call joins it?
    [[nodiscard]] bool touches(const RecordedCall& call) const;
    void run(void (*on_wait)(bool entering)); // once
    [[nodiscard]] const Dims& shape() const noexcept { return stretch_.shape; }

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
    [[nodiscard]] bool writes_over() const;       // memory that the stretch knew before
    void add(const RecordedCall& call, int line); // which fits
    void begin(const RecordedCall& call);
    // Of the elements that lie so in memory; no_value: none is known.
    [[nodiscard]] int latest(const Array& array, const Dims& strides) const;
    int value_of(const Array& array, Dims strides);
    int value_of(const Scalar& scalar, DType dtype);
    void find_wanted();

    Stretch stretch_;
    std::optional<FusedCut> apart_;
    std::vector<Step> steps_;
};

} // namespace quern
