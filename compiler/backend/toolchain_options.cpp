// One row per option that only one of the toolchains has.
#include "compiler/backend/toolchain_options.h"

#include <cstdint>
#include <string_view>

namespace quern {
namespace {

enum class Form : std::uint8_t {
    word,     // alone
    value,    // --name=value, --name value
    attached, // a prefix: -lm, -Wno-all
};

struct Row {
    std::string_view name, alias; // with their dashes
    Form form;
    std::string_view why;
};

constexpr std::string_view of_host_code = "is for host code, of which a kernel's program has none";
constexpr std::string_view of_output = "names what nvcc writes; the kernel is loaded at once";
constexpr std::string_view of_nvcc = "is nvcc's own";
constexpr std::string_view of_nvrtc = "is NVRTC's own";

constexpr Row nvcc_only[] = {
    {"-O0", "--optimize=0", Form::word, of_host_code},
    {"-O1", "--optimize=1", Form::word, of_host_code},
    {"-O2", "--optimize=2", Form::word, of_host_code},
    {"-O3", "--optimize=3", Form::word, of_host_code},
    {"-Xcompiler", "--compiler-options", Form::value, of_host_code},
    {"-Xlinker", "--linker-options", Form::value, of_host_code},
    {"-Xarchive", "--archive-options", Form::value, of_host_code},
    {"-ccbin", "--compiler-bindir", Form::value, of_host_code},
    {"-allow-unsupported-compiler", "--allow-unsupported-compiler", Form::word, of_host_code},
    {"-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", Form::word,
     of_host_code},
    {"-m64", "--machine=64", Form::word, "is always so"},
    {"-g", "--debug", Form::word, of_host_code},
    {"-pg", "--profile", Form::word, of_host_code},
    {"-cudart", "--cudart", Form::value, of_host_code},
    {"-l", "--library", Form::attached, of_host_code},
    {"-L", "--library-path", Form::attached, of_host_code},
    {"-W", "--Werror", Form::attached, "is about warnings of nvcc and the host's compiler"},
    {"-Xcudafe", "--cudafe-options", Form::value, of_nvcc},
    {"-expt-relaxed-constexpr", "--expt-relaxed-constexpr", Form::word,
     "is always so where all code is device code"},
    {"-extended-lambda", "--extended-lambda", Form::word,
     "is always so where all code is device code"},
    {"-expt-extended-lambda", "--expt-extended-lambda", Form::word,
     "is always so where all code is device code"},
    {"-gencode", "--generate-code", Form::value,
     "names devices; the kernel is for the one at hand"},
    {"-default-stream", "--default-stream", Form::value, of_host_code},
    {"-t", "--threads", Form::value, of_nvcc},
    {"-keep", "--keep", Form::word, of_nvcc},
    {"-v", "--verbose", Form::word, of_nvcc},
    {"-res-usage", "--resource-usage", Form::word, "is told by the kernel's attributes"},
    {"-o", "--output-file", Form::value, of_output},
    {"-c", "--compile", Form::word, of_output},
    {"-cubin", "--cubin", Form::word, of_output},
    {"-ptx", "--ptx", Form::word, of_output},
    {"-fatbin", "--fatbin", Form::word, of_output},
    {"-shared", "--shared", Form::word, of_output},
};

constexpr Row nvrtc_only[] = {
    {"-minimal", "--minimal", Form::word, of_nvrtc},
    {"-default-device", "--device-as-default-execution-space", Form::word, of_nvrtc},
    {"-no-source-include", "--no-source-include", Form::word, of_nvrtc},
    {"-no-cache", "--no-cache", Form::word, of_nvrtc},
    {"-pch", "--pch", Form::word, of_nvrtc},
    {"-create-pch", "--create-pch", Form::value, of_nvrtc},
    {"-use-pch", "--use-pch", Form::value, of_nvrtc},
    {"-pch-dir", "--pch-dir", Form::value, of_nvrtc},
    {"-builtin-move-forward", "--builtin-move-forward", Form::value, of_nvrtc},
    {"-builtin-initializer-list", "--builtin-initializer-list", Form::value, of_nvrtc},
    {"-device-int128", "--device-int128", Form::word, of_nvrtc},
    {"-modify-stack-limit", "--modify-stack-limit", Form::value, of_nvrtc},
    {"-fdevice-syntax-only", "--fdevice-syntax-only", Form::word, of_nvrtc},
    {"-Ofc", "--Ofast-compile", Form::value, of_nvrtc},
};

constexpr std::string_view of_cpu = "is about quern's compiler for CPUs";

constexpr Row host_only[] = {
    {"-quern-waiting", "--quern-waiting", Form::value, of_cpu},
    {"-quern-optimise-limit", "--quern-optimise-limit", Form::value, of_cpu},
};

// How many words of the list, from `at` on, are this option: 0, 1, or 2 with its value.
std::size_t words_of(const Row& row, const std::vector<std::string>& given, std::size_t at) {
    const std::string& word = given[at];
    for (const std::string_view name : {row.name, row.alias}) {
        if (word == name)
            return row.form == Form::value && at + 1 < given.size() ? 2 : 1;
        if (row.form == Form::value && word.starts_with(name) && word.size() > name.size() &&
            word[name.size()] == '=')
            return 1;
        if (row.form == Form::attached && word.starts_with(name) && word != "-lineinfo" &&
            (name == row.name || word[name.size()] == '='))
            return 1;
    }
    return 0;
}

template <std::size_t count> bool take(const Row (&rows)[count],
                                       const std::vector<std::string>& given, std::size_t& at,
                                       SortedOptions& sorted) {
    for (const Row& row : rows)
        if (const std::size_t words = words_of(row, given, at); words != 0) {
            std::string text = given[at];
            if (words == 2)
                text += " " + given[at + 1];
            sorted.ignored.emplace_back(std::move(text), row.why);
            at += words - 1;
            return true;
        }
    return false;
}

} // namespace

SortedOptions sort_options(const std::vector<std::string>& given, Toolchain toolchain) {
    SortedOptions sorted;
    for (std::size_t k = 0; k < given.size(); ++k) {
        const bool ignored = (toolchain == Toolchain::nvcc ? take(nvrtc_only, given, k, sorted)
                                                           : take(nvcc_only, given, k, sorted)) ||
                             (toolchain != Toolchain::host && take(host_only, given, k, sorted));
        if (!ignored)
            sorted.used.push_back(given[k]);
    }
    return sorted;
}

} // namespace quern
