// Arranges an axis as rows in C order, sorts or partitions them, and shapes the results.
#include "runtime/kernel/order.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/partition.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace quern {
namespace {

// `a` with the sorted axis last, its rows in one piece, and how they are sorted.
struct Rows {
    Array moved; // a view of `a`: (..., length)
    Array dense; // (rows, length) in C order
    bool copied;
};

Array last_axis(const Array& a, std::optional<std::int64_t> axis) {
    const std::int64_t from[] = {axis.value_or(-1)}, to[] = {-1};
    return a.ndim() == 0 ? a : moveaxis(a, from, to);
}

Dims rows_shape(const Array& moved) {
    const std::int64_t length = moved.ndim() == 0 ? 1 : moved.shape()[moved.ndim() - 1];
    return Dims{length == 0 ? 0 : moved.size() / length, length};
}

Array in_one_row(const Array& a, CUstream stream) {
    if (std::optional<Array> view = reshape_view(a, Dims{a.size()}))
        return *view;
    const Array dense = Array::empty(a.device(), a.dtype(), a.shape(), stream);
    copy_into(dense, a, stream);
    return *reshape_view(dense, Dims{a.size()});
}

Rows rows_of(const Array& a, std::optional<std::int64_t> axis, CUstream stream) {
    if (axis)
        (void)normalise_axis(*axis, a.ndim());
    const Array moved = axis ? last_axis(a, axis) : in_one_row(a, stream);
    const Dims shape = rows_shape(moved);
    if (std::optional<Array> rows = reshape_view(moved, shape); rows && rows->c_contiguous())
        return {moved, std::move(*rows), false};
    const Array dense = Array::empty(a.device(), a.dtype(), moved.shape(), stream);
    copy_into(dense, moved, stream);
    return {moved, *reshape_view(dense, shape), true};
}

// Keeps what a captured launch reads or writes and nobody else holds.
void keep(const Array& array, CUstream stream) { keep_for_graph(array.device(), stream, array); }

// What `fill` makes of rows in C order, with the axes of `a` in their order.
template <class Fill> Array ordered_values(const Array& a, std::optional<std::int64_t> axis,
                                           CUstream stream, const Fill& fill) {
    const Rows rows = rows_of(a, axis, stream);
    if (rows.copied || !axis)
        keep(rows.dense, stream);
    const Array made = Array::empty(a.device(), a.dtype(), rows.dense.shape(), stream);
    fill(rows.dense, made);
    if (!axis)
        return *reshape_view(made, Dims{a.size()});
    const Array shaped = *reshape_view(made, rows.moved.shape());
    Array result = empty_like(a, a.dtype(), stream);
    const Array turned = last_axis(result, axis);
    if (turned.c_contiguous()) {
        const std::int64_t from[] = {-1}, to[] = {*axis};
        return a.ndim() == 0 ? shaped : moveaxis(shaped, from, to);
    }
    copy_into(turned, shaped, stream);
    keep(made, stream);
    return result;
}

// Likewise places, in C order.
template <class Fill> Array ordered_places(const Array& a, std::optional<std::int64_t> axis,
                                           CUstream stream, const Fill& fill) {
    const Rows rows = rows_of(a, axis, stream);
    if (rows.copied || !axis)
        keep(rows.dense, stream);
    const Array made = Array::empty(a.device(), DType::int64, rows.dense.shape(), stream);
    fill(rows.dense, made);
    if (!axis)
        return *reshape_view(made, Dims{a.size()});
    const Array shaped = *reshape_view(made, rows.moved.shape());
    if (a.ndim() < 2 || normalise_axis(*axis, a.ndim()) == a.ndim() - 1)
        return shaped;
    Array result = Array::empty(a.device(), DType::int64, a.shape(), stream);
    copy_into(last_axis(result, axis), shaped, stream);
    keep(made, stream);
    return result;
}

// Places as they rise, each once.
std::vector<std::int64_t> rising(std::vector<std::int64_t> wanted) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    return wanted;
}

} // namespace

