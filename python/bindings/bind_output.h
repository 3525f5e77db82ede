// What kernels on the CPU print goes to sys.stdout, failed assertions to sys.stderr.
#pragma once
#include <pybind11/pybind11.h>

namespace quern::python {

// Writes what has come so far. Needs the GIL; never raises. The interpreter's main thread does this
// by itself between two instructions; other threads do it when they have waited.
void deliver_output() noexcept;

// Releases the GIL while it lives, and delivers when it has it again.
struct WaitForDevice {
    struct Deliver {
        ~Deliver() { deliver_output(); }
    } deliver;
    pybind11::gil_scoped_release released;
};

} // namespace quern::python
