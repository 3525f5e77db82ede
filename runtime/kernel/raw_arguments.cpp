// Each argument goes into a slot of its parameter's width. Python's int, float, bool and complex
// take the type of the parameter; everything else must fit it as it is.
#include "runtime/kernel/raw_arguments.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace quern {
namespace {

using Form = CType::Kind;

constexpr std::size_t slot_alignment = 16;
constexpr const char* as_it_stands = "or strict=False to launch as it stands";

std::size_t round_up(std::size_t bytes) {
    return (bytes + slot_alignment - 1) & ~(slot_alignment - 1);
}

std::optional<DType> integer_dtype(std::uint32_t bytes, bool is_signed) {
    switch (bytes) {
    case 1:
        return is_signed ? DType::int8 : DType::uint8;
    case 2:
        return is_signed ? DType::int16 : DType::uint16;
    case 4:
        return is_signed ? DType::int32 : DType::uint32;
    case 8:
        return is_signed ? DType::int64 : DType::uint64;
    default:
        return std::nullopt;
    }
}

// The dtype that a parameter by value is stored as; nullopt where its type is not known.
std::optional<DType> dtype_of(const CType& type) {
    const auto number = [&](Form form, std::uint32_t bytes) -> std::optional<DType> {
        const bool is_signed = form == Form::signed_integer || form == Form::character;
        switch (form) {
        case Form::boolean:
            return DType::boolean;
        case Form::character:
        case Form::signed_integer:
        case Form::unsigned_integer:
            return integer_dtype(bytes, is_signed);
        case Form::floating:
            return bytes == 2 ? DType::float16 : bytes == 4 ? DType::float32 : DType::float64;
        case Form::bfloat16:
            return DType::bfloat16;
        case Form::texture: // a handle as a number
        case Form::surface:
            return DType::uint64;
        default:
            return std::nullopt;
        }
    };
    if (type.pointer)
        return DType::uint64;
    const bool pair = type.bytes == 2 * type.part_bytes && type.part == Form::floating;
    if ((type.kind == Form::complex || type.kind == Form::vector) && pair && type.part_bytes >= 4)
        return type.part_bytes == 4 ? DType::complex64 : DType::complex128;
    return number(type.kind, type.bytes);
}

// A guess by width alone, for a parameter whose type is not known.
std::optional<DType> dtype_by_width(const Scalar& scalar, std::uint32_t bytes) {
    switch (scalar.kind) {
    case Scalar::Kind::boolean:
    case Scalar::Kind::integer:
    case Scalar::Kind::unsigned_integer: {
        const bool is_signed = scalar.kind != Scalar::Kind::integer || scalar.integer < 0;
        return integer_dtype(bytes, bytes == 8 ? scalar.kind != Scalar::Kind::unsigned_integer
                                               : is_signed);
    }
    case Scalar::Kind::floating:
        return bytes == 2   ? std::optional(DType::float16)
               : bytes == 4 ? std::optional(DType::float32)
               : bytes == 8 ? std::optional(DType::float64)
                            : std::nullopt;
    case Scalar::Kind::complex:
        return bytes == 8    ? std::optional(DType::complex64)
               : bytes == 16 ? std::optional(DType::complex128)
                             : std::nullopt;
    }
    return std::nullopt;
}

bool is_integer(DType dtype) {
    const Kind kind = row(dtype).kind;
    return kind == Kind::boolean || kind == Kind::signed_integer || kind == Kind::unsigned_integer;
}

// Whether a NumPy scalar of this dtype is what the parameter means, its width aside.
bool same_kind(const CType& type, DType dtype) {
    if (type.pointer)
        return is_integer(dtype);
    switch (type.kind) {
    case Form::unknown:
    case Form::vector:
        return true;
    case Form::texture:
    case Form::surface:
    case Form::boolean:
    case Form::character:
    case Form::signed_integer:
    case Form::unsigned_integer: // 16-bit floats are often kept as integers
        return is_integer(dtype) || type.bytes == 2;
    case Form::floating:
        return row(dtype).kind == Kind::floating ? dtype != DType::bfloat16
                                                 : type.bytes == 2 && is_integer(dtype);
    case Form::bfloat16:
        return dtype == DType::bfloat16 || is_integer(dtype);
    case Form::complex:
        return row(dtype).kind == Kind::complex;
    }
    return true;
}

bool became_infinite(const Scalar& scalar, DType dtype, const std::byte* place) {
    const bool finite =
        scalar.kind != Scalar::Kind::floating && scalar.kind != Scalar::Kind::complex
            ? true
            : std::isfinite(scalar.floating) && std::isfinite(scalar.imaginary);
    if (!finite)
        return false;
    const auto infinite = [&]<class T>(T, int count) {
        for (int k = 0; k < count; ++k) {
            T value;
            std::memcpy(&value, place + static_cast<std::size_t>(k) * sizeof value, sizeof value);
            if (std::isinf(value))
                return true;
        }
        return false;
    };
    std::uint16_t bits = 0;
    std::memcpy(&bits, place, sizeof bits);
    switch (dtype) {
    case DType::float16:
        return (bits & 0x7fffu) == 0x7c00u;
    case DType::bfloat16:
        return (bits & 0x7fffu) == 0x7f80u;
    case DType::float32:
        return infinite(float{}, 1);
    case DType::complex64:
        return infinite(float{}, 2);
    default:
        return false;
    }
}

struct Storing {
    const RawCall& call;
    std::size_t k;
    const RawParam& param;
    std::byte* place;
    bool strict;