Array sort(const Array& a, std::optional<std::int64_t> axis, SortCall call,
           void (*on_wait)(bool entering)) {
    call.stream = current_stream(a.device());
    return ordered_values(a, axis, call.stream, [&](const Array& rows, const Array& made) {
        sort_rows(rows, &made, nullptr, nullptr, call, on_wait);
    });
}

Array argsort(const Array& a, std::optional<std::int64_t> axis, SortCall call,
              void (*on_wait)(bool entering)) {
    call.stream = current_stream(a.device());
    return ordered_places(a, axis, call.stream, [&](const Array& rows, const Array& made) {
        sort_rows(rows, nullptr, &made, nullptr, call, on_wait);
    });
}

Array partition(const Array& a, std::vector<std::int64_t> wanted, std::optional<std::int64_t> axis,
                void (*on_wait)(bool entering)) {
    const std::vector<std::int64_t> at = rising(std::move(wanted));
    SortCall call;
    call.stream = current_stream(a.device());
    return ordered_values(a, axis, call.stream, [&](const Array& rows, const Array& made) {
        if (can_partition(rows, false, at.size()))
            partition_rows(rows, &made, nullptr, at, call.stream, on_wait);
        else
            sort_rows(rows, &made, nullptr, nullptr, call, on_wait);
    });
}

Array argpartition(const Array& a, std::vector<std::int64_t> wanted,
                   std::optional<std::int64_t> axis, void (*on_wait)(bool entering)) {
    const std::vector<std::int64_t> at = rising(std::move(wanted));
    SortCall call;
    call.stream = current_stream(a.device());
    return ordered_places(a, axis, call.stream, [&](const Array& rows, const Array& made) {
        if (can_partition(rows, true, at.size()))
            partition_rows(rows, nullptr, &made, at, call.stream, on_wait);
        else
            sort_rows(rows, nullptr, &made, nullptr, call, on_wait);
    });
}

Array argsort_given(const Array& rows, const Array& given, void (*on_wait)(bool entering)) {
    SortCall call;
    call.stream = current_stream(rows.device());
    const Array there = Array::empty(rows.device(), rows.dtype(), rows.shape(), call.stream);
    Array made = Array::empty(rows.device(), DType::int64, rows.shape(), call.stream);
    gather(there, rows, given, call.stream);
    sort_rows(there, nullptr, &made, &given, call, on_wait);
    keep(there, call.stream);
    return made;
}

SortedWithPlaces sort_with_places(const Array& a, SortCall call, void (*on_wait)(bool entering)) {
    call.stream = current_stream(a.device());
    const Rows rows = rows_of(a, std::nullopt, call.stream);
    keep(rows.dense, call.stream);
    const Dims row{1, a.size()}, all{a.size()};
    const Array dense = *reshape_view(rows.dense, row);
    const Array values = Array::empty(a.device(), a.dtype(), row, call.stream),
                places = Array::empty(a.device(), DType::int64, row, call.stream);
    sort_rows(dense, &values, &places, nullptr, call, on_wait);
    return {*reshape_view(values, all), *reshape_view(places, all)};
}

void sort_in_place(const Array& a, std::int64_t axis, void (*on_wait)(bool entering)) {
    if (!a.writable())
        throw ValueError("assignment destination is read-only");
    const Array sorted = sort(a, axis, {}, on_wait);
    const CUstream stream = current_stream(a.device());
    copy_into(a, sorted, stream);
    keep(sorted, stream);
}

std::string explain_order(const Array& a, std::optional<std::int64_t> axis, bool with_places,
                          const SortCall& call) {
    if (a.size() == 0)
        return "sort on " + a.device().name() + ": nothing to do, the array is empty";
    const Rows rows = rows_of(a, axis, current_stream(a.device()));
    return explain_sort(rows.dense, with_places, call) +
           (rows.copied ? "\n  a copy in C order comes first" : "");
}

} // namespace quern
