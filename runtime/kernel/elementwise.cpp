// The call of an elementwise kernel: check, resolve, make outputs, plan, find or compile, pack, launch.
#include "runtime/kernel/elementwise.h"

#include "compiler/base/error.h"
#include "compiler/base/settings.h"
#include "runtime/driver/check.h"
#include "runtime/driver/handles.h"
#include "runtime/kernel/table.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace quern {
namespace {

constexpr std::size_t parameter_bytes_limit = 4096; // CUDA's, for kernel parameters

// One compiled variant on one device.
struct Loaded {
    CUfunction function = nullptr;
    ModuleHandle module;
    std::vector<NestField> nest;
    bool indexer = false;
};

// One list of argument types: its resolved signature and the variants that were needed so far.
struct Typed {
    Signature signature;
    std::vector<std::uint32_t> scalar_bytes; // by parameter; 0 for arrays
    ByteTable<Loaded> variants;
};

bool names_a_thread(const std::vector<std::string>& identifiers) {
    static constexpr std::string_view names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", "__syncthreads", "__shared__",
                                                 "__syncwarp", "warpSize", "__activemask", "cooperative_groups"};
    return std::any_of(identifiers.begin(), identifiers.end(), [](const std::string& identifier) {
        return std::find(std::begin(names), std::end(names), identifier) != std::end(names) ||
               identifier.starts_with("__shfl") || identifier.starts_with("__ballot") || identifier.starts_with("__any_sync") ||
               identifier.starts_with("__all_sync") || identifier.starts_with("__match") || identifier.starts_with("__reduce_");
    });
}

// Elements that are worth a block of their own on the CPU: fewer when the body loops or calls.
std::int64_t grain_of(const ElementwiseSpec& spec) {
    const auto has = [&](std::string_view word) {
        return std::binary_search(spec.facts.identifiers.begin(), spec.facts.identifiers.end(), word);
    };
    if (has("for") || has("while") || has("do") || has("goto")) return 256;
    return spec.operation.find('(') != std::string::npos ? 8192 : 32768;
}

// Calls the hook on both sides of a wait: the GIL comes back whatever happens.
class Waiting {
  public:
    explicit Waiting(void (*hook)(bool entering)) : hook_(hook) {
        if (hook_) hook_(true);
    }
    ~Waiting() {
        if (hook_) hook_(false);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    void (*hook_)(bool entering);
};

struct Shape {
    const std::int64_t* extents = nullptr;
    int ndim = 0;
};

bool same_shape(const Array& array, Shape shape) {
    return array.ndim() == shape.ndim && std::equal(shape.extents, shape.extents + shape.ndim, array.shape().begin());
}

std::string shape_text(Shape shape) {
    std::string text = "(";
    for (int d = 0; d < shape.ndim; ++d) text += join(d ? ", " : "", shape.extents[d]);
    return text + (shape.ndim == 1 ? ",)" : ")");
}

std::int64_t byte_span(const Array& array) {
    std::int64_t span = static_cast<std::int64_t>(bytes_of(array.dtype()));
    for (int d = 0; d < array.ndim(); ++d) span += std::abs(array.strides()[d]) * std::max<std::int64_t>(0, array.shape()[d] - 1);
    return span;
}

} // namespace

struct ElementwiseKernel::State {
    explicit State(ElementwiseSpec made)
        : spec(std::move(made)), one_element(spec.facts.leaves_early || names_a_thread(spec.facts.identifiers)),
          keep_order(spec.facts.uses_i || spec.facts.uses_ind || spec.facts.uses_n), grain(grain_of(spec)) {}

    const ElementwiseSpec spec;
    const bool one_element, keep_order;
    const std::int64_t grain;
    std::mutex mutex; // guards writing to the tables and `codes`
    ByteTable<Typed> types;
    mutable std::mutex codes_mutex;
    std::vector<std::pair<std::string, std::string>> codes;

