// Streams and events in Python. `with` blocks keep a stack for each thread and device; leaving one
// makes current what the enclosing block entered, else the null stream: a `use()` is forgotten, as
// in CuPy.
#include "python/bindings/bind_stream.h"
#include "python/bindings/bind_output.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/module.h"
#include "runtime/driver/check.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

using StreamPtr = std::shared_ptr<Stream>;

struct ExternalStream : Stream {
    ExternalStream(Device& device, std::uintptr_t pointer)
        // NOLINTNEXTLINE: a driver handle travels as an integer
        : Stream(Stream::external(device, reinterpret_cast<CUstream>(pointer))) {}
};

// What keeps a thread's current streams alive, and what its `with` blocks entered.
struct ThreadStreams {
    struct OfDevice {
        StreamPtr current; // empty: the null stream
        std::vector<StreamPtr> entered;
    };
    std::unordered_map<int, OfDevice> devices;
    std::vector<Device*>
        order; // of the `with` blocks, so that each leaves the device it entered on

    static ThreadStreams& get() {
        static thread_local ThreadStreams streams;
        return streams;
    }
};

std::uintptr_t pointer_of(const Stream& stream) {
    return reinterpret_cast<std::uintptr_t>(stream.handle());
}

// The null, the legacy and the per-thread stream are the same handle on every device.
bool is_default(std::uintptr_t pointer) { return pointer <= 2; }

Device& device_of(const Stream& stream) {
    return is_default(pointer_of(stream)) ? current_device() : stream.device();
}

Device& matching_device(const Stream& stream) {
    Device& device = device_of(stream);
    if (&device != &current_device())
        throw Error(ErrorKind::runtime,
                    join("a stream of ", device.name(), " cannot be used while ",
                         current_device().name(), " is current: enter `with quern.cuda.Device('",
                         device.name(), "')` first"));
    return device;
}

void make_current(Device& device, const StreamPtr& stream) {
    set_current_stream(device, stream ? stream->handle() : nullptr);
    ThreadStreams::get().devices[device.index()].current = stream;
}

void enter(const StreamPtr& stream) {
    Device& device = matching_device(*stream);
    ThreadStreams& streams = ThreadStreams::get();
    streams.devices[device.index()].entered.push_back(stream);
    streams.order.push_back(&device);
    make_current(device, stream);
}

void leave() {
    ThreadStreams& streams = ThreadStreams::get();
    if (streams.order.empty())
        return;
    Device& device = *streams.order.back();
    streams.order.pop_back();
    std::vector<StreamPtr>& entered = streams.devices[device.index()].entered;
    entered.pop_back();
    make_current(device, entered.empty() ? nullptr : StreamPtr(entered.back()));
}

StreamPtr current(const py::object& id) {
    Device& device = to_device(id);
    const StreamPtr& kept = ThreadStreams::get().devices[device.index()].current;
    const CUstream handle = current_stream(device);
    if (kept && kept->handle() == handle)
        return kept;
    return std::make_shared<Stream>(
        Stream::external(device, handle)); // the null stream, or set from C++
}

StreamPtr special(std::uintptr_t pointer) {
    Device& device = current_device();
    if (pointer == 0)
        return std::make_shared<Stream>(Stream::null(device));
    return std::make_shared<Stream>(Stream::external(device, reinterpret_cast<CUstream>(pointer)));
}

constexpr std::uintptr_t per_thread_pointer = 2; // CU_STREAM_PER_THREAD

StreamPtr make_stream(bool null, bool non_blocking, bool ptds, const py::object& priority) {
    if (null && ptds)
        throw ValueError(
            "Stream(null=True, ptds=True): a stream is the null stream or the per-thread one");
    if (null)
        return special(0);
    if (ptds)
        return special(per_thread_pointer);
    return std::make_shared<Stream>(current_device(), non_blocking,
                                    priority.is_none() ? 0 : priority.cast<int>());
}

int priority_of(const Stream& stream) {
    const Device& device = device_of(stream);
    int priority = 0;
    if (device.api().cuStreamGetPriority == nullptr)
        return priority;
    device.make_current();
    check(device.api(), device.api().cuStreamGetPriority(stream.handle(), &priority),
          "ask a stream for its priority");
    return priority;
}

bool is_non_blocking(const Stream& stream) {
    const Device& device = device_of(stream);
    unsigned flags = 0;
    if (device.api().cuStreamGetFlags == nullptr)
        return false;
    device.make_current();
    check(device.api(), device.api().cuStreamGetFlags(stream.handle(), &flags),
          "ask a stream for its flags");
    return (flags & CU_STREAM_NON_BLOCKING) != 0;
}

// A default stream is looked at on the device that is current now.
void synchronize(const Stream& stream) {
    Stream::external(device_of(stream), stream.handle()).synchronize();
}
bool done(const Stream& stream) {
    return Stream::external(device_of(stream), stream.handle()).done();
}

