// See stretch.h.
#include "runtime/fusion/stretch.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/fusion/merge.h"
#include "compiler/fusion/pairs.h"
#include "compiler/fusion/passes.h"
#include "runtime/array/views.h"
#include "runtime/fusion/fused_kernel.h"
#include "runtime/fusion/known.h"
#include "runtime/fusion/replay.h"
#include "runtime/kernel/plan_options.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace quern {
namespace {

// What tells graphs apart while their kernels live: a kernel's number is never another's. Lines are
// known while launches are noted, and the notes name them.
std::string key_of(const std::vector<StretchValue>& values, const std::vector<GraphStep>& steps,
                   const std::string& name, bool on_cpu) {
    std::string key;
    key.reserve(name.size() + 2 + 2 * values.size() + 48 * steps.size());
    const auto add = [&](auto number) {
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    key += name;
    key += on_cpu ? 'c' : 'g';
    for (const StretchValue& value : values)
        add(static_cast<std::uint16_t>(static_cast<int>(value.facts.dtype) << 4 |
                                       value.facts.per_row << 3 | value.facts.given << 2 |
                                       value.facts.scalar << 1 | value.facts.wanted));
    for (const GraphStep& step : steps) {
        add(step.number);
        add(step.signature);
        add(step.per_row);
        add(step.line);
        for (const auto* list : {&step.inputs, &step.before, &step.outputs})
            for (const int value : *list)
                add(static_cast<std::int16_t>(value));
    }
    return key;
}

// Of memory, each element once however often it is seen.
std::int64_t bytes_behind(const Array& array) {
    auto bytes = static_cast<std::int64_t>(bytes_of(array.dtype()));
    for (int d = 0; d < array.ndim(); ++d)
        bytes *= array.strides()[d] != 0 ? array.shape()[d] : 1;
    return bytes;
}

// The same of several arrays: what lies over one another counts once.
std::int64_t bytes_behind_all(std::span<const Array> arrays) {
    struct Region {
        CUdeviceptr begin, end;
        std::int64_t bytes;
    };
    std::vector<Region> regions;
    for (const Array& array : arrays) {
        const ByteBounds bounds = byte_bounds(array);
        regions.push_back({bounds.low, bounds.high, bytes_behind(array)});
    }
    std::ranges::sort(regions, {}, &Region::begin);
    std::int64_t total = 0;
    for (std::size_t k = 0; k < regions.size();) {
        Region all = regions[k];
        for (++k; k < regions.size() && regions[k].begin < all.end; ++k) {
            all.end = std::max(all.end, regions[k].end);
            all.bytes += regions[k].bytes;
        }
        total += std::min(all.bytes, static_cast<std::int64_t>(all.end - all.begin));
    }
    return total;
}

} // namespace

struct Stretch::Part {
    GraphPart part;
    FusedKernel* kernel; // null: it would have too many parameters
    RowWays ways = RowWays::all;

