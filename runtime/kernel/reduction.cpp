// The call of a reduction: check, resolve, make outputs, plan, find or compile, pack, launch once
// or twice.
#include "runtime/kernel/reduction.h"

#include "compiler/base/error.h"
#include "compiler/base/settings.h"
#include "runtime/array/views.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/call.h"
#include "runtime/kernel/codes.h"
#include "runtime/kernel/load_variant.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/recorder.h"
#include "runtime/kernel/tickets.h"
#include "runtime/kernel/typed.h"

#include <algorithm>
#include <array>

namespace quern {
namespace {

// One compiled variant on one device.
struct Loaded {
    CUfunction function = nullptr, finish = nullptr;
    ModuleHandle module;
    ReductionLayout layout; // there before the others, as its fields are
    std::vector<ReductionField> nest;
    std::uint32_t accumulator_bytes = 0; // where it splits
    Arrival arrival;
    std::size_t code = Codes::none; // there last
};

// How large the accumulator is, as far as the text tells.
class AccumulatorSize {
  public:
    explicit AccumulatorSize(const ReductionSpec& spec) : fixed_(spec.accumulator_bytes) {
        if (fixed_ != 0)
            return;
        if (spec.reduce_type.empty()) {
            param_ = static_cast<std::size_t>(spec.nin);
            return;
        }
        for (const Param& param : spec.params)
            if (spec.reduce_type == std::string_view(&param.placeholder, 1)) {
                param_ = static_cast<std::size_t>(&param - spec.params.data());
                return;
            }
        const auto named = find_dtype(spec.reduce_type);
        fixed_ = named ? row(*named).bytes : unknown;
        for (const DTypeRow& known : dtype_table)
            if (spec.reduce_type == known.spelling)
                fixed_ = known.bytes;
    }
    [[nodiscard]] std::uint32_t bytes(const Signature& signature) const {
        if (fixed_ != 0)
            return fixed_;
        const ResolvedParam& param = signature.params[param_];
        return param.layout ? param.layout->bytes : row(param.dtype).bytes;
    }

  private:
    // A structure of unknown size counts as a large one.
    static constexpr std::uint32_t unknown = reduction_shared_limit / reduction_block;
    std::uint32_t fixed_ = 0;
    std::size_t param_ = 0; // whose dtype it has
};

} // namespace

struct ReductionKernel::State {
    State(ReductionSpec made, bool is_own)
        : spec(std::move(made)), own(is_own), accumulator(spec) {}

    const ReductionSpec spec;
    const bool own;
    const AccumulatorSize accumulator;
    const std::uint64_t number = next_kernel_number();
    std::mutex mutex; // guards writing to the table
    TypedTable<Loaded> types;
    Codes codes;

    void make(const Typed<Loaded>& typed, const Compilation& compilation, Device& device,
              Loaded& loaded);
};

ReductionKernel::ReductionKernel(const ReductionText& text)
    : ReductionKernel(make_reduction_spec(text)) {}
ReductionKernel::ReductionKernel(ReductionSpec spec, bool own)
    : state_(std::make_shared<State>(std::move(spec), own)) {}
ReductionKernel::~ReductionKernel() = default;

const ReductionSpec& ReductionKernel::spec() const noexcept { return state_->spec; }

std::vector<std::pair<std::string, std::string>> ReductionKernel::cached_codes() const {
    return state_->codes.all();
}
std::string ReductionKernel::launched_code() const { return state_->codes.launched(); }

void ReductionKernel::State::make(const Typed<Loaded>& typed, const Compilation& compilation,
                                  Device& device, Loaded& loaded) {
    CompiledKernel compiled = compilation.run();
    loaded.module = load_module(device, compiled.binary, spec.name);
    loaded.function = find_function(device, loaded.module, compiled.symbol);
    if (loaded.layout.split) {
        if (loaded.layout.target == Target::cpu)
            loaded.finish = find_function(device, loaded.module, compiled.symbol + "_finish");
        const std::string symbol = own_prefix(spec) + "accumulator_bytes";
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        check(device.api(),
              device.api().cuModuleGetGlobal(&address, &bytes, loaded.module.get(), symbol.c_str()),
              "find '", symbol, "' in the binary of kernel '", spec.name, "'");
        check(device.api(),
              device.api().cuMemcpyDtoH(&loaded.accumulator_bytes, address,
                                        sizeof loaded.accumulator_bytes),
              "read '", symbol, "'");
    }
    loaded.code = codes.add(types_text(typed.signature), std::move(compiled.source));
}

namespace {

// A call on its way: its axes, arrays and plan.
struct Prepared {
    CallShape shape;
    ParamArrays arrays;
    std::vector<Array> made;
    std::uint64_t reduced_axes = 0;
    Dims kept; // the outputs' shape
    std::array<Operand, max_operands> operands;
    std::array<std::array<std::int64_t, 2 * max_plan_ndim>, max_operands> expanded;
    std::size_t operand_count = 0;
    ReductionVariant variant;
    ReductionPlan plan;
    bool empty = false; // no output has an element

