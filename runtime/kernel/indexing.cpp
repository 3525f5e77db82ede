// A get or set by arrays: masks become positions, the plan becomes operands, rows become wide
// units.
#include "runtime/kernel/indexing.h"

#include "compiler/base/carrier.h"
#include "compiler/base/error.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/index_launch.h"
#include "runtime/kernel/masks.h"
#include "runtime/kernel/waiting.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace quern {
namespace {

using OnWait = void (*)(bool);

std::int64_t item_bytes(const Array& array) {
    return static_cast<std::int64_t>(bytes_of(array.dtype()));
}

Array over(const Array& array, DType dtype, Dims shape, Dims strides) {
    return Array(array.buffer(), array.address(), dtype, std::move(shape), std::move(strides),
                 array.writable());
}
// How many of the last axes lie in one run of both arrays, untouched by any index.
int axes_in_run(const IndexPlan& plan, const Array& other) {
    const Array& a = plan.elements;
    std::int64_t run = item_bytes(a);
    int axes = 0;
    for (int d = a.ndim(); d-- > 0; ++axes) {
        const bool indexed = std::ranges::any_of(
            plan.indexed, [d](const IndexedAxis& axis) { return axis.index.strides()[d] != 0; });
        if (indexed || a.strides()[d] != run || other.strides()[d] != run)
            break;
        run *= a.shape()[d];
    }
    return axes;
}

// The same plan with its last `axes` as one axis of the widest units that all addresses allow.
void widen(IndexPlan& plan, Array& other) {
    const int axes = axes_in_run(plan, other), kept = plan.elements.ndim() - axes;
    std::int64_t run = item_bytes(plan.elements);
    for (int d = kept; d < plan.elements.ndim(); ++d)
        run *= plan.elements.shape()[d];
    std::uint64_t bits =
        static_cast<std::uint64_t>(run) | plan.elements.address() | other.address();
    for (int d = 0; d < kept; ++d)
        bits |= static_cast<std::uint64_t>(plan.elements.strides()[d]) |
                static_cast<std::uint64_t>(other.strides()[d]);
    for (const IndexedAxis& axis : plan.indexed)
        bits |= static_cast<std::uint64_t>(axis.stride);
    const std::int64_t unit = widest_carrier(bits);
    if (unit <= item_bytes(plan.elements) || axes == 0) {
        plan.elements = in_units(plan.elements);
        other = in_units(other);
        return;
    }
    const auto cut = [&](const Dims& dims, std::int64_t last) {
        Dims result(static_cast<std::size_t>(kept + 1));
        std::copy(dims.begin(), dims.begin() + kept, result.data());
        result[kept] = last;
        return result;
    };
    const Dims shape = cut(plan.elements.shape(), run / unit);
    const auto recast = [&](const Array& array, DType dtype, std::int64_t last_stride) {
        return over(array, dtype, shape, cut(array.strides(), last_stride));
    };
    plan.elements = recast(plan.elements, *carrier_of(unit), unit);
    other = recast(other, *carrier_of(unit), unit);
    for (IndexedAxis& axis : plan.indexed)
        axis.index = recast(axis.index, axis.index.dtype(), 0);
}

bool is_narrow(const IndexPlan& plan) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    return std::ranges::all_of(plan.indexed, [](const IndexedAxis& axis) {
        return axis.extent <= most && std::abs(axis.stride) <= most;
    });
}

