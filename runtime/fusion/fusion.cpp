// Calls are taken while all iterate over one shape and touch each array in one way only.
#include "runtime/fusion/fusion.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/fusion/merge.h"
#include "compiler/fusion/passes.h"
#include "runtime/array/views.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <unordered_map>

namespace quern {
namespace {

constexpr std::size_t most_values = 64;

bool same_elements(const Array& a, const Array& b) {
    return a.address() == b.address() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
           a.strides() == b.strides();
}

// Everything that the merged kernel depends on.
std::string key_of(const FusionGraph& graph, const std::string& name) {
    std::string key = name;
    const auto add = [&](int number) {
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    for (const GraphValue& value : graph.values)
        add(static_cast<int>(value.dtype) << 3 | value.given << 2 | value.scalar << 1 |
            value.wanted);
    for (const GraphStep& step : graph.steps) {
        key += join('\0', step.spec->in_params, '\0', step.spec->out_params, '\0',
                    step.spec->operation, '\0');
        for (const auto* list : {&step.inputs, &step.before, &step.outputs})
            for (const int value : *list)
                add(value);
        for (const auto& [letter, spelling] : step.signature->placeholders)
            key += join(letter, spelling);
    }
    return key;
}

struct Known {
    explicit Known(MergedKernel made, std::string graph)
        : kernel(std::move(made.spec)), values(std::move(made.values)), text(std::move(graph)) {}
    ElementwiseKernel kernel;
    std::vector<int> values;
    std::string text;
};

Known& known_kernel(const FusionGraph& graph, const std::string& name) {
    static auto* const known = new std::unordered_map<std::string, std::unique_ptr<Known>>;
    static std::mutex mutex;
    const std::string key = key_of(graph, name);
    const std::lock_guard lock(mutex);
    auto& found = (*known)[key];
    if (!found) {
        FusionGraph reduced = graph;
        run_passes(reduced);
        found = std::make_unique<Known>(merge(reduced, name), text_of(reduced));
    }
    return *found;
}

} // namespace

bool Fusion::fits(const RecordedCall& call) const {
    if (steps_.empty())
        return true;
    const auto& params = call.kernel.spec().params;
    const CallShape& shape = call.shape;
    if (device_ != &call.device || stream_ != call.stream || shape.ndim != shape_.size() ||
        !std::equal(shape.extents, shape.extents + shape.ndim, shape_.begin()) ||
        values_.size() + params.size() > most_values)
        return false;
    for (std::size_t k = 0; k < params.size(); ++k) {
        if (call.arrays[k] == nullptr)
            continue;
        const Array& array = *call.arrays[k];
        for (const Value& value : values_)
            if (!value.facts.scalar && (!value.facts.given || params[k].output) &&
                !same_elements(value.array, array) && may_share_memory(value.array, array))
                return false;
    }
    return true;
}

int Fusion::latest(const Array& array) const {
    for (std::size_t k = values_.size(); k-- > 0;)
        if (!values_[k].facts.scalar && same_elements(values_[k].array, array))
            return static_cast<int>(k);
    return no_value;
}

int Fusion::value_of(const Array& array) {
    if (const int known = latest(array); known != no_value)
        return known;
    values_.push_back({array, {}, {.dtype = array.dtype(), .given = true}});
    return static_cast<int>(values_.size()) - 1;
}

int Fusion::value_of(const Scalar& scalar, DType dtype) {
    alignas(16) std::byte stored[16];
    store_scalar(scalar, dtype, stored); // what does not fit is an error of this call
    values_.push_back({Array(BufferPtr(), 0, dtype, Dims(), Dims()),
                       scalar,
                       {.dtype = dtype, .given = true, .scalar = true}});
    return static_cast<int>(values_.size()) - 1;
}

int Fusion::made_value(const Array& array) {
    values_.push_back({array, {}, {.dtype = array.dtype()}});
    return static_cast<int>(values_.size()) - 1;
}

bool Fusion::take(const RecordedCall& call) {
    if (running_)
        return false;
    const ElementwiseSpec& spec = call.kernel.spec();
    if (!can_be_step(spec, call.signature)) {
        settle();
        return false;
    }
    if (!fits(call))
        settle();
    if (steps_.empty()) {
        shape_ = Dims(std::span(call.shape.extents, static_cast<std::size_t>(call.shape.ndim)));
        device_ = &call.device;
        stream_ = call.stream;
    }
    GraphStep step{&spec, &call.signature, {}, {}, {}, line ? line() : 0};
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const bool output = spec.params[k].output;
        if (!output)
            step.inputs.push_back(
                call.arrays[k] != nullptr
                    ? value_of(*call.arrays[k])
                    : value_of(call.args[k].scalar, call.signature.params[k].dtype));
        else
            step.before.push_back(
                (spec.facts.assigned_first >> k & 1) != 0 ? no_value : value_of(*call.arrays[k]));
    }
    for (std::size_t k = static_cast<std::size_t>(spec.nin); k < spec.params.size(); ++k)
        step.outputs.push_back(made_value(*call.arrays[k]));
    steps_.push_back({std::move(step), call.kernel.hold()});
    return true;
}

// The last elements of each array, unless nobody but us holds its memory. Of memory that is not
// ours nobody knows.
void Fusion::find_wanted() {
    for (std::size_t k = 0; k < values_.size(); ++k) {
        Value& value = values_[k];
        if (value.facts.given || latest(value.array) != static_cast<int>(k))
            continue;
        const Buffer* buffer = value.array.buffer().get();
        const auto ours = std::ranges::count_if(
            values_, [&](const Value& other) { return other.array.buffer().get() == buffer; });
        value.facts.wanted = dynamic_cast<const ForeignBuffer*>(buffer) != nullptr ||
                             buffer->references() > static_cast<std::uint32_t>(ours);
    }
}

void Fusion::launch(const FusionGraph& graph, const std::vector<int>& values, int calls) {
    Known& known = known_kernel(graph, name_);
    std::vector<Argument> args;
    for (const int number : known.values) {
        const Value& value =
            values_[static_cast<std::size_t>(values[static_cast<std::size_t>(number)])];
        args.push_back(value.facts.scalar ? Argument::of(value.scalar) : Argument::of(value.array));
    }
    ElementwiseCall call;
    call.has_stream = true;
    call.stream = stream_;
    if (std::ranges::none_of(args, [](const Argument& argument) {
            return argument.kind == ArgType::Kind::array;
        })) // nothing is stored, but a body may do more
        call.size =
            std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
    static_cast<void>(known.kernel(args, call));
    if (!watched_)
        return;
    FusedLaunch noted{known.text, {}, {}, calls, 0, 0};
    for (const GraphStep& step : graph.steps)
        if (std::ranges::find(noted.lines, step.line) == noted.lines.end())
            noted.lines.push_back(step.line);
    for (std::size_t k = 0; k < known.values.size(); ++k)
        if (args[k].kind == ArgType::Kind::array)
            (k < static_cast<std::size_t>(known.kernel.spec().nin) ? noted.read : noted.written) +=
                args[k].array->nbytes();
    if (const auto codes = known.kernel.cached_codes(); !codes.empty())
        noted.source = codes.back().second;
    launches_.push_back(std::move(noted));
}

// Steps [first, last) as one kernel, or where that takes more operands or axes than one can have,
// as two.
void Fusion::run(std::size_t first, std::size_t last) {
    FusionGraph graph;
    std::vector<int> values, number(values_.size(), no_value);
    const auto named = [&](int value, bool given) {
        int& here = number[static_cast<std::size_t>(value)];
        if (here == no_value) {
            here = static_cast<int>(values.size());
            values.push_back(value);
            GraphValue facts = values_[static_cast<std::size_t>(value)].facts;
            facts.given = given;
            facts.wanted = facts.wanted && !given;
            graph.values.push_back(facts);
        }
        return here;
    };
    for (std::size_t k = first; k < last; ++k) {
        GraphStep step = steps_[k].step;
        for (int& value : step.inputs)
            value = named(value, true);
        for (int& value : step.before)
            value = value == no_value ? no_value : named(value, true);
        for (int& value : step.outputs)
            value = named(value, false);
        graph.steps.push_back(std::move(step));
    }
    for (std::size_t k = last; k < steps_.size(); ++k)
        each_read(steps_[k].step, [&](int value) { // later
            const int here = number[static_cast<std::size_t>(value)];
            if (here == no_value)
                return;
            GraphValue& facts = graph.values[static_cast<std::size_t>(here)];
            facts.wanted = facts.wanted || !facts.given;
        });
    if (std::ranges::none_of(graph.values, &GraphValue::wanted) &&
        std::ranges::all_of(graph.steps, [](const GraphStep& s) { return s.spec->total; }))
        return;
    try {
        launch(graph, values, static_cast<int>(last - first));
        return;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::value || last - first == 1)
            throw;
    }
    const std::size_t middle = first + (last - first) / 2;
    run(first, middle);
    run(middle, last);
}

void Fusion::settle() {
    if (running_ || steps_.empty())
        return;
    struct Scope {
        Fusion& fusion;
        explicit Scope(Fusion& of) : fusion(of) { fusion.running_ = true; }
        ~Scope() {
            fusion.steps_.clear();
            fusion.values_.clear();
            fusion.running_ = false;
        }
    } const scope(*this);
    find_wanted();
    run(0, steps_.size());
}

} // namespace quern
