// Memory pools in Python: views of the pools that the devices own.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/module.h"
#include "runtime/driver/check.h"
#include "runtime/memory/memory.h"

#include <algorithm>
#include <cmath>

namespace py = pybind11;

namespace quern::python {
namespace {

// Of one device, or of whichever is current when asked.
template <MemoryPool& (*Find)(Device&)> struct PoolView {
    Device* fixed = nullptr;
    [[nodiscard]] Device& device() const { return fixed != nullptr ? *fixed : current_device(); }
    [[nodiscard]] MemoryPool& pool() const { return Find(device()); }
};
using DevicePool = PoolView<pool_of>;
using PinnedPool = PoolView<pinned_pool_of>;

// Page-locked memory of the host as a Python buffer, which goes back to the pool with its last
// user.
struct PinnedBytes {
    BufferPtr buffer;
    std::size_t size = 0;
};

std::size_t device_total(const Device& device) {
    device.make_current();
    std::size_t free = 0, total = 0;
    check(device.api(), device.api().cuMemGetInfo(&free, &total), "ask ", device.name(),
          " for its memory");
    return total;
}

void set_limit(const DevicePool& self, const py::object& size, const py::object& fraction) {
    if (!size.is_none() && !fraction.is_none())
        throw ValueError("size and fraction cannot be specified at one time");
    if (fraction.is_none()) {
        const auto bytes = size.is_none() ? 0 : size.cast<long long>();
        if (bytes < 0)
            throw ValueError(join("the limit must not be negative: ", bytes));
        return self.pool().set_limit(static_cast<std::size_t>(bytes));
    }
    const auto part = fraction.cast<double>();
    if (!(part >= 0 && part <= 1))
        throw ValueError(join("fraction must be in [0, 1], not ", part));
    self.pool().set_limit(static_cast<std::size_t>(
        std::llround(part * static_cast<double>(device_total(self.device())))));
}

template <class View>
py::class_<View> bind_pool(py::module_& module, const char* name, const char* doc) {
    return py::class_<View>(module, name, doc)
        .def(py::init([](const py::object& device) {
                 return View{device.is_none() ? nullptr : &to_device(device)};
             }),
             py::arg("device") = py::none())
        .def(
            "used_bytes", [](const View& self) { return self.pool().used_bytes(); },
            "Bytes that live arrays hold, rounded to the pool's blocks.")
        .def(
            "free_bytes", [](const View& self) { return self.pool().free_bytes(); },
            "Bytes taken from the driver that no array holds.")
        .def(
            "total_bytes", [](const View& self) { return self.pool().total_bytes(); },
            "Bytes taken from the driver.")
        .def("n_free_blocks", [](const View& self) { return self.pool().free_block_count(); })
        .def(
            "free_all_blocks",
            [](const View& self, const py::object&) {
                MemoryPool& pool = self.pool();
                const py::gil_scoped_release release;
                pool.free_all_blocks();
            },
            py::arg("stream") = py::none(), "Give back to the driver what no array holds.");
}

} // namespace

void bind_memory(py::module_& module) {
    bind_pool<DevicePool>(module, "MemoryPool",
                          "The memory pool of a device (default: the current one, whenever asked).")
        .def("set_limit", &set_limit, py::arg("size") = py::none(), py::kw_only(),
             py::arg("fraction") = py::none(),
             "The most bytes to take from the driver, or a fraction of the device's memory; 0: no "
             "limit.")
        .def(
            "get_limit", [](const DevicePool& self) { return self.pool().limit(); },
            "Bytes; 0: no limit.");
    bind_pool<PinnedPool>(module, "PinnedMemoryPool",
                          "The pool of page-locked host memory of a device.");
    py::class_<PinnedBytes>(module, "PinnedBytes", py::buffer_protocol(),
                            "Page-locked memory of the host, as a buffer of bytes.")
        .def(py::init([](std::size_t bytes) {
            return PinnedBytes{allocate_pinned(current_device(), std::max<std::size_t>(1, bytes)),
                               bytes};
        }))
        .def_buffer([](PinnedBytes& self) {
            return py::buffer_info(reinterpret_cast<std::uint8_t*>(self.buffer->address()),
                                   static_cast<py::ssize_t>(self.size));
        });
}

} // namespace quern::python