// Runs `form` over the plan. `value` is what is written; `result` what is read into.
void run(IndexForm form, const IndexPlan& plan, const IndexPlan& given, const Argument* value,
         const Array* result, const IndexCall& call) {
    if (plan.indexed.size() > most_index_arrays)
        throw Error(ErrorKind::not_implemented,
                    join("an index of ", plan.indexed.size(), " arrays is not supported: at most ",
                         most_index_arrays));
    form.mode = call.mode;
    form.narrow = !plan.elements.device().is_cpu() && is_narrow(plan);
    std::vector<Argument> args;
    args.reserve(plan.indexed.size() * 3 + 5);
    if (result != nullptr)
        args.push_back(Argument::of(plan.elements));
    for (const IndexedAxis& axis : plan.indexed) {
        form.indices.push_back(axis.index.dtype());
        args.push_back(Argument::of(axis.index));
        args.push_back(Argument::of(Scalar::of(axis.extent)));
        args.push_back(Argument::of(Scalar::of(axis.stride)));
    }
    if (value != nullptr)
        args.push_back(*value);
    const CheckedLaunch checked(given, plan.elements.device(), call);
    args.push_back(checked.word());
    args.push_back(checked.number());
    args.push_back(Argument::of(result != nullptr ? *result : plan.elements));
    index_kernel(form)(args, {}, call.on_wait);
    checked.settle();
}

std::int64_t first_index(const Array& index, const IndexCall& call) {
    const Array one(index.buffer(), index.address(), index.dtype(), Dims{}, Dims{}, false);
    const CUstream stream = current_stream(index.device());
    const Array wide = Array::empty(index.device(), DType::int64, Dims{}, stream);
    copy_into(wide, one, stream);
    return read_back<std::int64_t>(index.device(), wide.address(), call.on_wait);
}

// An axis without elements has no place for any index; results without elements still have theirs
// checked. True: there is something to run.
bool worth_running(const IndexPlan& plan, const IndexCall& call) {
    if (plan.index_is_empty())
        return false;
    for (const IndexedAxis& axis : plan.indexed)
        if (axis.extent == 0) {
            if (call.complaint != nullptr)
                throw ValueError(call.complaint);
            if (call.mode != IndexMode::raise)
                throw Error(ErrorKind::index, "cannot do a non-empty take from an empty axes.");
            refuse_index(first_index(axis.index, call), axis.axis, 0);
        }
    return true;
}

// int64 places of `plan`, whose elements lie over nothing at located_base.
Array places_of(const IndexPlan& plan, const IndexCall& call) {
    Device& device = plan.elements.device();
    const Array places =
        Array::empty(device, DType::int64, plan.elements.shape(), current_stream(device));
    if (worth_running(plan, call) && places.size() > 0)
        run({.act = IndexAct::locate, .indices = {}}, plan, plan, nullptr, &places, call);
    return places;
}

Array positions_of(const Array& array, const Dims& shape) {
    return Array(array.buffer(), located_base, DType::uint8, shape, dense_strides(shape, 1));
}

// Indices whose result has no elements because other axes have none.
void check_only(const IndexPlan& plan, const IndexCall& call) {
    if (!worth_running(plan, call) || call.mode != IndexMode::raise)
        return;
    IndexPlan indices = plan;
    const Dims shape = plan.index_shape();
    const auto cut = [&](const Array& array) {
        const Dims strides(array.strides().span().subspan(
            static_cast<std::size_t>(plan.index_axis), static_cast<std::size_t>(plan.index_ndim)));
        return over(array, array.dtype(), shape, strides);
    };
    for (IndexedAxis& axis : indices.indexed)
        axis.index = cut(axis.index);
    indices.elements = Array(plan.elements.buffer(), located_base, DType::uint8, shape,
                             cut(plan.elements).strides());
    indices.index_axis = 0;
    (void)places_of(indices, call);
}

Array get_planned(const IndexPlan& plan, const IndexCall& call, const Array* out) {
    Device& device = plan.elements.device();
    const CUstream stream = current_stream(device);
    Array result = out != nullptr
                       ? *out
                       : Array::empty(device, plan.elements.dtype(), plan.elements.shape(), stream);
    if (plan.indexed.empty()) {
        copy_into(result, plan.elements, stream);
    } else if (result.size() == 0) {
        check_only(plan, call);
    } else if (worth_running(plan, call)) {
        IndexPlan wide = plan;
        Array target = result;
        widen(wide, target);
        run({.act = IndexAct::get, .indices = {}}, wide, plan, nullptr, &target, call);
    }
    return result;
}

std::string numpy_shape(const Dims& shape) { // without spaces, as NumPy has it in these messages
    std::string text = format_shape(shape);
    std::erase(text, ' ');
    return text;
}

