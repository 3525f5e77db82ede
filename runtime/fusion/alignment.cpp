// Axes are runs of addresses. From the shortest stride on, a run of one side is a run of the other,
// or the inner part of a longer one.
#include "runtime/fusion/alignment.h"

#include <algorithm>
#include <cstdlib>

namespace quern {
namespace {

struct Run {
    int axis;
    std::int64_t extent, stride; // stride in bytes, without its sign
    bool reversed;
    std::int64_t step = 1; // in elements of the axis
};

// The longest stride first; nullopt where a stride is 0 and may not be.
std::optional<std::vector<Run>> runs_of(const Array& array, bool may_repeat) {
    std::vector<Run> runs;
    for (int d = 0; d < array.ndim(); ++d) {
        const std::int64_t stride = array.strides()[d];
        if (array.shape()[d] == 1 || (stride == 0 && may_repeat))
            continue;
        if (stride == 0)
            return std::nullopt;
        runs.push_back({d, array.shape()[d], std::abs(stride), stride < 0});
    }
    std::ranges::stable_sort(runs, std::ranges::greater(), &Run::stride);
    return runs;
}

struct Common {
    int known, seen; // axes
    std::int64_t extent, known_step, seen_step;
};

// The runs that both sides have; nullopt: there is a run that is none of the other's.
std::optional<std::vector<Common>> common_runs(std::vector<Run> known, std::vector<Run> seen) {
    std::vector<Common> found;
    while (!known.empty() && !seen.empty()) {
        Run &a = known.back(), &b = seen.back();
        const std::int64_t extent = std::min(a.extent, b.extent);
        if (a.stride != b.stride || a.extent % extent != 0 || b.extent % extent != 0)
            return std::nullopt;
        found.push_back({a.axis, b.axis, extent, a.step, b.step});
        for (auto* runs : {&known, &seen}) {
            Run& run = runs->back();
            run.extent /= extent;
            run.stride *= extent;
            run.step *= extent;
            if (run.extent == 1)
                runs->pop_back();
        }
    }
    if (!known.empty() || !seen.empty())
        return std::nullopt;
    return found;
}

} // namespace

std::optional<Alignment> align(const Array& known, const Array& seen) {
    if (known.size() == 0 || seen.size() == 0 || known.dtype() != seen.dtype())
        return std::nullopt;
    const auto of_known = runs_of(known, true), of_seen = runs_of(seen, false);
    if (!of_known || !of_seen)
        return std::nullopt;
    const auto runs = common_runs(*of_known, *of_seen);
    if (!runs)
        return std::nullopt;
    Alignment found;
    found.reversed.resize(static_cast<std::size_t>(seen.ndim()));
    std::vector<bool> known_axes(found.reversed.size());
    for (const Common& run : *runs) {
        const auto axis = static_cast<std::size_t>(run.seen);
        const bool reversed = (known.strides()[run.known] < 0) != (seen.strides()[run.seen] < 0);
        if (known_axes[axis] && found.reversed[axis] != reversed)
            return std::nullopt;
        known_axes[axis] = true;
        found.reversed[axis] = reversed;
    }
    std::uint64_t begin = seen.address();
    for (int d = 0; d < seen.ndim(); ++d)
        if (found.reversed[static_cast<std::size_t>(d)])
            begin += static_cast<std::uint64_t>((seen.shape()[d] - 1) * seen.strides()[d]);
    if (begin != known.address())
        return std::nullopt;
    for (int d = 0; d < known.ndim(); ++d) {
        auto& parts = found.parts.emplace_back();
        for (auto run = runs->rbegin(); run != runs->rend(); ++run) // found from the inside
            if (run->known == d) {
                parts.push_back(run->extent);
                found.axes.push_back({run->seen, run->seen_step});
            }
        if (parts.empty()) {
            parts.push_back(known.shape()[d]);
            found.axes.emplace_back();
        }
    }
    return found;
}

Array Alignment::seen(const Array& array, const Dims& shape) const {
    const int missing = shape.size() - array.ndim();
    const auto stride_of = [&](int axis) {
        const int d = axis - missing;
        return d < 0 || array.shape()[d] == 1 ? 0 : array.strides()[d];
    };
    std::uint64_t begin = array.address();
    for (int c = 0; c < shape.size(); ++c)
        if (reversed[static_cast<std::size_t>(c)])
            begin += static_cast<std::uint64_t>((shape[c] - 1) * stride_of(c));
    Dims strides(axes.size());
    for (std::size_t k = 0; k < axes.size(); ++k)
        if (const Axis& axis = axes[k]; axis.of >= 0)
            strides[static_cast<int>(k)] = axis.step * stride_of(axis.of) *
                                           (reversed[static_cast<std::size_t>(axis.of)] ? -1 : 1);
    return Array(array.buffer(), begin, array.dtype(), extents(), strides, array.writable());
}

Dims Alignment::extents() const {
    std::vector<std::int64_t> extents;
    for (const auto& of_axis : parts)
        for (const std::int64_t extent : of_axis)
            extents.push_back(axes[extents.size()].of < 0 ? 1 : extent);
    return Dims(extents);
}

} // namespace quern
