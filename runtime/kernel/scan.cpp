// The call of a scan: resolve, plan, find or compile, make room, pack, launch.
#include "runtime/kernel/scan.h"

#include "compiler/base/error.h"
#include "compiler/base/settings.h"
#include "runtime/kernel/call.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/typed.h"
#include "runtime/kernel/waiting.h"
#include "runtime/memory/copy.h"

#include <array>

namespace quern {
namespace {

// One compiled variant on one device.
struct Loaded {
    CUfunction function = nullptr;
    ModuleHandle module;
    std::vector<ScanField> nest;
};

} // namespace

struct ScanKernel::State {
    explicit State(ReductionSpec made) : spec(std::move(made)) {}

    const ReductionSpec spec;
    std::mutex mutex; // guards writing to the table
    TypedTable<Loaded> types;

    Loaded& load(Typed<Loaded>& typed, const ByteKey& key, const ScanVariant& variant,
                 Device& device, void (*on_wait)(bool));
};

ScanKernel::ScanKernel(const ReductionText& text)
    : state_(std::make_unique<State>(make_reduction_spec(text))) {}
ScanKernel::~ScanKernel() = default;

Loaded& ScanKernel::State::load(Typed<Loaded>& typed, const ByteKey& key,
                                const ScanVariant& variant, Device& device, void (*on_wait)(bool)) {
    auto loaded = std::make_unique<Loaded>();
    {
        const Waiting waiting(on_wait);
        const CompiledKernel compiled = compile_scan(spec, typed.signature, variant, device.arch());
        loaded->module = load_module(device, compiled.binary, spec.name);
        loaded->function = find_function(device, loaded->module, compiled.symbol);
    }
    loaded->nest = scan_fields(variant.layout);
    const std::lock_guard lock(mutex);
    return typed.variants.insert(key, std::move(loaded));
}

namespace {

// A call on its way: its arrays and plan.
struct Prepared {
    ParamArrays arrays;
    std::array<Operand, max_operands> operands;
    ScanVariant variant;
    ScanPlan plan;

    Prepared() = default;
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
};

void prepare(const ReductionSpec& spec, const Signature& signature, std::span<const Argument> args,
             const ScanCall& call, const Device& device, Prepared& prepared) {
    CallShape shape;
    decide_shape(spec, args, -1, shape);
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        const Array& array = *(prepared.arrays[k] = args[k].array);
        prepared.operands[k] = {array.shape().data(), array.strides().data(),
                                array.ndim(),         row(array.dtype()).bytes,
                                array.address(),      spec.params[k].output};
    }
    // Two-byte floats are joined as float; whoever says otherwise is told by the kernel's text.
    const std::uint32_t item =
        row(signature.params[static_cast<std::size_t>(spec.nin)].dtype).bytes;
    const bool small =
        row(signature.params[static_cast<std::size_t>(spec.nin)].dtype).kind == Kind::floating &&
        item == 2;
    prepared.variant.accumulator_bytes = small ? 4 : item;
    ScanRequest request;
    request.shape = {shape.extents, static_cast<std::size_t>(shape.ndim)};
    request.axis = call.axis;
    request.operands = {prepared.operands.data(), spec.params.size()};
    request.target = plan_target(device);
    request.narrow_bits = plan_options().narrow_bits;
    request.processors = device.properties().multiprocessors;
    request.accumulator_bytes = prepared.variant.accumulator_bytes;
    request.force_batch = call.batch;
    request.force_split = call.split;
    if (!plan_scan(request, prepared.plan))
        throw ValueError(join("kernel '", spec.name, "': arrays of ", shape.ndim,
                              " axes that cannot be merged are too many for one kernel; copy some "
                              "of them to C order first"));
    prepared.variant.layout = prepared.plan.layout;
}

ByteKey variant_key(const Device& device, const ScanLayout& layout) {
    ByteKey key;
    key.add(static_cast<std::uint8_t>(device.index()));
    key.add(static_cast<std::uint8_t>(device.index() >> 8));
    key.add(static_cast<std::uint8_t>(static_cast<int>(layout.strategy) | layout.block_rows << 2 |
                                      layout.split << 3 | (layout.target == Target::gpu) << 4));
    key.add(layout.index_bits);
    key.add(layout.kept_ndim);
    key.add(layout.lanes);
    key.add(layout.batch);
    key.add(layout.group_bits);
    for (std::size_t k = 0; k < layout.operand_count; ++k)
        key.add(static_cast<std::uint8_t>(layout.access[k]));
    return key;
}

} // namespace

void ScanKernel::operator()(std::span<const Argument> args, const ScanCall& call,
                            void (*on_wait)(bool entering)) {
    State& state = *state_;
    const ReductionSpec& spec = state.spec;
    Typed<Loaded>& typed = state.types.find_or_resolve(spec, args, state.mutex);
    Device& device = device_of_call(spec, args);

    Prepared prepared;
    prepare(spec, typed.signature, args, call, device, prepared);
    const ScanPlan& plan = prepared.plan;
    const ByteKey key = variant_key(device, plan.layout);
    Loaded* loaded = typed.variants.find(key);
    if (loaded != nullptr)
        process_cache().count_memory_hit();
    else
        loaded = &state.load(typed, key, prepared.variant, device, on_wait);

    std::optional<Array> room;
    if (plan.layout.split) {
        const ScanRoom wanted = scan_room(plan, prepared.variant.accumulator_bytes);
        room = Array::empty(device, DType::uint8, Dims{wanted.bytes}, call.stream);
        fill_bytes(device, room->address(), 0, static_cast<std::size_t>(wanted.cleared),
                   call.stream);
    }
    PackedParameters parameters(spec);
    parameters.add_arguments(typed.signature, args, prepared.arrays);
    if (room)
        parameters.add_pointer(room->address());
    parameters.add_nest(loaded->nest, plan);

    const std::array<LaunchStep, 1> steps{LaunchStep{loaded->function, plan.grid, plan.block}};
    if (settings().show_launch) [[unlikely]]
        show_launch(spec, device, describe(plan.layout), steps[0]);
    launch(spec, device, call.stream, steps, parameters, prepared.arrays, on_wait);
    if (room)
        keep_for_graph(device, call.stream, std::move(*room));
}

std::string ScanKernel::explain(std::span<const Argument> args, const ScanCall& call) {
    State& state = *state_;
    const ReductionSpec& spec = state.spec;
    Typed<Loaded>& typed = state.types.find_or_resolve(spec, args, state.mutex);
    Device& device = device_of_call(spec, args);
    Prepared prepared;
    prepare(spec, typed.signature, args, call, device, prepared);
    const ScanPlan& plan = prepared.plan;
    std::string text = join("kernel '", spec.name, "' on ", device.name(), ": ", plan.lines,
                            " lines of ", plan.length, " elements\n  plan: ", describe(plan.layout),
                            "\n  launch: ", plan.grid, " blocks of ", plan.block, " threads");
    if (plan.layout.target == Target::gpu)
        text += join(", ", 1 << plan.layout.group_bits,
                     plan.layout.strategy == ScanStrategy::columns ? " threads across columns"
                                                                   : " threads a row");
    if (plan.layout.split)
        text += join("; ", plan.tiles, " tiles share a line");
    return text;
}

} // namespace quern
