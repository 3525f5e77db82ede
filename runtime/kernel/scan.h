// Find or compile, pack, launch: a kernel that joins every element to those before it along an
// axis.
#pragma once
#include "compiler/compile.h"
#include "runtime/kernel/argument.h"

#include <memory>
#include <span>
#include <string>

namespace quern {

struct ScanCall {
    int axis = 0; // of the arguments' common shape
    CUstream stream = nullptr;
    // For experiments and tests; 0 leaves the choice to the plan.
    int batch = 0, split = 0;
};

class ScanKernel {
  public:
    explicit ScanKernel(const ReductionText& text); // throws SpecError; compiles nothing
    ~ScanKernel();
    ScanKernel(const ScanKernel&) = delete;
    ScanKernel& operator=(const ScanKernel&) = delete;

    // Scans. `args` has every input and every output; all have one shape, in which inputs may be
    // broadcast, and none is empty. Outputs may be inputs, but not overlap them otherwise. Thread
    // safe. The association is a function of shapes, layouts, types and device: results are the
    // same bits each time. `on_wait` as in ElementwiseKernel.
    void operator()(std::span<const Argument> args, const ScanCall& call,
                    void (*on_wait)(bool entering) = nullptr);

    // What a call with these arguments would do: the plan and its launch.
    [[nodiscard]] std::string explain(std::span<const Argument> args, const ScanCall& call);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace quern
