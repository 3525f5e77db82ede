// Writes the bodies of lines: shifts and ors, stores, or a choice among the arrays.
#include "compiler/ops/line_kernel.h"

#include "compiler/base/carrier.h"
#include "compiler/base/text.h"

#include <string>

namespace quern {
namespace {

std::string array(std::size_t k) { return join("x", k); }

// The arrays from `first` on as one integer, the first lowest.
std::string word_of(std::size_t first, std::size_t count, std::int64_t bytes) {
    std::string sum;
    for (std::size_t k = 0; k < count; ++k)
        sum += join(k ? " | " : "", "static_cast<unsigned long long>(", array(first + k), ") << ",
                    static_cast<std::int64_t>(k) * 8 * bytes);
    return sum;
}

std::string words(const LineForm& form, DType line) {
    if (line != DType::complex128)
        return join("line = ", word_of(0, form.parts, form.bytes));
    const std::size_t half = form.parts / 2;
    return join("line = complex<double>(__longlong_as_double(", word_of(0, half, form.bytes),
                "), __longlong_as_double(", word_of(half, half, form.bytes), "))");
}

std::string stores(std::size_t parts) {
    std::string all;
    for (std::size_t k = 0; k < parts; ++k)
        all += join(k ? "; " : "", "line[", parts, " * i + ", k, "] = ", array(k));
    return all;
}

std::string choice(std::size_t parts) {
    std::string value;
    for (std::size_t k = 0; k + 1 < parts; ++k)
        value += join("part == ", k, " ? ", array(k), "[at] : ");
    return join("const ptrdiff_t at = i / ", parts, ", part = i - at * ", parts, "; line = ", value,
                array(parts - 1), "[at]");
}

std::string end(std::size_t k) { return join("end", k); }

// The element at `at` of a line, out of the first array whose piece ends behind it.
std::string piece(const PieceForm& form) {
    std::string value;
    for (std::size_t k = 0; k < form.parts; ++k) {
        const std::string from = k == 0 ? "" : join(" - ", end(k - 1));
        const std::string lines = form.lines ? join("line * (", end(k), from, ") + ") : "";
        const std::string element = join(array(k), "[", lines, "at", from, "]");
        value += k + 1 < form.parts ? join("at < ", end(k), " ? ", element, " : ") : element;
    }
    return value;
}

} // namespace

std::optional<DType> line_type(std::size_t parts, std::int64_t bytes) {
    const auto line = static_cast<std::int64_t>(parts) * bytes;
    return (parts == 2 || parts == 4) && line <= 16 ? carrier_of(line) : std::nullopt;
}

ElementwiseSpec line_spec(const LineForm& form) {
    const std::string_view element = row(*carrier_of(form.bytes)).name;
    std::string in, out, operation;
    for (std::size_t k = 0; k < form.parts; ++k)
        in += join(k ? ", " : "", form.way == LineWay::found ? "raw " : "", element, " ", array(k));
    switch (form.way) {
    case LineWay::words: {
        const DType line = *line_type(form.parts, form.bytes);
        out = join(row(line).name, " line");
        operation = words(form, line);
        break;
    }
    case LineWay::stored:
        out = join("raw ", element, " line");
        operation = stores(form.parts);
        break;
    case LineWay::found:
        out = join(element, " line");
        operation = choice(form.parts);
        break;
    }
    return make_elementwise_spec(
        {.in_params = in, .out_params = out, .operation = operation, .name = "quern_lines"});
}

ElementwiseSpec piece_spec(const PieceForm& form) {
    const std::string_view element = row(*carrier_of(form.bytes)).name;
    std::string arrays, ends;
    for (std::size_t k = 0; k < form.parts; ++k) {
        arrays += join("raw ", element, " ", array(k), ", ");
        ends += join(k ? ", " : "", "int64 ", end(k));
    }
    const std::string width = end(form.parts - 1);
    const std::string place = form.lines
                                  ? join("const ptrdiff_t line = static_cast<unsigned int>(i) / "
                                         "static_cast<unsigned int>(",
                                         width, "), at = i - line * ", width, "; ")
                                  : "const ptrdiff_t at = i; ";
    return make_elementwise_spec({.in_params = arrays + ends,
                                  .out_params = join(element, " joined"),
                                  .operation = join(place, "joined = ", piece(form)),
                                  .name = "quern_pieces"});
}

} // namespace quern
