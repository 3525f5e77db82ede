// Compiles programs for this CPU and for a GPU that need not be here, again and again, and prints
// how long the toolchain took. Reads one request from standard input: lines "repeats N", then for
// each program "program LENGTH NAMES" and LENGTH bytes of text and NAMES lines of name expressions.
// Prints a line of JSON per program and target. For compile.py.
#include "compiler/base/error.h"
#include "compiler/compile.h"

#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

namespace {

double cpu_ms() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void time_program(const quern::RawSource& source, const quern::Arch& arch, int repeats) {
    static int count = 0;
    std::string times;
    for (int i = 0; i <= repeats; ++i) { // the first is not counted
        auto fresh = source;
        fresh.code += "\n// " + std::to_string(++count) + "\n"; // nothing has seen it
        const double start = cpu_ms();
        try {
            (void)quern::compile_raw(fresh, arch, "program", "");
        } catch (const quern::CompileError&) {
            std::printf("{\"times\": [], \"failed\": \"does not compile\"}\n");
            return;
        } catch (const quern::Error& error) {
            std::printf("{\"times\": [], \"failed\": \"no toolchain\"}\n");
            return;
        }
        if (i > 0)
            times += (times.empty() ? "" : ", ") + std::to_string(cpu_ms() - start);
    }
    std::printf("{\"times\": [%s], \"failed\": \"\"}\n", times.c_str());
}

} // namespace

int main() {
    std::string word, line;
    int repeats = 0;
    std::cin >> word >> repeats;
    for (std::size_t length = 0, names = 0; std::cin >> word >> length >> names;) {
        std::cin.ignore();
        quern::RawSource source;
        source.code.resize(length);
        std::cin.read(source.code.data(), static_cast<std::streamsize>(length));
        std::cin.ignore();
        for (std::size_t i = 0; i < names && std::getline(std::cin, line); ++i)
            source.name_expressions.push_back(line);
        for (const auto& arch : {quern::host_arch(), quern::Arch{quern::Target::gpu, "sm_90"}}) {
            time_program(source, arch, repeats);
            std::fflush(stdout);
        }
    }
}
