// Finds or compiles, loads, and launches programs of the user's own.
#include "runtime/kernel/raw.h"
#include "runtime/kernel/promotion.h"

#include "compiler/base/demangle.h"
#include "compiler/base/error.h"
#include "compiler/base/settings.h"
#include "compiler/base/text.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/raw_arguments.h"
#include "runtime/kernel/waiting.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace quern {
namespace {

// Lists by device are short, grow at the front and never shrink before their owner goes.
template <class Entry>
Entry* find_on(const std::atomic<Entry*>& first, const Device& device) noexcept {
    Entry* entry = first.load(std::memory_order_acquire);
    while (entry != nullptr && entry->device != &device)
        entry = entry->next.get();
    return entry;
}
template <class Entry> Entry& add_to(std::atomic<Entry*>& first, std::unique_ptr<Entry> entry) {
    entry->next.reset(first.load(std::memory_order_relaxed));
    first.store(entry.get(), std::memory_order_release);
    return *entry.release();
}

// Every kernel of a module by its symbol; empty where the driver cannot list them.
std::vector<std::pair<std::string, CUfunction>> list_functions(const LoadedProgram& loaded) {
    const DriverApi& api = loaded.device->api();
    unsigned count = 0;
    if (api.cuModuleGetFunctionCount == nullptr || api.cuModuleEnumerateFunctions == nullptr ||
        api.cuFuncGetName == nullptr ||
        api.cuModuleGetFunctionCount(&count, loaded.module.get()) != CUDA_SUCCESS)
        return {};
    std::vector<CUfunction> handles(count);
    if (count == 0 ||
        api.cuModuleEnumerateFunctions(handles.data(), count, loaded.module.get()) != CUDA_SUCCESS)
        return {};
    std::vector<std::pair<std::string, CUfunction>> functions;
    for (const CUfunction handle : handles) {
        const char* name = nullptr;
        if (api.cuFuncGetName(&name, handle) == CUDA_SUCCESS && name != nullptr)
            functions.emplace_back(name, handle);
    }
    return functions;
}

} // namespace