    Prepared() = default;
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
};

std::uint64_t reduced_axes(const ReductionCall& call, int ndim) {
    if (call.all_axes)
        return ndim >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ndim) - 1;
    std::uint64_t bits = 0;
    for (const std::int64_t axis : call.axes) {
        const std::uint64_t bit = std::uint64_t{1} << normalise_axis(axis, ndim);
        if ((bits & bit) != 0)
            throw ValueError("duplicate value in 'axis'");
        bits |= bit;
    }
    return bits;
}

void find_shape(const ReductionSpec& spec, std::span<const Argument> args,
                const ReductionCall& call, Prepared& prepared) {
    const auto inputs = args.first(static_cast<std::size_t>(spec.nin));
    bool any = false;
    for (std::size_t k = 0; k < inputs.size(); ++k)
        any |= inputs[k].kind == ArgType::Kind::array && !spec.params[k].raw;
    if (!any)
        complain(spec, ErrorKind::value, "nothing to reduce: no input is an array that is not raw",
                 {}, "give an array for an input without the word raw");
    decide_shape(spec, inputs, -1, prepared.shape);
    const CallShape& shape = prepared.shape;
    prepared.reduced_axes = reduced_axes(call, shape.ndim);
    std::array<std::int64_t, max_plan_ndim> extents;
    std::size_t count = 0;
    bool none = false; // no element behind an output
    for (int d = 0; d < shape.ndim; ++d) {
        const bool reduced = prepared.reduced_axes >> d & 1;
        none |= reduced && shape.extents[d] == 0;
        prepared.empty |= !reduced && shape.extents[d] == 0;
        if (!reduced)
            extents[count++] = shape.extents[d];
        else if (call.keepdims)
            extents[count++] = 1;
    }
    prepared.kept = Dims(std::span(extents.data(), count));
    if (none && (spec.identity.empty() || spec.refuses_empty))
        throw ValueError(
            join("zero-size array to reduction operation ", spec.name, " which has no identity"));
}

void take_outputs(const ReductionSpec& spec, const Signature& signature,
                  std::span<const Argument> args, Device& device, CUstream stream,
                  Prepared& prepared) {
    const std::size_t given = args.size();
    prepared.made.reserve(static_cast<std::size_t>(spec.nout));
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const bool missing = k >= given || args[k].kind == ArgType::Kind::missing;
        if (!missing) {
            prepared.arrays[k] = args[k].array;
        } else {
            prepared.made.push_back(
                Array::empty(device, signature.params[k].dtype, prepared.kept, stream));
            prepared.arrays[k] = &prepared.made.back();
        }
        if (!missing && spec.params[k].output && !(args[k].array->shape() == prepared.kept))
            complain(spec, ErrorKind::value,
                     join("Out shape is mismatched: '", spec.params[k].name, "' is ",
                          format_shape(args[k].array->shape()), ", the result is ",
                          format_shape(prepared.kept)),
                     {static_cast<int>(k)}, "give an output of exactly the result's shape");
    }
}

// Outputs gain an axis of extent 1 for each that is reduced.
void list_operands(const ReductionSpec& spec, bool keepdims, Prepared& prepared) {
    const int ndim = prepared.shape.ndim;
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const Array* array = prepared.arrays[k];
        if (array == nullptr)
            continue;
        if (spec.params[k].raw) {
            prepared.variant.raw.push_back(raw_layout(*array));
            continue;
        }
        Operand& operand = prepared.operands[prepared.operand_count];
        operand = {array->shape().data(),     array->strides().data(), array->ndim(),
                   row(array->dtype()).bytes, array->address(),        spec.params[k].output};
        if (operand.output && !keepdims) {
            auto& store = prepared.expanded[prepared.operand_count];
            for (int d = 0, own = 0; d < ndim; ++d) {
                const bool reduced = prepared.reduced_axes >> d & 1;
                store[static_cast<std::size_t>(d)] = reduced ? 1 : operand.shape[own];
                store[static_cast<std::size_t>(max_plan_ndim + d)] =
                    reduced ? 0 : operand.strides[own];
                own += !reduced;
            }
            operand.shape = store.data();
            operand.strides = store.data() + max_plan_ndim;
            operand.ndim = ndim;
        }
        ++prepared.operand_count;
    }
}

