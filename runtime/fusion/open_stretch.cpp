// Calls join while all iterate over one shape or over its rows, and touch each array in one way
// only.
#include "runtime/fusion/open_stretch.h"

#include "runtime/array/views.h"

#include <algorithm>
#include <cstdlib>

namespace quern {
namespace {

constexpr std::size_t most_values = 512;
constexpr std::size_t most_axes = 32; // where axes fall into parts

// What a reduction makes, with the axes that it joins as axes of one element.
Array with_all_axes(const RecordedCall& call, const Array& made) {
    if (made.ndim() == call.shape.ndim)
        return made;
    Dims extents(static_cast<std::size_t>(call.shape.ndim)), strides(extents);
    for (int d = 0, kept = 0; d < call.shape.ndim; ++d) {
        const bool joined = is_reduced(call.reduced, d);
        extents[d] = joined ? 1 : made.shape()[kept];
        strides[d] = joined ? 0 : made.strides()[kept++];
    }
    return Array(made.buffer(), made.address(), made.dtype(), extents, strides, made.writable());
}

// The parts of the stretch's axes that a reduction joins. nullopt: they come in another order than
// the call has them, and of equals another one is the first.
std::optional<std::uint64_t> joined_by(const RecordedCall& call, const Alignment& alignment) {
    std::uint64_t joined = 0;
    Alignment::Axis last;
    for (std::size_t k = 0; call.reduction != nullptr && k < alignment.axes.size(); ++k) {
        const Alignment::Axis& axis = alignment.axes[k];
        if (axis.of < 0 || !is_reduced(call.reduced, axis.of))
            continue;
        if (axis.of < last.of || (axis.of == last.of && axis.step > last.step) ||
            alignment.reversed[static_cast<std::size_t>(axis.of)])
            return std::nullopt;
        last = axis;
        joined |= std::uint64_t{1} << k;
    }
    return joined;
}

bool counts(const RecordedCall& call) {
    return call.elementwise != nullptr && call.elementwise->facts.uses_i;
}
bool counts(const GraphStep& step) { return step.spec != nullptr && step.spec->facts.uses_i; }

} // namespace

// A call as one over the stretch's axes.
struct OpenStretch::Aligned {
    Dims extents;
    std::vector<Array> arrays;
    ParamArrays pointers{};
    CallShape shape;
    RecordedCall call;

