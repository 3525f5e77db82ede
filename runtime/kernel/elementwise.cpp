// The call of an elementwise kernel: check, resolve, make outputs, plan, find or compile, pack,
// launch.
#include "runtime/kernel/elementwise.h"

#include "compiler/base/error.h"
#include "compiler/base/settings.h"
#include "runtime/driver/handles.h"
#include "runtime/kernel/call.h"
#include "runtime/kernel/codes.h"
#include "runtime/kernel/load_variant.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/recorder.h"
#include "runtime/kernel/typed.h"

#include <algorithm>
#include <mutex>

namespace quern {
namespace {

// One compiled variant on one device.
struct Loaded {
    CUfunction function = nullptr;
    ModuleHandle module;
    std::vector<NestField> nest; // there before the others
    Arrival arrival;
    std::size_t code = Codes::none; // there last
};

} // namespace

class Operands;

struct ElementwiseKernel::State {
    State(ElementwiseSpec made, bool is_own)
        : spec(std::move(made)), own(is_own), needs(needs_of(spec)) {}

    const ElementwiseSpec spec;
    const bool own;
    const BodyNeeds needs;
    const std::uint64_t number = next_kernel_number();
    std::mutex mutex; // guards writing to the tables
    TypedTable<Loaded> types;
    Codes codes;

    void make_plan(const Device& device, const CallShape& shape, const Operands& operands,
                   int block_size, ElementwisePlan& plan) const;
    void make(const Typed<Loaded>& typed, const Compilation& compilation, Device& device,
              Loaded& loaded);
};

ElementwiseKernel::ElementwiseKernel(const ElementwiseText& text)
    : ElementwiseKernel(make_elementwise_spec(text)) {}
ElementwiseKernel::ElementwiseKernel(ElementwiseSpec spec, bool own)
    : state_(std::make_shared<State>(std::move(spec), own)) {}
// Modules may outlive the driver's readiness at exit; kernels that live until then are simply left
// to the process.
ElementwiseKernel::~ElementwiseKernel() = default;

const ElementwiseSpec& ElementwiseKernel::spec() const noexcept { return state_->spec; }

std::vector<std::pair<std::string, std::string>> ElementwiseKernel::cached_codes() const {
    return state_->codes.all();
}
std::string ElementwiseKernel::launched_code() const { return state_->codes.launched(); }

void ElementwiseKernel::State::make(const Typed<Loaded>& typed, const Compilation& compilation,
                                    Device& device, Loaded& loaded) {
    CompiledKernel compiled = compilation.run();
    loaded.module = load_module(device, compiled.binary, spec.name);
    loaded.function = find_function(device, loaded.module, compiled.symbol);
    loaded.code = codes.add(types_text(typed.signature), std::move(compiled.source));
}

// What the plan needs of the arrays. There is room for many, and a call has few: what is not filled
// in is not touched.
class Operands {
  public:
    Operands(const ElementwiseSpec& spec, const ParamArrays& arrays) {
        for (std::size_t k = 0; k < spec.params.size(); ++k) {
            const Array* array = arrays[k];
            if (array == nullptr)
                continue;
            if (spec.params[k].raw)
                std::construct_at(raws() + raw_count_++, raw_layout(*array));
            else
                std::construct_at(items() + count_++,
                                  Operand{array->shape().data(), array->strides().data(),
                                          array->ndim(), row(array->dtype()).bytes,
                                          array->address(), spec.params[k].output,
                                          spec.params[k].place});
        }
    }
    [[nodiscard]] std::span<const Operand> arrays() const noexcept {
        return {reinterpret_cast<const Operand*>(item_room_.data()), count_};
    }
    [[nodiscard]] std::span<const RawLayout> raw_arrays() const noexcept {
        return {reinterpret_cast<const RawLayout*>(raw_room_.data()), raw_count_};
    }

