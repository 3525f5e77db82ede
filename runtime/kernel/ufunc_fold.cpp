// Each method finds its loop, then its kernel: a reduction or a scan of the one generator, or a
// walk in order.
#include "runtime/kernel/ufunc_fold.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/kernel/cumulative.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/given_output.h"
#include "runtime/kernel/kernels_by_form.h"
#include "runtime/kernel/order.h"
#include "runtime/kernel/plan_options.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace quern {
namespace {

void require_binary(const UfuncRow& row, std::string_view method) {
    if (inputs_of(row) != 2)
        throw ValueError(join(method, " only supported for binary functions"));
    if (outputs_of(row) != 1)
        throw ValueError(join(method, " only supported for functions returning a single value"));
}

// The loop that joins a result to an element: its first input and its output are of one type.
UfuncLoop joining_loop(const UfuncRow& row, DType element, std::optional<DType> dtype) {
    if (row.reduction && quern::row(*row.reduction).types == ReductionTypes::truth) {
        if (dtype && *dtype != DType::boolean)
            throw TypeError(join("No loop matching the specified signature and casting was found "
                                 "for ufunc ",
                                 row.name));
        return {.types = {DType::boolean, DType::boolean, DType::boolean}};
    }
    UfuncTypes types;
    types.casting = Casting::unsafe;
    if (dtype)
        types.fixed = {dtype, dtype, dtype};
    std::array<UfuncInput, 2> inputs;
    inputs[0].dtype = inputs[1].dtype = element;
    UfuncLoop loop = find_loop(row, inputs, types);
    if (loop.types[0] != loop.types[2]) {
        inputs[0].dtype = loop.types[2];
        loop = find_loop(row, inputs, types);
    }
    if (loop.types[0] != loop.types[2])
        throw TypeError(join("ufunc '", row.name,
                             "' did not contain a loop with signature matching types (dtype('",
                             quern::row(loop.types[2]).name, "'), dtype('",
                             quern::row(element).name, "')) -> None"));
    return loop;
}

// The dtype in which NumPy joins elements where none is asked for: sums and products of small
// integers in 64 bits.
std::optional<DType> usual_dtype(Ufunc ufunc, DType element, std::optional<DType> asked) {
    if (asked || (ufunc != Ufunc::add && ufunc != Ufunc::multiply))
        return asked;
    return type_reduction(Reduction::sum, element, std::nullopt, false, Meeting::any).result;
}

Array axis_last(const Array& array, int axis) {
    const std::int64_t from = axis, to = -1;
    return moveaxis(array, {&from, 1}, {&to, 1});
}

// Axes as bits; throws as NumPy does.
std::vector<int> axes_of(const Array& array, const ReduceCall& call) {
    std::vector<int> axes;
    if (call.all_axes)
        for (int d = 0; d < array.ndim(); ++d)
            axes.push_back(d);
    else
        for (const std::int64_t axis : call.axes)
            axes.push_back(normalise_axis(axis, array.ndim()));
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end())
        throw ValueError("duplicate value in 'axis'");
    return axes;
}

// Results that are to be cast afterwards, or that the kernel could overwrite its input with, are
// made apart.
Array target_for(const Array& array, const Array* out, DType dtype, const Dims& shape,
                 CUstream stream) {
    if (out == nullptr)
        return Array::empty(array.device(), dtype, shape, stream);
    if (!(out->shape() == shape))
        throw ValueError(join("output parameter has shape ", format_shape(out->shape()),
                              ", the result has ", format_shape(shape)));
    check_given_output(*out, array.device());
    return out->dtype() == dtype && !may_share_memory(*out, array)
               ? *out
               : Array::empty(array.device(), dtype, shape, stream);
}

Array settle(Array made, const Array* out, CUstream stream) {
    if (out == nullptr || out->address() == made.address())
        return made;
    copy_into(*out, made, stream);
    return *out;
}