    Aligned(const RecordedCall& given, const Alignment& alignment, std::uint64_t joined)
        : call{given.elementwise, given.reduction, given.signature, given.args,   pointers, shape,
               given.device,      given.stream,    given.kernel,    given.number, joined} {
        const auto& params = given.spec().params;
        const Dims whole = shape_of(given);
        arrays.reserve(params.size());
        for (std::size_t k = 0; k < params.size(); ++k)
            if (given.arrays[k] != nullptr) {
                const bool joins = given.reduction != nullptr && params[k].output;
                const Array& array = *given.arrays[k];
                arrays.push_back(
                    alignment.seen(joins ? with_all_axes(given, array) : array, whole));
                pointers[k] = &arrays.back();
            }
        extents = alignment.extents();
        shape.set(extents.data(), extents.size());
    }
};

// Through what the stretch made and the call reads or writes: its parameter `through`.
std::optional<Alignment> OpenStretch::alignment_of(const RecordedCall& call,
                                                   std::size_t& through) const {
    const Dims whole = shape_of(call);
    const auto& params = call.spec().params;
    for (std::size_t k = 0; k < params.size(); ++k) {
        if (call.arrays[k] == nullptr || !(call.arrays[k]->shape() == whole))
            continue;
        const Array& array = *call.arrays[k];
        const ByteBounds bounds = byte_bounds(array);
        for (auto value = stretch_.values.rbegin(); value != stretch_.values.rend(); ++value) {
            if (value->facts.given || !meet(value->bounds, bounds))
                continue;
            const Array& made = value->array;
            auto found = align(
                Array(made.buffer(), made.address(), made.dtype(), stretch_.shape, value->strides),
                array);
            if (found && found->axes.size() <= most_axes && fits(*found, call)) {
                through = k;
                return found;
            }
            break;
        }
    }
    return std::nullopt;
}

// Does the call iterate over all that the stretch does, or over its rows?
bool OpenStretch::fits(const Alignment& alignment, const RecordedCall& call) const {
    std::size_t part = 0;
    bool elements = true, rows = call.reduction == nullptr;
    for (int d = 0; d < stretch_.shape.size(); ++d)
        for (const std::int64_t extent : alignment.parts[static_cast<std::size_t>(d)]) {
            const bool has = alignment.axes[part++].of >= 0;
            if (extent == 1)
                continue;
            elements = elements && has;
            rows = rows && stretch_.reduced && has != is_reduced(*stretch_.reduced, d);
        }
    return elements || rows;
}

// Kernels that hold rows want them in memory as what they were made for: all arrays with their axes
// in one order, and a row one axis for all.
bool OpenStretch::keeps_rows(const Alignment& alignment, const Aligned& aligned,
                             std::size_t through) const {
    if (!stretch_.reduced)
        return true;
    const Dims &model = aligned.pointers[through]->strides(), &extents = aligned.extents;
    const auto is_longer = [](const Dims& strides, int a, int b) {
        return strides[b] != 0 && std::abs(strides[a]) > std::abs(strides[b]);
    };
    for (const Array& array : aligned.arrays) {
        const Dims& strides = array.strides();
        for (int a = 0; a < extents.size(); ++a)
            for (int b = 0; b < extents.size(); ++b)
                if (strides[a] != 0 && is_longer(model, a, b) && is_longer(strides, b, a))
                    return false;
        int part = 0;
        for (int d = 0; d < stretch_.shape.size(); ++d) {
            const int count = static_cast<int>(alignment.parts[static_cast<std::size_t>(d)].size());
            for (int k = part; is_reduced(*stretch_.reduced, d) && k + 1 < part + count; ++k)
                if (strides[k] != strides[k + 1] * extents[k + 1])
                    return false;
            part += count;
        }
    }
    return true;
}

OpenStretch::Over OpenStretch::over(const RecordedCall& call,
                                    std::span<const std::int64_t> shape) const {
    const Dims& whole = stretch_.shape;
    if (std::ranges::equal(shape, whole.span()))
        return Over::elements;
    const std::optional<std::uint64_t> reduced =
        call.reduction != nullptr ? std::optional(call.reduced) : stretch_.reduced;
    if (!reduced)
        return Over::neither;
    std::vector<std::int64_t> kept, ones;
    for (int d = 0; d < whole.size(); ++d) {
        ones.push_back(is_reduced(*reduced, d) ? 1 : whole[d]);
        if (!is_reduced(*reduced, d))
            kept.push_back(whole[d]);
    }
    return std::ranges::equal(shape, ones) || std::ranges::equal(shape, kept) ? Over::rows
                                                                              : Over::neither;
}

// An array that is broadcast to `ndim` axes, which are those of the stretch or its kept ones.
Dims OpenStretch::strides_of(const Array& array, Over over, int ndim) const {
    const bool kept = over == Over::rows && ndim != stretch_.shape.size();
    Dims strides(static_cast<std::size_t>(stretch_.shape.size()));
    for (int d = 0; d < array.ndim(); ++d) {
        const int axis = ndim - array.ndim() + d;
        if (array.shape()[d] != 1)
            strides[kept ? static_cast<int>(stretch_.kept_axes[static_cast<std::size_t>(axis)])
                         : axis] = array.strides()[d];
    }
    return strides;
}

std::string_view OpenStretch::why_not(const RecordedCall& call) const {
    if (steps_.empty())
        return {};
    const auto& params = call.spec().params;
    const std::span shape(call.shape.extents, static_cast<std::size_t>(call.shape.ndim));
    const Over space = over(call, shape);
    const bool joins = call.reduction != nullptr;
    if (stretch_.device != &call.device || stretch_.stream != call.stream)
        return "runs on another device or stream";
    if (stretch_.values.size() + params.size() > most_values)
        return "would be one call too many for a kernel";
    if (space == Over::neither || (joins && space != Over::elements))
        return other_shape;
    if (joins && stretch_.reduced && *stretch_.reduced != call.reduced)
        return "reduces other axes";
    if (joins && !stretch_.reduced && writes_over())
        return "reduces, and memory was written over";
    if (counts(call) && (stretch_.reduced || space != Over::elements))
        return "counts elements, and rows have none";
    if (joins && std::ranges::any_of(steps_, [](const Step& s) { return counts(s.step); }))
        return "reduces, and elements were counted";
    for (std::size_t k = 0; k < params.size(); ++k) {
        if (call.arrays[k] == nullptr)
            continue;
        const Array& array = *call.arrays[k];
        const bool output = params[k].output;
        const Dims strides = joins && output ? Dims() : strides_of(array, space, call.shape.ndim);
        const ByteBounds bounds = byte_bounds(array);
        for (const StretchValue& value : stretch_.values) {
            if ((value.facts.given && !output) || !meet(value.bounds, bounds))
                continue;
            // Where there are several kernels, memory is written once.
            if (output && (joins || stretch_.reduced))
                return "writes memory that reductions before it read";
            if (value.array.address() != array.address() || value.facts.dtype != array.dtype() ||
                !(value.strides == strides))
                return "looks at other elements of memory that is written";
        }
    }
    return {};
}

// A kernel that makes a value again must not find its inputs overwritten.
bool OpenStretch::writes_over() const {
    const auto& values = stretch_.values;
    for (std::size_t k = 0; k < values.size(); ++k)
        for (std::size_t before = 0; !values[k].facts.given && before < k; ++before)
            if (meet(values[before].bounds, values[k].bounds))
                return true;
    return false;
}

void OpenStretch::begin(const RecordedCall& call) {
    if (steps_.empty()) {
        stretch_.values.clear(); // of a call that failed
        stretch_.shape = shape_of(call);
        stretch_.device = &call.device;
        stretch_.stream = call.stream;
        stretch_.reduce(std::nullopt);
    }
    if (call.reduction != nullptr && !stretch_.reduced)
        stretch_.reduce(call.reduced);
}

int OpenStretch::latest(const Array& array, const Dims& strides) const {
    const auto& values = stretch_.values;
    for (std::size_t k = values.size(); k-- > 0;)
        if (!values[k].facts.scalar && values[k].array.address() == array.address() &&
            values[k].facts.dtype == array.dtype() && values[k].strides == strides)
            return static_cast<int>(k);
    return no_value;
}

int OpenStretch::value_of(const Array& array, Dims strides) {
    if (const int known = latest(array, strides); known != no_value)
        return known;
    stretch_.values.push_back({array,
                               std::move(strides),
                               {},
                               {.dtype = array.dtype(), .given = true},
                               byte_bounds(array)});
    return static_cast<int>(stretch_.values.size()) - 1;
}

int OpenStretch::value_of(const Scalar& scalar, DType dtype) {
    alignas(16) std::byte stored[16];
    store_scalar(scalar, dtype, stored); // what does not fit is an error of this call
    stretch_.values.push_back({Array(BufferPtr(), 0, dtype, Dims(), Dims()),
                               Dims(),
                               scalar,
                               {.dtype = dtype, .given = true, .scalar = true},
                               {}});
    return static_cast<int>(stretch_.values.size()) - 1;
}

std::string_view OpenStretch::join(const RecordedCall& call, int line) {
    const std::string_view why = why_not(call);
    if (why.empty()) {
        add(call, line);
        return {};
    }
    std::size_t through = 0;
    const auto alignment = counts(call) ? std::nullopt : alignment_of(call, through);
    if (const auto joined = alignment ? joined_by(call, *alignment) : std::nullopt) {
        const Aligned aligned(call, *alignment, *joined);
        if (keeps_rows(*alignment, aligned, through)) {
            stretch_.split(alignment->parts);
            if (why_not(aligned.call).empty()) {
                add(aligned.call, line);
                return {};
            }
        }
    }
    return why;
}

bool OpenStretch::touches(const RecordedCall& call) const {
    if (stretch_.device != &call.device || stretch_.stream != call.stream)
        return true;
    const auto& params = call.spec().params;
    for (std::size_t k = 0; k < params.size(); ++k) {
        if (call.arrays[k] == nullptr)
            continue;
        const ByteBounds bounds = byte_bounds(*call.arrays[k]);
        for (const StretchValue& value : stretch_.values)
            if ((params[k].output || !value.facts.given) && meet(value.bounds, bounds))
                return true;
    }
    return false;
}

void OpenStretch::add(const RecordedCall& call, int line) {
    const KernelSpec& spec = call.spec();
    const bool joins = call.reduction != nullptr;
    begin(call);
    const std::span shape(call.shape.extents, static_cast<std::size_t>(call.shape.ndim));
    const Over space = over(call, shape);
    const bool per_row = joins || space == Over::rows;
    GraphStep step{call.elementwise, &call.signature, {},         {}, {}, line,
                   per_row,          call.reduction,  call.number};
    const auto lies = [&](std::size_t k) {
        const Array& array = *call.arrays[k];
        return joins && spec.params[k].output ? strides_of(array, Over::rows, array.ndim())
                                              : strides_of(array, space, call.shape.ndim);
    };
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        if (!spec.params[k].output)
            step.inputs.push_back(
                call.arrays[k] != nullptr
                    ? value_of(*call.arrays[k], lies(k))
                    : value_of(call.args[k].scalar, call.signature.params[k].dtype));
        else
            step.before.push_back((spec.facts.assigned_first >> k & 1) != 0
                                      ? no_value
                                      : value_of(*call.arrays[k], lies(k)));
    }
    for (std::size_t k = static_cast<std::size_t>(spec.nin); k < spec.params.size(); ++k) {
        stretch_.values.push_back({*call.arrays[k],
                                   lies(k),
                                   {},
                                   {.dtype = call.arrays[k]->dtype(), .per_row = per_row},
                                   byte_bounds(*call.arrays[k])});
        step.outputs.push_back(static_cast<int>(stretch_.values.size()) - 1);
    }
    steps_.push_back({std::move(step), call.kernel});
}

// The last elements of each array, unless nobody but us holds its memory. Of memory that is not
// ours nobody knows.
void OpenStretch::find_wanted() {
    auto& values = stretch_.values;
    for (std::size_t k = 0; k < values.size(); ++k) {
        StretchValue& value = values[k];
        if (value.facts.given || latest(value.array, value.strides) != static_cast<int>(k))
            continue;
        const Buffer* buffer = value.array.buffer().get();
        const auto is_of_it = [&](const Array& other) { return other.buffer().get() == buffer; };
        const auto ours = std::ranges::count_if(values, is_of_it, &StretchValue::array) +
                          std::ranges::count_if(stretch_.notes->places, is_of_it);
        value.facts.wanted = dynamic_cast<const ForeignBuffer*>(buffer) != nullptr ||
                             buffer->references() > static_cast<std::uint32_t>(ours);
    }
}

void OpenStretch::run(void (*on_wait)(bool entering)) {
    if (apart_)
        stretch_.notes->add(std::move(*apart_));
    find_wanted();
    std::vector<GraphStep> steps;
    steps.reserve(steps_.size());
    for (Step& step : steps_)
        steps.push_back(std::move(step.step));
    stretch_.run(std::move(steps), on_wait);
}

} // namespace quern
