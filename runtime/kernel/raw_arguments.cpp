// Each argument goes into a slot of its parameter's width. Python's int, float, bool and complex
// take the width of the parameter; everything else must have it.
#include "runtime/kernel/raw_arguments.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <cstring>

namespace quern {
namespace {

constexpr std::size_t slot_alignment = 16;

std::size_t round_up(std::size_t bytes) {
    return (bytes + slot_alignment - 1) & ~(slot_alignment - 1);
}

// CuPy's width for what the parameter does not decide.
std::uint32_t own_bytes(const Argument& argument) {
    switch (argument.kind) {
    case ArgType::Kind::array:
    case ArgType::Kind::missing:
        return sizeof(CUdeviceptr);
    case ArgType::Kind::structure:
        return argument.layout->bytes;
    case ArgType::Kind::scalar:
        break;
    }
    return static_cast<std::uint32_t>(bytes_of(argument.scalar.dtype));
}

std::string describe(const Argument& argument) {
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
    const Scalar& scalar = argument.scalar;
    std::string value;
    switch (scalar.kind) {
    case Scalar::Kind::boolean:
        value = scalar.boolean ? "True" : "False";
        break;
    case Scalar::Kind::integer:
        value = join(scalar.integer);
        break;
    case Scalar::Kind::unsigned_integer:
        value = join(scalar.unsigned_integer);
        break;
    case Scalar::Kind::floating:
        value = join(scalar.floating);
        break;
    case Scalar::Kind::complex:
        value = join("(", scalar.floating, " + ", scalar.imaginary, "j)");
        break;
    }
    constexpr std::string_view python_names[]{"bool", "int", "int", "float", "complex"};
    return scalar.is_numpy
               ? join("numpy.", row(scalar.dtype).name, " ", value)
               : join("Python ", python_names[static_cast<int>(scalar.kind)], " ", value);
}

std::string describe(const RawParam& param) { return join(param.bytes, " bytes"); }

// Both lists side by side; the lines in `marked` carry an arrow.
std::string side_by_side(const RawFunction& function, std::span<const Argument> args,
                         std::size_t marked) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (std::size_t k = 0; k < std::max(function.params.size(), args.size()); ++k)
        lines.emplace_back(k < function.params.size() ? describe(function.params[k]) : "-",
                           k < args.size() ? describe(args[k]) : "-");
    std::size_t width = std::string_view("parameter").size();
    for (const auto& line : lines)
        width = std::max(width, line.first.size());
    std::string text = fmt::format("       {:>3}  {:<{}}  argument\n", "#", "parameter", width);
    for (std::size_t k = 0; k < lines.size(); ++k)
        text += fmt::format("    {}  {:>3}  {:<{}}  {}\n", k == marked ? ">" : " ", k,
                            lines[k].first, width, lines[k].second);
    return text;
}

struct Call {
    const std::string& name;
    const RawFunction& function;
    std::span<const Argument> args;

    [[noreturn]] void complain(ErrorKind kind, std::size_t k, const std::string& what,
                               const std::string& help) const {
        throw Error(kind, join("kernel '", name, "': ", what, "\n", side_by_side(function, args, k),
                               "    help: ", help));
    }

    void store_integer(std::size_t k, const RawParam& param, std::byte* place) const {
        const Scalar& scalar = args[k].scalar;
        const auto bits = param.bytes * 8;
        const bool fits = bits >= 64 ||
                          (scalar.kind == Scalar::Kind::integer &&
                           scalar.integer >= -(std::int64_t{1} << (bits - 1)) &&
                           scalar.integer < (std::int64_t{1} << bits)) ||
                          scalar.kind == Scalar::Kind::boolean;
        if (!fits)
            complain(ErrorKind::overflow, k,
                     join("argument ", k, " does not fit into ", param.bytes, " bytes"),
                     "pass a smaller number, or widen the parameter");
        std::memset(place, scalar.kind == Scalar::Kind::integer && scalar.integer < 0 ? 0xff : 0,
                    param.bytes);
        std::memcpy(place, &scalar.integer, std::min<std::size_t>(param.bytes, 8));
    }

    void store(std::size_t k, const RawParam& param, std::byte* place, bool strict) const {
        const Argument& argument = args[k];
        const bool python = argument.kind == ArgType::Kind::scalar && !argument.scalar.is_numpy;
        if (python && param.bytes != 0) {
            switch (argument.scalar.kind) {
            case Scalar::Kind::boolean:
            case Scalar::Kind::integer:
            case Scalar::Kind::unsigned_integer:
                return store_integer(k, param, place);
            case Scalar::Kind::floating:
                if (param.bytes == 2 || param.bytes == 4 || param.bytes == 8)
                    return store_scalar(argument.scalar,
                                        param.bytes == 2   ? DType::float16
                                        : param.bytes == 4 ? DType::float32
                                                           : DType::float64,
                                        place);
                break;
            case Scalar::Kind::complex:
                if (param.bytes == 8 || param.bytes == 16)
                    return store_scalar(argument.scalar,
                                        param.bytes == 8 ? DType::complex64 : DType::complex128,
                                        place);
                break;
            }
        }
        const std::uint32_t own = own_bytes(argument);
        if (strict && param.bytes != 0 && own != param.bytes)
            complain(ErrorKind::type, k,
                     join("argument ", k, " has ", own, " bytes, its parameter ", param.bytes),
                     "pass a NumPy scalar of the parameter's type, or strict=False to launch as it "
                     "stands");
        if (argument.kind == ArgType::Kind::array) {
            const std::uint64_t address = argument.array->address();
            std::memcpy(place, &address, sizeof address);
        } else if (argument.kind == ArgType::Kind::structure) {
            std::memcpy(place, argument.structure_bytes, own);
        } else if (argument.kind == ArgType::Kind::scalar) {
            store_scalar(argument.scalar, argument.scalar.dtype, place);
        }
    }
};

} // namespace

RawArguments::RawArguments(const std::string& name, const RawFunction& function,
                           std::span<const Argument> args, bool strict) {
    const Call call{name, function, args};
    if (strict && function.knows_params && args.size() != function.params.size()) [[unlikely]]
        call.complain(
            ErrorKind::type, std::min(args.size(), function.params.size()),
            join("takes ", function.params.size(), " arguments, ", args.size(), " were given"),
            "pass one argument for each parameter: kernel(grid, block, (a, b, ...))");
    const std::size_t count = std::max(args.size(), function.params.size());
    const auto slot_bytes = [&](std::size_t k) {
        const std::size_t wanted = k < function.params.size() ? function.params[k].bytes : 0;
        const std::size_t own = k < args.size() ? own_bytes(args[k]) : 0;
        return round_up(std::max({wanted, own, std::size_t{1}}));
    };
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < count; ++k)
        bytes += slot_bytes(k);
    if (count > inline_count || bytes > inline_bytes) [[unlikely]] {
        more_pointers_.resize(count);
        pointers_ = more_pointers_.data();
        more_store_.resize(bytes + slot_alignment);
        store_ = more_store_.data();
        store_ += round_up(reinterpret_cast<std::uintptr_t>(store_)) -
                  reinterpret_cast<std::uintptr_t>(store_);
    }
    std::byte* place = store_;
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t room = slot_bytes(k);
        std::memset(place, 0, room);
        pointers_[k] = place;
        if (k < args.size())
            call.store(k, k < function.params.size() ? function.params[k] : RawParam{}, place,
                       strict);
        place += room;
    }
}

} // namespace quern
