// Writes a row's spec for the dtypes of a call, keeps the kernel, and calls it.
#include "runtime/kernel/reduce.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/kernel/casts.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/given_output.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/recorder.h"
#include "runtime/kernel/table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>

namespace quern {
namespace {

// What decides a row's kernel in a call.
struct Wanted {
    Reduction op;
    const Array& array;
    const ReduceCall& call;
    bool narrow;
    Meeting meeting;

    [[nodiscard]] ByteKey key() const {
        ByteKey key;
        key.add(static_cast<std::uint8_t>(op));
        for (const std::optional<DType> dtype :
             {std::optional(array.dtype()), call.dtype,
              call.out != nullptr ? std::optional(call.out->dtype()) : std::nullopt})
            key.add(dtype ? static_cast<std::uint8_t>(*dtype) : 0xff);
        key.add(static_cast<std::uint8_t>((call.where != nullptr) | call.initial.has_value() << 1 |
                                          narrow << 2 | static_cast<int>(meeting) << 3));
        return key;
    }
};

// Sums and products into a given array are of the dtype that it and the elements have in common.
std::optional<DType> computed_in(Reduction op, const Array& array, const ReduceCall& call) {
    if (call.dtype || call.out == nullptr || row(op).types != ReductionTypes::total)
        return call.dtype;
    return result_type(array.dtype(), call.out->dtype());
}

// How a result may be cast to a given array's dtype: NumPy's own reductions take any.
Casting casting_of(Reduction op) {
    const bool ends_in_ufunc = op == Reduction::ptp || op == Reduction::std ||
                               op == Reduction::nanstd || row(op).types == ReductionTypes::place;
    return ends_in_ufunc ? Casting::same_kind : Casting::unsafe;
}

// The casts of a reduction of complex numbers, of which NumPy warns.
void note_casts(Reduction op, const Array& array, const ReduceCall& call) {
    const ReductionTypes types = row(op).types;
    if (types == ReductionTypes::truth || types == ReductionTypes::place ||
        types == ReductionTypes::count)
        return;
    const DType computed = call.dtype.value_or(array.dtype());
    note_cast(array.dtype(), computed);
    if (call.out != nullptr && types != ReductionTypes::moments)
        note_cast(computed, call.out->dtype());
}

std::unique_ptr<ReductionKernel> make_kernel(const Wanted& wanted) {
    const ReductionRow& op = row(wanted.op);
    const ReduceCall& call = wanted.call;
    ReductionTyping types =
        type_reduction(wanted.op, wanted.array.dtype(), computed_in(wanted.op, wanted.array, call),
                       wanted.narrow, wanted.meeting);
    if (call.where != nullptr && op.refuses_empty && !call.initial &&
        op.types != ReductionTypes::place)
        throw ValueError(join("reduction operation '", op.name,
                              "' does not have an identity, so to use a where mask one has to "
                              "specify 'initial'"));
    if (call.out != nullptr && call.out->dtype() != types.result) {
        if (!can_cast(types.result, call.out->dtype(), casting_of(wanted.op)))
            throw TypeError(join("Cannot cast the result of ", op.name, " from dtype('",
                                 row(types.result).name, "') to dtype('",
                                 row(call.out->dtype()).name,
                                 "') with casting rule 'same_kind': give out= of another dtype"));
        types.result = call.out->dtype();
    }
    return std::make_unique<ReductionKernel>(
        reduction_spec(wanted.op, types, call.where != nullptr, call.initial.has_value()), true);
}

ReductionKernel& kernel_of(const Wanted& wanted) {
    static std::mutex mutex;
    static auto* const kernels = new ByteTable<ReductionKernel>;
    const ByteKey key = wanted.key();
    if (ReductionKernel* kernel = kernels->find(key))
        return *kernel;
    auto made = make_kernel(wanted);
    const std::lock_guard lock(mutex);
    return kernels->insert(key, std::move(made));
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

// A GPU's plan walks the widest stride outermost: in C order where strides fall. Products of bytes
// count on packs instead, along an axis that is walked by neighbours.
Meeting meeting_of(Reduction op, const Array& array, const ReduceCall& call) {
    if (plan_target(array.device()) == Target::cpu)
        return Meeting::lanes;
    if (call.where != nullptr || current_recorder() != nullptr) // other arrays may be reduced
        return Meeting::any;
    std::uint64_t walked = call.all_axes ? ~std::uint64_t{0} : 0;
    if (!call.all_axes)
        for (const std::int64_t axis : call.axes)
            walked |= std::uint64_t{1} << normalise_axis(axis, array.ndim());
    std::int64_t widest = std::numeric_limits<std::int64_t>::max();
    bool falling = true, neighbours = false;
    for (int d = 0; d < array.ndim(); ++d) {
        const std::int64_t stride = array.strides()[d];
        if ((walked >> d & 1) == 0 || array.shape()[d] == 1 || stride == 0)
            continue;
        falling = falling && stride >= 0 && stride <= widest;
        neighbours = neighbours || std::abs(stride) == row(array.dtype()).bytes;
        widest = stride;
    }
    if (op == Reduction::prod || op == Reduction::nanprod)
        return neighbours ? Meeting::packs : Meeting::any;
    return falling ? Meeting::rising : Meeting::any;
}

// The same result for less work: integers have no NaN to skip, and the greater of two bools is that
// any is true, which one element may decide.
Reduction simpler(Reduction op, const Array& array, const ReduceCall& call) {
    const Kind kind = row(array.dtype()).kind;
    if (kind == Kind::floating || kind == Kind::complex)
        return op;
    const bool plain = kind == Kind::boolean && call.where == nullptr && !call.initial &&
                       !call.dtype && call.out == nullptr && array.size() > 0;
    switch (op) {
    case Reduction::nansum:
        return Reduction::sum;
    case Reduction::nanprod:
        return Reduction::prod;
    case Reduction::nanargmax:
        return Reduction::argmax;
    case Reduction::nanargmin:
        return Reduction::argmin;
    case Reduction::max:
    case Reduction::fmax:
        return plain ? Reduction::any : Reduction::max;
    case Reduction::min:
    case Reduction::fmin:
        return plain ? Reduction::all : Reduction::min;
    default:
        return op;
    }
}

Ready prepare(Reduction wanted, const Array& array, const ReduceCall& call) {
    const Reduction op = simpler(wanted, array, call);
    if (op == Reduction::mean && call.where != nullptr)
        return prepare(Reduction::masked_mean, array, call);
    if (call.where != nullptr && call.where->dtype() != DType::boolean)
        throw TypeError(
            join("where must be an array of bool, not ", row(call.where->dtype()).name));
    if (row(array.dtype()).kind == Kind::complex)
        note_casts(op, array, call);
    const std::int64_t elements = elements_behind(array, call);
    const bool narrow = elements < (std::int64_t{1} << (plan_options().narrow_bits - 1));
    Ready ready;
    ready.kernel = &kernel_of({op, array, call, narrow, meeting_of(op, array, call)});
    ready.add(Argument::of(array));
    if (call.where != nullptr)
        ready.add(Argument::of(*call.where));
    if (call.initial)
        ready.add(Argument::of(*call.initial));
    if (row(op).types == ReductionTypes::moments)
        ready.add(Argument::of(Scalar::of(call.ddof)));
    if (row(op).types == ReductionTypes::average)
        ready.add(Argument::of(Scalar::of(elements)));
    if (call.out != nullptr)
        ready.add(Argument::of(*call.out));
    return ready;
}

// Would results be written over what others are still to be made of?
bool overwrites_input(const Array& array, const ReduceCall& call) {
    return may_share_memory(*call.out, array) ||
           (call.where != nullptr && may_share_memory(*call.out, *call.where));
}

// All axes, where the call names one of a scalar; moments, unlike the others, know none.
std::optional<ReduceCall> of_scalar(Reduction op, const Array& array, const ReduceCall& call) {
    const bool moment = op == Reduction::mean || op == Reduction::var || op == Reduction::std;
    if (moment || !names_axis_of_scalar(array, call))
        return std::nullopt;
    std::optional<ReduceCall> asked = call;
    asked->all_axes = true;
    return asked;
}

} // namespace

bool names_axis_of_scalar(const Array& array, const ReduceCall& call) {
    return array.ndim() == 0 && !call.all_axes && call.axes.size() == 1 &&
           (call.axes[0] == 0 || call.axes[0] == -1);
}

std::optional<Reduction> find_reduction(std::string_view name) noexcept {
    const auto found = std::ranges::find(reduction_table, name, &ReductionRow::name);
    return found == reduction_table.end() ? std::nullopt : std::optional(found->id);
}

std::optional<Array> reduce(Reduction op, const Array& array, const ReduceCall& call,
                            void (*on_wait)(bool entering)) {
    if (const auto asked = of_scalar(op, array, call))
        return reduce(op, array, *asked, on_wait);
    if (call.out != nullptr && overwrites_input(array, call)) {
        check_given_output(*call.out, array.device());
        const CUstream stream = call.has_stream ? call.stream : current_stream(array.device());
        const Array made = empty_like(*call.out, call.out->dtype(), stream);
        ReduceCall apart = call;
        apart.out = &made;
        reduce(op, array, apart, on_wait);
        copy_into(*call.out, made, stream);
        return std::nullopt;
    }
    const Ready ready = prepare(op, array, call);
    std::vector<Array> made = (*ready.kernel)(ready.args(), call, on_wait);
    return made.empty() ? std::nullopt : std::optional(std::move(made.front()));
}

std::string explain_reduce(Reduction op, const Array& array, const ReduceCall& call) {
    if (const auto asked = of_scalar(op, array, call))
        return explain_reduce(op, array, *asked);
    const Ready ready = prepare(op, array, call);
    return ready.kernel->explain(ready.args(), call);
}

} // namespace quern
