// Where a thread's calls of elementwise and reduction kernels are kept back, to be fused with
// others: nowhere, or with the recorder of a fused function (runtime/fusion).
#pragma once
#include "compiler/spec/reduction_spec.h"
#include "runtime/device/pending.h"
#include "runtime/kernel/call.h"

#include <atomic>

namespace quern {

// A number for a kernel that no other one ever has.
[[nodiscard]] inline std::uint64_t next_kernel_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// A call whose outputs are made and whose launch is not.
struct RecordedCall {
    const ElementwiseSpec* elementwise; // either this
    const ReductionSpec* reduction;     // or that
    const Signature& signature;
    std::span<const Argument> args;
    const ParamArrays& arrays; // of all parameters, made outputs among them
    const CallShape& shape;
    Device& device;
    CUstream stream;
    const std::shared_ptr<const void>& kernel; // holds the spec and the signature
    std::uint64_t number;                      // of the kernel
    std::uint64_t reduced = 0;                 // bit d: axis d is

    [[nodiscard]] const KernelSpec& spec() const {
        return elementwise != nullptr ? static_cast<const KernelSpec&>(*elementwise) : *reduction;
    }
};

class Recorder : public Pending {
  public:
    virtual bool take(const RecordedCall& call) = 0; // false: it is to run now
};

// Of this thread; null: calls run at once.
[[nodiscard]] inline Recorder* current_recorder() noexcept {
    return static_cast<Recorder*>(pending_work());
}

} // namespace quern
