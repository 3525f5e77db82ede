// Copies, fills and ranges, each an elementwise kernel out of the table below.
#include "runtime/kernel/fill.h"

#include "compiler/base/carrier.h"
#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/casts.h"
#include "runtime/kernel/recorder.h"
#include "runtime/memory/copy.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <array>

namespace quern {
namespace {

// The kernel of an op, made on first use and kept.
ElementwiseKernel& kernel_of(Op op) {
    static std::array<ElementwiseKernel*, op_table.size()>* const kernels = [] {
        auto* made = new std::array<ElementwiseKernel*, op_table.size()>;
        for (std::size_t k = 0; k < op_table.size(); ++k) {
            ElementwiseText text;
            text.name = op_table[k].name;
            text.in_params = op_table[k].in_params;
            text.out_params = op_table[k].out_params;
            text.operation = op_table[k].operation;
            ElementwiseSpec spec = make_elementwise_spec(text);
            spec.total = true;
            (*made)[k] = new ElementwiseKernel(std::move(spec), true);
        }
        return made;
    }();
    return *(*kernels)[static_cast<std::size_t>(op)];
}

void run(Op op, std::initializer_list<Argument> args, CUstream stream) {
    ElementwiseCall call;
    call.has_stream = true;
    call.stream = stream;
    static_cast<void>(kernel_of(op)(std::span(args.begin(), args.size()), call));
}

// The second element of a range: NumPy steps by the difference of the first two, as the dtype holds
// them.
Scalar sum(const Scalar& a, const Scalar& b) {
    using Form = Scalar::Kind;
    const auto real = [](const Scalar& value) {
        if (value.kind == Form::floating || value.kind == Form::complex)
            return value.floating;
        if (value.kind == Form::unsigned_integer)
            return static_cast<double>(value.unsigned_integer);
        return value.kind == Form::boolean ? (value.boolean ? 1.0 : 0.0)
                                           : static_cast<double>(value.integer);
    };
    const Form widest = std::max(a.kind, b.kind);
    if (widest == Form::complex)
        return Scalar::of(std::complex<double>(real(a) + real(b), a.imaginary + b.imaginary));
    if (widest == Form::floating)
        return Scalar::of(real(a) + real(b));
    const std::uint64_t wrapped = (a.kind == Form::boolean ? a.boolean : a.unsigned_integer) +
                                  (b.kind == Form::boolean ? b.boolean : b.unsigned_integer);
    Scalar total = widest == Form::unsigned_integer
                       ? Scalar::of(wrapped)
                       : Scalar::of(static_cast<std::int64_t>(wrapped));
    total.is_numpy =
        true; // past the end of a small dtype it wraps; only its difference to the first counts
    return total;
}

bool same_layout(const Array& a, const Array& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           ((a.c_contiguous() && b.c_contiguous()) || (a.f_contiguous() && b.f_contiguous()));
}

} // namespace

Array in_units(const Array& array) {
    return view_dtype(array, *carrier_of(static_cast<std::int64_t>(bytes_of(array.dtype()))));
}

void copy_into(const Array& target, const Array& source, CUstream stream) {
    if (target.size() == 0)
        return;
    if (&target.device() !=
        &source.device()) { // dense bytes travel; casts and strides happen on either side
        Array sent = source;
        if (!source.c_contiguous() || source.dtype() != target.dtype()) {
            sent = Array::empty(source.device(), target.dtype(), source.shape(),
                                current_stream(source.device()));
            copy_into(sent, source, current_stream(source.device()));
        }
        Array received = target;
        if (!target.c_contiguous() || !(target.shape() == sent.shape()))
            received = Array::empty(target.device(), target.dtype(), sent.shape(), stream);
        copy_between(target.device(), received.address(), stream, sent.device(), sent.address(),
                     current_stream(sent.device()), static_cast<std::size_t>(sent.nbytes()));
        note_use(sent, current_stream(sent.device()));
        note_use(received, stream);
        if (received.address() != target.address())
            copy_into(target, received, stream);
        return;
    }
    const bool recorded = current_recorder() != nullptr; // a copy is a step like any other
    if (same_layout(target, source) && target.address() == source.address())
        return;
    if (!recorded && same_layout(target, source)) {
        const DriverApi& api = target.device().api();
        target.device().make_current();
        const auto bytes = static_cast<std::size_t>(target.nbytes());
        check(api, api.cuMemcpyDtoDAsync(target.address(), source.address(), bytes, stream),
              "copy ", bytes, " bytes on ", target.device().name());
        note_use(source, stream);
        note_use(target, stream);
        return;
    }
    note_cast(source.dtype(), target.dtype());
    Array from = source.shape() == target.shape() ? source : broadcast_to(source, target.shape());
    if (may_share_memory(target, source)) { // read everything before anything is written
        Array whole = Array::empty(source.device(), source.dtype(), source.shape(), stream);
        copy_into(whole, source, stream);
        from = whole.shape() == target.shape() ? whole : broadcast_to(whole, target.shape());
    }
    if (from.dtype() == target.dtype() && recorded) {
        run(Op::copy, {Argument::of(from), Argument::of(target)}, stream);
    } else if (from.dtype() == target.dtype()) {
        const Array units = in_units(from), place = in_units(target);
        run(Op::copy, {Argument::of(units), Argument::of(place)}, stream);
    } else {
        run(Op::convert, {Argument::of(from), Argument::of(target)}, stream);
    }
}

void fill(const Array& target, const Scalar& value, CUstream stream) {
    if (target.size() == 0)
        return;
    // Written before a kernel has begun; a graph would keep the value's address.
    if (target.size() == 1 && target.device().is_cpu() && current_recorder() == nullptr &&
        !is_capturing(target.device(), stream)) {
        std::array<std::byte, 16> stored;
        store_scalar(value, target.dtype(), stored.data());
        const DriverApi& api = target.device().api();
        target.device().make_current();
        check(api,
              api.cuMemcpyHtoDAsync(target.address(), stored.data(), row(target.dtype()).bytes,
                                    stream),
              "write an element on ", target.device().name());
        return;
    }
    run(Op::fill, {Argument::of(value), Argument::of(target)}, stream);
}

void fill_range(const Array& target, const Scalar& start, const Scalar& step, CUstream stream) {
    if (target.size() == 0)
        return;
    run(Op::range, {Argument::of(start), Argument::of(sum(start, step)), Argument::of(target)},
        stream);
}

void gather(const Array& target, const Array& source, const Array& places, CUstream stream) {
    if (target.size() == 0)
        return;
    const std::int64_t rows = target.shape()[0], length = target.shape()[1];
    const Array flat = *reshape_view(source, Dims{source.size()});
    if (rows == 1) {
        run(Op::gather,
            {Argument::of(flat), Argument::of(places), Argument::of(Scalar::of(std::int64_t{0})),
             Argument::of(target)},
            stream);
        return;
    }
    const Array firsts = Array::empty(target.device(), DType::int64, Dims{rows}, stream);
    fill_range(firsts, Scalar::of(std::int64_t{0}), Scalar::of(length), stream);
    run(Op::gather,
        {Argument::of(flat), Argument::of(places),
         Argument::of(*reshape_view(firsts, Dims{rows, 1})), Argument::of(target)},
        stream);
    keep_for_graph(target.device(), stream, firsts);
}

void fill_linspace(const Array& target, const Scalar& start, const Scalar& stop, const Scalar& step,
                   bool endpoint, CUstream stream) {
    if (target.size() == 0)
        return;
    const bool complex = row(target.dtype()).kind == Kind::complex;
    const DType wide = complex ? DType::complex128 : DType::float64;
    const bool direct = target.dtype() == wide;
    const Array exact =
        direct ? target : Array::empty(target.device(), wide, target.shape(), stream);
    run(Op::linspace, {Argument::of(start), Argument::of(step), Argument::of(exact)}, stream);
    if (endpoint && target.size() > 1) {
        const Array last = slice(exact, 0, {target.size() - 1, 1, 1});
        run(Op::fill, {Argument::of(stop), Argument::of(last)}, stream);
    }
    if (direct)
        return;
    const Kind kind = row(target.dtype()).kind;
    if (kind == Kind::signed_integer ||
        kind == Kind::unsigned_integer) // NumPy rounds down here, it does not cut
        run(Op::floor_to_integer, {Argument::of(exact), Argument::of(target)}, stream);
    else
        copy_into(target, exact, stream);
}

} // namespace quern
