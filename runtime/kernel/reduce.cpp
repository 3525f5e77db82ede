// Writes a row's spec for the dtypes of a call, keeps the kernel, and calls it.
#include "runtime/kernel/reduce.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/kernel/call.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>

namespace quern {
namespace {

ReductionKernel& kernel_of(const ReductionForm& form, const ReductionTyping& types) {
    static std::mutex mutex;
    static auto* const kernels = new std::map<ReductionForm, std::unique_ptr<ReductionKernel>>;
    const std::lock_guard lock(mutex);
    auto& kernel = (*kernels)[form];
    if (!kernel)
        kernel = std::make_unique<ReductionKernel>(reduction_spec(form, types));
    return *kernel;
}

// A call's kernel and arguments.
struct Ready {
    ReductionKernel* kernel = nullptr;
    std::array<Argument, 6> store;
    std::size_t count = 0;
    void add(Argument argument) { store[count++] = std::move(argument); }
    [[nodiscard]] std::span<const Argument> args() const { return {store.data(), count}; }
};

std::int64_t elements_behind(const Array& array, const ReduceCall& call) {
    if (call.all_axes)
        return array.size();
    std::int64_t count = 1;
    for (const std::int64_t axis : call.axes)
        count *= array.shape()[normalise_axis(axis, array.ndim())];
    return count;
}

Ready prepare(Reduction op, const Array& array, const ReduceCall& call) {
    const ReductionRow& wanted = row(op);
    if (op == Reduction::mean && call.where != nullptr)
        return prepare(Reduction::masked_mean, array, call);
    const bool in_order = !array.device().is_cpu();
    const bool narrow = elements_behind(array, call) < (std::int64_t{1} << 31);
    ReductionTyping types = type_reduction(op, array.dtype(), call.dtype, narrow, in_order);
    if (call.where != nullptr && call.where->dtype() != DType::boolean)
        throw TypeError(
            join("where must be an array of bool, not ", row(call.where->dtype()).name));
    if (call.where != nullptr && wanted.refuses_empty && !call.initial &&
        wanted.types != ReductionTypes::place)
        throw ValueError(join("reduction operation '", wanted.name,
                              "' does not have an identity, so to use a where mask one has to "
                              "specify 'initial'"));
    if (call.out != nullptr && call.out->dtype() != types.result) {
        if (!can_cast(types.result, call.out->dtype(), Casting::same_kind))
            throw TypeError(join("Cannot cast the result of ", wanted.name, " from dtype('",
                                 row(types.result).name, "') to dtype('",
                                 row(call.out->dtype()).name,
                                 "') with casting rule 'same_kind': give out= of another dtype"));
        types.result = call.out->dtype();
    }
    const ReductionForm form{op,
                             array.dtype(),
                             types.value,
                             types.result,
                             call.where != nullptr,
                             call.initial.has_value(),
                             narrow,
                             in_order};
    Ready ready;
    ready.kernel = &kernel_of(form, types);
    ready.add(Argument::of(array));
    if (call.where != nullptr)
        ready.add(Argument::of(*call.where));
    if (call.initial)
        ready.add(Argument::of(*call.initial));
    if (wanted.types == ReductionTypes::moments)
        ready.add(Argument::of(Scalar::of(call.ddof)));
    if (wanted.types == ReductionTypes::average)
        ready.add(Argument::of(Scalar::of(elements_behind(array, call))));
    if (call.out != nullptr)
        ready.add(Argument::of(*call.out));
    return ready;
}

} // namespace

std::optional<Reduction> find_reduction(std::string_view name) noexcept {
    const auto found = std::ranges::find(reduction_table, name, &ReductionRow::name);
    return found == reduction_table.end() ? std::nullopt : std::optional(found->id);
}

std::optional<Array> reduce(Reduction op, const Array& array, const ReduceCall& call,
                            void (*on_wait)(bool entering)) {
    const Ready ready = prepare(op, array, call);
    std::vector<Array> made = (*ready.kernel)(ready.args(), call, on_wait);
    return made.empty() ? std::nullopt : std::optional(std::move(made.front()));
}

std::string explain_reduce(Reduction op, const Array& array, const ReduceCall& call) {
    const Ready ready = prepare(op, array, call);
    return ready.kernel->explain(ready.args(), call);
}

} // namespace quern
