// See fused_values.h.
#include "python/bindings/fused_values.h"

#include "python/bindings/bind_dtype.h"
#include "python/bindings/bind_scalar.h"
#include "runtime/fusion/replay.h"

#include <algorithm>
#include <array>

namespace py = pybind11;

namespace quern::python {
namespace {

constexpr int deepest = 16; // containers within containers

bool is_singleton(PyObject* object) {
    return object == Py_None || object == Py_True || object == Py_False || object == Py_Ellipsis;
}

// What never changes and is nothing but itself.
bool is_constant(PyObject* object) {
    return is_singleton(object) || PyUnicode_CheckExact(object) || PyType_Check(object) ||
           py::isinstance<py::dtype>(object);
}

} // namespace

void CallKey::add_bytes(char tag, const void* bytes, std::size_t count) {
    bytes_ += tag;
    bytes_.append(static_cast<const char*>(bytes), count);
}

void CallKey::add_constant(char tag, PyObject* object) {
    add_bytes(tag, &object, sizeof(PyObject*));
    constants_.push_back(object);
}

void CallKey::add_array(PyObject* object) {
    const Array& array = reinterpret_cast<ArrayObject*>(object)->array;
    arrays_.push_back(&array);
    objects_.push_back(object);
    most_elements_ = std::max(most_elements_, array.size());
    const auto first = std::ranges::find(objects_, object) - objects_.begin();
    add_bytes('a', &first, sizeof first);
}

bool CallKey::add(PyObject* object, int depth) {
    PyTypeObject* type = Py_TYPE(object);
    if (type == array_type) {
        add_array(object);
        return true;
    }
    if (type == &PyFloat_Type) {
        const double value = PyFloat_AS_DOUBLE(object);
        add_bytes('f', &value, sizeof value);
        return true;
    }
    if (type == &PyLong_Type) {
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        add_bytes('i', &value, sizeof value);
        return overflow == 0;
    }
    if (is_constant(object)) {
        add_constant('c', object);
        return true;
    }
    if (type == &PyComplex_Type) {
        const Py_complex value = PyComplex_AsCComplex(object);
        add_bytes('z', &value, sizeof value);
        return true;
    }
    if (const std::optional<DType> dtype = find_scalar_type(type)) {
        std::array<std::byte, 16> stored{};
        store_scalar(*find_scalar(object), *dtype, stored.data());
        add_constant('n', reinterpret_cast<PyObject*>(type));
        add_bytes(':', stored.data(), bytes_of(*dtype));
        return true;
    }
    if (depth == deepest || (type != &PyTuple_Type && type != &PyList_Type && type != &PyDict_Type))
        return false;
    has_containers_ = has_containers_ || type != &PyTuple_Type;
    if (type == &PyDict_Type) {
        const Py_ssize_t count = PyDict_Size(object);
        add_bytes('d', &count, sizeof count);
        PyObject *name = nullptr, *value = nullptr;
        for (Py_ssize_t place = 0; PyDict_Next(object, &place, &name, &value);) {
            if (!PyUnicode_CheckExact(name) || !add(value, depth + 1))
                return false;
            add_constant('k', name);
        }
        return true;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    add_bytes(type == &PyTuple_Type ? 't' : 'l', &count, sizeof count);
    for (Py_ssize_t k = 0; k < count; ++k)
        if (!add(PySequence_Fast_GET_ITEM(object, k), depth + 1))
            return false;
    return true;
}

bool CallKey::add(PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    const Py_ssize_t named = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
    add_bytes('(', &positional, sizeof positional);
    bool known = true;
    for (Py_ssize_t k = 0; k < positional + named; ++k) {
        if (k >= positional)
            add_constant('k', PyTuple_GET_ITEM(keywords, k - positional));
        known = add(args[k], 0) && known;
    }
    return known;
}

void CallKey::clear() noexcept {
    bytes_.clear();
    arrays_.clear();
    objects_.clear();
    constants_.clear();
    has_containers_ = false;
    most_elements_ = 0;
}

bool CallKey::close(std::span<PyObject* const> captured) {
    for (PyObject* object : captured) {
        arrays_.push_back(&reinterpret_cast<ArrayObject*>(object)->array);
        objects_.push_back(object);
    }
    return add_layouts(arrays_, bytes_);
}

bool ResultTree::read(PyObject* result, const CallKey& key) {
    const bool known = read(result, key, 0);
    told_.clear();
    return known;
}

bool ResultTree::read(PyObject* object, const CallKey& key, int depth) {
    using Kind = Node::Kind;
    PyTypeObject* type = Py_TYPE(object);
    if (type == array_type) {
        const auto given_as = [&](PyObject* wanted) {
            for (std::size_t k = 0; k < key.arrays().size(); ++k)
                if (key.object(k) == wanted)
                    return static_cast<int>(k);
            return -1;
        };
        if (const int given = given_as(object); given >= 0) {
            nodes_.push_back({Kind::given, given, -1, {}});
        } else if (const auto told = std::ranges::find(told_, object); told != told_.end()) {
            nodes_.push_back({Kind::again, static_cast<int>(told - told_.begin()), -1, {}});
        } else {
            told_.push_back(object);
            const auto* array = reinterpret_cast<ArrayObject*>(object);
            made_.push_back(&array->array);
            nodes_.push_back({Kind::made, 0, array->base ? given_as(array->base) : -1, {}});
        }
        return true;
    }
    if (is_constant(object) || type == &PyFloat_Type || type == &PyLong_Type ||
        type == &PyComplex_Type || find_scalar_type(type)) {
        nodes_.push_back({Kind::constant, 0, -1, py::reinterpret_borrow<py::object>(object)});
        return true;
    }
    if (depth == deepest)
        return false;
    if (type == &PyDict_Type) {
        const auto names = py::reinterpret_steal<py::object>(PyDict_Keys(object));
        const auto values = py::reinterpret_steal<py::object>(PyDict_Values(object));
        const auto count = static_cast<int>(PyDict_Size(object));
        nodes_.push_back({Kind::dict, count, -1, names});
        for (int k = 0; k < count; ++k)
            if (!is_constant(PyList_GET_ITEM(names.ptr(), k)) ||
                !read(PyList_GET_ITEM(values.ptr(), k), key, depth + 1))
                return false;
        return true;
    }
    if (type != &PyTuple_Type && type != &PyList_Type)
        return false;
    const auto count = static_cast<int>(PySequence_Fast_GET_SIZE(object));
    nodes_.push_back({type == &PyTuple_Type ? Kind::tuple : Kind::list, count, -1, {}});
    for (int k = 0; k < count; ++k)
        if (!read(PySequence_Fast_GET_ITEM(object, k), key, depth + 1))
            return false;
    return true;
}

py::object ResultTree::build(std::size_t& next, const CallKey& key, std::vector<Array>& made,
                             std::vector<PyObject*>& told) const {
    using Kind = Node::Kind;
    const Node& node = nodes_[next++];
    switch (node.kind) {
    case Kind::given:
        return py::reinterpret_borrow<py::object>(
            key.object(static_cast<std::size_t>(node.number)));
    case Kind::again:
        return py::reinterpret_borrow<py::object>(told[static_cast<std::size_t>(node.number)]);
    case Kind::constant:
        return node.constant;
    case Kind::made: {
        Array& array = made[told.size()];
        py::object object =
            made_object(node.base < 0 ? wrap_array(std::move(array))
                                      : wrap_view(std::move(array),
                                                  key.object(static_cast<std::size_t>(node.base))));
        told.push_back(object.ptr()); // which the result holds
        return object;
    }
    case Kind::dict: {
        py::dict dict;
        for (int k = 0; k < node.number; ++k)
            dict[py::handle(PyList_GET_ITEM(node.constant.ptr(), k))] =
                build(next, key, made, told);
        return dict;
    }
    case Kind::list: {
        py::list list(node.number);
        for (int k = 0; k < node.number; ++k)
            list[static_cast<std::size_t>(k)] = build(next, key, made, told);
        return list;
    }
    case Kind::tuple:
        break;
    }
    py::tuple tuple(node.number);
    for (int k = 0; k < node.number; ++k)
        tuple[static_cast<std::size_t>(k)] = build(next, key, made, told);
    return tuple;
}

PyObject* ResultTree::build(const CallKey& key, std::vector<Array>& made) const {
    std::size_t next = 0;
    std::vector<PyObject*> told;
    return build(next, key, made, told).release().ptr();
}

int ResultTree::traverse(visitproc visit, void* arg) const {
    for (const Node& node : nodes_)
        Py_VISIT(node.constant.ptr());
    return 0;
}

} // namespace quern::python