// The value in the result's shape and the array's dtype, apart from the array's memory.
Array fitted_value(const Array& value, const Array& array, const Dims& shape) {
    Array fit = value;
    while (fit.ndim() > shape.size() && fit.shape()[0] == 1)
        fit = squeeze(fit, std::array<std::int64_t, 1>{0});
    fit = apart_from(fit, array, array.dtype());
    try {
        return broadcast_to(fit, shape);
    } catch (const ValueError&) {
        throw ValueError(join("shape mismatch: value array of shape ", numpy_shape(value.shape()),
                              " could not be broadcast to indexing result of shape ",
                              numpy_shape(shape)));
    }
}

// A scalar as the bits of its dtype.
Scalar bits_of(const Scalar& value, DType dtype) {
    alignas(16) std::array<std::byte, 16> stored{};
    store_scalar(value, dtype, stored.data());
    std::array<double, 2> parts{};
    if (bytes_of(dtype) > 8) {
        std::memcpy(parts.data(), stored.data(), 16);
        return Scalar::of(std::complex<double>(parts[0], parts[1]));
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, stored.data(), 8);
    return bits >> 63 ? Scalar::of(bits) : Scalar::of(static_cast<std::int64_t>(bits));
}

void set_planned(const Array& array, const IndexPlan& given, const Argument& value,
                 const IndexCall& call, IndexAct act) {
    IndexPlan plan = given;
    const CUstream stream = current_stream(array.device());
    std::optional<Array> values;
    if (value.kind == ArgType::Kind::array)
        values = fitted_value(*value.array, array, plan.elements.shape());
    if (act == IndexAct::set && plan.indexed.empty()) {
        if (values)
            copy_into(plan.elements, *values, stream);
        else
            fill(plan.elements, value.scalar, stream);
        return;
    }
    if (plan.elements.size() == 0)
        return check_only(plan, call);
    if (!worth_running(plan, call))
        return;
    for (IndexedAxis& axis : plan.indexed)
        axis.index = apart_from(axis.index, array, axis.index.dtype());
    const IndexPlan before = plan;
    if (act == IndexAct::set && values)
        widen(plan, *values);
    else if (act == IndexAct::set)
        plan.elements = in_units(plan.elements);
    const Argument written = values ? Argument::of(*values)
                             : act == IndexAct::set
                                 ? Argument::of(bits_of(value.scalar, array.dtype()))
                                 : value;
    run({.act = act, .indices = {}}, plan, before, &written, nullptr, call);
}

bool is_mask(const AdvancedItem& item) {
    const auto* index = std::get_if<ArrayIndex>(&item);
    return index != nullptr && index->array.dtype() == DType::boolean;
}

// Arrays of bools become arrays of positions: nothing but integers is left.
Items without_masks(Items items, OnWait on_wait) {
    if (std::ranges::none_of(items, is_mask))
        return items;
    Items result;
    for (AdvancedItem& item : items) {
        if (!is_mask(item)) {
            result.push_back(std::move(item));
            continue;
        }
        const Array& mask = std::get<ArrayIndex>(item).array;
        if (mask.ndim() == 0)
            result.emplace_back(TruthIndex{read_truth(mask, on_wait)});
        else
            for (Array& places : nonzero(mask, on_wait))
                result.emplace_back(ArrayIndex{std::move(places)});
    }
    return result;
}

void require_one_device(const Array& array, std::span<const AdvancedItem> items) {
    for (const AdvancedItem& item : items)
        if (const auto* index = std::get_if<ArrayIndex>(&item);
            index != nullptr && &index->array.device() != &array.device())
            throw ValueError(join("the array is on ", array.device().name(), ", an index on ",
                                  index->array.device().name(),
                                  ": move one with quern.asarray(x, device=...)"));
}

// The mask of an index that is one array of bools with all of the array's axes.
const Array* whole_mask(const Array& array, const Items& items) {
    if (items.size() != 1 || !is_mask(items[0]) || array.ndim() == 0)
        return nullptr;
    const Array& mask = std::get<ArrayIndex>(items[0]).array;
    return mask.ndim() == array.ndim() ? &mask : nullptr;
}

