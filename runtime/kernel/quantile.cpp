// Arranges an array's reduced axes as rows in C order, selects, and shapes the results.
#include "runtime/kernel/quantile.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/array/views.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/given_output.h"

#include <memory>
#include <vector>

namespace quern {
namespace {

std::vector<bool> reduced_axes(const QuantileCall& call, int ndim) {
    std::vector<bool> reduced(static_cast<std::size_t>(ndim), call.all_axes);
    for (const std::int64_t axis : call.axes) {
        const auto at = static_cast<std::size_t>(normalise_axis(axis, ndim));
        if (reduced[at])
            throw ValueError("repeated axis");
        reduced[at] = true;
    }
    return reduced;
}

// `a` as rows of what is reduced, and the shape of the results.
struct Rows {
    Array array;
    Dims result;
    bool copied;
};

Rows rows_of(const Array& a, const Array& q, const QuantileCall& call, CUstream stream, bool copy) {
    if (row(a.dtype()).kind == Kind::complex)
        throw TypeError("a must be an array of real numbers");
    const std::vector<bool> reduced = reduced_axes(call, a.ndim());
    std::vector<std::int64_t> order, shape(q.shape().begin(), q.shape().end());
    std::int64_t count = 1, length = 1;
    for (int d = 0; d < a.ndim(); ++d) {
        const bool gone = reduced[static_cast<std::size_t>(d)];
        if (!gone) {
            order.push_back(d);
            count *= a.shape()[d];
        }
        if (!gone || call.keepdims)
            shape.push_back(gone ? 1 : a.shape()[d]);
    }
    for (int d = 0; d < a.ndim(); ++d)
        if (reduced[static_cast<std::size_t>(d)]) {
            order.push_back(d);
            length *= a.shape()[d];
        }
    const Array moved = transpose(a, order);
    std::optional<Array> rows = reshape_view(moved, Dims{count, length});
    const bool copied = !rows || !rows->c_contiguous();
    if (copied && copy) {
        const Array dense = Array::empty(a.device(), a.dtype(), moved.shape(), stream);
        copy_into(dense, moved, stream);
        rows = reshape_view(dense, Dims{count, length});
    } else if (!rows) {
        rows = Array::empty(a.device(), a.dtype(), Dims{count, length}, stream);
    }
    return {std::move(*rows), Dims(std::span<const std::int64_t>(shape)), copied};
}

SelectCall select_call(const QuantileCall& call, CUstream stream) {
    SelectCall made;
    made.method = call.method;
    made.skip_nan = call.skip_nan;
    made.stream = stream;
    made.splits = call.splits;
    return made;
}

} // namespace

Array quantile(const Array& a, const Array& q, const QuantileCall& call,
               void (*on_wait)(bool entering)) {
    const CUstream stream = current_stream(a.device());
    const Rows rows = rows_of(a, q, call, stream, true);
    if (call.out != nullptr)
        check_given_output(*call.out, a.device(), rows.result, call.result);
    const std::int64_t count = rows.array.shape()[0];
    if (count * q.size() > 0 && rows.array.shape()[1] == 0)
        throw Error(ErrorKind::index, "index -1 is out of bounds for axis 0 with size 0");
    const Array made = Array::empty(a.device(), call.result, Dims{q.size(), count}, stream);
    select(rows.array, q, made, select_call(call, stream), on_wait);
    if (rows.copied)
        keep_for_graph(a.device(), stream, rows.array);
    Array shaped = *reshape_view(made, rows.result);
    if (call.out == nullptr)
        return shaped;
    copy_into(*call.out, shaped, stream);
    keep_for_graph(a.device(), stream, made);
    return *call.out;
}

std::string explain_quantile(const Array& a, const Array& q, const QuantileCall& call) {
    const CUstream stream = current_stream(a.device());
    const Rows rows = rows_of(a, q, call, stream, false);
    if (rows.array.size() == 0)
        return join("selection on ", a.device().name(), ": nothing to do, the array is empty");
    return explain_select(rows.array, q, select_call(call, stream)) +
           (rows.copied ? "\n  a copy in C order comes first" : "");
}

} // namespace quern
