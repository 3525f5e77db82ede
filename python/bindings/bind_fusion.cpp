// What quern.fuse makes: a Python function whose elementwise calls and reductions are kept back and
// fused. A call like an earlier one, of a function that is known to do nothing else, launches what
// that one launched.
#include "python/bindings/bind_call.h"
#include "python/bindings/bind_error.h"
#include "python/bindings/fused_values.h"
#include "python/bindings/module.h"
#include "runtime/fusion/fusion.h"
#include "runtime/fusion/scratch.h"
#include "runtime/kernel/plan_options.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <structmember.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>

namespace py = pybind11;

namespace quern::python {
namespace {

constexpr std::size_t most_replays = 16;          // of a function
constexpr int most_changes = 8;                   // of what it reads: then it is looked at no more
constexpr std::int64_t least_fused_on_cpu = 8192; // elements: below, recording costs more

struct Recording {
    Pending* before;
    explicit Recording(Pending& work) : before(set_pending_work(&work)) {}
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { set_pending_work(before); }
};

// Keeps nothing back; only hears of arrays whose values are read.
class Onlooker final : public Recorder {
  public:
    explicit Onlooker(std::function<void()> on_read) : on_read_(std::move(on_read)) {}
    bool take(const RecordedCall&) override { return false; }
    void settle() override {}
    void host_reads() override { on_read_(); }

  private:
    std::function<void()> on_read_;
};

// container[name], or what a cell holds, and what it was when the function was looked at; nullptr:
// there was none.
struct Guard {
    py::object container, name, value;

    [[nodiscard]] bool holds() const {
        PyObject* now = PyCell_Check(container.ptr())
                            ? PyCell_GET(container.ptr())
                            : PyDict_GetItemWithError(container.ptr(), name.ptr());
        return now == value.ptr();
    }
};

struct KnownCall {
    std::string key;
    std::vector<py::object> held; // whose addresses are in the key
    Replay replay;
    ResultTree result;
};

// What a fused function knows of itself.
struct FusedFunction {
    std::string name; // of its kernels
    py::object function;
    bool strict = false;

    enum class Looked : std::uint8_t { not_yet, repeats, never } looked = Looked::not_yet;
    bool changes_containers = false; // that it was given
    std::vector<Guard> guards;
    std::vector<PyObject*> captured; // arrays that it knows, which the guards hold
    std::vector<std::shared_ptr<const KnownCall>> calls;
    std::size_t next = 0; // the call to be forgotten first
    struct Seen {         // the key of a call, by its hash
        std::size_t hash = 0;
        bool refused = false; // noted, and not to be repeated
    };
    std::array<Seen, 64> seen{};
    std::size_t next_seen = 0;
    int changes = 0; // of what the guards guard

