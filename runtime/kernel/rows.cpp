// The call of a row kernel: plan, find or compile, pack, launch.
#include "runtime/kernel/rows.h"

#include "compiler/base/settings.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/call.h"
#include "runtime/kernel/codes.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/typed.h"
#include "runtime/kernel/waiting.h"

#include <algorithm>
#include <atomic>

namespace quern {
namespace {

// Lets a kernel have as much shared memory as there is beside its own.
void let_share(Device& device, CUfunction function, const std::string& name) {
    int own = 0;
    check(device.api(),
          device.api().cuFuncGetAttribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
          "ask how much shared memory kernel '", name, "' has");
    check(device.api(),
          device.api().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          device.properties().shared_bytes_opt_in - own),
          "let kernel '", name, "' have shared memory");
}

void add_joins(const RowSpec& spec, RowRequest& request) {
    constexpr std::uint32_t unknown = 32;
    bool known = true;
    for (const RowWalk& walk : spec.walks) {
        std::uint32_t of_walk = 0;
        for (const RowJoin& join : walk.joins) {
            const std::uint32_t bytes =
                join.accumulator_bytes == 0 ? unknown : std::max(join.accumulator_bytes, 4u);
            request.join_bytes += bytes;
            request.widest_join = std::max(request.widest_join, bytes);
            of_walk += bytes;
            known = known && join.accumulator_bytes > 0;
        }
        request.walk_join_bytes = std::max(request.walk_join_bytes, of_walk);
        request.joining_walks += !walk.joins.empty();
    }
    if (!known)
        request.walk_join_bytes = 0;
}

// How many clusters of a panel kernel run at once; 0 where a device has no room for one.
int clusters_at_once(Device& device, CUfunction function, const RowPlan& plan,
                     const std::string& name) {
    const auto blocks = 1U << plan.layout.cluster_bits;
    const int most = std::max(1, device.properties().multiprocessors >> plan.layout.cluster_bits);
    if (blocks == 1 || device.api().cuOccupancyMaxActiveClusters == nullptr)
        return most;
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {blocks, 1, 1};
    CUlaunchConfig config{};
    config.gridDimX = plan.grid;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = plan.layout.block;
    config.sharedMemBytes = plan.shared_bytes;
    config.attrs = &cluster;
    config.numAttrs = 1;
    int clusters = 0;
    check(device.api(), device.api().cuOccupancyMaxActiveClusters(&clusters, function, &config),
          "ask how many clusters of kernel '", name, "' run at once");
    return std::min(clusters, most);
}

// One compiled variant on one device.
struct Loaded {
    CUfunction function = nullptr;
    ModuleHandle module;
    std::vector<RowField> nest;
    std::size_t code = Codes::none;

    int clusters_of(const RowPlan& plan, Device& device, const std::string& name) {
        std::uint64_t known = clusters_.load(std::memory_order_relaxed);
        if (known >> 32 != plan.shared_bytes || known == 0) {
            const int found = clusters_at_once(device, function, plan, name);
            known = std::uint64_t{plan.shared_bytes} << 32 | static_cast<std::uint32_t>(found);
            clusters_.store(known, std::memory_order_relaxed);
        }
        return static_cast<int>(known & 0xffffffff);
    }

  private:
    std::atomic<std::uint64_t> clusters_ = 0; // behind the shared memory that they have
};

// All that a layout has: a field that is not named here does not compile.
ByteKey variant_key(const Device& device, const RowLayout& layout) {
    const auto& [kept_ndim, lanes, packs, index_bits, masked, shifted, partial, rest, parks,
                 columns, panels, ahead, cluster_bits, block, several, operand_count, access] =
        layout;
    ByteKey key;
    key.add(static_cast<std::uint8_t>(device.index()));
    key.add(static_cast<std::uint8_t>(device.index() >> 8));
    key.add(kept_ndim);
    key.add(lanes);
    key.add(packs);
    key.add(static_cast<std::uint8_t>(masked | partial << 1 | rest << 2 | parks << 3 |
                                      shifted << 4 | panels << 5 | several << 6));
    key.add(ahead);
    key.add(index_bits);
    key.add(static_cast<std::uint8_t>(block >> 5));
    key.add(cluster_bits);
    key.add(columns);
    for (std::size_t k = 0; k < operand_count; ++k)
        key.add(static_cast<std::uint8_t>(access[k]));
    return key;
}

} // namespace