IndexPlan along_axis(const Array& array, const Array& indices, int axis) {
    Dims shape = indices.shape(), strides = array.strides();
    for (int d = 0; d < array.ndim(); ++d)
        if (d != axis) {
            const std::int64_t a = array.shape()[d], b = indices.shape()[d];
            if (a != b && a != 1 && b != 1)
                throw Error(ErrorKind::index,
                            join("shape mismatch: indexing arrays could not be broadcast together "
                                 "with shapes ",
                                 numpy_shape(array.shape()), " ", numpy_shape(indices.shape())));
            shape[d] = a == 1 ? b : a;
            if (a == 1)
                strides[d] = 0;
        }
    strides[axis] = 0;
    return {Array(array.buffer(), array.address(), array.dtype(), shape, std::move(strides),
                  array.writable()),
            {{broadcast_to(indices, shape), axis, array.shape()[axis], array.strides()[axis]}},
            0,
            shape.size()};
}

} // namespace

Array get_indexed(const Array& array, Items items, const IndexCall& call, const Array* out) {
    check_index(array.shape(), items);
    require_one_device(array, items);
    if (const Array* mask = whole_mask(array, items); mask != nullptr && out == nullptr)
        return pick(array, *mask, call.on_wait);
    return get_planned(plan_index(array, without_masks(std::move(items), call.on_wait)), call, out);
}

void set_indexed(const Array& array, Items items, const Argument& value, const IndexCall& call,
                 IndexAct act) {
    check_index(array.shape(), items);
    require_one_device(array, items);
    if (!array.writable())
        throw ValueError("assignment destination is read-only");
    const Array* mask = act == IndexAct::set ? whole_mask(array, items) : nullptr;
    const bool is_one = value.kind != ArgType::Kind::array || value.array->size() == 1;
    if (mask != nullptr && mask->size() == 0 && is_one)
        return; // whatever the mask's shape: there is no place
    if (mask != nullptr && value.kind == ArgType::Kind::array) {
        const Array& values = *value.array;
        if (values.ndim() > 1)
            throw TypeError(join("NumPy boolean array indexing assignment requires a 0 or "
                                 "1-dimensional input, input has ",
                                 values.ndim(), " dimensions"));
        const Array cast = apart_from(values, array, array.dtype());
        if (values.size() != 1)
            return fill_picked(array, *mask, cast, false, call.on_wait);
        return put_where(array, *mask, Argument::of(cast), call.on_wait);
    }
    if (mask != nullptr)
        return put_where(array, *mask, value, call.on_wait);
    set_planned(array, plan_index(array, without_masks(std::move(items), call.on_wait)), value,
                call, act);
}

IndexedPlaces locate_indexed(const Array& array, Items items, const IndexCall& call) {
    check_index(array.shape(), items);
    require_one_device(array, items);
    items = without_masks(std::move(items), call.on_wait);
    const Array positions = positions_of(array, array.shape());
    const IndexPlan plan = plan_index(positions, items);
    if (!plan.takes_rows)
        return {places_of(plan, call), 1, plan.elements.shape()};
    std::erase_if(
        items, [](const AdvancedItem& item) { return !std::holds_alternative<ArrayIndex>(item); });
    const Dims lead(array.shape().span().first(items.size()));
    std::int64_t width = 1;
    for (int d = lead.size(); d < array.ndim(); ++d)
        width *= array.shape()[d];
    return {places_of(plan_index(positions_of(array, lead), items), call), width,
            plan.elements.shape()};
}

Array take_along(const Array& array, const Array& indices, int axis, const IndexCall& call,
                 const Array* out) {
    return get_planned(along_axis(array, indices, axis), call, out);
}

void put_along(const Array& array, const Array& indices, int axis, const Argument& value,
               const IndexCall& call) {
    if (!array.writable())
        throw ValueError("assignment destination is read-only");
    set_planned(array, along_axis(array, indices, axis), value, call, IndexAct::set);
}

} // namespace quern