std::optional<Array> reduce_in_order(Ufunc ufunc, const Array& array, const ReduceCall& call,
                                     void (*on_wait)(bool)) {
    const UfuncRow& wanted = row(ufunc);
    const std::vector<int> axes = axes_of(array, call);
    if (axes.size() > 1)
        throw ValueError(join("reduction operation '", wanted.name,
                              "' is not reorderable, so at most one axis may be specified"));
    UfuncWalkForm form;
    form.walk = UfuncWalk::reduce;
    form.ufunc = ufunc;
    form.in = array.dtype();
    form.loop = joining_loop(wanted, array.dtype(), call.dtype);
    form.out = form.loop.types[2];
    form.masked = call.where != nullptr;
    form.has_initial = call.initial.has_value();
    if (form.masked && !form.has_initial)
        throw ValueError(join("reduction operation '", wanted.name,
                              "' does not have an identity, so to use a where mask one has to "
                              "specify 'initial'"));
    const CUstream stream = current_stream(array.device());
    // No axis is a row of one element.
    const std::int64_t end = array.ndim();
    const Array rows = axes.empty() ? expand_dims(array, {&end, 1}) : axis_last(array, axes[0]);
    const std::int64_t n = rows.shape()[rows.ndim() - 1];
    const Dims kept(rows.shape().span().first(static_cast<std::size_t>(rows.ndim() - 1)));
    Dims shape = kept;
    if (call.keepdims && !axes.empty()) {
        shape = array.shape();
        shape[axes[0]] = 1;
    }
    Array target = target_for(array, call.out, form.out, shape, stream);
    if (target.size() > 0 && n == 0 && !form.has_initial)
        throw ValueError(
            join("zero-size array to reduction operation ", wanted.name, " which has no identity"));
    std::optional<Array> mask;
    if (form.masked) {
        if (call.where->dtype() != DType::boolean)
            throw TypeError(
                join("where must be an array of bool, not ", row(call.where->dtype()).name));
        const Array whole = broadcast_to(*call.where, array.shape());
        mask = axes.empty() ? expand_dims(whole, {&end, 1}) : axis_last(whole, axes[0]);
    }
    if (target.size() > 0) {
        const Array flat = call.keepdims ? *reshape_view(target, kept) : target;
        std::vector<Argument> args{Argument::of(rows), Argument::of(Scalar::of(n))};
        if (mask)
            args.push_back(Argument::of(*mask));
        if (form.has_initial)
            args.push_back(Argument::of(*call.initial));
        args.push_back(Argument::of(flat));
        kernel_by_form<ufunc_walk_spec>(form)(args, {}, on_wait);
    }
    Array result = settle(std::move(target), call.out, stream);
    return call.out != nullptr ? std::nullopt : std::optional(std::move(result));
}

// A scan's kernel by ufunc and types, made on first use and kept.
ScanKernel& scan_of(Ufunc ufunc, const UfuncLoop& loop, DType in) {
    static std::mutex mutex;
    static auto* const kernels =
        new std::map<std::tuple<Ufunc, UfuncLoop, DType>, std::unique_ptr<ScanKernel>>;
    const std::lock_guard lock(mutex);
    auto& kernel = (*kernels)[{ufunc, loop, in}];
    if (!kernel) {
        const UfuncScanText scan = ufunc_scan_text(ufunc, loop, in);
        const std::string name = join("quern_", row(ufunc).name, "_accumulate");
        ReductionText text;
        text.name = name;
        text.in_params = scan.in_params;
        text.out_params = scan.out_params;
        text.map_expr = scan.map_expr;
        text.reduce_expr = row(ufunc).expression;
        text.post_map_expr = scan.post_map_expr;
        text.reduce_type = scan.reduce_type;
        kernel = std::make_unique<ScanKernel>(text);
    }
    return *kernel;
}

} // namespace

std::optional<Array> ufunc_reduce(Ufunc ufunc, const Array& array, const ReduceCall& call,
                                  void (*on_wait)(bool)) {
    const UfuncRow& wanted = row(ufunc);
    require_binary(wanted, "reduce");
    ReduceCall asked = call;
    asked.all_axes |= names_axis_of_scalar(array, call);
    if (!wanted.reduction)
        return reduce_in_order(ufunc, array, asked, on_wait);
    const ReductionTypes types = row(*wanted.reduction).types;
    if (types == ReductionTypes::loop || types == ReductionTypes::truth)
        asked.dtype = joining_loop(wanted, array.dtype(), call.dtype).types[2];
    if (call.where != nullptr && wanted.identity == Identity::none && !call.initial)
        throw ValueError(join("reduction operation '", wanted.name,
                              "' does not have an identity, so to use a where mask one has to "
                              "specify 'initial'"));
    return reduce(*wanted.reduction, array, asked, on_wait);
}