RawProgram::RawProgram(RawSource source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {}
RawProgram::~RawProgram() { delete first_.load(); }

const LoadedProgram& RawProgram::on(Device& device, const CallHooks& hooks) {
    if (const LoadedProgram* found = find_on(first_, device))
        return *found;
    const std::string origin = hooks.call_site ? hooks.call_site() : std::string();
    const Waiting waiting(hooks.on_wait);
    const std::lock_guard lock(mutex_);
    if (const LoadedProgram* found = find_on(first_, device))
        return *found;
    auto loaded = std::make_unique<LoadedProgram>();
    loaded->device = &device;
    loaded->compiled = compile_raw(source_, device.arch(), name_, origin);
    device.make_current();
    CUmodule module = nullptr;
    check(device.api(),
          device.api().cuModuleLoadData(&module, loaded->compiled.binary.image.data()),
          "load the binary of '", name_, "' on ", device.name());
    loaded->module = ModuleHandle(module, {&device.api()});
    if (device.arch().target == Target::cpu)
        loaded->promotion = promote_when_hot(source_, device.arch(), name_, module);
    return add_to(first_, std::move(loaded));
}

std::string RawProgram::symbol_of(const LoadedProgram& loaded, const std::string& name) const {
    for (const auto& [expression, lowered] : loaded.compiled.binary.lowered_names)
        if (expression == name)
            return lowered;
    return name;
}

RawProgram::Global RawProgram::find_global(const LoadedProgram& loaded,
                                           const std::string& name) const {
    const DriverApi& api = loaded.device->api();
    loaded.device->make_current();
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const CUresult status = api.cuModuleGetGlobal(&address, &bytes, loaded.module.get(),
                                                  symbol_of(loaded, name).c_str());
    check(api, status, "find variable '", name, "' in '", name_,
          "'\n  help: name a __device__, __constant__ or __managed__ variable at namespace scope; "
          "one "
          "in a namespace, static, or a template needs name_expressions=('&",
          name, "',)");
    return {address, bytes};
}

std::pair<CUfunction, std::string> RawProgram::find_function(const LoadedProgram& loaded,
                                                             const std::string& name) const {
    const DriverApi& api = loaded.device->api();
    std::string symbol = symbol_of(loaded, name);
    loaded.device->make_current();
    CUfunction handle = nullptr;
    const CUresult status = api.cuModuleGetFunction(&handle, loaded.module.get(), symbol.c_str());
    if (status == CUDA_SUCCESS)
        return {handle, symbol};
    if (status != CUDA_ERROR_NOT_FOUND)
        throw_driver_error(api, status, join("find kernel '", name, "'"));
    std::string names;
    int matches = 0;
    for (const auto& [other, function] : list_functions(loaded)) {
        const std::string readable = demangle(other);
        if (split_function(readable).name == name) {
            handle = function;
            symbol = other;
            ++matches;
        }
        names += join("\n    ", readable);
    }
    if (matches == 1)
        return {handle, symbol};
    throw_driver_error(
        api, status,
        join("find kernel '", name, "' in '", name_, "'",
             matches > 1 ? ": several kernels have this name" : "",
             names.empty() ? ": it has no kernel that the driver could list" : "\n  its kernels:",
             names, "\n  help: name one of them; a template needs name_expressions=('", name,
             "<...>',), or a name with its arguments"));
}

RawKernel::RawKernel(std::shared_ptr<RawProgram> program, std::string name)
    : program_(std::move(program)), name_(std::move(name)) {}
RawKernel::~RawKernel() { delete first_.load(); }

const RawFunction& RawKernel::on(Device& device, const CallHooks& hooks) {
    if (const RawFunction* found = find_on(first_, device)) [[likely]]
        return *found;
    const LoadedProgram& loaded = program_->on(device, hooks);
    const std::lock_guard lock(mutex_);
    if (const RawFunction* found = find_on(first_, device))
        return *found;
    auto made = std::make_unique<RawFunction>();
    made->device = &device;
    std::tie(made->handle, made->symbol) = program_->find_function(loaded, name_);
    made->params = find_params(loaded, *made, program_->source());
    made->knows_params = device.api().cuFuncGetParamInfo != nullptr || !made->params.empty();
    return add_to(first_, std::move(made));
}

namespace {

Device& device_of_call(const std::string& name, std::span<const Argument> args) {
    Device* first = nullptr;
    for (const Argument& argument : args) {
        Device* device = argument.device();
        if (device == nullptr || device == first)
            continue;
        if (first != nullptr) [[unlikely]]
            throw ValueError(join("kernel '", name, "': argument ", &argument - args.data(),
                                  " is on device ", device->name(), ", another one on device ",
                                  first->name(),
                                  "\n    help: move arrays with quern.asarray(x, device=...)",
                                  argument.object == nullptr
                                      ? ""
                                      : "; make textures and surfaces on the kernel's device"));
        first = device;
    }
    return first == nullptr ? current_device() : *first;
}

// What of a refused launch is past the device's limits; "" when it is something else.
std::string excess(const RawFunction& function, const RawLaunch& launch) {
    const DriverApi& api = function.device->api();
    const auto [bx, by, bz] = launch.block;
    const auto attribute = [&](CUfunction_attribute which) {
        int value = 0;
        return api.cuFuncGetAttribute(&value, which, function.handle) == CUDA_SUCCESS ? value : -1;
    };
    const std::uint64_t threads = std::uint64_t{bx} * by * bz;
    const int most_threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (most_threads > 0 && threads > static_cast<std::uint64_t>(most_threads))
        return join("a block of ", threads, " threads; this kernel takes at most ", most_threads);
    if (bz > 64)
        return join("a block of ", bz, " threads along z; 64 is the most");
    const auto& limits = function.device->properties().max_grid;
    for (int axis = 0; axis < 3; ++axis)
        if (launch.grid[static_cast<std::size_t>(axis)] > static_cast<unsigned>(limits[axis]))
            return join("a grid of ", launch.grid[static_cast<std::size_t>(axis)], " blocks along ",
                        "xyz"[axis], "; ", limits[axis], " is the most");
    const int most_shared = attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    if (most_shared >= 0 && launch.shared_bytes > static_cast<unsigned>(most_shared))
        return join("shared_mem of ", launch.shared_bytes, " bytes; ", most_shared,
                    " is the most, until kernel.max_dynamic_shared_size_bytes is set higher");
    return {};
}

std::string text_of(const std::array<unsigned, 3>& extents) {
    return join("(", extents[0], ", ", extents[1], ", ", extents[2], ")");
}

// All blocks of a cooperative launch must fit a GPU at once. As CuPy does: a longer 1-D grid is
// cut, with a warning.
void fit_cooperative_grid(const std::string& name, const RawFunction& function, RawLaunch& launch,
                          const CallHooks& hooks) {
    const DriverApi& api = function.device->api();
    const auto [gx, gy, gz] = launch.grid;
    const auto [bx, by, bz] = launch.block;
    int blocks = 0;
    if (function.device->is_cpu() || api.cuOccupancyMaxActiveBlocksPerMultiprocessor == nullptr ||
        api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function.handle,
                                                        static_cast<int>(bx * by * bz),
                                                        launch.shared_bytes) != CUDA_SUCCESS)
        return; // the driver judges
    const auto most = static_cast<std::uint64_t>(blocks) *
                      static_cast<std::uint64_t>(function.device->properties().multiprocessors);
    if (most == 0 || std::uint64_t{gx} * gy * gz <= most)
        return;
    const std::string what =
        join("kernel '", name, "': a cooperative grid of ", std::uint64_t{gx} * gy * gz,
             " blocks does not fit ", function.device->name(), " at once, which holds ", most);
    if (gy != 1 || gz != 1)
        throw ValueError(join(what, "\n    help: launch fewer blocks"));
    launch.grid[0] = static_cast<unsigned>(most);
    if (hooks.warn != nullptr)
        hooks.warn(join(what, "; The grid size will be reduced from ", gx, " to ", most));
}

[[noreturn]] void refuse(const std::string& name, const RawFunction& function,
                         const RawLaunch& launch, CUresult status) {
    const std::string reason = excess(function, launch);
    throw_driver_error(function.device->api(), status,
                       join("launch kernel '", name, "' with grid ", text_of(launch.grid),
                            ", block ", text_of(launch.block), " and ", launch.shared_bytes,
                            " bytes of dynamic shared memory on ", function.device->name(),
                            reason.empty() ? "" : "\n    reason: ", reason));
}

} // namespace

