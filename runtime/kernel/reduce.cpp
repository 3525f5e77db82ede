// Writes a row's spec for the dtypes of a call, keeps the kernel, and calls it.
#include "runtime/kernel/reduce.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/kernel/call.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <compare>
#include <map>
#include <memory>
#include <mutex>

namespace quern {
namespace {

// What decides a kernel's text besides the input's dtype.
struct Shape {
    Reduction op;
    DType in, value, result;
    bool has_where, has_initial, narrow;
    friend auto operator<=>(const Shape&, const Shape&) = default;
};

bool counts_elements(Reduction op) { // a mean over a part must know how many it saw
    return op == Reduction::nanmean;
}

ReductionSpec write_spec(const Shape& shape, const ReductionTyping& types) {
    const ReductionRow& wanted = row(shape.op);
    const bool floating =
        row(types.value).kind == Kind::floating || row(types.value).kind == Kind::complex;
    std::string inputs = "T x";
    if (shape.has_where)
        inputs += ", bool mask";
    if (shape.has_initial)
        inputs += join(", ", row(types.value).name, " initial");
    if (wanted.types == ReductionTypes::moments)
        inputs += ", float64 ddof";
    if (wanted.types == ReductionTypes::average)
        inputs += ", int64 count";

    // `v` is a name of the texts only: each use becomes the converted element.
    const std::string element = "quern::convert<quern_value>(x)";
    std::string map;
    for (std::size_t k = 0; k < wanted.map.size(); ++k) {
        const auto part_of_name = [&](std::size_t at) {
            return at < wanted.map.size() &&
                   (std::isalnum(static_cast<unsigned char>(wanted.map[at])) ||
                    wanted.map[at] == '_');
        };
        if (wanted.map[k] == 'v' && !part_of_name(k + 1) && (k == 0 || !part_of_name(k - 1)))
            map += element;
        else
            map += wanted.map[k];
    }
    std::string skip;
    if (shape.has_where)
        skip = "!mask";
    if (wanted.skips_nan && floating)
        skip += join(skip.empty() ? "" : " || ", "quern::is_nan(", element, ")");
    if (!skip.empty())
        map = join("(", skip, ") ? quern_inner(", wanted.start, ") : quern_inner(", map, ")");

    std::string post = join("y = quern::convert<quern_result>(", wanted.post, ")");
    if (shape.has_initial)
        post = join("const _type_reduce b = static_cast<_type_reduce>(initial); a = (", wanted.join,
                    "); ", post);

    const std::string name = join("quern_", wanted.name), out = join(row(types.result).name, " y"),
                      preamble = join(
                          "typedef ", row(types.value).spelling, " quern_value;\ntypedef ",
                          row(types.result).spelling, " quern_result;\ntypedef ", types.accumulator,
                          " quern_part;\ntypedef ",
                          types.inner.empty() ? types.accumulator : types.inner, " quern_inner;");
    ReductionText text;
    text.in_params = inputs;
    text.out_params = out;
    text.map_expr = map;
    text.reduce_expr = wanted.join;
    text.post_map_expr = post;
    text.identity = wanted.start;
    text.name = name;
    text.reduce_type = types.accumulator;
    text.preamble = preamble;
    ReductionSpec spec = make_reduction_spec(text);
    spec.inner_type = types.inner;
    spec.inner_steps = types.inner_steps;
    spec.accumulator_bytes = types.accumulator_bytes;
    spec.refuses_empty = wanted.refuses_empty && !shape.has_initial;
    return spec;
}

ReductionKernel& kernel_of(const Shape& shape, const ReductionTyping& types) {
    static std::mutex mutex;
    static auto* const kernels = new std::map<Shape, std::unique_ptr<ReductionKernel>>;
    const std::lock_guard lock(mutex);
    auto& kernel = (*kernels)[shape];
    if (!kernel)
        kernel = std::make_unique<ReductionKernel>(write_spec(shape, types));
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
    const bool counted =
        counts_elements(op) || (wanted.types == ReductionTypes::average && call.where != nullptr);
    if (counted && op == Reduction::mean)
        return prepare(Reduction::nanmean, array, call); // which sees every element as it is
    const bool narrow = elements_behind(array, call) < (std::int64_t{1} << 31);
    ReductionTyping types = type_reduction(op, array.dtype(), call.dtype, counted, narrow);
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
    const Shape shape{op,           array.dtype(),         types.value,
                      types.result, call.where != nullptr, call.initial.has_value(),
                      narrow};
    Ready ready;
    ready.kernel = &kernel_of(shape, types);
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