struct RowKernel::State {
    explicit State(RowSpec made) : spec(std::move(made)) {}

    const RowSpec spec;
    std::mutex mutex; // guards writing to the table
    TypedTable<Loaded> types;
    Codes codes;

    Loaded& load(Typed<Loaded>& typed, const ByteKey& key, const RowLayout& layout, Device& device,
                 void (*on_wait)(bool)) {
        auto loaded = std::make_unique<Loaded>();
        CompiledKernel compiled;
        {
            const Waiting waiting(on_wait);
            compiled = compile_rows(spec, typed.signature, layout, device.arch());
            loaded->module = load_module(device, compiled.binary, spec.name);
            loaded->function = find_function(device, loaded->module, compiled.symbol);
            if (layout.parks || layout.panels)
                let_share(device, loaded->function, spec.name);
        }
        loaded->nest = row_fields(layout);
        loaded->code = codes.add(types_text(typed.signature), std::move(compiled.source));
        const std::lock_guard lock(mutex);
        return typed.variants.insert(key, std::move(loaded));
    }
};

RowKernel::RowKernel(RowSpec spec) : state_(std::make_unique<State>(std::move(spec))) {}
RowKernel::~RowKernel() = default;

const RowSpec& RowKernel::spec() const noexcept { return state_->spec; }

std::string RowKernel::launched_code() const { return state_->codes.launched(); }

bool RowKernel::operator()(std::span<const Argument> args, const RowCall& call,
                           void (*on_wait)(bool entering)) {
    State& state = *state_;
    const RowSpec& spec = state.spec;
    Typed<Loaded>& typed = state.types.find_or_resolve(spec, args, state.mutex);
    Device& device = device_of_call(spec, args);
    ParamArrays arrays{};
    std::array<Operand, max_operands> operands;
    std::size_t count = 0;
    const Array* whole = nullptr;
    for (std::size_t k = 0; k < args.size(); ++k) {
        arrays[k] = args[k].array;
        if (args[k].array == nullptr)
            continue;
        const Array& array = *args[k].array;
        operands[count++] = {array.shape().data(), array.strides().data(),
                             array.ndim(),         row(array.dtype()).bytes,
                             array.address(),      spec.params[k].output};
        whole = &array;
    }
    RowRequest request;
    request.shape = whole->shape().span();
    for (const std::int64_t axis : call.axes)
        request.reduced |= std::uint64_t{1} << axis;
    request.operands = {operands.data(), count};
    request.processors = device.properties().multiprocessors;
    request.shared_bytes = static_cast<std::uint32_t>(device.properties().shared_bytes_opt_in);
    add_joins(spec, request);
    request.most_cluster_bits = device.properties().major >= 9 ? 3 : 0;
    request.uses_place = spec.uses_position;
    request.keeps = !spec.kept.empty();
    request.ways = call.ways;
    request.most_steps = spec.inner_steps;
    request.narrow_bits = plan_options().narrow_bits;
    RowPlan plan;
    if (!plan_rows(request, plan))
        return false;
    const ByteKey key = variant_key(device, plan.layout);
    Loaded* loaded = typed.variants.find(key);
    if (loaded != nullptr)
        process_cache().count_memory_hit();
    else
        loaded = &state.load(typed, key, plan.layout, device, on_wait);
    if (plan.layout.panels) {
        const int clusters = loaded->clusters_of(plan, device, spec.name);
        if (clusters == 0)
            return false;
        share_panels(clusters, plan);
    }
    state.codes.launch(loaded->code);
    PackedParameters parameters(spec);
    parameters.add_arguments(typed.signature, args, arrays);
    parameters.add_nest(loaded->nest, plan);
    const bool overlaps = device.properties().major >= 9;
    const LaunchStep step{loaded->function, plan.grid, plan.layout.block, plan.shared_bytes,
                          overlaps};
    if (settings().show_launch) [[unlikely]]
        show_launch(spec, device, describe(plan.layout), step);
    launch(spec, device, call.stream, {&step, 1}, parameters, arrays, on_wait);
    return true;
}

} // namespace quern