    void forget() {
        guards.clear();
        captured.clear();
        calls.clear();
        seen = {};
        looked = ++changes < most_changes ? Looked::not_yet : Looked::never;
    }
    // nullptr: it is the first call with this key.
    Seen* find_seen(const std::string& key) {
        const std::size_t hash = std::hash<std::string>()(key) | 1;
        const auto found = std::ranges::find(seen, hash, &Seen::hash);
        if (found != seen.end())
            return &*found;
        seen[next_seen++ % seen.size()] = {hash, false};
        return nullptr;
    }
};

struct FusedObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    FusedFunction* fused;
};
FusedFunction& fused_of(PyObject* self) { return *reinterpret_cast<FusedObject*>(self)->fused; }

// Asks Python what the function reads besides its arguments: a list of guards, the arrays among
// their values, and whether it changes containers; None where it may do anything.
void look_at(PyObject* self, FusedFunction& fused) {
    const py::object told = py::handle(self).attr("_look")();
    if (told.is_none()) {
        fused.looked = FusedFunction::Looked::never;
        return;
    }
    const auto [guards, captured, changes] = told.cast<std::tuple<py::list, py::list, bool>>();
    for (const py::handle guard : guards) {
        const auto parts = guard.cast<py::tuple>();
        fused.guards.push_back(
            {parts[0], parts[1], parts.size() > 2 ? py::object(parts[2]) : py::object()});
    }
    for (const py::handle array : captured)
        fused.captured.push_back(array.ptr());
    fused.changes_containers = changes;
    fused.looked = FusedFunction::Looked::repeats;
}

// The key of the call, if it may be repeated at all.
bool make_key(PyObject* self, FusedFunction& fused, PyObject* const* args, Py_ssize_t positional,
              PyObject* keywords, CallKey& key) {
    if (!key.add(args, positional, keywords) || fused.looked == FusedFunction::Looked::never)
        return false;
    if (fused.looked == FusedFunction::Looked::not_yet)
        look_at(self, fused);
    return fused.looked == FusedFunction::Looked::repeats &&
           !(fused.changes_containers && key.has_containers()) && !key.arrays().empty() &&
           key.close(fused.captured);
}

PyObject* replay(const std::shared_ptr<const KnownCall>& call, const CallKey& key) {
    std::vector<py::object> held; // others may change containers while this waits
    for (std::size_t k = 0; key.has_containers() && k < key.arrays().size(); ++k)
        held.push_back(py::reinterpret_borrow<py::object>(key.object(k)));
    const Scratch<std::vector<Array>> made;
    call->replay.run(key.arrays(), *made, drop_gil);
    if (has_waited()) [[unlikely]]
        surface_warnings();
    return call->result.build(key, *made);
}

void remember(FusedFunction& fused, const CallKey& key, Trace& trace, PyObject* result) {
    ResultTree tree;
    std::optional<Replay> made;
    if (tree.read(result, key))
        made = trace.finish(tree.made());
    if (!made) {
        if (FusedFunction::Seen* seen = fused.find_seen(key.bytes()); seen != nullptr)
            seen->refused = true;
        return;
    }
    auto call = std::make_shared<KnownCall>();
    call->key = key.bytes();
    for (PyObject* constant : key.constants())
        call->held.push_back(py::reinterpret_borrow<py::object>(constant));
    call->replay = std::move(*made);
    call->result = std::move(tree);
    if (fused.calls.size() < most_replays)
        fused.calls.push_back(std::move(call));
    else
        fused.calls[fused.next++ % most_replays] = std::move(call);
}

template <class Call> PyObject* record(Fusion& fusion, const Call& call) {
    const Recording recording(fusion);
    py::object result = py::reinterpret_steal<py::object>(call());
    if (!result) {
        PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
        PyErr_Fetch(&type, &value, &traceback);
        fusion.settle(nullptr); // what was called before the error has happened
        PyErr_Restore(type, value, traceback);
        return nullptr;
    }
    fusion.settle(drop_gil);
    return result.release().ptr();
}

// All of the call has been launched when this returns. Within another fused function it joins in.
PyObject* fused_vectorcall(PyObject* self, PyObject* const* args, std::size_t flags,
                           PyObject* keywords) noexcept {
    return guarded(
        [&]() -> PyObject* {
            FusedFunction& fused = fused_of(self);
            const Py_ssize_t positional = PyVectorcall_NARGS(flags);
            const auto call = [&] {
                return PyObject_Vectorcall(fused.function.ptr(), args,
                                           static_cast<std::size_t>(positional), keywords);
            };
            if (pending_work() != nullptr)
                return call();
            Scratch<CallKey> lent;
            CallKey& key = *lent;
            bool repeats = make_key(self, fused, args, positional, keywords, key);
            if (repeats) {
                if (!std::ranges::all_of(fused.guards, &Guard::holds)) {
                    fused.forget();
                    repeats = false;
                } else {
                    const auto known = std::ranges::find_if(
                        fused.calls, [&](const auto& other) { return other->key == key.bytes(); });
                    if (known != fused.calls.end())
                        return replay(*known, key);
                }
            }
            const auto on_read = [&] {
                const py::gil_scoped_acquire held; // whoever reads may have let go of it
                py::handle(self).attr("_note_read")();
            };
            const FusedFunction::Seen* seen = repeats ? fused.find_seen(key.bytes()) : nullptr;
            const bool notes = seen != nullptr && !seen->refused;
            if (!notes && !fused.strict && key.most_elements() < least_fused_on_cpu &&
                !plan_options().fuses_all && !key.arrays().empty() &&
                key.arrays().front()->device().is_cpu()) {
                Onlooker onlooker(on_read);
                const Recording recording(onlooker);
                return call();
            }
            Fusion fusion(fused.name);
            fusion.on_read = on_read;
            if (!notes)
                return record(fusion, call);
            Trace trace(key.arrays());
            fusion.note_in(trace);
            PyObject* result = record(fusion, call);
            if (result != nullptr)
                remember(fused, key, trace, result);
            return result;
        },
        static_cast<PyObject*>(nullptr));
}

PyObject* fused_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded(
        [&]() -> PyObject* {
            static const char* names[] = {"name", "function", "strict", nullptr};
            const char* name = nullptr;
            PyObject* function = nullptr;
            int strict = 0;
            if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|p:FusedCall",
                                             const_cast<char**>(names), &name, &function, &strict))
                return nullptr;
            auto fused = std::make_unique<FusedFunction>();
            fused->name = name;
            fused->function = py::reinterpret_borrow<py::object>(function);
            fused->strict = strict != 0;
            PyObject* self = type->tp_alloc(type, 0);
            if (self == nullptr)
                return nullptr;
            auto* object = reinterpret_cast<FusedObject*>(self);
            object->vectorcall = fused_vectorcall;
            object->fused = fused.release();
            return self;
        },
        static_cast<PyObject*>(nullptr));
}

