// Functions and methods that take elements by index or mask, and when a wrong index raises.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/resolve/promote.h"
#include "python/bindings/array_parts.h"
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_error.h"
#include "runtime/device/faults.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/indexing.h"
#include "runtime/kernel/masks.h"

#include <algorithm>
#include <array>

namespace py = pybind11;

namespace quern::python {
namespace {

IndexMode mode_of(const std::string& mode) {
    for (const auto& [name, found] : {std::pair{"raise", IndexMode::raise},
                                      {"wrap", IndexMode::wrap},
                                      {"clip", IndexMode::clip}})
        if (mode == name)
            return found;
    throw ValueError(join("clipmode must be one of 'clip', 'raise', or 'wrap' (got '", mode, "')"));
}

IndexCall call_of(const char* name, IndexMode mode = IndexMode::raise) {
    IndexCall call;
    call.mode = mode;
    call.name = name;
    call.on_wait = drop_gil;
    return call;
}

py::object finished(Array&& array) {
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return py::cast(std::move(array));
}
void finish() {
    if (has_waited()) [[unlikely]]
        surface_warnings();
}

CUstream stream_of(const Array& array) { return current_stream(array.device()); }

// Indices of bools count as 0 and 1 where they do not choose.
Array integers_of(py::handle object, Device& device) {
    Array index = to_index_array(object, device);
    const Kind kind = row(index.dtype()).kind;
    if (kind == Kind::boolean) {
        Array numbers = Array::empty(device, DType::int64, index.shape(), current_stream(device));
        copy_into(numbers, index, current_stream(device));
        return numbers;
    }
    if (kind != Kind::signed_integer && kind != Kind::unsigned_integer)
        throw TypeError(join("Cannot cast array data from dtype('", row(index.dtype()).name,
                             "') to dtype('int64') according to the rule 'safe'"));
    return index;
}

// Runs `make` into a new array or into `out`, by way of a new one where `out` has another dtype or
// shares memory with what is read. NumPy asks that `out` can be cast to what is read, not back.
template <class Make> py::object into(const py::object& out, const Array& read, const Dims& shape,
                                      const char* method, Casting casting, Make&& make) {
    if (out.is_none())
        return finished(make(nullptr));
    Array* target = find_array(out.ptr());
    if (target == nullptr)
        throw TypeError("return arrays must be of quern.ndarray");
    if (!(target->shape() == shape))
        throw ValueError(join("output array does not match result of ", method));
    if (!can_cast(target->dtype(), read.dtype(), casting))
        throw TypeError(join("Cannot cast array data from dtype('", row(target->dtype()).name,
                             "') to dtype('", row(read.dtype()).name,
                             "') according to the rule 'safe': give out= of the array's dtype"));
    if (!target->writable())
        throw ValueError("output array is read-only");
    const bool direct = target->dtype() == read.dtype() && &target->device() == &read.device() &&
                        !may_share_memory(*target, read);
    const Array made = make(direct ? target : nullptr);
    if (!direct)
        copy_into(*target, made, stream_of(*target));
    finish();
    return out;
}

py::object take(const Array& a, const py::object& indices, const py::object& axis,
                const py::object& out, const std::string& mode) {
    const IndexCall call = call_of("take()", mode_of(mode));
    const Array index = integers_of(indices, a.device());
    if (axis.is_none())
        return into(out, a, index.shape(), "ndarray.take", Casting::safe,
                    [&](const Array* target) { return take_flat(a, index, call, target); });
    const int along = normalise_axis(to_int_not_bool(axis, "axis"), std::max(a.ndim(), 1));
    const Array from = a.ndim() == 0 ? *reshape_view(a, Dims{1}) : a;
    Items items(static_cast<std::size_t>(along), SliceIndex{});
    items.emplace_back(ArrayIndex{index});
    std::vector<std::int64_t> extents(from.shape().begin(), from.shape().begin() + along);
    extents.insert(extents.end(), index.shape().begin(), index.shape().end());
    extents.insert(extents.end(), from.shape().begin() + along + 1, from.shape().end());
    return into(out, a, Dims(std::span<const std::int64_t>(extents)), "ndarray.take", Casting::safe,
                [&](const Array* target) { return get_indexed(from, items, call, target); });
}

void put(const Array& a, const py::object& indices, const py::object& values,
         const std::string& mode) {
    const IndexMode wanted = mode_of(mode);
    const Array index = integers_of(indices, a.device());
    std::optional<Array> kept;
    const Argument value = to_value(a, values, kept);
    Array given = value.kind == ArgType::Kind::array
                      ? *value.array
                      : Array::empty(a.device(), a.dtype(), Dims{1}, stream_of(a));
    if (value.kind != ArgType::Kind::array)
        fill(given, value.scalar, stream_of(a));
    put_flat(a, index, given, call_of("put()", wanted));
    finish();
}

py::object compress(const py::object& condition, const Array& a, const py::object& axis,
                    const py::object& out) {
    const Array chosen = to_index_array(condition, a.device());
    if (chosen.ndim() != 1)
        throw ValueError("condition must be a 1-d array");
    if (axis.is_none() && out.is_none() && chosen.size() == a.size())
        if (const std::optional<Array> mask = reshape_view(as_mask(chosen), a.shape()))
            return finished(pick(a, *mask, drop_gil));
    return take(a, py::cast(flat_nonzero(chosen, drop_gil)), axis, out, "raise");
}

std::pair<Array, Array> along(const Array& arr, const py::object& indices, const py::object& axis) {
    const Array index = to_index_array(indices, arr.device());
    const Kind kind = row(index.dtype()).kind;
    if (kind != Kind::signed_integer && kind != Kind::unsigned_integer)
        throw Error(ErrorKind::index, "`indices` must be an integer array");
    if (axis.is_none() && index.ndim() != 1)
        throw ValueError("when axis=None, `indices` must have a single dimension.");
    if (!axis.is_none() && index.ndim() != arr.ndim())
        throw ValueError("`indices` and `arr` must have the same number of dimensions");
    return {arr, index};
}

py::object take_along_axis(const Array& arr, const py::object& indices, const py::object& axis) {
    const auto [from, index] = along(arr, indices, axis);
    const IndexCall call = call_of("take_along_axis()");
    if (axis.is_none())
        return finished(take_flat(from, index, call));
    return finished(
        take_along(from, index, normalise_axis(to_int_not_bool(axis, "axis"), from.ndim()), call));
}

void put_along_axis(const Array& arr, const py::object& indices, const py::object& values,
                    const py::object& axis) {
    const auto [target, index] = along(arr, indices, axis);
    const IndexCall call = call_of("put_along_axis()");
    std::optional<Array> kept;
    const Argument value = to_value(target, values, kept);
    if (!axis.is_none()) {
        put_along(target, index, normalise_axis(to_int_not_bool(axis, "axis"), target.ndim()),
                  value, call);
    } else {
        const Array given =
            value.kind == ArgType::Kind::array
                ? broadcast_to(*value.array, index.shape())
                : Array::empty(target.device(), target.dtype(), index.shape(), stream_of(target));
        if (value.kind != ArgType::Kind::array)
            fill(given, value.scalar, stream_of(target));
        put_flat(target, index, given, call);
    }
    finish();
}

// Element by element the one of `stacked` (along its first axis) whose number `a` holds.
py::object choose(const py::object& a, const Array& stacked, const py::object& out,
                  const std::string& mode) {
    Array index = integers_of(a, stacked.device());
    const Dims shape(stacked.shape().span().subspan(1));
    index = expand_dims(broadcast_to(index, shape), std::array<std::int64_t, 1>{0});
    IndexCall call = call_of("choose()", mode_of(mode));
    call.complaint = "invalid entry in choice array";
    Dims expanded(static_cast<std::size_t>(shape.size() + 1));
    expanded[0] = 1;
    std::copy(shape.begin(), shape.end(), expanded.data() + 1);
    return into(out, stacked, shape, "choose", Casting::unsafe, [&](const Array* target) {
        if (target == nullptr)
            return squeeze(take_along(stacked, index, 0, call), std::array<std::int64_t, 1>{0});
        const Array whole = expand_dims(*target, std::array<std::int64_t, 1>{0});
        (void)take_along(stacked, index, 0, call, &whole);
        return *target;
    });
}

py::tuple nonzero_of(const Array& a) {
    if (a.ndim() == 0)
        throw ValueError("Calling nonzero on 0d arrays is not allowed. Use "
                         "np.atleast_1d(scalar).nonzero() instead.");
    std::vector<Array> found = nonzero(a, drop_gil);
    py::tuple result(found.size());
    for (std::size_t k = 0; k < found.size(); ++k)
        result[k] = py::cast(std::move(found[k]));
    finish();
    return result;
}

// A mask of the array's size, in its shape.
Array mask_for(const Array& a, const py::object& mask, const char* function) {
    const Array given = as_mask(to_index_array(mask, a.device()));
    if (given.size() != a.size())
        throw ValueError(join(function, ": mask and data must be the same size"));
    if (std::optional<Array> view = reshape_view(given, a.shape()))
        return *view;
    return reshape(given, a.shape(), 'C');
}

// Values to be repeated, as an array of the target's dtype.
Array values_for(const Array& a, const py::object& values) {
    std::optional<Array> kept;
    const Argument value = to_value(a, values, kept);
    const bool is_array = value.kind == ArgType::Kind::array;
    if (is_array && value.array->dtype() == a.dtype())
        return *value.array;
    Array cast = Array::empty(a.device(), a.dtype(), is_array ? value.array->shape() : Dims{1},
                              stream_of(a));
    if (is_array)
        copy_into(cast, *value.array, stream_of(a));
    else
        fill(cast, value.scalar, stream_of(a));
    return cast;
}

void place(const Array& arr, const py::object& mask, const py::object& vals) {
    fill_picked(arr, mask_for(arr, mask, "place"), values_for(arr, vals), true, drop_gil);
    finish();
}

void put_masked(const Array& a, const py::object& mask, const py::object& values) {
    putmask(a, mask_for(a, mask, "putmask"), values_for(a, values), drop_gil);
    finish();
}

py::tuple unravelled(const Array& places, const py::object& shape) {
    std::vector<Array> found = unravel(places, to_dims(shape), drop_gil);
    py::tuple result(found.size());
    for (std::size_t k = 0; k < found.size(); ++k)
        result[k] = py::cast(std::move(found[k]));
    return result;
}

void scatter(const Array& a, const py::object& key, const py::object& value,
             const std::string& op) {
    const IndexAct act = op == "add" ? IndexAct::add : op == "max" ? IndexAct::max : IndexAct::min;
    std::optional<Array> kept;
    const Argument given = to_value(a, value, kept);
    set_indexed(a, read_key(a, key), given, call_of("scatter"), act);
    finish();
}

py::tuple located(const Array& a, const py::object& key) {
    IndexedPlaces found = locate_indexed(a, read_key(a, key), call_of("at()"));
    return py::make_tuple(py::cast(std::move(found.places)), found.width, found.shape);
}

// Where a call was made: its code and the place in it, told only if something goes wrong.
OriginHooks::Origin note_origin() {
    PyFrameObject* frame = PyEval_GetFrame();
    if (frame == nullptr)
        return {};
    return {PyFrame_GetCode(frame), PyFrame_GetLasti(frame)};
}
void forget_origin(const OriginHooks::Origin& origin) {
    Py_DECREF(static_cast<PyObject*>(origin.code));
}
std::string tell_origin(const OriginHooks::Origin& origin) {
    const py::gil_scoped_acquire gil;
    const py::object code = py::reinterpret_steal<py::object>(static_cast<PyObject*>(origin.code));
    const int line = PyCode_Addr2Line(reinterpret_cast<PyCodeObject*>(code.ptr()),
                                      static_cast<int>(origin.place));
    return join(py::str(code.attr("co_filename")).cast<std::string>(), ":", line);
}

std::string checking() {
    static constexpr std::array<const char*, 3> names{"off", "later", "now"};
    return names[static_cast<std::size_t>(index_check())];
}
void set_checking(const std::string& when) {
    for (const auto& [name, check] : {std::pair{"off", IndexCheck::off},
                                      {"later", IndexCheck::later},
                                      {"now", IndexCheck::now}})
        if (when == name)
            return set_index_check(check);
    throw ValueError(join("index_check is 'off', 'later' or 'now', not '", when, "'"));
}

} // namespace

void bind_array_indexing(py::module_& module, py::handle type) {
    set_origin_hooks({note_origin, forget_origin, tell_origin});
    const auto none = [](const char* name) { return py::arg(name) = py::none(); };
    attach(type, "take", &take, py::arg("indices"), none("axis"), none("out"),
           py::arg("mode") = "raise",
           "Elements at positions along an axis, or of all elements in C order; `mode` is 'raise', "
           "'wrap' or\n'clip'.");
    attach(type, "put", &put, py::arg("indices"), py::arg("values"), py::arg("mode") = "raise",
           "Set elements at positions in C order; values are repeated as often as needed.");
    attach(
        type, "compress",
        [](const Array& self, const py::object& condition, const py::object& axis,
           const py::object& out) { return compress(condition, self, axis, out); },
        py::arg("condition"), none("axis"), none("out"),
        "The parts along an axis for which a 1-D condition is true.");
    attach(type, "nonzero", &nonzero_of,
           "The positions of elements that are not 0: an array for each axis. Waits for their "
           "number.");
    module.def("take_along_axis", &take_along_axis);
    module.def("put_along_axis", &put_along_axis);
    module.def("choose", &choose);
    module.def("argwhere", [](const Array& a) { return finished(argwhere(a, drop_gil)); });
    module.def("flatnonzero", [](const Array& a) { return finished(flat_nonzero(a, drop_gil)); });
    module.def("put_where", [](const Array& a, const Array& mask, const py::object& value) {
        std::optional<Array> kept;
        put_where(a, mask, to_value(a, value, kept), drop_gil);
        finish();
    });
    module.def("place", &place);
    module.def("putmask", &put_masked);
    module.def("unravel", &unravelled);
    module.def("scatter", &scatter);
    module.def("locate", &located);
    module.def("index_check", &checking);
    module.def("set_index_check", &set_checking);
}

} // namespace quern::python
