// Parses the logs of NVRTC ("label(2): error: ...", a line, a caret) and Clang ("label:2:5: error:
// ...").
#include "compiler/compile_error.h"

#include "compiler/base/text.h"
#include "compiler/codegen/elementwise.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

namespace quern {
namespace {

constexpr std::size_t shown_errors = 5;

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

// The text that a label of the toolchain names, when it is one of the user's.
using TextOf = std::function<std::optional<std::string_view>(std::string_view label)>;

std::optional<std::string_view> find_text(const LabelledTexts& texts, std::string_view label) {
    for (const auto& [name, text] : texts)
        if (name == label)
            return text;
    return std::nullopt;
}

std::optional<int> number_at(std::string_view text, std::size_t& at) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{})
        return std::nullopt;
    at = static_cast<std::size_t>(end - text.data());
    return value;
}

// "error: text" or "error #20: text" or "fatal error: text" after a position; the message, or
// nothing.
std::optional<std::string_view> error_text(std::string_view rest) {
    for (const std::string_view word : {"catastrophic error", "fatal error", "error"}) {
        if (!rest.starts_with(word))
            continue;
        const std::size_t colon = rest.find(": ", word.size());
        if (colon == std::string_view::npos || colon > word.size() + 12)
            return std::nullopt;
        return rest.substr(colon + 2);
    }
    return std::nullopt;
}

std::optional<Diagnostic> parse_nvrtc(std::string_view line) {
    for (std::size_t open = line.find('('); open != std::string_view::npos;
         open = line.find('(', open + 1)) {
        std::size_t at = open + 1;
        const auto number = number_at(line, at);
        if (!number || line.substr(at, 3) != "): ")
            continue;
        if (const auto message = error_text(line.substr(at + 3)))
            return Diagnostic{std::string(line.substr(0, open)), *number, 0, std::string(*message)};
    }
    return std::nullopt;
}

std::optional<Diagnostic> parse_clang(std::string_view line) {
    for (std::size_t colon = line.find(':'); colon != std::string_view::npos;
         colon = line.find(':', colon + 1)) {
        std::size_t at = colon + 1;
        const auto number = number_at(line, at);
        if (!number || at >= line.size() || line[at] != ':')
            continue;
        const auto column = number_at(line, ++at);
        if (!column || line.substr(at, 2) != ": ")
            continue;
        if (const auto message = error_text(line.substr(at + 2)))
            return Diagnostic{std::string(line.substr(0, colon)), *number, *column,
                              std::string(*message)};
    }
    return std::nullopt;
}

// NVRTC repeats the line without its indentation and puts a caret under it: where is that in the
// user's own line?
int column_under_caret(const std::vector<std::string_view>& log, std::size_t from,
                       std::string_view own_line) {
    for (std::size_t k = from; k < log.size() && k < from + 4; ++k) {
        const std::size_t caret = log[k].find('^');
        if (k == 0 || caret == std::string_view::npos ||
            log[k].find_first_not_of(" ^~\t") != std::string_view::npos)
            continue;
        std::string_view shown = log[k - 1];
        const std::size_t indent = std::min(shown.find_first_not_of(" \t"), shown.size());
        shown = shown.substr(indent);
        while (!shown.empty() && (shown.back() == ' ' || shown.back() == '\r'))
            shown.remove_suffix(1);
        const std::size_t found = own_line.find(shown);
        if (found == std::string_view::npos || caret < indent)
            return 0;
        return static_cast<int>(found + caret - indent) + 1;
    }
    return 0;
}

std::string numbered(std::string_view text, const Diagnostic& at) {
    std::string shown;
    const std::vector<std::string_view> lines = split_lines(text);
    const int first = std::max(1, at.line - 2),
              last = std::min(static_cast<int>(lines.size()), at.line + 1);
    for (int k = first; k <= last; ++k) {
        shown += fmt::format("    {:>4} | {}\n", k, lines[static_cast<std::size_t>(k - 1)]);
        if (k == at.line && at.column > 0) {
            std::string pad; // tabs stay tabs, so that the caret stands under its character
            for (int c = 1; c < at.column; ++c) {
                const std::string_view line = lines[static_cast<std::size_t>(k - 1)];
                pad += static_cast<std::size_t>(c) <= line.size() &&
                               line[static_cast<std::size_t>(c - 1)] == '\t'
                           ? '\t'
                           : ' ';
            }
            shown += join("         | ", pad, "^\n");
        }
    }
    return shown;
}

std::vector<Diagnostic> find_errors(std::string_view log, const TextOf& text_of,
                                    std::string_view otherwise) {
    std::vector<Diagnostic> errors;
    const std::vector<std::string_view> lines = split_lines(log);
    for (std::size_t k = 0; k < lines.size(); ++k) {
        std::optional<Diagnostic> found = parse_clang(lines[k]);
        if (!found)
            found = parse_nvrtc(lines[k]);
        if (!found)
            continue;
        const std::vector<std::string_view> own =
            split_lines(text_of(found->label).value_or(otherwise));
        if (found->column == 0 && found->line >= 1 &&
            static_cast<std::size_t>(found->line) <= own.size())
            found->column =
                column_under_caret(lines, k + 1, own[static_cast<std::size_t>(found->line - 1)]);
        errors.push_back(*std::move(found));
    }
    return errors;
}