    [[nodiscard]] const Argument& argument() const { return call.args[k]; }
    [[noreturn]] void refuse(ErrorKind kind, const std::string& what,
                             const std::string& help) const {
        call.complain(kind, k, join("argument ", k, " ", what), help);
    }

    // False: nothing was stored, the argument's own width decides.
    bool store_python(const Scalar& scalar) const {
        const CType& type = param.declared.c_type;
        std::optional<DType> dtype = dtype_of(type);
        if (!dtype)
            dtype = dtype_by_width(scalar, param.bytes);
        const bool whole =
            scalar.kind != Scalar::Kind::floating && scalar.kind != Scalar::Kind::complex;
        const bool fits = dtype && bytes_of(*dtype) <= param.bytes &&
                          (type.pointer         ? whole && scalar.kind != Scalar::Kind::boolean
                           : is_integer(*dtype) ? whole
                                                : scalar.kind != Scalar::Kind::complex ||
                                                      row(*dtype).kind == Kind::complex);
        if (!fits) {
            if (!strict)
                return false;
            refuse(ErrorKind::type, "cannot become what its parameter is",
                   join(whole || type.pointer || !dtype || !is_integer(*dtype)
                            ? "pass a value of the parameter's type, "
                            : "pass int(x), or a NumPy integer of that width, ",
                        as_it_stands));
        }
        if (type.pointer && scalar.kind == Scalar::Kind::integer && scalar.integer < 0)
            dtype = DType::int64; // CuPy takes addresses with the high bit set either way
        if (type.kind == Form::character && scalar.kind == Scalar::Kind::integer &&
            scalar.integer > 127)
            dtype = DType::uint8;
        try {
            store_scalar(scalar, *dtype, place);
        } catch (const Error& error) {
            if (!strict)
                return false;
            refuse(error.kind(), join("does not fit: ", error.what()),
                   "pass a value in range, or widen the parameter");
        }
        if (strict && became_infinite(scalar, *dtype, place))
            refuse(ErrorKind::overflow, "is too large for its parameter",
                   join("pass a value in range, or widen the parameter, ", as_it_stands));
        return true;
    }

    void check_structure() const {
        const auto& places = argument().layout->places;
        const auto& parts = param.declared.parts;
        if (parts.empty() || places.empty())
            return;
        const bool same =
            std::ranges::equal(places, parts, [](const FieldPlace& place, const auto& part) {
                return place.offset_bytes == part.first && place.bytes == part.second;
            });
        if (same)
            return;
        std::string ours, theirs;
        for (const FieldPlace& place : places)
            ours += join(ours.empty() ? "" : ", ", place.name, " at ", place.offset_bytes, " (",
                         place.bytes, ")");
        for (const auto& [offset, bytes] : parts)
            theirs += join(theirs.empty() ? "" : ", ", offset, " (", bytes, ")");
        refuse(ErrorKind::type,
               join("has another layout than its struct\n  NumPy's fields: ", ours,
                    " bytes\n  the struct's scalars: at ", theirs, " bytes"),
               join("make the dtype with align=True, or give its offsets, ", as_it_stands));
    }

    // A texture or a surface goes where its handle's type stands, by name or as the integer it is.
    void check_object() const {
        const CType& type = param.declared.c_type;
        const bool surface = argument().object->is_surface();
        const Form own = surface ? Form::surface : Form::texture;
        const bool fits =
            !type.pointer && param.bytes == sizeof(std::uint64_t) &&
            (type.kind == own || type.kind == Form::unsigned_integer || type.kind == Form::unknown);
        if (fits)
            return;
        if (!type.pointer && (type.kind == Form::texture || type.kind == Form::surface))
            refuse(ErrorKind::type,
                   surface ? "is a surface; its parameter is a texture"
                           : "is a texture; its parameter is a surface",
                   join("pass a ", surface ? "TextureObject, " : "SurfaceObject, ", as_it_stands));
        refuse(ErrorKind::type,
               surface ? "is a surface; its parameter is no cudaSurfaceObject_t"
                       : "is a texture; its parameter is no cudaTextureObject_t",
               join("declare the parameter as ",
                    surface ? "cudaSurfaceObject_t, " : "cudaTextureObject_t, ", as_it_stands));
    }

