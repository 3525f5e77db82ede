// What is said of arguments that do not fit: parameters and arguments side by side.
#include "runtime/kernel/raw_arguments.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"

#include <algorithm>

namespace quern {
namespace {

std::string value_text(const Scalar& scalar) {
    switch (scalar.kind) {
    case Scalar::Kind::boolean:
        return scalar.boolean ? "True" : "False";
    case Scalar::Kind::integer:
        return join(scalar.integer);
    case Scalar::Kind::unsigned_integer:
        return join(scalar.unsigned_integer);
    case Scalar::Kind::floating:
        return join(scalar.floating);
    case Scalar::Kind::complex:
        break;
    }
    return join("(", scalar.floating, " + ", scalar.imaginary, "j)");
}

std::string side_by_side(const RawCall& call, std::size_t marked) {
    const auto& params = call.function.params;
    const auto& args = call.args;
    std::vector<std::pair<std::string, std::string>> lines;
    for (std::size_t k = 0; k < std::max(params.size(), args.size()); ++k)
        lines.emplace_back(k < params.size() ? describe(params[k]) : "-",
                           k < args.size() ? describe(args[k]) : "-");
    std::size_t width = std::string_view("parameter").size();
    for (const auto& line : lines)
        width = std::max(width, line.first.size());
    std::string text = fmt::format("    {:>3}  {:<{}}  argument\n", "", "parameter", width);
    for (std::size_t k = 0; k < lines.size(); ++k)
        text += fmt::format("  {} {:>3}  {:<{}}  {}\n", k == marked ? ">" : " ", k, lines[k].first,
                            width, lines[k].second);
    return text;
}

} // namespace

std::string describe(const Argument& argument) {
    if (argument.object != nullptr)
        return argument.object->is_surface() ? "SurfaceObject" : "TextureObject";
    switch (argument.kind) {
    case ArgType::Kind::array:
        return join(row(argument.array->dtype()).name, " array, shape ",
                    format_shape(argument.array->shape()));
    case ArgType::Kind::missing:
        return "None";
    case ArgType::Kind::structure:
        return join("structure of ", argument.layout->bytes, " bytes");
    case ArgType::Kind::scalar:
        break;
    }
    constexpr std::string_view python_names[]{"bool", "int", "int", "float", "complex"};
    const Scalar& scalar = argument.scalar;
    return join(scalar.is_numpy ? row(scalar.dtype).name
                                : python_names[static_cast<std::size_t>(scalar.kind)],
                " ", value_text(scalar));
}

std::string describe(const RawParam& param) {
    const DeclaredParam& declared = param.declared;
    std::string text = declared.type.empty() ? join(param.bytes, " bytes") : declared.type;
    if (!declared.name.empty())
        text += join(text.ends_with('*') ? "" : " ", declared.name);
    if (!declared.type.empty() && declared.c_type == CType{})
        text += join(" (", param.bytes, " bytes)");
    return text;
}

void RawCall::complain(ErrorKind kind, std::size_t k, const std::string& what,
                       const std::string& help) const {
    throw Error(kind, text(k, what, help));
}

std::string RawCall::text(std::size_t k, const std::string& what, const std::string& help) const {
    return join("kernel '", name, "': ", what, "\n", side_by_side(*this, k), "  help: ", help);
}

bool RawCall::has_idle_numbers() const noexcept {
    const std::size_t read = function.params.size();
    return args.size() > read && std::all_of(args.begin() + static_cast<std::ptrdiff_t>(read),
                                             args.end(), [](const Argument& argument) {
                                                 return argument.kind == ArgType::Kind::scalar &&
                                                        !argument.scalar.is_numpy;
                                             });
}

} // namespace quern