    Typed& type_arguments(std::span<const Argument> args);
    Loaded& load(Typed& typed, const ByteKey& key, const ElementwiseVariant& variant, Device& device,
                 void (*on_wait)(bool));
    [[noreturn]] void complain(ErrorKind kind, const std::string& what, const std::vector<int>& marked,
                               const std::string& help) const {
        throw Error(kind, join("kernel '", spec.name, "': ", what, "\n", params_with_carets(spec, marked), "\n    help: ", help));
    }
};

ElementwiseKernel::ElementwiseKernel(const ElementwiseText& text) : ElementwiseKernel(make_elementwise_spec(text)) {}
ElementwiseKernel::ElementwiseKernel(ElementwiseSpec spec) : state_(std::make_unique<State>(std::move(spec))) {}
// Modules may outlive the driver's readiness at exit; kernels that live until then are simply left to the process.
ElementwiseKernel::~ElementwiseKernel() = default;

const ElementwiseSpec& ElementwiseKernel::spec() const noexcept { return state_->spec; }

std::vector<std::pair<std::string, std::string>> ElementwiseKernel::cached_codes() const {
    const std::lock_guard lock(state_->codes_mutex);
    return state_->codes;
}

Typed& ElementwiseKernel::State::type_arguments(std::span<const Argument> args) {
    ByteKey key;
    for (const Argument& argument : args) {
        switch (argument.kind) {
        case ArgType::Kind::missing: key.add(0); break;
        case ArgType::Kind::scalar: key.add(1); break;
        case ArgType::Kind::array: key.add(static_cast<std::uint8_t>(2 + static_cast<int>(argument.array->dtype()))); break;
        case ArgType::Kind::structure: key.add(32); break;
        }
    }
    for (const Argument& argument : args)
        if (argument.kind == ArgType::Kind::structure) {
            if (key.size + 8 > ByteKey::capacity) throw TypeError(join("kernel '", spec.name, "' has too many structured arguments"));
            key.add_word(std::hash<std::string>{}(argument.layout->spelling));
        }
    if (Typed* found = types.find(key)) return *found;

    std::vector<ArgType> arg_types;
    for (const Argument& argument : args) {
        ArgType type;
        type.kind = argument.kind;
        if (argument.kind == ArgType::Kind::array) {
            type.dtype = argument.array->dtype();
            type.ndim = argument.array->ndim();
        } else if (argument.kind == ArgType::Kind::scalar) {
            type.dtype = argument.scalar.dtype;
        }
        type.layout = argument.layout;
        arg_types.push_back(std::move(type));
    }
    auto typed = std::make_unique<Typed>();
    typed->signature = resolve(spec, arg_types);
    for (const ResolvedParam& param : typed->signature.params)
        typed->scalar_bytes.push_back(param.is_array ? 0 : param.layout ? param.layout->bytes : static_cast<std::uint32_t>(bytes_of(param.dtype)));
    const std::lock_guard lock(mutex);
    return types.insert(key, std::move(typed));
}

Loaded& ElementwiseKernel::State::load(Typed& typed, const ByteKey& key, const ElementwiseVariant& variant, Device& device,
                                       void (*on_wait)(bool)) {
    auto loaded = std::make_unique<Loaded>();
    CompiledKernel compiled;
    {
        const Waiting waiting(on_wait);
        compiled = compile_elementwise(spec, typed.signature, variant, device.arch());
        device.make_current();
        CUmodule module = nullptr;
        check(device.api(), device.api().cuModuleLoadData(&module, compiled.binary.image.data()), "load the binary of kernel '",
              spec.name, "' on ", device.name());
        loaded->module = ModuleHandle(module, {&device.api()});
        check(device.api(), device.api().cuModuleGetFunction(&loaded->function, module, compiled.symbol.c_str()),
              "find kernel '", compiled.symbol, "' in its binary");
    }
    loaded->nest = nest_fields(variant.layout);
    loaded->indexer = variant.indexer;
    std::string types_text;
    for (std::size_t k = 0; k < typed.signature.params.size(); ++k)
        types_text += join(k ? ", " : "", typed.signature.params[k].layout ? std::string_view("structure")
                                                                           : row(typed.signature.params[k].dtype).name);
    {
        const std::lock_guard lock(codes_mutex);
        codes.emplace_back(std::move(types_text), std::move(compiled.source));
    }
    const std::lock_guard lock(mutex);
    return typed.variants.insert(key, std::move(loaded));
}

