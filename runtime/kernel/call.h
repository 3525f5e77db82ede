// The steps of one elementwise call between Python's arguments and the launch. All of the warm
// road: no locks, no strings but in errors.
#pragma once
#include "compiler/base/error.h"
#include "runtime/kernel/ahead.h"
#include "runtime/kernel/elementwise.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace quern {

// A complaint about arguments: the deed, the parameter lists with carets, the cure.
[[noreturn]] void complain(const KernelSpec& spec, ErrorKind kind, const std::string& what,
                           const std::vector<int>& marked, const std::string& help);

// The shape of a call's iterations. `extents` points at an argument's own shape while all agree,
// else into `store`.
struct CallShape {
    std::array<std::int64_t, max_plan_ndim> store;
    const std::int64_t* extents = nullptr;
    int ndim = 0;

    CallShape() = default;
    CallShape(const CallShape&) = delete;
    CallShape& operator=(const CallShape&) = delete;
    [[nodiscard]] bool is_empty() const noexcept;
    [[nodiscard]] bool is_of(const Array& array) const noexcept;
    [[nodiscard]] std::string text() const;
    void set(const std::int64_t* given, int count) noexcept { extents = given, ndim = count; }
    [[nodiscard]] bool broadcast(const Array& array) noexcept; // false: it does not
};

// The device that all arrays are on, or the current one. Also refuses read-only outputs.
[[nodiscard]] Device& device_of_call(const KernelSpec& spec, std::span<const Argument> args);

// All arrays that are not raw broadcast together; without any, `size` decides.
void decide_shape(const KernelSpec& spec, std::span<const Argument> args, std::int64_t size,
                  CallShape& shape);

// Every parameter's array, nullptr for scalars: the given ones, and new ones in C order where an
// output is missing.
using ParamArrays = std::array<const Array*, max_operands>;
[[nodiscard]] std::vector<Array> make_outputs(const KernelSpec& spec, const Signature& signature,
                                              std::span<const Argument> args, std::int64_t size,
                                              const CallShape& shape, Device& device,
                                              CUstream stream, ParamArrays& arrays);

// The kernel's parameters as cuLaunchKernel wants them.
class PackedParameters {
  public:
    explicit PackedParameters(const KernelSpec& spec) : spec_(spec) {}
    PackedParameters(const PackedParameters&) = delete;
    PackedParameters& operator=(const PackedParameters&) = delete;

    void add_arguments(const Signature& signature, std::span<const Argument> args,
                       const ParamArrays& arrays);
    void add_indexer(std::span<const std::int64_t> shape); // a CIndexer
    void add_pointer(std::uint64_t address);
    void add_nest(const std::vector<NestField>& fields, const ElementwisePlan& plan);
    void add_nest(const std::vector<ReductionField>& fields, const ReductionPlan& plan);
    void add_nest(const std::vector<ScanField>& fields, const ScanPlan& plan);
    void add_nest(const std::vector<RowField>& fields, const RowPlan& plan);
    [[nodiscard]] void** data() noexcept { return pointers_.data(); }
    [[nodiscard]] std::shared_ptr<PackedParameters> copy() const; // of the same spec

  private:
    static constexpr std::size_t limit_bytes = 4096; // CUDA's, for kernel parameters
    [[nodiscard]] std::byte* reserve(std::size_t bytes);

    const KernelSpec& spec_;
    alignas(16) std::array<std::byte, limit_bytes + 1024> store_;
    std::size_t used_ = 0;
    std::array<void*, max_operands + 4> pointers_;
    int count_ = 0;
};

// One function of a kernel's module and its launch; nothing is launched without blocks.
struct LaunchStep {
    CUfunction function = nullptr;
    unsigned grid = 0, block = 0;
    unsigned shared_bytes = 0; // dynamic
    // It touches no memory before quern::wait_for_earlier(): its blocks may come while the last of
    // the stream's kernel before it are still at work.
    bool overlaps = false;
};

// Launches the steps one after the other on the same parameters and notes the arrays' use on the
// stream. The CPU runs a launch at once: a long one is a wait.
void launch(const KernelSpec& spec, Device& device, CUstream stream,
            std::span<const LaunchStep> steps, PackedParameters& parameters,
            const ParamArrays& arrays, void (*on_wait)(bool entering));
// A kernel that is still on its way, on the CPU: where it will be, and who holds it.
struct Awaited {
    const Arrival& arrival;
    const CUfunction& function; // there when it has arrived
    std::shared_ptr<const void> owner;
};
// The same of such a one: its stream keeps the launch until then.
void launch_on_arrival(const KernelSpec& spec, Device& device, CUstream stream,
                       const Awaited& kernel, unsigned grid, unsigned block,
                       const PackedParameters& parameters, const ParamArrays& arrays);
// The line of QUERN_SHOW_LAUNCH.
void show_launch(const KernelSpec& spec, const Device& device, const std::string& plan,
                 const LaunchStep& step);

} // namespace quern
