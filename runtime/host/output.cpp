// Formatting and handing on. A conversion at a time, so that a format which asks for what was not
// given a meaning by CUDA (%n) cannot do harm.
#include "runtime/host/output.h"

#include "runtime/host/host_driver.h"

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

namespace quern {
namespace {

void write_to_streams(bool error, const char* text, std::size_t bytes) {
    std::FILE* const file = error ? stderr : stdout;
    std::fwrite(text, 1, bytes, file);
    std::fflush(file);
}
std::atomic<HostTextSink> text_sink{&write_to_streams};

} // namespace

void set_host_text_sink(HostTextSink sink) noexcept {
    text_sink.store(sink != nullptr ? sink : &write_to_streams);
}

namespace host {
namespace {

constexpr std::size_t much_text_bytes = 1 << 16;

std::mutex output_guard; // one text at a time goes to the sink, and guards the assertion
std::string failed_assertion;
thread_local std::string worker_text;

struct Conversion {
    std::string_view flags, width, precision; // as written; "*" where an argument says it
    bool has_precision = false;
    char length = 0; // h, H for hh, l, q for ll, j, z, t, L
    char letter = 0;
    const char* end = nullptr;
};

std::string_view take_while(const char*& at, const char* allowed) {
    const char* const start = at;
    at += std::strspn(at, allowed);
    return {start, static_cast<std::size_t>(at - start)};
}
std::string_view take_number(const char*& at) {
    return *at == '*' ? std::string_view(at++, 1) : take_while(at, "0123456789");
}

Conversion read_conversion(const char* at) { // behind the %
    Conversion found;
    found.flags = take_while(at, "-+ #0");
    found.width = take_number(at);
    if (*at == '.') {
        ++at;
        found.has_precision = true;
        found.precision = take_number(at);
    }
    const auto length = take_while(at, "hlqjztL");
    if (!length.empty())
        found.length = length == "hh" ? 'H' : length == "ll" ? 'q' : length[0];
    found.letter = *at;
    found.end = *at != 0 ? at + 1 : at;
    return found;
}

template <class Value> void append(std::string& text, const char* spec, Value value) {
    char piece[256];
    const int bytes = std::snprintf(piece, sizeof piece, spec, value);
    if (bytes < 0)
        return;
    if (static_cast<std::size_t>(bytes) < sizeof piece) {
        text.append(piece, static_cast<std::size_t>(bytes));
        return;
    }
    const std::size_t old = text.size();
    text.resize(old + static_cast<std::size_t>(bytes) + 1);
    std::snprintf(text.data() + old, static_cast<std::size_t>(bytes) + 1, spec, value);
    text.pop_back();
}

struct Arguments {
    std::va_list list;
    int taken = 0;
    template <class T> T take() {
        ++taken;
        return va_arg(list, T);
    }
    long long whole(const Conversion& what) {
        switch (what.length) {
        case 'H':
            return static_cast<signed char>(take<int>());
        case 'h':
            return static_cast<short>(take<int>());
        case 0:
            return take<int>();
        default:
            return take<long long>();
        }
    }
    unsigned long long natural(const Conversion& what) {
        switch (what.length) {
        case 'H':
            return static_cast<unsigned char>(take<int>());
        case 'h':
            return static_cast<unsigned short>(take<int>());
        case 0:
            return take<unsigned>();
        default:
            return take<unsigned long long>();
        }
    }
};

// Stars become the numbers they stand for; lengths become that of the value handed on.
std::string spec_of(const Conversion& what, Arguments& arguments, const char* length) {
    std::string spec = "%";
    spec += what.flags;
    if (what.width == "*")
        spec += std::to_string(arguments.take<int>());
    else
        spec += what.width;
    if (what.has_precision) {
        const bool asked = what.precision == "*";
        const int given = asked ? arguments.take<int>() : 0;
        if (!asked || given >= 0)
            spec.append(".").append(asked ? std::to_string(given) : std::string(what.precision));
    }
    return spec.append(length) + what.letter;
}

void append_conversion(std::string& text, const Conversion& what, Arguments& arguments) {
    switch (what.letter) {
    case 'd':
    case 'i': {
        const auto spec = spec_of(what, arguments, "ll");
        return append(text, spec.c_str(), arguments.whole(what));
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
        const auto spec = spec_of(what, arguments, "ll");
        return append(text, spec.c_str(), arguments.natural(what));
    }
    case 'c': {
        const auto spec = spec_of(what, arguments, "");
        return append(text, spec.c_str(), arguments.take<int>());
    }
    case 's': {
        const auto spec = spec_of(what, arguments, "");
        const char* const given = arguments.take<const char*>();
        return append(text, spec.c_str(), given != nullptr ? given : "(null)");
    }
    case 'p': {
        const auto spec = spec_of(what, arguments, "");
        return append(text, spec.c_str(), arguments.take<const void*>());
    }
    case 'n':
        spec_of(what, arguments, "");
        arguments.take<void*>();
        return;
    default: { // a, e, f, g and their capitals
        const auto spec = spec_of(what, arguments, what.length == 'L' ? "L" : "");
        if (what.length == 'L')
            return append(text, spec.c_str(), arguments.take<long double>());
        return append(text, spec.c_str(), arguments.take<double>());
    }
    }
}

int append_formatted(std::string& text, const char* format, Arguments& arguments) {
    for (const char* at = format; *at != 0;) {
        const char* const percent = std::strchr(at, '%');
        if (percent == nullptr) {
            text += at;
            break;
        }
        text.append(at, percent);
        const auto what = read_conversion(percent + 1);
        if (what.letter == '%')
            text += '%';
        else if (what.letter != 0 && std::strchr("diuoxXcspnaAeEfFgG", what.letter) != nullptr)
            append_conversion(text, what, arguments);
        else
            text.append(percent, what.end); // no conversion of CUDA's: as it is written
        at = what.end;
    }
    return arguments.taken;
}

void hand_on(bool error, const std::string& text) {
    text_sink.load()(error, text.data(), text.size());
}

} // namespace

void flush_output() noexcept {
    if (worker_text.empty())
        return;
    try {
        const std::scoped_lock lock(output_guard);
        hand_on(false, worker_text);
    } catch (...) { // a sink that cannot take it: there is nobody to tell
    }
    worker_text.clear();
    if (worker_text.capacity() > 4 * much_text_bytes)
        worker_text.shrink_to_fit();
}

void report_assertion(const FailedAssertion& failed) noexcept {
    flush_output();
    try {
        const auto place = [](const std::uint32_t at[3]) {
            return "[" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," +
                   std::to_string(at[2]) + "]";
        };
        std::string text = std::string(failed.file) + ":" + std::to_string(failed.line) + ": " +
                           (failed.function != nullptr ? failed.function : "kernel") +
                           ": block: " + place(failed.block) + ", thread: " + place(failed.thread) +
                           " Assertion `" + failed.condition + "` failed.";
        const std::scoped_lock lock(output_guard);
        failed_assertion = text;
        hand_on(true, text + "\n");
    } catch (...) { // the status of the launch still tells of it
    }
}

std::string last_assertion() {
    const std::scoped_lock lock(output_guard);
    return failed_assertion;
}

extern "C" int quern_host_printf(const char* format, ...) {
    if (format == nullptr)
        return -1;
    const std::size_t before = worker_text.size();
    Arguments arguments;
    va_start(arguments.list, format);
    int result = -2;
    try {
        result = append_formatted(worker_text, format, arguments);
    } catch (...) { // no memory for it: nothing of it is printed
        worker_text.resize(before);
    }
    va_end(arguments.list);
    if (worker_text.size() >= much_text_bytes)
        flush_output();
    return result;
}

} // namespace host
} // namespace quern
