// The last step of a call: hand the packed parameters to the driver.
#include "compiler/base/error.h"
#include "runtime/driver/check.h"
#include "runtime/host/later.h"
#include "runtime/kernel/call.h"
#include "runtime/kernel/waiting.h"
#include "runtime/stream/stream.h"

#include <cstdio>

namespace quern {
namespace {

void note_uses(const KernelSpec& spec, Device& device, CUstream stream, const ParamArrays& arrays) {
    MemoryPool& pool = pool_of(device);
    for (std::size_t k = 0; k < spec.params.size(); ++k)
        if (arrays[k] != nullptr)
            pool.note_use(*arrays[k]->buffer().get(), stream);
}

// (H200, one fused layernorm after another of 65536 rows of 1024 floats: 4092 GB/s, 4144 where they
// overlap.) What graphs hold may be asked about in terms that know of no such edges.
CUresult start(const Device& device, CUstream stream, const LaunchStep& step, void** params) {
    const DriverApi& api = device.api();
    if (!step.overlaps || api.cuLaunchKernelEx == nullptr || is_capturing(device, stream))
        return api.cuLaunchKernel(step.function, step.grid, 1, 1, step.block, 1, 1,
                                  step.shared_bytes, stream, params, nullptr);
    CUlaunchAttribute overlap{};
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = step.grid;
    config.blockDimX = step.block;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = step.shared_bytes;
    config.hStream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    return api.cuLaunchKernelEx(&config, step.function, params, nullptr);
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
            status = start(device, stream, step, parameters.data());
        }
        check(device.api(), status, "launch kernel '", spec.name, "' with grid ", step.grid,
              " and block ", step.block, " on ", device.name());
    }
    note_uses(spec, device, stream, arrays);
}

void launch_on_arrival(const KernelSpec& spec, Device& device, CUstream stream,
                       const Awaited& kernel, unsigned grid, unsigned block,
                       const PackedParameters& parameters, const ParamArrays& arrays) {
    device.make_current();
    const CUresult status =
        host::keep_in_stream(stream, [kernel, grid, block, kept = parameters.copy()] {
            kernel.arrival.wait();
            if (kernel.arrival.has_failed())
                return host::tell_failure(CUDA_ERROR_LAUNCH_FAILED);
            host::run_kernel(kernel.function, grid, block, 0, kept->data());
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