    void check() const {
        const Argument& given = argument();
        const CType& type = param.declared.c_type;
        if (given.object != nullptr)
            return check_object();
        if (!type.pointer && given.kind != ArgType::Kind::scalar &&
            (type.kind == Form::texture || type.kind == Form::surface))
            refuse(ErrorKind::type,
                   type.kind == Form::texture ? "is no texture, which its parameter is"
                                              : "is no surface, which its parameter is",
                   join("pass a quern.cuda.texture.",
                        type.kind == Form::texture ? "TextureObject" : "SurfaceObject", ", ",
                        as_it_stands));
        const bool is_array = given.kind == ArgType::Kind::array;
        if (is_array) {
            if (param.accepts >> static_cast<unsigned>(given.array->dtype()) & 1u)
                return;
            if (type.pointer)
                refuse(ErrorKind::type,
                       join("is an array of another dtype than its parameter points at"),
                       join("pass x.astype(...) for other values, x.view(...) for the same bytes, ",
                            as_it_stands));
            refuse(ErrorKind::type, "is an array; its parameter is no pointer",
                   join("pass a scalar: x.item(), ", as_it_stands));
        }
        if (given.kind == ArgType::Kind::missing && type.kind != Form::unknown && !type.pointer)
            refuse(ErrorKind::type, "is None; its parameter is no pointer",
                   "pass a value of the parameter's type");
        if (const std::uint32_t own = own_bytes(given); own != param.bytes)
            refuse(ErrorKind::type, join("has ", own, " bytes, its parameter ", param.bytes),
                   join(given.kind == ArgType::Kind::scalar
                            ? "pass a Python number or a NumPy scalar of the parameter's type, "
                            : "pass what has the parameter's width, ",
                        as_it_stands));
        if (given.kind == ArgType::Kind::scalar && !same_kind(type, given.scalar.dtype))
            refuse(ErrorKind::type, "is another kind of number than its parameter",
                   join("pass a Python number or a NumPy scalar of the parameter's type, ",
                        as_it_stands));
        if (given.kind == ArgType::Kind::structure)
            check_structure();
    }

    void store() const {
        const Argument& given = argument();
        const bool python = given.kind == ArgType::Kind::scalar && !given.scalar.is_numpy;
        if (python && param.bytes != 0 && store_python(given.scalar))
            return;
        if (strict && param.bytes != 0)
            check();
        if (given.kind == ArgType::Kind::array) {
            const std::uint64_t address = given.array->address();
            std::memcpy(place, &address, sizeof address);
        } else if (given.kind == ArgType::Kind::structure) {
            std::memcpy(place, given.structure_bytes, given.layout->bytes);
        } else if (given.kind == ArgType::Kind::scalar) {
            store_scalar(given.scalar, given.scalar.dtype, place);
        }
    }
};

} // namespace

std::uint32_t own_bytes(const Argument& argument) noexcept {
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

RawArguments::RawArguments(const RawCall& call, bool strict) {
    const std::vector<RawParam>& params = call.function.params;
    const std::span<const Argument> args = call.args;
    const std::size_t count = std::max(args.size(), params.size());
    if (strict && call.function.knows_params && args.size() != params.size()) [[unlikely]] {
        const std::string what =
            join("takes ", params.size(), " arguments, ", args.size(), " were given");
        const std::string help =
            "pass one argument for each parameter: kernel(grid, block, (a, b, ...))";
        if (!call.has_idle_numbers())
            call.complain(ErrorKind::type, std::min(args.size(), params.size()), what, help);
        if (call.warn != nullptr)
            call.warn(call.text(params.size(), what, help));
    }
    const auto slot_bytes = [&](std::size_t k) {
        const std::size_t wanted = k < params.size() ? params[k].bytes : 0;
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
        const auto start = reinterpret_cast<std::uintptr_t>(more_store_.data());
        store_ = more_store_.data() + (round_up(start) - start);
    }
    static const RawParam unknown;
    std::byte* place = store_;
    for (std::size_t k = 0; k < count; ++k) {
        pointers_[k] = place;
        const RawParam& param = k < params.size() ? params[k] : unknown;
        if (k < args.size() && args[k].kind == ArgType::Kind::array &&
            param.accepts >> static_cast<unsigned>(args[k].array->dtype()) & 1u) [[likely]] {
            const std::uint64_t address = args[k].array->address();
            std::memcpy(place, &address, sizeof address);
            place += slot_alignment;
            continue;
        }
        const std::size_t room = slot_bytes(k);
        std::memset(place, 0, room);
        if (k < args.size())
            Storing{call, k, param, place, strict}.store();
        place += room;
    }
}

} // namespace quern