int fused_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const FusedFunction* fused = reinterpret_cast<FusedObject*>(self)->fused;
    if (fused == nullptr)
        return 0;
    Py_VISIT(fused->function.ptr());
    for (const Guard& guard : fused->guards) {
        Py_VISIT(guard.container.ptr());
        Py_VISIT(guard.value.ptr());
    }
    return 0;
}
int fused_clear(PyObject* self) {
    if (FusedFunction* fused = reinterpret_cast<FusedObject*>(self)->fused; fused != nullptr) {
        const FusedFunction gone = std::move(*fused); // whose objects may look at this one
        *fused = FusedFunction();
        fused->function = py::none();
        fused->looked = FusedFunction::Looked::never;
    }
    return 0;
}
void fused_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    PyTypeObject* type = Py_TYPE(self);
    delete std::exchange(reinterpret_cast<FusedObject*>(self)->fused, nullptr);
    type->tp_free(self);
    Py_DECREF(type);
}
PyObject* fused_get(PyObject* self, PyObject* instance, PyObject*) {
    return instance == nullptr || instance == Py_None ? Py_NewRef(self)
                                                      : PyMethod_New(self, instance);
}

PyMemberDef fused_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FusedObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot fused_slots[] = {
    {Py_tp_doc, const_cast<char*>("FusedCall(name, function, strict=False): what a fused function "
                                  "is called through.")},
    {Py_tp_new, reinterpret_cast<void*>(fused_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(fused_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(fused_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(fused_clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(fused_get)},
    {Py_tp_members, fused_members},
    {0, nullptr},
};
PyType_Spec fused_type_spec = {"quern._core.FusedCall", sizeof(FusedObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                                   Py_TPFLAGS_HAVE_VECTORCALL,
                               fused_slots};

py::dict told(const FusedCut& cut) {
    return py::dict(py::arg("kind") = "cut", py::arg("line") = cut.line, py::arg("why") = cut.why);
}
py::dict told(const FusedLaunch& launch) {
    py::list values, steps;
    for (const FusedLaunch::Value& value : launch.values)
        values.append(py::dict(py::arg("dtype") = std::string(row(value.dtype).name),
                               py::arg("scalar") = value.scalar, py::arg("stored") = value.stored,
                               py::arg("place") = value.place == no_value
                                                      ? py::object(py::none())
                                                      : py::object(py::int_(value.place)),
                               py::arg("address") = value.address, py::arg("bytes") = value.bytes));
    for (const GraphStep& step : launch.graph.steps) {
        std::vector<int> reads;
        each_read(step, [&](int value) { reads.push_back(value); });
        steps.append(py::dict(py::arg("name") = step.kernel().name, py::arg("line") = step.line,
                              py::arg("per_row") = step.per_row, py::arg("reads") = reads,
                              py::arg("makes") = step.outputs));
    }
    return py::dict(py::arg("kind") = "kernel", py::arg("graph") = text_of(launch.graph),
                    py::arg("values") = values, py::arg("steps") = steps,
                    py::arg("source") = launch.source, py::arg("read") = launch.read,
                    py::arg("written") = launch.written, py::arg("continues") = launch.continues);
}

// function(*args, **kwargs) fused, and what happened noted in the list.
py::object explain_fused(const std::string& name, const py::object& function, const py::tuple& args,
                         const py::dict& kwargs, const py::object& line, py::list events) {
    Fusion fusion(name);
    fusion.line = [&] {
        const py::gil_scoped_acquire held;
        return line().cast<int>();
    };
    fusion.watch();
    py::object result = py::reinterpret_steal<py::object>(
        record(fusion, [&] { return PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr()); }));
    if (!result)
        throw py::error_already_set();
    for (const FusedEvent& event : fusion.events())
        std::visit([&](const auto& one) { events.append(told(one)); }, event);
    return result;
}

} // namespace

void bind_fusion(py::module_& module) {
    PyObject* type = PyType_FromSpec(&fused_type_spec);
    if (type == nullptr)
        throw py::error_already_set();
    module.attr("FusedCall") = py::reinterpret_steal<py::object>(type);
    module.def("_explain_fused", &explain_fused, py::arg("name"), py::arg("function"),
               py::arg("args"), py::arg("kwargs"), py::arg("line"), py::arg("events"));
    module.def(
        "_fuse_all", [](bool wanted) { return std::exchange(plan_options().fuses_all, wanted); },
        py::arg("wanted"));
}

} // namespace quern::python
