// One row per NVRTC option: both its names, what follows it, and what it does here.
#include "compiler/host/options.h"
#include <charconv>
#include <string_view>

namespace quern::host {
namespace {

enum class Value : unsigned char {
    none,     // --minimal
    flag,     // --fmad=true
    text,     // --std=c++20, --std c++20
    attached, // -DX, -D X, --define-macro=X
};

using Act = bool (*)(Options&, std::string_view value); // false: the value is not allowed

struct Row {
    std::string_view name, alias; // without dashes in front
    Value value;
    Act act;
    std::string_view why = {}; // of an option that is ignored
};

bool ignore(Options&, std::string_view) { return true; }

constexpr std::string_view of_machine = "is about NVIDIA's machine code";
constexpr std::string_view of_linking = "is about linking; a program here is complete by itself";
constexpr std::string_view of_messages = "is about the form and the numbers of NVIDIA's messages";
constexpr std::string_view of_nvrtc = "is about NVRTC's own work";
constexpr std::string_view of_always = "is always so here";
constexpr std::string_view of_exact = "chooses nothing: a CPU's square root is exact either way";
constexpr std::string_view of_denormals = "chooses nothing: a CPU keeps denormals";

bool is_true(std::string_view value) { return value == "true" || value == "1"; }

bool define(Options& options, std::string_view value) {
    const auto equals = value.find('=');
    const auto name = value.substr(0, equals);
    const auto body = equals == value.npos ? std::string_view("1") : value.substr(equals + 1);
    options.preamble.append("#define ").append(name).append(" ").append(body).append("\n");
    return !name.empty() && value.find('\n') == value.npos;
}

bool undefine(Options& options, std::string_view value) {
    options.preamble.append("#undef ").append(value).append("\n");
    return !value.empty() && value.find('\n') == value.npos;
}

bool include(Options& options, std::string_view value) {
    options.preamble.append("#include \"").append(value).append("\"\n");
    return !value.empty() && value.find('\n') == value.npos;
}

bool folder(Options& options, std::string_view value) {
    options.folders.emplace_back(value);
    return !value.empty();
}

bool standard(Options& options, std::string_view value) {
    for (std::string_view known : {"c++03", "c++11", "c++14", "c++17", "c++20", "c++23"})
        if (value == known) {
            options.standard =
                known == "c++03" ? "c++11" : known; // the built-in headers need C++11
            return true;
        }
    return false;
}

bool fast(Options& options, std::string_view) { return options.fast_math = options.fmad = true; }
bool lines(Options& options, std::string_view) { return options.line_tables = true; }
bool quiet(Options& options, std::string_view) {
    options.warnings = false;
    return true;
}
bool everything_on_device(Options& options, std::string_view) {
    return options.default_device = true; // functions: always so here
}
bool contract(Options& options, std::string_view value) {
    options.fmad = is_true(value);
    return true;
}
bool precise_division(Options& options, std::string_view value) {
    options.approximate_division = !is_true(value);
    return true;
}

bool waiting(Options& options, std::string_view value) {
    options.regions = value == "regions";
    return options.regions || value == "fibers";
}

bool optimise_limit(Options& options, std::string_view value) {
    const char* last = value.data() + value.size();
    const auto [end, failure] = std::from_chars(value.data(), last, options.optimise_limit_ms);
    return failure == std::errc{} && end == last && options.optimise_limit_ms <= 3'600'000;
}

constexpr Row rows[] = {
    {"quern-waiting", "quern-waiting", Value::text, waiting}, // quern's own: fibers or regions
    {"quern-optimise-limit", "quern-optimise-limit", Value::text,
     optimise_limit}, // quern's own: milliseconds
    {"define-macro", "D", Value::attached, define},
    {"undefine-macro", "U", Value::attached, undefine},
    {"include-path", "I", Value::attached, folder},
    {"pre-include", "include", Value::text, include},
    {"std", "std", Value::text, standard},
    {"fmad", "fmad", Value::flag, contract},
    {"prec-div", "prec-div", Value::flag, precise_division},
    {"use_fast_math", "use_fast_math", Value::none, fast},
    {"generate-line-info", "lineinfo", Value::none, lines},
    {"device-debug", "G", Value::none, lines},
    {"disable-warnings", "w", Value::none, quiet},
    {"device-as-default-execution-space", "default-device", Value::none, everything_on_device},
    // Below: nothing on a CPU.
    {"prec-sqrt", "prec-sqrt", Value::flag, ignore,
     of_exact},                                        // a CPU's square root is exact either way
    {"ftz", "ftz", Value::flag, ignore, of_denormals}, // denormals are kept
    {"gpu-architecture", "arch", Value::text, ignore, of_machine},
    {"device-c", "dc", Value::none, ignore, of_linking},
    {"device-w", "dw", Value::none, ignore, of_linking},
    {"relocatable-device-code", "rdc", Value::flag, ignore, of_linking},
    {"extensible-whole-program", "ewp", Value::none, ignore, of_linking},
    {"dopt", "dopt", Value::text, ignore, of_machine},
    {"Ofast-compile", "Ofc", Value::text, ignore, of_machine},
    {"ptxas-options", "Xptxas", Value::text, ignore, of_machine},
    {"maxrregcount", "maxrregcount", Value::text, ignore, of_machine},
    {"extra-device-vectorization", "extra-device-vectorization", Value::none, ignore, of_machine},
    {"modify-stack-limit", "modify-stack-limit", Value::flag, ignore, of_nvrtc},
    {"dlink-time-opt", "dlto", Value::none, ignore, of_linking},
    {"gen-opt-lto", "gen-opt-lto", Value::none, ignore, of_linking},
    {"optix-ir", "optix-ir", Value::none, ignore, of_machine},
    {"jump-table-density", "jtd", Value::text, ignore, of_machine},
    {"device-stack-protector", "device-stack-protector", Value::flag, ignore, of_machine},
    {"no-source-include", "no-source-include", Value::none, ignore, of_nvrtc},
    {"builtin-move-forward", "builtin-move-forward", Value::flag, ignore, of_nvrtc},
    {"builtin-initializer-list", "builtin-initializer-list", Value::flag, ignore, of_nvrtc},
    {"restrict", "restrict", Value::none, ignore, of_machine},
    {"device-int128", "device-int128", Value::none, ignore, of_always},
    {"device-float128", "device-float128", Value::none, ignore, of_nvrtc},
    {"optimization-info", "opt-info", Value::text, ignore, of_messages},
    {"display-error-number", "err-no", Value::none, ignore, of_messages},
    {"no-display-error-number", "no-err-no", Value::none, ignore, of_messages},
    {"diag-error", "diag-error", Value::text, ignore,
     of_messages}, // numbers of NVIDIA's own messages
    {"diag-suppress", "diag-suppress", Value::text, ignore, of_messages},
    {"diag-warn", "diag-warn", Value::text, ignore, of_messages},
    {"brief-diagnostics", "brief-diag", Value::flag, ignore, of_messages},
    {"time", "time", Value::text, ignore, of_nvrtc},
    {"split-compile", "split-compile", Value::text, ignore, of_nvrtc},
    {"fdevice-syntax-only", "fdevice-syntax-only", Value::none, ignore, of_nvrtc},
    {"fdevice-time-trace", "fdevice-time-trace", Value::text, ignore, of_nvrtc},
    {"minimal", "minimal", Value::none, ignore, of_nvrtc},
    {"no-cache", "no-cache", Value::none, ignore, of_nvrtc},
    {"pch", "pch", Value::none, ignore, of_always}, // ours is always on
    {"create-pch", "create-pch", Value::text, ignore, of_nvrtc},
    {"use-pch", "use-pch", Value::text, ignore, of_nvrtc},
    {"pch-dir", "pch-dir", Value::text, ignore, of_nvrtc},
    {"pch-verbose", "pch-verbose", Value::flag, ignore, of_nvrtc},
    {"pch-messages", "pch-messages", Value::flag, ignore, of_nvrtc},
    {"instantiate-templates-in-pch", "instantiate-templates-in-pch", Value::flag, ignore, of_nvrtc},
    {"frandom-seed", "frandom-seed", Value::text, ignore, of_nvrtc},
    {"version-ident", "dQ", Value::flag, ignore, of_nvrtc},
};

struct Found {
    const Row* row = nullptr;
    std::string_view value;
    bool has_value = false;
};

Found find_row(std::string_view word) {
    const auto bare = word.substr(word.starts_with("--") ? 2 : 1);
    const auto end = bare.find_first_of("= ");
    const auto name = bare.substr(0, end);
    for (const Row& row : rows)
        if (name == row.name || name == row.alias) {
            if (end == bare.npos)
                return {&row, {}, false};
            auto value = bare.substr(end + 1);
            value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
            return {&row, value, true};
        }
    for (const Row& row : rows) // -DX=1: the name runs into its value
        if (row.value == Value::attached && !word.starts_with("--") && bare.starts_with(row.alias))
            return {&row, bare.substr(row.alias.size()), true};
    return {};
}

} // namespace

std::string_view why_ignored(std::string_view word) {
    if (word.size() < 2 || word[0] != '-')
        return {};
    const Found found = find_row(word);
    return found.row ? found.row->why : std::string_view();
}

bool parse_options(std::span<const char* const> words, Options& options, std::string& complaint) {
    const auto fail = [&](std::string_view word, std::string_view why) {
        complaint.append("option '").append(word).append("': ").append(why).append("\n");
        return false;
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string_view word = words[i] ? words[i] : "";
        while (word.ends_with(' '))
            word.remove_suffix(1);
        if (word.empty())
            continue;
        if (word[0] != '-' || word.size() < 2)
            return fail(word, "options begin with '-'");
        Found found = find_row(word);
        if (!found.row)
            return fail(word, "neither NVRTC nor quern knows it");
        const Value kind = found.row->value;
        if (kind == Value::none && found.has_value)
            return fail(word, "takes no value");
        if (kind != Value::none && !found.has_value) {
            if (i + 1 == words.size()) {
                if (kind == Value::flag) {
                    found.value = "true";
                } else
                    return fail(word, "its value is missing");
            } else if (kind == Value::flag && words[i + 1][0] == '-') {
                found.value = "true";
            } else
                found.value = words[++i];
        }
        if (kind == Value::flag && found.value != "true" && found.value != "false" &&
            found.value != "1" && found.value != "0")
            return fail(word, "its value is true or false");
        if (!found.row->act(options, found.value))
            return fail(word, "this value is not allowed");
    }
    return true;
}

} // namespace quern::host