void make_plan(const ReductionSpec& spec, const Device& device, const ReductionCall& call,
               std::uint32_t accumulator_bytes, Prepared& prepared) {
    ReductionRequest request;
    request.shape = {prepared.shape.extents, static_cast<std::size_t>(prepared.shape.ndim)};
    request.reduced = prepared.reduced_axes;
    request.operands = {prepared.operands.data(), prepared.operand_count};
    request.target = plan_target(device);
    request.narrow_bits = plan_options().narrow_bits;
    request.processors = device.properties().multiprocessors;
    request.accumulator_bytes = accumulator_bytes;
    request.uses_place = spec.uses_position;
    request.keep_kept_order = spec.uses_row;
    request.keep_axes = spec.uses_in_ind || spec.uses_out_ind;
    request.may_read_between = spec.maps_anything;
    request.may_join_atomically = plan_options().atomic_joins && !spec.atomic_join.empty();
    request.may_settle = !spec.settled.empty();
    request.ends_early = spec.ends_early;
    request.most_steps = spec.inner_steps;
    request.force_splits = call.splits;
    if (!plan_reduction(request, prepared.plan))
        throw ValueError(join("kernel '", spec.name, "': ", prepared.operand_count, " arrays of ",
                              prepared.shape.ndim,
                              " axes that cannot be merged are too many for one kernel; copy some "
                              "of them to C order first"));
    prepared.variant.layout = prepared.plan.layout;
}

ByteKey variant_key(const Device& device, const ReductionVariant& variant) {
    const ReductionLayout& layout = variant.layout;
    ByteKey key;
    key.add(static_cast<std::uint8_t>(device.index()));
    key.add(static_cast<std::uint8_t>(device.index() >> 8));
    for (const RawLayout& raw : variant.raw)
        add_raw(raw, key);
    key.add(static_cast<std::uint8_t>(static_cast<int>(layout.strategy) | layout.masked << 1 |
                                      layout.drifts << 2 | layout.split << 3 |
                                      layout.scattered << 4 | (layout.target == Target::gpu) << 5 |
                                      layout.runs << 6));
    key.add(static_cast<std::uint8_t>(layout.index_bits | layout.atomic << 7));
    key.add(layout.kept_ndim);
    key.add(layout.reduced_ndim);
    key.add(static_cast<std::uint8_t>(layout.lanes));
    key.add(static_cast<std::uint8_t>(layout.lanes >> 8 | layout.brief << 4 | layout.folds << 5 |
                                      layout.wraps << 6));
    key.add(layout.step);
    key.add(static_cast<std::uint8_t>(layout.tile >> 8));
    key.add(static_cast<std::uint8_t>(layout.spread | layout.phase << 4));
    key.add(layout.batch_rows);
    for (std::size_t k = 0; k < layout.operand_count; ++k)
        key.add(static_cast<std::uint8_t>(layout.access[k]));
    return key;
}

// What blocks that share outputs need: room for partial results, and numbers to take or flags.
struct SharedRoom {
    std::optional<Array> partial;
    std::uint64_t tickets = 0;
    std::shared_ptr<const void> captured;
};

SharedRoom make_room(Device& device, CUstream stream, const ReductionPlan& plan,
                     std::uint32_t accumulator_bytes) {
    SharedRoom room;
    if (!plan.layout.atomic)
        room.partial = Array::empty(device, DType::uint8,
                                    Dims{plan.partials * std::int64_t{accumulator_bytes}}, stream);
    if (plan.tickets > 0)
        room.tickets = tickets(device, stream, plan.tickets, room.captured);
    return room;
}

void pack(const ReductionSpec& spec, const Typed<Loaded>& typed, std::span<const Argument> args,
          const Loaded& loaded, const Prepared& prepared, const SharedRoom& room,
          PackedParameters& parameters) {
    const ReductionPlan& plan = prepared.plan;
    parameters.add_arguments(typed.signature, args, prepared.arrays);
    if (spec.uses_in_ind || spec.uses_out_ind) {
        std::array<std::int64_t, max_plan_ndim> shape; // reduced axes first, as CuPy has them
        const auto kept = plan.shape.begin() + plan.layout.kept_ndim;
        const auto end = std::copy(plan.shape.begin(), kept,
                                   std::copy(kept, kept + plan.layout.reduced_ndim, shape.begin()));
        parameters.add_indexer({shape.data(), static_cast<std::size_t>(end - shape.begin())});
        parameters.add_indexer({plan.shape.data(), plan.layout.kept_ndim});
    }
    if (room.partial)
        parameters.add_pointer(room.partial->address());
    if (room.tickets != 0)
        parameters.add_pointer(room.tickets);
    parameters.add_nest(loaded.nest, plan);
}

} // namespace

