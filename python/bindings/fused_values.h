// What a fused function is called with and what it returns, so far as a replay needs it: arguments
// as a key and a list of arrays, results as a tree over arrays. Everything here expects the GIL.
#pragma once
#include "python/bindings/bind_array.h"

#include <span>
#include <string>
#include <vector>

namespace quern::python {

// The arguments of a call. Calls with one key differ in the elements of their arrays alone; plain
// numbers are told apart by value, other constants by identity.
class CallKey {
  public:
    // False: there is something among them that may be anything.
    [[nodiscard]] bool add(PyObject* const* args, Py_ssize_t positional, PyObject* keywords);
    // With the arrays that the function knows besides; false where memory is the same in two ways.
    [[nodiscard]] bool close(std::span<PyObject* const> captured);

    void clear() noexcept;

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::span<const Array* const> arrays() const noexcept { return arrays_; }
    [[nodiscard]] PyObject* object(std::size_t k) const { return objects_[k]; } // of an array
    // Objects that the key knows by their address, which it holds no reference to.
    [[nodiscard]] std::span<PyObject* const> constants() const noexcept { return constants_; }
    [[nodiscard]] bool has_containers() const noexcept { return has_containers_; }
    [[nodiscard]] std::int64_t most_elements() const noexcept { return most_elements_; }

  private:
    [[nodiscard]] bool add(PyObject* object, int depth);
    void add_bytes(char tag, const void* bytes, std::size_t count);
    void add_constant(char tag, PyObject* object);
    void add_array(PyObject* object);

    std::string bytes_;
    std::vector<const Array*> arrays_;
    std::vector<PyObject*> objects_, constants_;
    bool has_containers_ = false;
    std::int64_t most_elements_ = 0;
};

// A call's result: containers of arrays, given or made, and constants.
class ResultTree {
  public:
    // False: there is something in it that may be anything.
    [[nodiscard]] bool read(PyObject* result, const CallKey& key);
    // Arrays that are neither given nor told before, in their order; the objects live on.
    [[nodiscard]] const std::vector<const Array*>& made() const noexcept { return made_; }
    // The same of new arrays; a new reference. Throws error_already_set.
    [[nodiscard]] PyObject* build(const CallKey& key, std::vector<Array>& made) const;

    int traverse(visitproc visit, void* arg) const;

  private:
    struct Node {
        enum class Kind : std::uint8_t { given, made, again, constant, tuple, list, dict };
        Kind kind;
        int number = 0;            // of a given array, or of one told before; entries
        int base = -1;             // of a made one: the given array that it is a view of
        pybind11::object constant; // itself; the keys of a dict
    };
    [[nodiscard]] bool read(PyObject* object, const CallKey& key, int depth);
    [[nodiscard]] pybind11::object build(std::size_t& next, const CallKey& key,
                                         std::vector<Array>& made,
                                         std::vector<PyObject*>& told) const;

    std::vector<Node> nodes_;
    std::vector<const Array*> made_;
    std::vector<PyObject*> told_; // while it is read
};

} // namespace quern::python
