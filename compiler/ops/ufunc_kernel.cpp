// Writes the text of a ufunc's kernel: elements cast to the loop's types, the expression, results
// cast to the outputs'.
#include "compiler/ops/ufunc_kernel.h"

#include "compiler/base/text.h"
#include "compiler/spec/body_facts.h"

namespace quern {
namespace {

// Letters of dtypes in the table: NumPy's codes, X for bfloat16.
constexpr bool loops_are_known() {
    for (const UfuncRow& row : ufunc_table)
        if (row.loops.find_first_not_of("?bhilBHILeXfdFD->! ") != std::string_view::npos)
            return false;
    return true;
}
static_assert(loops_are_known(), "a loop names a type that there is not");

DType dtype_of(char letter) {
    for (const DTypeRow& known : dtype_table)
        if (known.code == letter)
            return known.id;
    return DType::bfloat16;
}

bool is_narrow(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

constexpr std::array<std::string_view, 3> operand_names{"a", "b", "c"};
constexpr std::array<std::string_view, 2> result_names{"r", "s"};

// A result as it is stored: rounded to the loop's type first.
std::string stored(DType computed, DType target, std::string_view value) {
    if (computed == target)
        return std::string(value);
    return join("quern::convert<", row(target).spelling, ">(static_cast<", row(computed).spelling,
                ">(", value, "))");
}

// Do steps on elements as they are do for a loop?
bool is_of_small(const UfuncRow& row, DType loop) {
    return is_narrow(loop) && !row.of_small.empty();
}

// By way of the loop's own type, where that is narrower than what is computed in.
std::string operand(std::string_view type, DType from, DType loop, std::string_view name,
                    std::string_view element) {
    return join("const ", type, " ", name, " = ",
                from == loop
                    ? std::string(element)
                    : join("quern::convert<", quern::row(loop).spelling, ">(", element, ")"),
                "; ");
}

// A row's text in a loop's types: two-byte floats have functions of their own (narrow.cuh).
std::string in_types_of(const UfuncRow& row, DType loop, std::string_view given) {
    std::string text(given);
    if (!is_narrow(loop) || row.narrow)
        return text;
    constexpr std::string_view general = "quern::ufunc::", narrow = "quern::narrow::";
    for (std::size_t at = 0; (at = text.find(general, at)) != text.npos; at += narrow.size())
        text.replace(at, general.size(), narrow);
    return text;
}

} // namespace

std::vector<UfuncLoop> loops_of(const UfuncRow& row) {
    std::vector<UfuncLoop> loops(1);
    std::size_t place = 0;
    for (const char letter : row.loops) {
        if (letter == ' ') {
            loops.emplace_back();
            place = 0;
        } else if (letter == '!') {
            loops.back().refused = true;
        } else if (letter != '-' && letter != '>') {
            loops.back().types[place++] = dtype_of(letter);
        }
    }
    return loops;
}

std::vector<std::string> loop_texts(const UfuncRow& row) {
    std::vector<std::string> texts(1);
    for (const char letter : row.loops)
        if (letter == ' ')
            texts.emplace_back();
        else
            texts.back() += letter;
    std::erase_if(texts, [](const std::string& text) { return text.back() == '!'; });
    return texts;
}

std::string_view ufunc_compute_type(const UfuncRow& row, DType loop) {
    return is_narrow(loop) && !row.narrow ? quern::row(DType::float32).spelling
                                          : quern::row(loop).spelling;
}

std::string ufunc_operand(const UfuncRow& row, DType from, DType loop, std::string_view name,
                          std::string_view element) {
    return operand(ufunc_compute_type(row, loop), from, loop, name, element);
}

ElementwiseSpec ufunc_spec(const UfuncForm& form) {
    const UfuncRow& wanted = row(form.ufunc);
    const auto nin = static_cast<std::size_t>(inputs_of(wanted)),
               nout = static_cast<std::size_t>(outputs_of(wanted));
    const DType computed = form.loop.types[0];
    const std::string expression = is_of_small(wanted, computed)
                                       ? std::string(wanted.of_small)
                                       : in_types_of(wanted, computed, wanted.expression);
    const auto compute_type = [&](DType loop) {
        return is_of_small(wanted, loop) ? row(loop).spelling : ufunc_compute_type(wanted, loop);
    };
    // Computed in any case, without a branch, and stored where the mask says so.
    const bool light = form.masked && nout == 1 && !is_costly(expression);
    std::string inputs, outputs, before, after;
    for (std::size_t k = 0; k < nin; ++k) {
        const DType loop = form.loop.types[k], given = form.given[k];
        // With two results the first may be stored over an input that the second still needs.
        const bool as_it_is =
            given == loop && nout == 1 && compute_type(loop) == row(loop).spelling;
        const std::string name = as_it_is ? std::string(operand_names[k]) : join("x", k);
        inputs += join(k ? ", " : "", row(given).name, " ", name);
        if (!as_it_is)
            before += operand(compute_type(loop), given, loop, operand_names[k], name);
    }
    if (form.masked)
        inputs += ", bool mask";
    for (std::size_t k = 0; k < nout; ++k) {
        const DType loop = form.loop.types[nin + k], given = form.given[nin + k];
        const std::string name = nout == 1 ? "r" : join("y", k);
        outputs += join(k ? ", " : "", row(given).name, " ", name);
        if (light) {
            before += join("const ", row(given).spelling,
                           " result = ", stored(loop, given, expression), "; ");
            after = "if (mask) r = result";
        } else if (nout > 1) {
            before += join(ufunc_compute_type(wanted, loop), " ", result_names[k], "; ");
            after += join(k ? "; " : "", name, " = ", stored(loop, given, result_names[k]));
        }
    }
    const auto operation_of = [&](std::string_view made) {
        return nout > 1 ? join(before, made, "; ", after)
                        : join(before, "r = ", stored(form.loop.types[nin], form.given[nin], made));
    };
    std::string operation = light ? before + after : operation_of(expression);
    if (form.masked && !light)
        operation = join("if (mask) { ", operation, "; }");
    const std::string name = join("quern_", wanted.name);
    ElementwiseText text;
    text.in_params = inputs;
    text.out_params = outputs;
    text.operation = operation;
    text.name = name;
    ElementwiseSpec spec = make_elementwise_spec(text);
    spec.total = true;
    const std::string_view type = compute_type(computed);
    const bool has_quick =
        !wanted.quick.empty() && (type == "float" || type == "double") &&
        (is_narrow(computed) || !wanted.quick.starts_with("quern::narrow::")) &&
        (wanted.mend.empty() || row(form.given[nin]).spelling == type); // r is as it was made
    const bool is_long = has_quick || (computed == DType::float64 && wanted.branches) ||
                         computed == DType::complex64 || computed == DType::complex128;
    if (has_quick && !form.masked && !wanted.mend.empty()) {
        spec.quick = operation_of(wanted.quick);
        spec.mend = operation_of(wanted.mend);
    } else if (is_long && !form.masked && is_costly(expression)) {
        spec.swift =
            operation_of(has_quick ? in_types_of(wanted, computed, wanted.quick) : expression);
        spec.takes_long = true;
    }
    if (!wanted.swift.empty() && !form.masked && computed == DType::float32) {
        spec.swift = operation_of(wanted.swift);
        if (!wanted.swift_inverse.empty())
            spec.swift_inverse = operation_of(wanted.swift_inverse);
        spec.swift_steps = wanted.branches ? 1 : 0;
    }
    return spec;
}

} // namespace quern