  private:
    [[nodiscard]] Operand* items() noexcept {
        return reinterpret_cast<Operand*>(item_room_.data());
    }
    [[nodiscard]] RawLayout* raws() noexcept {
        return reinterpret_cast<RawLayout*>(raw_room_.data());
    }
    alignas(Operand) std::array<std::byte, sizeof(Operand) * max_operands> item_room_;
    alignas(RawLayout) std::array<std::byte, sizeof(RawLayout) * max_operands> raw_room_;
    std::size_t count_ = 0, raw_count_ = 0;
};

namespace {

ByteKey variant_key(const Device& device, const ElementwiseLayout& layout,
                    const Operands& operands) {
    ByteKey key;
    key.add(static_cast<std::uint8_t>(device.index()));
    key.add(static_cast<std::uint8_t>(device.index() >> 8));
    for (const RawLayout& raw : operands.raw_arrays())
        add_raw(raw, key);
    key.add(static_cast<std::uint8_t>(layout.strategy));
    key.add(static_cast<std::uint8_t>(layout.ndim | layout.pairs << 7));
    key.add(static_cast<std::uint8_t>(layout.lanes | layout.packed << 7));
    key.add(static_cast<std::uint8_t>(layout.index_bits | layout.peel << 7));
    for (std::size_t k = 0; k < operands.arrays().size(); ++k)
        key.add(static_cast<std::uint8_t>(layout.access[k]));
    return key;
}

} // namespace

void ElementwiseKernel::State::make_plan(const Device& device, const CallShape& shape,
                                         const Operands& operands, int block_size,
                                         ElementwisePlan& plan) const {
    PlanRequest request;
    request.shape = {shape.extents, static_cast<std::size_t>(shape.ndim)};
    request.operands = operands.arrays();
    request.target = plan_target(device);
    request.narrow_bits = plan_options().narrow_bits;
    request.body = needs;
    request.block_size = block_size;
    request.block_size_given = block_size != default_block_size;
    request.threads = device.properties().multiprocessors;
    if (!plan_elementwise(request, plan))
        throw ValueError(join("kernel '", spec.name, "': ", operands.arrays().size(), " arrays of ",
                              shape.ndim,
                              " axes that cannot be merged are too many for one kernel; copy some "
                              "of them to C order first"));
}

std::vector<Array> ElementwiseKernel::operator()(std::span<const Argument> args,
                                                 const ElementwiseCall& call,
                                                 void (*on_wait)(bool entering)) {
    State& state = *state_;
    const ElementwiseSpec& spec = state.spec;
    if (call.block_size <= 0)
        throw ValueError(join("kernel '", spec.name, "': block_size is ", call.block_size,
                              "; it must be at least 1"));
    Typed<Loaded>& typed = state.types.find_or_resolve(spec, args, state.mutex);
    Device& device = device_of_call(spec, args);
    const CUstream stream = call.has_stream ? call.stream : current_stream(device);

    CallShape shape;
    decide_shape(spec, args, call.size, shape);
    ParamArrays arrays;
    std::vector<Array> made =
        make_outputs(spec, typed.signature, args, call.size, shape, device, stream, arrays);
    if (shape.is_empty()) {
        PackedParameters(spec).add_arguments(typed.signature, args, arrays); // numbers must fit
        return made;
    }

    if (Recorder* recorder = current_recorder(); recorder != nullptr) [[unlikely]]
        if (call.block_size == default_block_size &&
            recorder->take({&spec, nullptr, typed.signature, args, arrays, shape, device, stream,
                            state_, state.number}))
            return made;
    const Operands operands(spec, arrays);
    ElementwisePlan plan;
    state.make_plan(device, shape, operands, call.block_size, plan);
    const ByteKey key = variant_key(device, plan.layout, operands);
    Loaded* loaded = typed.variants.find(key);
    if (loaded != nullptr && !loaded->arrival.has_failed()) [[likely]] {
        process_cache().count_memory_hit();
    } else {
        ElementwiseVariant variant;
        variant.layout = plan.layout;
        variant.raw.assign(operands.raw_arrays().begin(), operands.raw_arrays().end());
        loaded = &load_variant<Loaded>(
            state_, typed, key, begin_elementwise(spec, typed.signature, variant, device.arch()),
            {device, stream, state.own, on_wait},
            [&](Loaded& made) { made.nest = nest_fields(variant.layout); });
    }

    state.codes.launch(loaded->code);
    PackedParameters parameters(spec);
    parameters.add_arguments(typed.signature, args, arrays);
    if (spec.facts.uses_ind)
        parameters.add_indexer({plan.shape.data(), plan.layout.ndim});
    parameters.add_nest(loaded->nest, plan);

    if (!loaded->arrival.is_here()) [[unlikely]] {
        launch_on_arrival(spec, device, stream, {loaded->arrival, loaded->function, state_},
                          plan.grid, plan.block, parameters, arrays);
        return made;
    }
    const LaunchStep step{loaded->function, plan.grid, plan.block};
    if (settings().show_launch) [[unlikely]]
        show_launch(spec, device, describe(plan.layout), step);
    launch(spec, device, stream, {&step, 1}, parameters, arrays, on_wait);
    return made;
}

} // namespace quern
