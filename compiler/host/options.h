// NVRTC's spellings of options, understood in one table. What means nothing on a CPU is accepted
// and ignored.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::host {

struct Options {
    std::string standard = "c++17";
    std::string preamble;             // #define, #undef and #include lines, in the order given
    std::vector<std::string> folders; // -I
    bool fmad = true;
    bool fast_math = false;
    bool approximate_division = false; // --prec-div=false
    bool line_tables = false;
    bool warnings = true;
    bool default_device = false;       // what says nothing of its place lies on the device
    bool regions = false;              // cut kernels whose threads wait into regions
    unsigned optimise_limit_ms = 2000; // of the compiling thread's own time; 0: none
};

// False with `complaint` set: an option nobody knows, or one whose value is missing or not among
// those allowed.
bool parse_options(std::span<const char* const> words, Options& options, std::string& complaint);

// Why an option changes nothing on a CPU, one word of a list as given; "" if it does, or is none.
std::string_view why_ignored(std::string_view word);

} // namespace quern::host