void RawKernel::operator()(std::span<const Argument> args, RawLaunch launch,
                           const CallHooks& hooks) {
    Device& device = device_of_call(name_, args);
    const RawFunction& function = on(device, hooks);
    RawArguments parameters({name_, function, args, hooks.warn}, launch.strict);
    const CUstream stream = launch.has_stream ? launch.stream : current_stream(device);
    device.make_current();
    if (launch.cooperative) [[unlikely]]
        fit_cooperative_grid(name_, function, launch, hooks);
    const auto [gx, gy, gz] = launch.grid;
    const auto [bx, by, bz] = launch.block;
    if (settings().show_launch) [[unlikely]]
        std::fprintf(stderr, "quern: launch %s on %s: grid %s, block %s, %u bytes shared\n",
                     name_.c_str(), device.name().c_str(), text_of(launch.grid).c_str(),
                     text_of(launch.block).c_str(), launch.shared_bytes);
    CUresult status;
    { // The CPU runs a launch at once: a long one is a wait.
        const bool is_long = device.is_cpu() && (gx > 1 || gy > 1 || gz > 1 || bx > 64);
        const Waiting waiting(is_long ? hooks.on_wait : nullptr);
        if (!launch.cooperative)
            status = device.api().cuLaunchKernel(function.handle, gx, gy, gz, bx, by, bz,
                                                 launch.shared_bytes, stream, parameters.data(),
                                                 nullptr);
        else if (device.api().cuLaunchCooperativeKernel != nullptr)
            status = device.api().cuLaunchCooperativeKernel(function.handle, gx, gy, gz, bx, by, bz,
                                                            launch.shared_bytes, stream,
                                                            parameters.data());
        else
            status = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (status != CUDA_SUCCESS) [[unlikely]]
        refuse(name_, function, launch, status);
    MemoryPool& pool = pool_of(device);
    for (const Argument& argument : args)
        if (argument.kind == ArgType::Kind::array)
            pool.note_use(*argument.array->buffer().get(), stream);
        else if (argument.object != nullptr) [[unlikely]]
            argument.object->note_use(stream);
}

} // namespace quern
