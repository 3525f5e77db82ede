// Where a thread's elementwise calls are kept back, to be fused with others: nowhere, or with the
// recorder of a fused function (runtime/fusion).
#pragma once
#include "compiler/base/error.h"
#include "runtime/device/pending.h"
#include "runtime/kernel/call.h"

namespace quern {

// A call whose outputs are made and whose launch is not.
struct RecordedCall {
    const ElementwiseKernel& kernel;
    const Signature& signature;
    std::span<const Argument> args;
    const ParamArrays& arrays; // of all parameters, made outputs among them
    const CallShape& shape;
    Device& device;
    CUstream stream;
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
