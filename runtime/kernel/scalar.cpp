// Stores Python and NumPy scalars as elements of a dtype, by NumPy's assignment rules.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/kernel/argument.h"
#include "runtime/kernel/casts.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace quern {

Scalar Scalar::of(bool value) {
    Scalar scalar;
    scalar.kind = Kind::boolean;
    scalar.dtype = DType::boolean;
    scalar.integer = 0;
    scalar.boolean = value;
    return scalar;
}
Scalar Scalar::of(std::int64_t value) {
    Scalar scalar;
    scalar.integer = value;
    return scalar;
}
Scalar Scalar::of(std::uint64_t value) {
    Scalar scalar;
    scalar.kind = Kind::unsigned_integer;
    scalar.dtype = DType::uint64;
    scalar.unsigned_integer = value;
    return scalar;
}
Scalar Scalar::of(double value) {
    Scalar scalar;
    scalar.kind = Kind::floating;
    scalar.dtype = DType::float64;
    scalar.floating = value;
    return scalar;
}
Scalar Scalar::of(std::complex<double> value) {
    Scalar scalar = of(value.real());
    scalar.kind = Kind::complex;
    scalar.dtype = DType::complex128;
    scalar.imaginary = value.imag();
    return scalar;
}

namespace {

using Form = Scalar::Kind;

template <class T> void put(void* place, T value) { std::memcpy(place, &value, sizeof value); }

double as_double(const Scalar& value) {
    switch (value.kind) {
    case Form::boolean:
        return value.boolean;
    case Form::integer:
        return static_cast<double>(value.integer);
    case Form::unsigned_integer:
        return static_cast<double>(value.unsigned_integer);
    case Form::floating:
    case Form::complex:
        break;
    }
    return value.floating;
}

// A double rounded to odd in float: a second rounding, to half or bfloat16, is then as if it were
// the first.
float odd_float(double value) {
    const float near = static_cast<float>(value);
    const auto bits = std::bit_cast<std::uint32_t>(near);
    if (static_cast<double>(near) == value || std::isnan(value) || (bits & 1u) || std::isinf(near))
        return near;
    return std::bit_cast<float>((static_cast<double>(near) > value) == (value > 0) ? bits - 1
                                                                                   : bits + 1);
}

std::uint16_t half_bits(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(odd_float(value));
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u)
        return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { // subnormal: the value in units of 2^-24, to nearest even
        const float scaled = std::bit_cast<float>(magnitude) * 16777216.0f;
        return static_cast<std::uint16_t>(sign |
                                          static_cast<std::uint16_t>(std::nearbyint(scaled)));
    }
    const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

std::uint16_t bfloat16_bits(double value) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(odd_float(value));
    if (std::isnan(value))
        return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    bits += 0x7fffu + (bits >> 16 & 1u);
    return static_cast<std::uint16_t>(bits >> 16);
}

[[noreturn]] void throw_out_of_bounds(const std::string& value, DType dtype) {
    throw Error(ErrorKind::overflow,
                join("Python integer ", value, " out of bounds for ", row(dtype).name));
}

// NumPy scalars wrap, as astype does; Python ints must fit; floats are cut towards zero.
template <class T> void store_integer(const Scalar& value, DType dtype, void* place) {
    using Limits = std::numeric_limits<T>;
    switch (value.kind) {
    case Form::boolean:
        return put(place, static_cast<T>(value.boolean));
    case Form::integer:
        if (!value.is_numpy && (std::cmp_less(value.integer, Limits::min()) ||
                                std::cmp_greater(value.integer, Limits::max())))
            throw_out_of_bounds(std::to_string(value.integer), dtype);
        return put(place, static_cast<T>(value.integer));
    case Form::unsigned_integer:
        if (!value.is_numpy && std::cmp_greater(value.unsigned_integer, Limits::max()))
            throw_out_of_bounds(std::to_string(value.unsigned_integer), dtype);
        return put(place, static_cast<T>(value.unsigned_integer));
    case Form::floating:
        break;
    case Form::complex:
        break;
    }
    const double whole = std::trunc(value.floating);
    if (!value.is_numpy) {
        if (std::isnan(whole))
            throw ValueError("cannot convert float NaN to integer");
        if (std::isinf(whole))
            throw Error(ErrorKind::overflow, "cannot convert float infinity to integer");
        // Both limits are powers of two or one less: comparing against the power itself is exact.
        const double above = std::ldexp(1.0, Limits::digits),
                     below = Limits::is_signed ? -above : 0.0;
        if (whole >= above || whole < below)
            throw_out_of_bounds(fmt::format("{:.0f}", whole), dtype);
        return put(place, static_cast<T>(whole));
    }
    if (std::abs(whole) < 9223372036854775808.0)
        return put(place, static_cast<T>(static_cast<std::int64_t>(whole)));
    put(place, static_cast<T>(std::numeric_limits<std::int64_t>::min()));
}

} // namespace

void store_scalar(const Scalar& value, DType dtype, void* place) {
    const Form kind = value.kind;
    if (kind == Form::complex && value.is_numpy)
        note_cast(value.dtype, dtype);
    else if (kind == Form::complex && drops_imaginary(DType::complex128, dtype))
        throw TypeError(join(
            "a complex scalar cannot be stored into ", row(dtype).name,
            ": it would lose its imaginary part; pass its .real, or make the parameter complex"));
    switch (dtype) {
    case DType::boolean: {
        const bool truth = kind == Form::boolean ? value.boolean
                           : kind == Form::floating || kind == Form::complex
                               ? value.floating != 0 || value.imaginary != 0
                               : value.integer != 0;
        return put(place, truth);
    }
    case DType::int8:
        return store_integer<std::int8_t>(value, dtype, place);
    case DType::int16:
        return store_integer<std::int16_t>(value, dtype, place);
    case DType::int32:
        return store_integer<std::int32_t>(value, dtype, place);
    case DType::int64:
        return store_integer<std::int64_t>(value, dtype, place);
    case DType::uint8:
        return store_integer<std::uint8_t>(value, dtype, place);
    case DType::uint16:
        return store_integer<std::uint16_t>(value, dtype, place);
    case DType::uint32:
        return store_integer<std::uint32_t>(value, dtype, place);
    case DType::uint64:
        return store_integer<std::uint64_t>(value, dtype, place);
    case DType::float16:
        return put(place, half_bits(as_double(value)));
    case DType::bfloat16:
        return put(place, bfloat16_bits(as_double(value)));
    case DType::float32:
        return put(place, static_cast<float>(as_double(value)));
    case DType::float64:
        return put(place, as_double(value));
    case DType::complex64:
        return put(place, std::array{static_cast<float>(as_double(value)),
                                     static_cast<float>(value.imaginary)});
    case DType::complex128:
        return put(place, std::array{as_double(value), value.imaginary});
    }
}

} // namespace quern