std::vector<Array> ReductionKernel::operator()(std::span<const Argument> args,
                                               const ReductionCall& call,
                                               void (*on_wait)(bool entering)) {
    State& state = *state_;
    const ReductionSpec& spec = state.spec;
    Typed<Loaded>& typed = state.types.find_or_resolve(spec, args, state.mutex);
    Device& device = device_of_call(spec, args);
    const CUstream stream = call.has_stream ? call.stream : current_stream(device);

    Prepared prepared;
    find_shape(spec, args, call, prepared);
    take_outputs(spec, typed.signature, args, device, stream, prepared);
    if (prepared.empty)
        return std::move(prepared.made);
    if (Recorder* recorder = current_recorder(); recorder != nullptr) [[unlikely]]
        if (call.splits == 0 &&
            recorder->take({nullptr, &spec, typed.signature, args, prepared.arrays, prepared.shape,
                            device, stream, state_, state.number, prepared.reduced_axes}))
            return std::move(prepared.made);
    list_operands(spec, call.keepdims, prepared);
    make_plan(spec, device, call, state.accumulator.bytes(typed.signature), prepared);
    const ByteKey key = variant_key(device, prepared.variant);
    Loaded* loaded = typed.variants.find(key);
    if (loaded != nullptr && !loaded->arrival.has_failed()) [[likely]]
        process_cache().count_memory_hit();
    else
        loaded = &load_variant<Loaded>(
            state_, typed, key,
            begin_reduction(spec, typed.signature, prepared.variant, device.arch()),
            {device, stream, state.own && !prepared.variant.layout.split, on_wait},
            [&](Loaded& made) {
                made.layout = prepared.variant.layout;
                made.nest = reduction_fields(made.layout);
            });

    state.codes.launch(loaded->code);
    const ReductionPlan& plan = prepared.plan;
    SharedRoom room;
    if (plan.layout.split)
        room = make_room(device, stream, plan, loaded->accumulator_bytes);
    PackedParameters parameters(spec);
    pack(spec, typed, args, *loaded, prepared, room, parameters);

    if (!loaded->arrival.is_here()) [[unlikely]] {
        launch_on_arrival(spec, device, stream, {loaded->arrival, loaded->function, state_},
                          plan.grid, plan.block, parameters, prepared.arrays);
        return std::move(prepared.made);
    }
    const std::array<LaunchStep, 2> steps{
        LaunchStep{loaded->function, plan.grid, plan.block},
        LaunchStep{loaded->finish, loaded->finish != nullptr ? 1u : 0u, 1}};
    if (settings().show_launch) [[unlikely]]
        show_launch(spec, device, join(describe(plan.layout), ", splits ", plan.splits), steps[0]);
    launch(spec, device, stream, steps, parameters, prepared.arrays, on_wait);
    if (plan.layout.split)
        keep_for_graph(device, stream, std::move(room));
    return std::move(prepared.made);
}

std::string ReductionKernel::explain(std::span<const Argument> args, const ReductionCall& call) {
    State& state = *state_;
    const ReductionSpec& spec = state.spec;
    Typed<Loaded>& typed = state.types.find_or_resolve(spec, args, state.mutex);
    Device& device = device_of_call(spec, args);
    Prepared prepared;
    find_shape(spec, args, call, prepared);
    take_outputs(spec, typed.signature, args, device, current_stream(device), prepared);
    std::string text = join("kernel '", spec.name, "' on ", device.name(), ": ");
    if (prepared.empty)
        return text + "nothing to do, the result is empty";
    list_operands(spec, call.keepdims, prepared);
    make_plan(spec, device, call, state.accumulator.bytes(typed.signature), prepared);
    const ReductionPlan& plan = prepared.plan;
    text += join(plan.outputs, " outputs of ", plan.reduced,
                 " elements\n  plan: ", describe(plan.layout), "\n  launch: ", spec.name, ", ",
                 plan.grid, " blocks of ", plan.block, " threads");
    if (plan.layout.target == Target::gpu)
        text += join(", ", 1 << plan.group_bits,
                     plan.layout.strategy == ReductionStrategy::rows ? " threads a row"
                                                                     : " threads across columns");
    if (plan.layout.split)
        text += join("; ", plan.splits, " blocks share an output",
                     plan.layout.target == Target::cpu
                         ? join("\n  launch: ", spec.name, "_finish, 1 block")
                         : ", the last one finishes it");
    return text;
}

} // namespace quern
