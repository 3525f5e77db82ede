// Find or compile, pack, launch: an elementwise kernel that is called with arguments.
#pragma once
#include "compiler/compile.h"
#include "runtime/kernel/argument.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quern {

inline constexpr int default_block_size = 128; // threads a block on a GPU

struct ElementwiseCall {
    std::int64_t size = -1;  // `size=`: number of iterations when no array decides it
    bool has_stream = false; // else the current stream of the arrays' device
    CUstream stream = nullptr;
    int block_size =
        default_block_size; // <= 0 is a ValueError; on the CPU blocks are the plan's own
};

class ElementwiseKernel {
  public:
    explicit ElementwiseKernel(const ElementwiseText& text); // throws SpecError; compiles nothing
    // `own`: of the library's texts, which cannot fail; they may be compiled while callers go on.
    explicit ElementwiseKernel(ElementwiseSpec spec, bool own = false);
    ~ElementwiseKernel();
    ElementwiseKernel(const ElementwiseKernel&) = delete;
    ElementwiseKernel& operator=(const ElementwiseKernel&) = delete;

    [[nodiscard]] const ElementwiseSpec& spec() const noexcept;
    // Runs the kernel. `args` has nin or nin + nout entries; outputs that were not given are made,
    // in C order, and returned in order. Thread safe. `on_wait` is called around a compile and
    // around a long run on the CPU (true before, false after), so that bindings can release the GIL
    // there.
    std::vector<Array> operator()(std::span<const Argument> args, const ElementwiseCall& call = {},
                                  void (*on_wait)(bool entering) = nullptr);

    // Generated CUDA C++ by the input dtypes it was made for; newest last.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> cached_codes() const;
    // Of what was launched last; "" where nothing was.
    [[nodiscard]] std::string launched_code() const;

  private:
    struct State;
    std::shared_ptr<State> state_; // recorded calls hold it too
};

} // namespace quern
