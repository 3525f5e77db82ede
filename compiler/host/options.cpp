// One row per NVRTC option: both its names, what follows it, and what it does here.
#include "compiler/host/options.h"
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
};

bool ignore(Options&, std::string_view) { return true; }

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

constexpr Row rows[] = {
    {"quern-waiting", "quern-waiting", Value::text, waiting}, // quern's own: fibers or regions
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
    {"prec-sqrt", "prec-sqrt", Value::flag, ignore}, // a CPU's square root is exact either way
    {"ftz", "ftz", Value::flag, ignore},             // denormals are kept
    {"gpu-architecture", "arch", Value::text, ignore},
    {"device-c", "dc", Value::none, ignore},
    {"device-w", "dw", Value::none, ignore},
    {"relocatable-device-code", "rdc", Value::flag, ignore},
    {"extensible-whole-program", "ewp", Value::none, ignore},
    {"dopt", "dopt", Value::text, ignore},
    {"Ofast-compile", "Ofc", Value::text, ignore},
    {"ptxas-options", "Xptxas", Value::text, ignore},
    {"maxrregcount", "maxrregcount", Value::text, ignore},
    {"extra-device-vectorization", "extra-device-vectorization", Value::none, ignore},
    {"modify-stack-limit", "modify-stack-limit", Value::flag, ignore},
    {"dlink-time-opt", "dlto", Value::none, ignore},
    {"gen-opt-lto", "gen-opt-lto", Value::none, ignore},
    {"optix-ir", "optix-ir", Value::none, ignore},
    {"jump-table-density", "jtd", Value::text, ignore},
    {"device-stack-protector", "device-stack-protector", Value::flag, ignore},
    {"no-source-include", "no-source-include", Value::none, ignore},
    {"builtin-move-forward", "builtin-move-forward", Value::flag, ignore},
    {"builtin-initializer-list", "builtin-initializer-list", Value::flag, ignore},
    {"restrict", "restrict", Value::none, ignore},
    {"device-int128", "device-int128", Value::none, ignore},
    {"device-float128", "device-float128", Value::none, ignore},
    {"optimization-info", "opt-info", Value::text, ignore},
    {"display-error-number", "err-no", Value::none, ignore},
    {"no-display-error-number", "no-err-no", Value::none, ignore},
    {"diag-error", "diag-error", Value::text, ignore}, // numbers of NVIDIA's own messages
    {"diag-suppress", "diag-suppress", Value::text, ignore},
    {"diag-warn", "diag-warn", Value::text, ignore},
    {"brief-diagnostics", "brief-diag", Value::flag, ignore},
    {"time", "time", Value::text, ignore},
    {"split-compile", "split-compile", Value::text, ignore},
    {"fdevice-syntax-only", "fdevice-syntax-only", Value::none, ignore},
    {"fdevice-time-trace", "fdevice-time-trace", Value::text, ignore},
    {"minimal", "minimal", Value::none, ignore},
    {"no-cache", "no-cache", Value::none, ignore},
    {"pch", "pch", Value::none, ignore}, // ours is always on
    {"create-pch", "create-pch", Value::text, ignore},
    {"use-pch", "use-pch", Value::text, ignore},
    {"pch-dir", "pch-dir", Value::text, ignore},
    {"pch-verbose", "pch-verbose", Value::flag, ignore},
    {"pch-messages", "pch-messages", Value::flag, ignore},
    {"instantiate-templates-in-pch", "instantiate-templates-in-pch", Value::flag, ignore},
    {"frandom-seed", "frandom-seed", Value::text, ignore},
    {"version-ident", "dQ", Value::flag, ignore},
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
