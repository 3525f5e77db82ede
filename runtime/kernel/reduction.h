// Find or compile, pack, launch: a reduction kernel that is called with arguments.
#pragma once
#include "compiler/compile.h"
#include "runtime/kernel/argument.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quern {

struct ReductionCall {
    bool all_axes = true; // axis=None
    std::span<const std::int64_t> axes;
    bool keepdims = false;
    bool has_stream = false; // else the current stream of the arrays' device
    CUstream stream = nullptr;
    int splits = 0; // blocks that share an output; 0: the plan decides
};

class ReductionKernel {
  public:
    explicit ReductionKernel(const ReductionText& text); // throws SpecError; compiles nothing
    explicit ReductionKernel(ReductionSpec spec, bool own = false); // as ElementwiseKernel has it
    ~ReductionKernel();
    ReductionKernel(const ReductionKernel&) = delete;
    ReductionKernel& operator=(const ReductionKernel&) = delete;

    [[nodiscard]] const ReductionSpec& spec() const noexcept;

    // Reduces. `args` has nin or nin + nout entries; outputs that were not given are made, in C
    // order, and returned in order. Thread safe. `on_wait` as in ElementwiseKernel.
    std::vector<Array> operator()(std::span<const Argument> args, const ReductionCall& call = {},
                                  void (*on_wait)(bool entering) = nullptr);

    // What a call with these arguments would do: one line for the plan, one for each launch.
    [[nodiscard]] std::string explain(std::span<const Argument> args, const ReductionCall& call);

    // Generated CUDA C++ by the dtypes it was made for; newest last.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> cached_codes() const;
    // Of what was launched last; "" where nothing was.
    [[nodiscard]] std::string launched_code() const;

  private:
    struct State;
    std::shared_ptr<State> state_; // recorded calls hold it too
};

} // namespace quern
