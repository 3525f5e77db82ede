// What kernels print. Every worker gathers its own text and hands it on in whole: at the end of its
// blocks, or when there is much of it. So a call's text is never torn, and the threads of a block
// come in order.
#pragma once
#include <cstdint>
#include <string>

namespace quern::host {

// The text of this thread's kernels so far goes to the sink.
void flush_output() noexcept;

// "file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `...` failed." of the last
// assertion that failed; "" while none has.
[[nodiscard]] std::string last_assertion();

struct FailedAssertion {
    const char *condition, *file, *function;
    std::uint32_t line;
    std::uint32_t thread[3], block[3];
};
void report_assertion(const FailedAssertion& failed) noexcept;

// CUDA's printf: as many arguments as the format asks for are read, their number comes back; -1
// without a format, -2 when the text could not be kept.
extern "C" int quern_host_printf(const char* format, ...);

} // namespace quern::host
