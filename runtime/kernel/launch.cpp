// The last step of a call: hand the packed parameters to the driver.
#include "compiler/base/error.h"
#include "runtime/driver/check.h"
#include "runtime/host/later.h"
#include "runtime/kernel/call.h"
#include "runtime/kernel/waiting.h"

#include <cstdio>

namespace quern {
namespace {

void note_uses(const KernelSpec& spec, Device& device, CUstream stream, const ParamArrays& arrays) {
    MemoryPool& pool = pool_of(device);
    for (std::size_t k = 0; k < spec.params.size(); ++k)
        if (arrays[k] != nullptr)
            pool.note_use(*arrays[k]->buffer().get(), stream);
}

} // namespace

void launch(const KernelSpec& spec, Device& device, CUstream stream,
            std::span<const LaunchStep> steps, PackedParameters& parameters,
            const ParamArrays& arrays, void (*on_wait)(bool entering)) {
    device.make_current();
    for (const LaunchStep& step : steps) {
        if (step.grid == 0)
            continue;
        CUresult status;
        {
            const Waiting waiting(device.is_cpu() && step.grid > 1 ? on_wait : nullptr);
            status =
                device.api().cuLaunchKernel(step.function, step.grid, 1, 1, step.block, 1, 1,
                                            step.shared_bytes, stream, parameters.data(), nullptr);
        }
        check(device.api(), status, "launch kernel '", spec.name, "' with grid ", step.grid,
              " and block ", step.block, " on ", device.name());
    }
    note_uses(spec, device, stream, arrays);
}

void launch_on_arrival(const KernelSpec& spec, Device& device, CUstream stream,
                       const Arrival& arrival, std::shared_ptr<const void> owner,
                       std::function<std::array<LaunchStep, 2>()> steps,
                       const PackedParameters& parameters, const ParamArrays& arrays) {
    device.make_current();
    const CUresult status =
        host::keep_in_stream(stream, [&arrival, owner = std::move(owner), steps = std::move(steps),
                                      kept = parameters.copy()] {
            arrival.wait();
            if (arrival.has_failed())
                return host::tell_failure(CUDA_ERROR_LAUNCH_FAILED);
            for (const LaunchStep& step : steps())
                if (step.grid != 0)
                    host::run_kernel(step.function, step.grid, step.block, step.shared_bytes,
                                     kept->data());
        });
    check(device.api(), status, "launch kernel '", spec.name, "' on ", device.name());
    note_uses(spec, device, stream, arrays);
}

void show_launch(const KernelSpec& spec, const Device& device, const std::string& plan,
                 const LaunchStep& step) {
    std::fprintf(stderr, "quern: launch %s on %s: %s, grid %u, block %u\n", spec.name.c_str(),
                 device.name().c_str(), plan.c_str(), step.grid, step.block);
}

} // namespace quern
