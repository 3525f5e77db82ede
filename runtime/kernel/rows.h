// Find or compile, pack, launch: a row kernel that is called with arguments.
#pragma once
#include "compiler/compile.h"
#include "runtime/kernel/argument.h"

#include <memory>
#include <span>
#include <string>

namespace quern {

struct RowCall {
    std::span<const std::int64_t> axes; // along a row
    CUstream stream = nullptr;
    RowWays ways = RowWays::all;
};

class RowKernel {
  public:
    explicit RowKernel(RowSpec spec);
    ~RowKernel();
    RowKernel(const RowKernel&) = delete;
    RowKernel& operator=(const RowKernel&) = delete;

    [[nodiscard]] const RowSpec& spec() const noexcept;

    // `args` has nin + nout entries: arrays of one shape, in which those of one value a row repeat
    // it, and scalars. False where other kernels do better; nothing has run then.
    bool operator()(std::span<const Argument> args, const RowCall& call,
                    void (*on_wait)(bool entering) = nullptr);

    // Generated CUDA C++ of what was launched last; "" where nothing was.
    [[nodiscard]] std::string launched_code() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace quern
