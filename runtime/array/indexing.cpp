// Counts and checks items, broadcasts index arrays, and lays out the result's axes.
#include "runtime/array/indexing.h"

#include "compiler/base/text.h"

#include <algorithm>

namespace quern {
namespace {

template <class T> const T* as(const AdvancedItem& item) { return std::get_if<T>(&item); }

bool is_mask(const AdvancedItem& item) {
    const auto* array = as<ArrayIndex>(item);
    return array != nullptr && array->array.dtype() == DType::boolean;
}

int axes_of(const AdvancedItem& item) { // of the array that is indexed
    if (as<NewAxis>(item) != nullptr || as<Ellipsis>(item) != nullptr ||
        as<TruthIndex>(item) != nullptr)
        return 0;
    return is_mask(item) ? as<ArrayIndex>(item)->array.ndim() : 1;
}

bool is_array(const AdvancedItem& item) {
    return as<ArrayIndex>(item) != nullptr || as<TruthIndex>(item) != nullptr;
}

// Walks the items with the first axis of each; an ellipsis comes with the axes that it stands for.
template <class Visit> void walk(int ndim, std::span<const AdvancedItem> items, Visit&& visit) {
    int consumed = 0, axis = 0;
    bool any_ellipsis = false;
    for (const AdvancedItem& item : items)
        consumed += axes_of(item);
    for (const AdvancedItem& item : items) {
        const int count = as<Ellipsis>(item) != nullptr ? ndim - consumed : axes_of(item);
        any_ellipsis |= as<Ellipsis>(item) != nullptr;
        visit(item, axis, count);
        axis += count;
    }
    if (!any_ellipsis && axis < ndim)
        visit(AdvancedItem(Ellipsis{}), axis, ndim - axis);
}

Dims broadcast_indices(std::span<const AdvancedItem> items) {
    std::vector<Dims> shapes;
    for (const AdvancedItem& item : items) {
        if (const auto* array = as<ArrayIndex>(item))
            shapes.push_back(array->array.shape());
        else if (const auto* truth = as<TruthIndex>(item))
            shapes.push_back(Dims{truth->value ? 1 : 0});
    }
    try {
        return broadcast_shapes(shapes);
    } catch (const ValueError&) {
        std::string text =
            "shape mismatch: indexing arrays could not be broadcast together with shapes ";
        for (const Dims& shape : shapes) {
            std::string extents = format_shape(shape); // NumPy writes no spaces here
            std::erase(extents, ' ');
            text += extents + " ";
        }
        throw Error(ErrorKind::index, text);
    }
}

// An index array along the result's axes [first, first + ndim of `shape`).
Array spread(const Array& index, const Dims& shape, const Dims& result, int first) {
    Dims strides(static_cast<std::size_t>(result.size()));
    const int lead = shape.size() - index.ndim();
    for (int d = 0; d < index.ndim(); ++d)
        strides[first + lead + d] = index.shape()[d] == 1 ? 0 : index.strides()[d];
    return Array(index.buffer(), index.address(), index.dtype(), result, std::move(strides), false);
}

std::int64_t read_index(const Array& index, std::uint64_t address) {
    const auto read = [&]<class T>(T) {
        return static_cast<std::int64_t>(*reinterpret_cast<const T*>(address));
    };
    switch (index.dtype()) {
    case DType::int8:
        return read(std::int8_t{});
    case DType::int16:
        return read(std::int16_t{});
    case DType::int32:
        return read(std::int32_t{});
    case DType::uint8:
        return read(std::uint8_t{});
    case DType::uint16:
        return read(std::uint16_t{});
    case DType::uint32:
        return read(std::uint32_t{});
    default:
        return read(std::int64_t{});
    }
}

// Elements in C order, axis by axis from the first.
void refuse_wrong_along(const IndexedAxis& indexed, int axis, std::uint64_t address) {
    const Array& index = indexed.index;
    if (axis == index.ndim()) {
        const std::int64_t found = read_index(index, address);
        if (found < -indexed.extent || found >= indexed.extent)
            refuse_index(found, indexed.axis, indexed.extent);
        return;
    }
    const std::int64_t stride = index.strides()[axis],
                       extent = stride == 0 ? 1 : index.shape()[axis];
    for (std::int64_t k = 0; k < extent; ++k)
        refuse_wrong_along(indexed, axis + 1, address + static_cast<std::uint64_t>(k * stride));
}

} // namespace

void refuse_index(std::int64_t index, std::int64_t axis, std::int64_t extent) {
    throw Error(ErrorKind::index,
                join("index ", index, " is out of bounds for axis ", axis, " with size ", extent));
}

Dims IndexPlan::index_shape() const {
    return Dims(elements.shape().span().subspan(static_cast<std::size_t>(index_axis),
                                                static_cast<std::size_t>(index_ndim)));
}

bool IndexPlan::index_is_empty() const {
    const Dims shape = index_shape();
    return std::ranges::find(shape, 0) != shape.end();
}

void refuse_wrong_index(const IndexPlan& plan) {
    if (plan.index_is_empty())
        return;
    for (const IndexedAxis& indexed : plan.indexed)
        refuse_wrong_along(indexed, 0, indexed.index.address());
}

void check_index(const Dims& shape, std::span<const AdvancedItem> items) {
    int consumed = 0, ellipses = 0, kept = 0, broadcast = 0;
    for (const AdvancedItem& item : items) {
        consumed += axes_of(item);
        ellipses += as<Ellipsis>(item) != nullptr;
        kept += as<NewAxis>(item) != nullptr || as<SliceIndex>(item) != nullptr;
        if (const auto* array = as<ArrayIndex>(item)) {
            const Kind kind = row(array->array.dtype()).kind;
            if (kind != Kind::boolean && kind != Kind::signed_integer &&
                kind != Kind::unsigned_integer)
                throw Error(ErrorKind::index,
                            "arrays used as indices must be of integer (or boolean) type");
            broadcast = std::max(broadcast, is_mask(item) ? 1 : array->array.ndim());
        }
        if (as<TruthIndex>(item) != nullptr)
            broadcast = std::max(broadcast, 1);
    }
    const int ndim = shape.size();
    check_index_counts(ndim, consumed, kept + broadcast + ndim - consumed, ellipses);
    walk(ndim, items, [&](const AdvancedItem& item, int axis, int count) {
        for (int d = 0; is_mask(item) && d < count; ++d) {
            const std::int64_t given = as<ArrayIndex>(item)->array.shape()[d];
            // NumPy lets a mask without elements stand along any axis: it takes nothing there.
            if (given != 0 && given != shape[axis + d])
                throw Error(ErrorKind::index,
                            join("boolean index did not match indexed array along axis ", axis + d,
                                 "; size of axis is ", shape[axis + d],
                                 " but size of corresponding boolean axis is ", given));
        }
    });
}

IndexPlan plan_index(const Array& array, std::span<const AdvancedItem> items) {
    const Dims index_shape = broadcast_indices(items);
    // The index's axes stand where its items do, if those stand together, else first.
    int first = -1, groups = 0, place = 0;
    bool inside = false;
    std::uint64_t address = array.address();
    std::vector<std::int64_t> extents, strides;
    std::vector<std::pair<const Array*, int>> indices;
    bool rows = true;
    walk(array.ndim(), items, [&](const AdvancedItem& item, int axis, int count) {
        const auto* number = as<std::int64_t>(item);
        const bool of_index = number != nullptr || is_array(item);
        if (of_index && !inside) {
            ++groups;
            if (first < 0)
                first = static_cast<int>(extents.size());
        }
        inside = of_index;
        rows &= as<ArrayIndex>(item) != nullptr ||
                (as<Ellipsis>(item) != nullptr && axis + count == array.ndim());
        if (number != nullptr) {
            const std::int64_t extent = array.shape()[axis];
            if (*number < -extent || *number >= extent)
                refuse_index(*number, axis, extent);
            address += static_cast<std::uint64_t>((*number < 0 ? *number + extent : *number) *
                                                  array.strides()[axis]);
        } else if (const auto* part = as<SliceIndex>(item)) {
            const Slice taken =
                normalise_slice(part->start, part->stop, part->step, array.shape()[axis]);
            if (taken.count > 0)
                address += static_cast<std::uint64_t>(taken.start * array.strides()[axis]);
            extents.push_back(taken.count);
            strides.push_back(taken.count > 1 ? taken.step * array.strides()[axis] : 0);
        } else if (as<NewAxis>(item) != nullptr) {
            extents.push_back(1);
            strides.push_back(0);
        } else if (as<Ellipsis>(item) != nullptr) {
            for (int d = axis; d < axis + count; ++d) {
                extents.push_back(array.shape()[d]);
                strides.push_back(array.strides()[d]);
            }
        } else if (const auto* index = as<ArrayIndex>(item)) {
            indices.emplace_back(&index->array, axis);
        }
    });
    if (groups == 1)
        place = first;
    const int index_ndim = index_shape.size();
    extents.insert(extents.begin() + place, index_shape.begin(), index_shape.end());
    strides.insert(strides.begin() + place, static_cast<std::size_t>(index_ndim), 0);
    const Dims shape{std::span<const std::int64_t>(extents)};
    IndexPlan plan{Array(array.buffer(), address, array.dtype(), shape,
                         Dims(std::span<const std::int64_t>(strides)), array.writable()),
                   {},
                   place,
                   index_ndim,
                   rows};
    for (const auto& [index, axis] : indices)
        plan.indexed.push_back({spread(*index, index_shape, shape, place), axis,
                                array.shape()[axis], array.strides()[axis]});
    return plan;
}

} // namespace quern
