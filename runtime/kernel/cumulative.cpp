// One call of a cumulative function: which dtype, which axis, where to, then the scan.
#include "runtime/kernel/cumulative.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/kernel/casts.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/given_output.h"

#include <algorithm>

namespace quern {
namespace {

// The kernel of an op, made on first use and kept.
ScanKernel& kernel_of(ScanOp op) {
    static std::array<ScanKernel*, scan_table.size()>* const kernels = [] {
        auto* made = new std::array<ScanKernel*, scan_table.size()>;
        for (std::size_t k = 0; k < scan_table.size(); ++k) {
            ReductionText text;
            text.name = scan_table[k].name;
            text.in_params = scan_in_params;
            text.out_params = scan_out_params;
            text.map_expr = scan_table[k].map_expr;
            text.reduce_expr = scan_table[k].reduce_expr;
            text.post_map_expr = scan_post_map;
            text.reduce_type = scan_type;
            (*made)[k] = new ScanKernel(text);
        }
        return made;
    }();
    return *(*kernels)[static_cast<std::size_t>(op)];
}

Array flat(const Array& array, CUstream stream) {
    const Dims shape{array.size()};
    if (std::optional<Array> view = reshape_view(array, shape))
        return std::move(*view);
    const Array copy = empty_like(array, array.dtype(), stream, LikeOrder::c);
    copy_into(copy, array, stream);
    return *reshape_view(copy, shape);
}

bool same_place(const Array& a, const Array& b) {
    return a.address() == b.address() && a.dtype() == b.dtype() && a.strides() == b.strides();
}

// A call on its way: what is scanned, into what.
struct Scanned {
    Array source, result, target;
    ScanCall call;
};

Scanned prepare(ScanOp op, const Array& a, const CumulativeCall& call) {
    const CUstream stream = current_stream(a.device());
    Array source = !call.axis || a.ndim() == 0 ? flat(a, stream) : a;
    const int axis = normalise_axis(call.axis.value_or(0), source.ndim());
    const DType accumulated =
        type_reduction(Reduction::sum, a.dtype(), std::nullopt, false, Meeting::any).result;
    const DType dtype = call.dtype            ? *call.dtype
                        : call.out != nullptr ? result_type(a.dtype(), call.out->dtype())
                                              : accumulated;
    note_cast(a.dtype(), dtype);
    Dims shape = source.shape();
    shape[axis] += call.include_initial;

    const auto make = [&](DType of) {
        return call.include_initial
                   ? Array::empty(a.device(), of, shape, stream,
                                  source.f_contiguous() && !source.c_contiguous() ? Order::f
                                                                                  : Order::c)
                   : empty_like(source, of, stream, LikeOrder::k);
    };
    if (call.out != nullptr) {
        if (!(call.out->shape() == shape))
            throw ValueError("provided out is the wrong size for the accumulation.");
        check_given_output(*call.out, a.device());
    }
    Array result = call.out != nullptr && call.out->dtype() == dtype ? *call.out : make(dtype);
    Array target = result;
    if (call.include_initial) {
        fill(slice(result, axis, {0, 1, 1}), Scalar::of(std::int64_t{row(op).initial}), stream);
        target = slice(result, axis, {1, 1, source.shape()[axis]});
    }
    if (may_share_memory(source, target) && !same_place(source, target)) {
        const Array copy = empty_like(source, source.dtype(), stream);
        copy_into(copy, source, stream);
        source = copy;
    }
    ScanCall scan;
    scan.axis = axis;
    scan.stream = stream;
    scan.batch = call.batch;
    scan.split = call.split;
    return {std::move(source), std::move(result), std::move(target), scan};
}

} // namespace

Array cumulative(ScanOp op, const Array& a, const CumulativeCall& call,
                 void (*on_wait)(bool entering)) {
    Scanned scanned = prepare(op, a, call);
    if (scanned.source.size() > 0) {
        const Argument args[] = {Argument::of(scanned.source), Argument::of(scanned.target)};
        kernel_of(op)(args, scanned.call, on_wait);
    }
    if (call.out == nullptr || call.out->dtype() == scanned.result.dtype())
        return std::move(scanned.result);
    copy_into(*call.out, scanned.result, scanned.call.stream);
    return *call.out;
}

std::string explain_cumulative(ScanOp op, const Array& a, const CumulativeCall& call) {
    const Scanned scanned = prepare(op, a, call);
    if (scanned.source.size() == 0)
        return join("kernel '", row(op).name, "' on ", a.device().name(),
                    ": nothing to do, the array is empty");
    const Argument args[] = {Argument::of(scanned.source), Argument::of(scanned.target)};
    return kernel_of(op).explain(args, scanned.call);
}

} // namespace quern