std::vector<Array> ElementwiseKernel::operator()(std::span<const Argument> args, const ElementwiseCall& call,
                                                 void (*on_wait)(bool entering)) {
    State& state = *state_;
    const ElementwiseSpec& spec = state.spec;
    Typed& typed = state.type_arguments(args);
    const auto param_count = static_cast<int>(spec.params.size());
    const auto given = static_cast<int>(args.size());
    if (call.block_size <= 0) throw ValueError(join("kernel '", spec.name, "': block_size is ", call.block_size, "; it must be at least 1"));

    // The device is that of the arrays, which must agree.
    Device* device = nullptr;
    int first_array = -1;
    bool any_operand = false;
    for (int k = 0; k < given; ++k) {
        if (args[k].kind != ArgType::Kind::array) continue;
        const Array& array = *args[k].array;
        any_operand |= !spec.params[k].raw;
        if (device == nullptr) {
            device = &array.device();
            first_array = k;
        } else if (&array.device() != device) {
            state.complain(ErrorKind::value,
                           join("'", spec.params[first_array].name, "' is on ", device->name(), " and '", spec.params[k].name,
                                "' is on ", array.device().name()),
                           {first_array, k}, "move one of them with quern.asarray(x, device=...)");
        }
        if (spec.params[k].output && !array.writable())
            state.complain(ErrorKind::value, join("output array '", spec.params[k].name, "' is read-only"), {k},
                           "pass a copy, or an array that is not a broadcast or read-only view");
    }
    if (device == nullptr) device = &current_device();
    const CUstream stream = call.has_stream ? call.stream : current_stream(*device);

    // The shape: all arrays that are not raw broadcast together; else `size`.
    std::int64_t broadcast[max_plan_ndim];
    Shape shape{broadcast, 0};
    if (any_operand) {
        if (call.size >= 0)
            throw ValueError(join("kernel '", spec.name,
                                  "': Specified 'size' can be used only if all of the ndarray are 'raw'."));
        bool first = true;
        for (int k = 0; k < given; ++k) {
            if (args[k].kind != ArgType::Kind::array || spec.params[k].raw) continue;
            const Array& array = *args[k].array;
            if (first) {
                shape = {array.shape().data(), array.ndim()};
                first = false;
                continue;
            }
            if (same_shape(array, shape)) continue;
            if (shape.extents != broadcast) {
                std::copy(shape.extents, shape.extents + shape.ndim, broadcast);
                shape.extents = broadcast;
            }
            const int grown = std::max(shape.ndim, array.ndim());
            for (int d = 1; d <= grown; ++d) { // from the last axis; a shorter shape is padded with ones
                const std::int64_t a = d <= shape.ndim ? broadcast[shape.ndim - d] : 1;
                const std::int64_t b = d <= array.ndim() ? array.shape()[array.ndim() - d] : 1;
                if (a == b || a == 1 || b == 1) continue;
                std::string shapes;
                std::vector<int> marked;
                for (int j = 0; j < given; ++j)
                    if (args[j].kind == ArgType::Kind::array && !spec.params[j].raw) {
                        shapes += join(" ", shape_text({args[j].array->shape().data(), args[j].array->ndim()}));
                        marked.push_back(j);
                    }
                state.complain(ErrorKind::value, join("operands could not be broadcast together with shapes", shapes), marked,
                               "extents must be equal or 1, counted from the last axis");
            }
            std::int64_t merged[max_plan_ndim];
            for (int d = 1; d <= grown; ++d) {
                const std::int64_t a = d <= shape.ndim ? broadcast[shape.ndim - d] : 1;
                const std::int64_t b = d <= array.ndim() ? array.shape()[array.ndim() - d] : 1;
                merged[grown - d] = a == 1 ? b : a;
            }
            std::copy(merged, merged + grown, broadcast);
            shape.ndim = grown;
        }
    } else {
        if (call.size < 0)
            throw ValueError(join("kernel '", spec.name, "': Loop size is undecided. No argument but raw arrays and scalars: pass size="));
        broadcast[0] = call.size;
        shape = {broadcast, 1};
    }

    // Outputs: given ones have exactly that shape, missing ones are made.
    std::vector<Array> made;
    const Array* arrays[max_operands] = {};
    for (int k = 0; k < given; ++k)
        if (args[k].kind == ArgType::Kind::array) arrays[k] = args[k].array;
    if (given < param_count || spec.nout > 0) {
        int missing = 0;
        for (int k = spec.nin; k < param_count; ++k) missing += k >= given || args[k].kind == ArgType::Kind::missing;
        if (missing) made.reserve(static_cast<std::size_t>(missing));
        for (int k = spec.nin; k < param_count; ++k) {
            const Param& param = spec.params[k];
            if (k >= given || args[k].kind == ArgType::Kind::missing) {
                if (param.raw && call.size < 0)
                    throw ValueError(join("kernel '", spec.name, "': Output array size is Undecided: '", param.name,
                                          "' is raw; pass the array, or size="));
                made.push_back(Array::empty(*device, typed.signature.params[k].dtype,
                                            Dims(std::span(shape.extents, static_cast<std::size_t>(shape.ndim))), stream));
                arrays[k] = &made.back();
            } else if (!param.raw && !same_shape(*arrays[k], shape)) {
                state.complain(ErrorKind::value,
                               join("Out shape is mismatched: '", param.name, "' is ",
                                    shape_text({arrays[k]->shape().data(), arrays[k]->ndim()}), ", the arguments broadcast to ",
                                    shape_text(shape)),
                               {k}, "give an output of exactly the broadcast shape");
            }
        }
    }
    for (int d = 0; d < shape.ndim; ++d)
        if (shape.extents[d] == 0) return made;

    // The plan.
    Operand operands[max_operands];
    int operand_count = 0;
    ByteKey key;
    key.add(static_cast<std::uint8_t>(device->index()));
    key.add(static_cast<std::uint8_t>(device->index() >> 8));
    RawLayout raws[max_operands];
    int raw_count = 0;
    for (int k = 0; k < param_count; ++k) {
        const Array* array = arrays[k];
        if (array == nullptr) continue;
        if (spec.params[k].raw) {
            raws[raw_count] = {static_cast<std::uint8_t>(array->ndim()), array->c_contiguous(), byte_span(*array) < (std::int64_t{1} << 31)};
            key.add(raws[raw_count].ndim);
            key.add(static_cast<std::uint8_t>(raws[raw_count].c_contiguous | raws[raw_count].narrow << 1));
            ++raw_count;
        } else {
            operands[operand_count++] = {array->shape().data(), array->strides().data(), array->ndim(),
                                         row(array->dtype()).bytes, array->address(), spec.params[k].output};
        }
    }
    ElementwisePlan plan;
    PlanRequest request;
    request.shape = {shape.extents, static_cast<std::size_t>(shape.ndim)};
    request.operands = {operands, static_cast<std::size_t>(operand_count)};
    request.target = device->arch().target;
    request.keep_order = state.keep_order;
    request.keep_axes = !spec.reduce_dims && spec.facts.uses_ind;
    request.one_element = state.one_element;
    request.block_size = call.block_size;
    request.block_size_given = call.block_size != 128;
    request.threads = device->properties().multiprocessors;
    request.grain = state.grain;
    if (!plan_elementwise(request, plan))
        throw ValueError(join("kernel '", spec.name, "': ", operand_count, " arrays of ", shape.ndim,
                              " axes that cannot be merged are too many for one kernel; copy some of them to C order first"));

    // Find or compile.
    const ElementwiseLayout& layout = plan.layout;
    key.add(static_cast<std::uint8_t>(layout.strategy));
    key.add(layout.ndim);
    key.add(layout.lanes);
    key.add(static_cast<std::uint8_t>(layout.wide | layout.peel << 1));
    for (int k = 0; k < operand_count; ++k) key.add(static_cast<std::uint8_t>(layout.access[static_cast<std::size_t>(k)]));
    Loaded* loaded = typed.variants.find(key);
    if (loaded == nullptr) {
        ElementwiseVariant variant;
        variant.layout = layout;
        variant.raw.assign(raws, raws + raw_count);
        variant.indexer = spec.facts.uses_ind;
        loaded = &state.load(typed, key, variant, *device, on_wait);
    } else {
        process_cache().count_memory_hit();
    }

    // Pack.
    alignas(16) std::byte store[parameter_bytes_limit + 1024];
    std::byte* at = store;
    void* parameters[max_operands + 2];
    int parameter_count = 0;
    const auto reserve = [&](std::size_t bytes) {
        std::byte* place = at;
        at += (bytes + 15) & ~std::size_t{15};
        if (at > store + sizeof store)
            throw ValueError(join("kernel '", spec.name, "': its parameters take more than CUDA's ", parameter_bytes_limit,
                                  " bytes; pass fewer raw arrays or structures"));
        parameters[parameter_count++] = place;
        return place;
    };
    const auto put_word = [](std::byte*& place, std::int64_t word) {
        std::memcpy(place, &word, sizeof word);
        place += sizeof word;
    };
    for (int k = 0; k < param_count; ++k) {
        const Array* array = arrays[k];
        if (array == nullptr) {
            const Argument& argument = args[k];
            if (argument.kind == ArgType::Kind::structure)
                std::memcpy(reserve(argument.layout->bytes), argument.structure_bytes, argument.layout->bytes);
            else
                store_scalar(argument.scalar, typed.signature.params[k].dtype, reserve(16));
        } else if (spec.params[k].raw) {
            std::byte* place = reserve(16 + 16 * static_cast<std::size_t>(array->ndim()));
            put_word(place, static_cast<std::int64_t>(array->address()));
            put_word(place, array->size());
            for (const std::int64_t extent : array->shape()) put_word(place, extent);
            for (const std::int64_t stride : array->strides()) put_word(place, stride);
        } else {
            std::byte* place = reserve(8);
            put_word(place, static_cast<std::int64_t>(array->address()));
        }
    }
    if (loaded->indexer) { // CIndexer: size, shape[ndim + 1], position[ndim + 1]
        std::byte* place = reserve(8 * (3 + 2 * static_cast<std::size_t>(layout.ndim)));
        put_word(place, plan.count);
        for (int d = 0; d < layout.ndim; ++d) put_word(place, plan.shape[static_cast<std::size_t>(d)]);
        std::memset(place, 0, 8 * (2 + static_cast<std::size_t>(layout.ndim)));
    }
    pack_nest(loaded->nest, plan, reserve(24 * loaded->nest.size()));

    // Launch.
    device->make_current();
    if (settings().show_launch) [[unlikely]]
        std::fprintf(stderr, "quern: launch %s on %s: %s, grid %u, block %u\n", spec.name.c_str(), device->name().c_str(),
                     describe(layout).c_str(), plan.grid, plan.block);
    CUresult status;
    {   // The CPU runs a launch at once: a long one is a wait.
        const Waiting waiting(device->is_cpu() && plan.grid > 1 ? on_wait : nullptr);
        status = device->api().cuLaunchKernel(loaded->function, plan.grid, 1, 1, plan.block, 1, 1, 0, stream, parameters, nullptr);
    }
    check(device->api(), status, "launch kernel '", spec.name, "' with grid ", plan.grid, " and block ", plan.block, " on ",
          device->name());
    for (int k = 0; k < param_count; ++k)
        if (arrays[k] != nullptr) {
            MemoryPool& pool = pool_of(*device);
            pool.note_use(*arrays[k]->buffer().get(), stream);
        }
    return made;
}

} // namespace quern
