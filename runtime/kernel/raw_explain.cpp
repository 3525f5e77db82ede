// What a raw kernel tells about itself: the driver's attributes, and a page for people.
#include "runtime/kernel/promotion.h"
#include "runtime/kernel/raw_arguments.h"

#include "compiler/base/text.h"
#include "runtime/driver/check.h"

namespace quern {

const std::array<RawAttribute, 10> raw_attributes{{
    {"max_threads_per_block", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, false,
     "The largest block that it can be launched with, in threads."},
    {"shared_size_bytes", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, false,
     "Static shared memory of a block, in bytes."},
    {"const_size_bytes", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, false,
     "Constant memory that the user asked for, in bytes; 0 on a CPU."},
    {"local_size_bytes", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, false,
     "Local memory of a thread, in bytes; 0 on a CPU."},
    {"num_regs", CU_FUNC_ATTRIBUTE_NUM_REGS, false, "Registers of a thread; 0 on a CPU."},
    {"ptx_version", CU_FUNC_ATTRIBUTE_PTX_VERSION, false,
     "The virtual architecture it was compiled for: 90; 0 on a CPU."},
    {"binary_version", CU_FUNC_ATTRIBUTE_BINARY_VERSION, false,
     "The architecture of its machine code: 90; 0 on a CPU."},
    {"cache_mode_ca", CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, false,
     "Whether it was compiled to cache global loads in L1."},
    {"max_dynamic_shared_size_bytes", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, true,
     "The most bytes that `shared_mem` may ask for; set it to raise the limit above 48 KiB."},
    {"preferred_shared_memory_carveout", CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, true,
     "Percent of the L1 cache that shall be shared memory, -1: the driver's choice. A hint."},
}};

int RawKernel::attribute(const RawFunction& function, CUfunction_attribute which) const {
    const DriverApi& api = function.device->api();
    function.device->make_current();
    int value = 0;
    check(api, api.cuFuncGetAttribute(&value, which, function.handle),
          "ask for an attribute of "
          "kernel '",
          name_, "'");
    return value;
}

void RawKernel::set_attribute(const RawFunction& function, CUfunction_attribute which,
                              int value) const {
    const DriverApi& api = function.device->api();
    function.device->make_current();
    check(api, api.cuFuncSetAttribute(function.handle, which, value),
          "set an attribute of kernel '", name_, "' to ", value);
}

std::string RawKernel::explain(Device& device, const CallHooks& hooks) {
    const RawFunction& function = on(device, hooks);
    const LoadedProgram& loaded = program_->on(device, hooks);
    const RawSource& source = program_->source();
    std::string text = join("kernel '", name_, "' on ", device.name(), "\n");
    const auto line = [&](const char* what, const std::string& value) {
        text += fmt::format("  {:<12}{}\n", what, value);
    };
    line("symbol", function.symbol);
    line("toolchain", loaded.compiled.toolchain);
    if (source.with_nvcc && device.is_cpu())
        line("backend", "'nvcc' means the same as 'nvrtc' here: a CPU has one toolchain");
    line("device", join(device.properties().name, ", ", device.arch().name));
    line("compiled", join(loaded.compiled.from_cache ? "no, found in the cache, in " : "in ",
                          fmt::format("{:.2f}", loaded.compiled.compile_ms), " ms"));
    if (loaded.compiled.from_cache && loaded.compiled.binary.toolchain_ms > 0)
        line("",
             fmt::format("the toolchain had taken {:.2f} ms", loaded.compiled.binary.toolchain_ms));
    for (const KernelFacts& facts : loaded.compiled.facts)
        if (facts.name == function.symbol) {
            line("runs as", tell(facts));
            if (facts.tier == "fibers" && loaded.promotion != nullptr)
                line("next tier", tell_progress(*loaded.promotion, function.symbol));
        }
    std::string options;
    for (const std::string& option : source.options)
        options += join(options.empty() ? "" : " ", option);
    line("options", options.empty() ? "none" : options);
    if (source.binary.empty())
        for (const auto& [option, why] : ignored_options(source, device.arch()))
            line("ignored", join(option, ": ", why));
    if (!function.knows_params)
        line("parameters", "not known: the driver is too old to tell");
    for (std::size_t k = 0; k < function.params.size(); ++k)
        line(k == 0 ? "parameters" : "", join(k, "  ", describe(function.params[k])));
    if (function.knows_params && function.params.empty())
        line("parameters", "none");
    bool first = true;
    for (const RawAttribute& entry : raw_attributes) {
        line(first ? "attributes" : "", join(entry.name, " ", attribute(function, entry.which)));
        first = false;
    }
    if (!loaded.compiled.binary.log.empty())
        text += join("  the toolchain said:\n", loaded.compiled.binary.log, "\n");
    return text;
}

} // namespace quern