void bind_streams(py::module_& module) {
    py::class_<Stream, StreamPtr> stream(module, "Stream", R"(
A queue of work on the current device. Work on one stream runs in order.

`null=True` is the null stream, `ptds=True` the per-thread default; `non_blocking` does not wait for the null stream;
a lower `priority` goes first. `with stream:` makes it current for a block, `use()` from now on.
Source: CuPy, `cupy.cuda.Stream`.)");
    stream.def(py::init(&make_stream), py::arg("null") = false, py::arg("non_blocking") = false,
               py::arg("ptds") = false, py::arg("priority") = py::none());
    stream.def_property_readonly_static("null", [](const py::object&) { return special(0); });
    stream.def_property_readonly_static(
        "ptds", [](const py::object&) { return special(per_thread_pointer); });
    stream.def_property_readonly("ptr", &pointer_of, "The driver's handle; 0 is the null stream.");
    stream.def_property_readonly("device", &device_of, py::return_value_policy::reference);
    stream.def_property_readonly("device_id", [](const Stream& self) {
        return is_default(pointer_of(self)) ? -1 : id_of(self.device());
    });
    stream.def_property_readonly("done", &done, "True if all work submitted so far has finished.");
    stream.def("query", &done, "The same as `done`.");
    stream.def_property_readonly("priority", &priority_of);
    stream.def_property_readonly("is_non_blocking", &is_non_blocking);
    stream.def("synchronize", &synchronize, py::call_guard<WaitForDevice>(),
               "Wait for all work submitted so far.");
    stream.def(
        "use",
        [](const StreamPtr& self) {
            make_current(matching_device(*self), self);
            return self;
        },
        "Make it the current stream of this thread and device; returns itself.");
    stream.def("__enter__", [](const StreamPtr& self) {
        enter(self);
        return self;
    });
    stream.def("__exit__", [](const Stream&, const py::args&) { leave(); });
    stream.def(
        "record",
        [](const Stream& self, const std::shared_ptr<Event>& given) {
            auto event = given ? given : std::make_shared<Event>(device_of(self));
            event->record(self.handle());
            return event;
        },
        py::arg("event") = nullptr, "Record an event, a new one if none is given; returns it.");
    stream.def(
        "wait_event",
        [](const Stream& self, const Event& event) {
            Stream::external(device_of(self), self.handle()).wait(event.handle());
        },
        py::arg("event"), "Later work on this stream starts after `event`.");
    stream.def("__cuda_stream__",
               [](const Stream& self) { return py::make_tuple(0, pointer_of(self)); });
    stream.def("__eq__", [](const Stream& self, const py::object& other) {
        return py::isinstance<Stream>(other) && other.cast<Stream&>().handle() == self.handle();
    });
    stream.def("__hash__", &pointer_of);
    stream.def("__repr__", [](const py::object& self) {
        const Stream& stream = self.cast<Stream&>();
        return join("<", Py_TYPE(self.ptr())->tp_name, " ", pointer_of(stream), " on ",
                    device_of(stream).name(), ">");
    });

    py::class_<ExternalStream, Stream, std::shared_ptr<ExternalStream>>(
        module, "ExternalStream",
        "A stream that another library made and will destroy, by its handle.")
        .def(py::init([](std::uintptr_t ptr, const py::object& device_id) {
                 return std::make_shared<ExternalStream>(to_device(device_id), ptr);
             }),
             py::arg("ptr"), py::arg("device_id") = py::none());
    module.def("get_current_stream", &current, py::arg("device_id") = py::none(),
               "The current stream of this thread and of a device (default: the current one).");
}

void bind_events(py::module_& module) {
    py::class_<Event, std::shared_ptr<Event>>(module, "Event", R"(
A mark in a stream on the current device. `block`: waiting sleeps instead of spinning; `disable_timing`: cheaper, and
no elapsed time. Source: CuPy, `cupy.cuda.Event`.)")
        .def(py::init([](bool block, bool disable_timing, bool interprocess) {
                 if (interprocess)
                     throw Error(ErrorKind::not_implemented,
                                 "Event(interprocess=True) is not supported");
                 return std::make_shared<Event>(current_device(), !disable_timing, block);
             }),
             py::arg("block") = false, py::arg("disable_timing") = false,
             py::arg("interprocess") = false)
        .def(
            "record",
            [](Event& self, const py::object& stream) {
                self.record(to_stream(stream, self.device()));
            },
            py::arg("stream") = py::none(),
            "Mark this point of `stream` (default: the current one).")
        .def("synchronize", &Event::synchronize, py::call_guard<WaitForDevice>(),
             "Wait until the mark is reached.")
        .def_property_readonly("done", &Event::done)
        .def("query", &Event::done)
        .def_property_readonly("device", &Event::device, py::return_value_policy::reference)
        .def_property_readonly("ptr", [](const Event& self) {
            return reinterpret_cast<std::uintptr_t>(self.handle());
        });
    module.def(
        "get_elapsed_time", &elapsed_ms, py::arg("start_event"), py::arg("end_event"),
        "Milliseconds from one event to the other. Raises: DriverError if either did not finish.");
}

} // namespace

CUstream to_stream(py::handle object, const Device& device) {
    if (object.is_none())
        return current_stream(device);
    if (py::isinstance<Stream>(object)) {
        const Stream& stream = object.cast<Stream&>();
        if (!is_default(pointer_of(stream)) && &stream.device() != &device)
            throw ValueError(join("the stream belongs to ", stream.device().name(),
                                  ", the work to ", device.name()));
        return stream.handle();
    }
    py::object pointer;
    if (PyLong_Check(object.ptr()))
        pointer = py::reinterpret_borrow<py::object>(object);
    else if (py::hasattr(object, "__cuda_stream__"))
        pointer = object.attr("__cuda_stream__")()[py::int_(1)];
    else if (py::hasattr(object, "ptr"))
        pointer = object.attr("ptr");
    else
        throw TypeError(
            join("a stream is a quern.cuda.Stream or an object with __cuda_stream__, not ",
                 Py_TYPE(object.ptr())->tp_name));
    return reinterpret_cast<CUstream>(pointer.cast<std::uintptr_t>());
}

void bind_stream(py::module_& module) {
    bind_events(module);
    bind_streams(module);
}

} // namespace quern::python
