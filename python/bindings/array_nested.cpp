// Lists that hold arrays: what they hold is joined on the arrays' device, and no value is fetched.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/array_parts.h"
#include "runtime/array/views.h"
#include "runtime/kernel/concatenate.h"

#include <algorithm>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

// The items of a list of lists of one length, of lists of those, and so on.
struct Leaves {
    std::vector<std::int64_t> shape; // of the lists
    std::vector<py::object> items;
};

Leaves leaves_of(py::handle list) {
    Leaves found;
    const auto add = [&](py::handle from) {
        for (const py::handle item : from)
            found.items.push_back(py::reinterpret_borrow<py::object>(item));
    };
    add(list);
    found.shape.push_back(static_cast<std::int64_t>(found.items.size()));
    while (true) {
        const std::size_t extent = is_list(found.items.front()) ? py::len(found.items.front()) : 0;
        if (extent == 0 || !std::ranges::all_of(found.items, [&](const py::object& item) {
                return is_list(item) && py::len(item) == extent;
            }))
            return found;
        std::vector<py::object> lists;
        lists.swap(found.items);
        std::ranges::for_each(lists, add);
        found.shape.push_back(static_cast<std::int64_t>(extent));
    }
}

[[noreturn]] void refuse_shapes(std::vector<std::int64_t> shape, const std::vector<Array>& parts) {
    std::span<const std::int64_t> common = parts.front().shape().span();
    for (const Array& part : parts) {
        const auto until = std::ranges::mismatch(common, part.shape().span()).in1;
        common = common.first(static_cast<std::size_t>(until - common.begin()));
    }
    shape.insert(shape.end(), common.begin(), common.end());
    throw ValueError(join("setting an array element with a sequence. The requested array has an "
                          "inhomogeneous shape after ",
                          shape.size(), " dimensions. The detected shape was ",
                          format_shape(Dims(shape)), " + inhomogeneous part."));
}

// An array of ours, an object that wraps one, or a list that has such?
bool is_ours(py::handle item) {
    return find_array(item.ptr()) != nullptr || holds_arrays(item) ||
           (!is_list(item) && py::hasattr(item, wrapped_array));
}

} // namespace

bool is_list(py::handle value) {
    return py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value);
}

bool holds_arrays(py::handle value) {
    if (!is_list(value))
        return false;
    const PyTypeObject* plain = nullptr; // neighbours are mostly of one type, which is asked once
    for (const py::handle item : value) {
        if (Py_TYPE(item.ptr()) == plain || PyFloat_CheckExact(item.ptr()) ||
            PyLong_CheckExact(item.ptr()))
            continue;
        if (is_ours(item))
            return true;
        plain = is_list(item) ? nullptr : Py_TYPE(item.ptr());
    }
    return false;
}

py::array host_array(py::handle value, py::handle dtype) {
    const Array* array = find_array(value.ptr());
    if (array == nullptr && !holds_arrays(value))
        return numpy_array(value, dtype);
    const Array whole = array != nullptr ? *array : join_nested(value, std::nullopt, nullptr);
    return numpy_array(download(whole, current_stream(whole.device())), dtype);
}

Array join_nested(py::handle list, std::optional<DType> dtype, Device* device) {
    const Leaves leaves = leaves_of(list);
    std::vector<std::optional<Array>> found;
    py::list plain;
    for (const py::object& item : leaves.items) {
        if (is_ours(item)) {
            const py::object array = as_array(item);
            found.emplace_back(*find_array(array.ptr()));
            device = device != nullptr ? device : &found.back()->device();
        } else {
            found.emplace_back();
            plain.append(item);
        }
    }
    if (!plain.empty()) { // all of them travel together
        const py::object sent = as_array(plain, dtype, device);
        std::int64_t row = 0;
        for (std::optional<Array>& part : found)
            if (!part)
                part = basic_index(*find_array(sent.ptr()), std::array{IndexItem(row++)});
    }
    std::vector<Array> parts;
    std::vector<DType> dtypes;
    for (const std::optional<Array>& part : found) {
        parts.push_back(&part->device() == device ? *part : duplicate_on(*part, *device));
        dtypes.push_back(part->dtype());
    }
    const Dims inner = parts.front().shape();
    if (!std::ranges::all_of(parts, [&](const Array& part) { return part.shape() == inner; }))
        refuse_shapes(leaves.shape, parts);
    for (Array& part : parts)
        part = expand_dims(part, std::array{std::int64_t{0}});
    std::vector<std::int64_t> shape = leaves.shape;
    shape.insert(shape.end(), inner.begin(), inner.end());
    const CUstream stream = current_stream(*device);
    const py::gil_scoped_release release;
    const Array made =
        Array::empty(*device, dtype ? *dtype : result_type(dtypes), Dims(shape), stream);
    std::vector<std::int64_t> rows(inner.begin(), inner.end());
    rows.insert(rows.begin(), static_cast<std::int64_t>(parts.size()));
    const Array target = *reshape_view(made, Dims(rows));
    ConcatenateCall call;
    call.axis = 0;
    call.out = &target;
    call.casting = Casting::unsafe;
    static_cast<void>(concatenate(parts, call));
    return made;
}

void bind_array_nested(py::module_& module) {
    module.def("host_array", &host_array, py::arg("value"), py::arg("dtype") = py::none(),
               "Values that decide shapes, on the host: a device's array, or a list that has such, "
               "is waited for.");
}

} // namespace quern::python
