// Text arrives on any thread, with the GIL or without: it is kept until someone who has the GIL can
// hand it to Python.
#include "python/bindings/bind_output.h"

#include "python/bindings/module.h"
#include "runtime/host/host_driver.h"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace quern::python {
namespace {

struct Text {
    bool error;
    std::string bytes;
};
struct Kept { // outlives every static destructor: workers may print late
    std::mutex guard;
    std::vector<Text> texts;
    std::atomic<bool> any{false};
};
Kept& kept() {
    static auto* const once = new Kept;
    return *once;
}

void keep(bool error, const char* text, std::size_t bytes) {
    bool first = false;
    {
        const std::scoped_lock lock(kept().guard);
        auto& texts = kept().texts;
        first = texts.empty();
        if (!first && texts.back().error == error)
            texts.back().bytes.append(text, bytes);
        else
            texts.push_back({error, {text, bytes}});
        kept().any.store(true, std::memory_order_release);
    }
    if (first && Py_IsInitialized() != 0)
        Py_AddPendingCall(
            [](void*) {
                deliver_output();
                return 0;
            },
            nullptr); // a full queue means that Python is about to look anyway
}

void write(const Text& text) {
    PyObject* const file = PySys_GetObject(text.error ? "stderr" : "stdout"); // borrowed
    if (file == nullptr || file == Py_None)
        return; // a program without a console
    const auto held = pybind11::reinterpret_borrow<pybind11::object>(file);
    const auto string = pybind11::reinterpret_steal<pybind11::object>(PyUnicode_DecodeUTF8(
        text.bytes.data(), static_cast<Py_ssize_t>(text.bytes.size()), "replace"));
    if (!string || PyFile_WriteObject(string.ptr(), held.ptr(), Py_PRINT_RAW) != 0)
        PyErr_WriteUnraisable(held.ptr());
}

} // namespace

void deliver_output() noexcept {
    if (!kept().any.load(std::memory_order_acquire))
        return;
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback); // writing must not meet an exception on its way
    std::vector<Text> texts;
    {
        const std::scoped_lock lock(kept().guard);
        texts = std::exchange(kept().texts, {});
        kept().any.store(false, std::memory_order_relaxed);
    }
    for (const Text& text : texts)
        write(text);
    PyErr_Restore(type, value, traceback);
}

void bind_output() { set_host_text_sink(&keep); }

} // namespace quern::python