// What a message of either toolchain alone does not tell: what to write instead.
std::string_view cure_of(std::string_view message) {
    constexpr std::string_view references =
        "texture and surface references left CUDA with version 12: give the kernel a parameter of "
        "type cudaTextureObject_t or cudaSurfaceObject_t, read it with tex2D<float>(object, x, y), "
        "and pass a quern.cuda.texture.TextureObject or SurfaceObject";
    constexpr std::string_view of_references[] = {
        "no template named 'texture'",         "no template named 'surface'", // Clang
        "texture is not a template",           "surface is not a template",   // NVRTC 13
        "identifier \"texture\" is undefined", "identifier \"surface\" is undefined",
    };
    return std::ranges::find(of_references, message) != std::end(of_references)
               ? references
               : std::string_view();
}

// Each error with its place and lines; `place` words a label. The whole log when it holds none.
std::string tell_errors(std::string_view log, const TextOf& text_of, std::string_view otherwise,
                        const std::function<std::string(const Diagnostic&)>& place) {
    std::string text;
    const std::vector<Diagnostic> errors = find_errors(log, text_of, otherwise);
    for (std::size_t k = 0; k < errors.size() && k < shown_errors; ++k) {
        const Diagnostic& error = errors[k];
        text += join("  ", place(error), ", line ", error.line);
        if (error.column > 0)
            text += join(", column ", error.column);
        text += join(": ", error.message, "\n",
                     numbered(text_of(error.label).value_or(otherwise), error));
        if (const std::string_view cure = cure_of(error.message);
            !cure.empty() && text.find(cure) == text.npos)
            text += join("  help: ", cure, "\n");
    }
    if (errors.size() > shown_errors)
        text += join("  and ", errors.size() - shown_errors, " more\n");
    if (errors.empty())
        text += join(log, "\n");
    return text;
}

} // namespace

LabelledTexts labelled_texts(const ElementwiseSpec& spec) {
    return {{operation_label, spec.operation},
            {preamble_label, spec.preamble},
            {loop_prep_label, spec.loop_prep},
            {after_loop_label, spec.after_loop}};
}

LabelledTexts labelled_texts(const ReductionSpec& spec) {
    return {{map_label, spec.map_expr},
            {reduce_label, spec.reduce_expr},
            {post_map_label, spec.post_map_expr},
            {identity_label, spec.identity},
            {preamble_label, spec.preamble}};
}

std::vector<Diagnostic> parse_errors(std::string_view log, const LabelledTexts& texts,
                                     std::string_view source) {
    return find_errors(
        log, [&](std::string_view label) { return find_text(texts, label); }, source);
}

std::string tell_compile_error(const KernelSpec& spec, const LabelledTexts& texts,
                               std::string_view source, std::string_view log,
                               std::string_view toolchain, std::string_view arch) {
    std::string text =
        join("kernel '", spec.name, "' does not compile (", toolchain, ", ", arch, ")\n");
    const TextOf text_of = [&](std::string_view label) { return find_text(texts, label); };
    text += tell_errors(log, text_of, source, [&](const Diagnostic& error) {
        return text_of(error.label) ? error.label : join("generated code (", error.label, ")");
    });
    text += join("  parameters: ", spec.in_params, " -> ", spec.out_params, "\n");
    if (!spec.origin.empty())
        text += join("  made at ", spec.origin, "\n");
    text += "  help: the complete log is in `.log`, the generated source in `.source`";
    return text;
}

std::string tell_raw_error(const RawSource& source, std::string_view name, std::string_view origin,
                           std::string_view log, std::string_view toolchain,
                           std::string_view arch) {
    constexpr std::string_view expression_label = "<name expression ";
    const TextOf text_of = [&](std::string_view label) -> std::optional<std::string_view> {
        if (label == source.label)
            return source.code;
        std::size_t at = expression_label.size();
        if (label.starts_with(expression_label))
            if (const auto number = number_at(label, at);
                number && static_cast<std::size_t>(*number) < source.name_expressions.size())
                return source.name_expressions[static_cast<std::size_t>(*number)];
        return std::nullopt;
    };
    std::string text = join("'", name, "' does not compile (", toolchain, ", ", arch, ")\n");
    text += tell_errors(log, text_of, {}, [](const Diagnostic& error) { return error.label; });
    if (!origin.empty())
        text += join("  compiled for the call at ", origin, "\n");
    text += "  help: the complete log is in `.log`, the source in `.source`";
    return text;
}

} // namespace quern