    Part(GraphPart made, const std::string& name) : part(std::move(made)), kernel(nullptr) {
        try {
            kernel = &kernel_of(part, name);
        } catch (const SpecError&) {
            if (part.graph.steps.size() == 1)
                throw;
        }
    }
};

namespace {

// A graph's parts, and itself where one kernel may do: first in a form that suits panels.
struct Parts {
    std::optional<Stretch::Part> panels, whole;
    std::vector<Stretch::Part> each;
};

Parts make_parts(const std::vector<StretchValue>& values, std::vector<GraphStep> steps,
                 const std::string& name, bool on_cpu) {
    FusionGraph graph;
    for (const StretchValue& value : values)
        graph.values.push_back(value.facts);
    graph.steps = std::move(steps);
    run_passes(graph);
    Parts made;
    const auto add_whole = [&](std::optional<Stretch::Part>& part, const FusionGraph& of) {
        if (!can_be_rows(of))
            return;
        GraphPart whole{PartKind::walks, of, {}};
        whole.values.resize(of.values.size());
        std::iota(whole.values.begin(), whole.values.end(), 0);
        part.emplace(std::move(whole), name);
    };
    const auto with_joint_moments = [&](const FusionGraph& of) {
        auto joint = with_moments(of);
        return joint ? std::move(*joint) : of;
    };
    if (!on_cpu) {
        add_whole(made.whole, with_joint_moments(graph));
        if (auto scaled = with_scaled_sums(graph)) {
            graph = std::move(*scaled);
            add_whole(made.panels, with_joint_moments(graph));
        }
        if (made.panels)
            made.panels->ways = RowWays::panels;
    }
    for (GraphPart& part : cut(graph, {.keeps_costly = on_cpu, .joins_together = !on_cpu}))
        made.each.emplace_back(std::move(part), name);
    // Columns that one reduction reads once need not be held.
    if (made.whole && made.each.size() == 1 && made.each[0].part.kind == PartKind::reduction)
        made.whole->ways = RowWays::along;
    return made;
}

} // namespace

void Stretch::reduce(std::optional<std::uint64_t> axes) {
    reduced = axes;
    kept_axes.clear();
    reduced_axes.clear();
    for (int d = 0; reduced && d < shape.size(); ++d)
        (is_reduced(*reduced, d) ? reduced_axes : kept_axes).push_back(d);
}

void Stretch::split(const std::vector<std::vector<std::int64_t>>& parts) {
    std::vector<std::int64_t> extents;
    std::uint64_t joined = 0;
    for (std::size_t d = 0; d < parts.size(); ++d)
        for (const std::int64_t extent : parts[d]) {
            if (reduced && is_reduced(*reduced, static_cast<int>(d)))
                joined |= std::uint64_t{1} << extents.size();
            extents.push_back(extent);
        }
    if (extents.size() == parts.size())
        return;
    for (StretchValue& value : values) {
        if (value.facts.scalar)
            continue;
        std::vector<std::int64_t> strides; // from the last axis on
        for (std::size_t d = parts.size(); d-- > 0;) {
            std::int64_t stride = value.strides[static_cast<int>(d)];
            for (auto extent = parts[d].rbegin(); extent != parts[d].rend(); ++extent) {
                strides.push_back(*extent == 1 ? 0 : stride);
                stride *= *extent;
            }
        }
        std::ranges::reverse(strides);
        value.strides = Dims(strides);
    }
    shape = Dims(extents);
    reduce(reduced ? std::optional(joined) : std::nullopt);
}

// The value as a kernel over the stretch's shape, or over its rows, takes it.
Array Stretch::seen(const StretchValue& value, bool by_rows) const {
    const Array& array = value.array;
    if (!by_rows && array.shape() == shape && array.strides() == value.strides)
        return array;
    const auto& axes = by_rows ? kept_axes : all_axes;
    Dims extents(axes.size()), strides(axes.size());
    for (std::size_t k = 0; k < axes.size(); ++k) {
        extents[static_cast<int>(k)] = shape[static_cast<int>(axes[k])];
        strides[static_cast<int>(k)] = value.strides[static_cast<int>(axes[k])];
    }
    return Array(array.buffer(), array.address(), array.dtype(), extents, strides,
                 array.writable());
}

void Stretch::run(std::vector<GraphStep> steps, void (*on_wait)(bool)) {
    all_axes.resize(static_cast<std::size_t>(shape.size()));
    std::iota(all_axes.begin(), all_axes.end(), 0);
    began_ = false;
    const bool on_cpu = plan_target(*device) == Target::cpu;
    const Parts& parts = known<Parts>(key_of(values, steps, name, on_cpu), [&] {
        return make_parts(values, std::move(steps), name, on_cpu);
    });
    for (const std::optional<Part>* part : {&parts.panels, &parts.whole})
        if (*part && run_part(**part, on_wait))
            return;
    for (const Part& part : parts.each)
        run_part(part, on_wait);
}

// False: not in this way, and nothing has run.
bool Stretch::run_part(const Part& part, void (*on_wait)(bool)) {
    if (part.kernel != nullptr) {
        try {
            return launch(part, on_wait);
        } catch (const Error& error) { // too many operands or axes
            if (error.kind() != ErrorKind::value || part.part.graph.steps.size() == 1)
                throw;
        }
    }
    if (part.part.kind == PartKind::walks)
        return false;
    for (GraphPart& half : halves(part.part))
        run_part(Part(std::move(half), name), on_wait);
    return true;
}

bool Stretch::launch(const Part& given, void (*on_wait)(bool)) {
    const GraphPart& part = given.part;
    FusedKernel& kernel = *given.kernel;
    const KernelSpec& spec = kernel.spec();
    std::vector<Array> arrays;
    arrays.reserve(kernel.values.size());
    std::vector<Argument> args;
    for (std::size_t k = 0; k < kernel.values.size(); ++k) {
        const int number = part.values[static_cast<std::size_t>(kernel.values[k])];
        const StretchValue& value = values[static_cast<std::size_t>(number)];
        if (value.facts.scalar) {
            args.push_back(Argument::of(value.scalar));
            continue;
        }
        const bool output = spec.params[k].output;
        arrays.push_back(seen(value, part.kind == PartKind::rows ||
                                         (output && part.kind == PartKind::reduction)));
        args.push_back(Argument::of(arrays.back()));
    }
    FusedCall call{reduced_axes, 1, given.ways};
    for (const std::int64_t axis : part.kind == PartKind::rows ? kept_axes : all_axes)
        call.elements *= shape[static_cast<int>(axis)];
    if (!kernel(args, call, stream, on_wait))
        return false;
    if (notes->trace != nullptr)
        notes->trace->note(kernel, args, call, stream);
    if (notes->watched)
        note(given, args);
    return true;
}

void Stretch::note(const Part& given, std::span<const Argument> args) {
    const GraphPart& part = given.part;
    FusedLaunch noted{part.graph, {}, given.kernel->launched_code(),
                      0,          0,  std::exchange(began_, true)};
    for (std::size_t k = 0; k < part.values.size(); ++k) {
        const GraphValue& facts = part.graph.values[k];
        noted.values.push_back({facts.dtype, facts.scalar, facts.wanted});
        if (facts.scalar || !(facts.given || facts.wanted))
            continue;
        const Array& array = values[static_cast<std::size_t>(part.values[k])].array;
        FusedLaunch::Value& value = noted.values.back();
        value.place = notes->place_of(array);
        value.address = array.address();
        value.bytes = bytes_behind(array);
    }
    std::vector<Array> read, written;
    for (std::size_t k = 0; k < args.size(); ++k)
        if (args[k].kind == ArgType::Kind::array)
            (given.kernel->spec().params[k].output ? written : read).push_back(*args[k].array);
    noted.read = bytes_behind_all(read);
    noted.written = bytes_behind_all(written);
    notes->events.emplace_back(std::move(noted));
}

void FusionNotes::add(FusedCut cut) {
    const auto* last = events.empty() ? nullptr : std::get_if<FusedCut>(&events.back());
    if (last == nullptr || last->line != cut.line)
        events.emplace_back(std::move(cut));
}

// Axes of one element tell nothing.
int FusionNotes::place_of(const Array& array) {
    const auto squeezed = [](const Array& a) {
        std::vector<std::int64_t> dims;
        for (int d = 0; d < a.ndim(); ++d)
            if (a.shape()[d] != 1)
                dims.insert(dims.end(), {a.shape()[d], a.strides()[d]});
        return dims;
    };
    const auto known = std::ranges::find_if(places, [&](const Array& other) {
        return other.address() == array.address() && other.dtype() == array.dtype() &&
               squeezed(other) == squeezed(array);
    });
    const auto place = static_cast<int>(known - places.begin());
    if (known == places.end())
        places.push_back(array);
    return place;
}

} // namespace quern