Array ufunc_accumulate(Ufunc ufunc, const Array& array, const UfuncLine& line,
                       void (*on_wait)(bool)) {
    const UfuncRow& wanted = row(ufunc);
    require_binary(wanted, "accumulate");
    if (array.ndim() == 0)
        throw TypeError("cannot accumulate on a scalar");
    const int axis = normalise_axis(line.axis, array.ndim());
    CumulativeCall call;
    call.axis = axis;
    call.dtype = line.dtype;
    call.out = line.out;
    if (ufunc == Ufunc::add || ufunc == Ufunc::multiply)
        return cumulative(ufunc == Ufunc::add ? ScanOp::sum : ScanOp::product, array, call,
                          on_wait);
    const UfuncLoop loop = joining_loop(wanted, array.dtype(), line.dtype);
    const DType type = loop.types[2];
    const CUstream stream = current_stream(array.device());
    Array target = target_for(array, line.out, type, array.shape(), stream);
    if (target.size() > 0 && wanted.reduction) {
        const Argument args[] = {Argument::of(array), Argument::of(target)};
        ScanCall scan;
        scan.axis = axis;
        scan.stream = stream;
        scan_of(ufunc, loop, array.dtype())(args, scan, on_wait);
    } else if (target.size() > 0) {
        const Array rows = axis_last(array, axis), results = axis_last(target, axis);
        const std::int64_t n = rows.shape()[rows.ndim() - 1];
        const Argument args[] = {Argument::of(rows), Argument::of(Scalar::of(n)),
                                 Argument::of(results)};
        UfuncWalkForm form;
        form.walk = UfuncWalk::accumulate;
        form.ufunc = ufunc;
        form.loop = loop;
        form.in = array.dtype();
        form.out = type;
        ElementwiseCall each;
        each.size = rows.size() / n;
        kernel_by_form<ufunc_walk_spec>(form)(args, each, on_wait);
    }
    return settle(std::move(target), line.out, stream);
}

Array ufunc_reduceat(Ufunc ufunc, const Array& array, const Array& starts, const UfuncLine& line,
                     void (*on_wait)(bool)) {
    const UfuncRow& wanted = row(ufunc);
    require_binary(wanted, "reduceat");
    if (array.ndim() == 0)
        throw TypeError("cannot reduceat on a scalar");
    const int axis = normalise_axis(line.axis, array.ndim());
    const std::int64_t count = starts.size();
    UfuncWalkForm form;
    form.walk = UfuncWalk::segments;
    form.ufunc = ufunc;
    form.in = array.dtype();
    form.loop = joining_loop(wanted, array.dtype(), usual_dtype(ufunc, array.dtype(), line.dtype));
    form.out = form.loop.types[2];
    const CUstream stream = current_stream(array.device());
    Dims shape = array.shape();
    shape[axis] = count;
    Array target = target_for(array, line.out, form.out, shape, stream);
    if (target.size() > 0) {
        const Array rows = axis_last(array, axis), results = axis_last(target, axis);
        const Argument args[] = {
            Argument::of(rows), Argument::of(Scalar::of(rows.shape()[rows.ndim() - 1])),
            Argument::of(starts), Argument::of(Scalar::of(count)), Argument::of(results)};
        kernel_by_form<ufunc_walk_spec>(form)(args, {}, on_wait);
    }
    return settle(std::move(target), line.out, stream);
}

void ufunc_at(Ufunc ufunc, const Array& a, const Array& places, std::int64_t width,
              const Array* values, void (*on_wait)(bool)) {
    const UfuncRow& wanted = row(ufunc);
    if (outputs_of(wanted) != 1)
        throw ValueError("Only single output ufuncs supported at this time");
    if ((inputs_of(wanted) == 2) != (values != nullptr))
        throw ValueError(values != nullptr ? "second operand provided when ufunc is unary"
                                           : "second operand needed for ufunc");
    if (!a.writable())
        throw ValueError("output array is read-only");
    UfuncWalkForm form;
    form.walk = UfuncWalk::update;
    form.ufunc = ufunc;
    form.in = values != nullptr ? values->dtype() : a.dtype();
    form.out = a.dtype();
    std::array<UfuncInput, 2> inputs;
    inputs[0].dtype = a.dtype();
    inputs[1].dtype = form.in;
    form.loop = find_loop(wanted, {inputs.data(), values != nullptr ? 2u : 1u}, {});
    const std::int64_t count = places.size();
    if (count == 0 || width == 0)
        return;
    // Threads of a GPU share the places, which are sorted for that; a CPU's one thread goes along.
    std::vector<Argument> args;
    std::optional<SortedWithPlaces> runs;
    ElementwiseCall each;
    each.size = (width + update_columns - 1) / update_columns;
    if (plan_target(a.device()) == Target::gpu) {
        form.walk = UfuncWalk::update_runs;
        runs = sort_with_places(places, {}, on_wait);
        args = {Argument::of(runs->values), Argument::of(runs->places)};
        each.size = width * count;
    } else {
        args = {Argument::of(places)};
    }
    std::optional<Array> apart; // values that the updates would change
    if (values != nullptr && may_share_memory(a, *values)) {
        const CUstream stream = current_stream(a.device());
        apart = empty_like(*values, values->dtype(), stream, LikeOrder::c);
        copy_into(*apart, *values, stream);
    }
    if (values != nullptr)
        args.push_back(Argument::of(apart ? *apart : *values));
    args.push_back(Argument::of(Scalar::of(count)));
    args.push_back(Argument::of(Scalar::of(width)));
    args.push_back(Argument::of(a));
    kernel_by_form<ufunc_walk_spec>(form)(args, each, on_wait);
    if (runs)
        keep_for_graph(a.device(), current_stream(a.device()), std::move(*runs));
}

} // namespace quern
