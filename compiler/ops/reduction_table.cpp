// The rules by which a reduction's types close: NumPy's results, accumulators at least as wide.
#include "compiler/ops/reduction_table.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"

#include <algorithm>

namespace quern {
namespace {

bool is_integer(DType dtype) {
    return row(dtype).kind == Kind::boolean || row(dtype).kind == Kind::signed_integer ||
           row(dtype).kind == Kind::unsigned_integer;
}

// Elements of one byte, or ones, whose sum fits 32 bits with room to spare.
constexpr std::int64_t small_sums = std::int64_t{1} << 22;

DType platform_integer(DType dtype) {
    return row(dtype).kind == Kind::unsigned_integer ? DType::uint64 : DType::int64;
}

DType accumulating(DType dtype) { // two-byte floats in float
    return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : dtype;
}

// Do its values fit an int or a float, in which threads of GPUs compare them?
bool has_candidate(DType dtype) {
    return row(dtype).kind == Kind::floating ? row(dtype).bytes <= 4
                                             : is_integer(dtype) && row(dtype).bytes <= 2;
}

bool is_byte(DType dtype) { return is_integer(dtype) && row(dtype).bytes == 1; }

// What sums and products of a few bytes fit in.
std::string_view four_byte(DType dtype) {
    return row(dtype).kind == Kind::unsigned_integer ? "unsigned int" : "int";
}

DType real_of(DType dtype) {
    return dtype == DType::complex64    ? DType::float32
           : dtype == DType::complex128 ? DType::float64
                                        : dtype;
}

} // namespace

ReductionTyping type_reduction(Reduction op, DType in, std::optional<DType> dtype, bool narrow,
                               Meeting meeting) {
    const ReductionRow& wanted = row(op);
    ReductionTyping types;
    types.value = dtype.value_or(in);
    const auto accumulate_in = [&](DType accumulator) {
        types.accumulator = row(accumulator).spelling;
        types.accumulator_bytes = row(accumulator).bytes;
        types.exact = !wanted.rounds || is_integer(accumulator);
    };
    types.exact = !wanted.rounds;
    switch (wanted.types) {
    case ReductionTypes::total:
        if (!dtype && is_integer(in)) {
            types.result = platform_integer(in);
        } else {
            types.result = types.value;
        }
        accumulate_in(accumulating(types.result));
        if (!dtype && is_byte(in) && wanted.name.ends_with("sum")) {
            types.inner = four_byte(in);
            types.inner_steps = small_sums;
        } else if (!dtype && is_byte(in) && meeting == Meeting::packs) {
            types.inner = join("quern::ByteProduct<", types.accumulator, ", ", four_byte(in), ">");
        }
        break;
    case ReductionTypes::same:
        types.result = types.value;
        accumulate_in(types.value);
        if (meeting != Meeting::lanes && is_integer(types.value) && row(types.value).bytes <= 2)
            types.inner = "int";
        if (op == Reduction::ptp) {
            types.inner.clear();
            if (types.value == DType::boolean)
                throw TypeError("numpy boolean subtract, the `-` operator, is not supported, use "
                                "the bitwise_xor, the `^` operator, or the logical_xor function "
                                "instead.");
            types.accumulator = "quern::Span<quern_value>";
            types.accumulator_bytes *= 2;
        }
        break;
    case ReductionTypes::loop:
        types.result = types.value;
        accumulate_in(accumulating(types.value));
        break;
    case ReductionTypes::truth:
        types.value = types.result = DType::boolean;
        types.accumulator = "bool";
        types.accumulator_bytes = 1;
        break;
    case ReductionTypes::place:
        types.result = DType::int64;
        types.accumulator = "quern::Placed<quern_value>";
        if (narrow)
            types.inner = "quern::Placed<quern_value, int>";
        if (narrow && meeting != Meeting::lanes && !wanted.skips_nan &&
            has_candidate(types.value)) {
            types.inner = join("quern::Candidate<",
                               row(types.value).kind == Kind::floating ? "float, " : "int, ",
                               wanted.join.find("greatest") != std::string_view::npos, ", ",
                               meeting == Meeting::rising, ">");
            types.inner_takes_packs = meeting == Meeting::rising && is_byte(in) && !dtype;
        }
        types.accumulator_bytes = 8 + std::max<std::uint32_t>(row(types.value).bytes, 8);
        break;
    case ReductionTypes::count:
        types.result = DType::int64;
        accumulate_in(DType::int64);
        types.inner =
            meeting == Meeting::lanes && row(types.value).bytes == 1 ? "quern::Tally" : "int";
        types.inner_steps = small_sums;
        break;
    case ReductionTypes::average:
    case ReductionTypes::counted:
        if (!dtype && is_integer(in))
            types.value = DType::float64;
        types.result = types.value;
        accumulate_in(accumulating(is_integer(types.value) ? DType::float64 : types.value));
        if (wanted.types == ReductionTypes::average && !dtype && is_byte(in)) {
            types.value = in;
            types.inner = four_byte(in);
            types.inner_steps = small_sums;
        }
        if (wanted.types == ReductionTypes::counted) {
            types.accumulator = join("quern::Counted<", types.accumulator, ">");
            types.accumulator_bytes += std::max<std::uint32_t>(types.accumulator_bytes, 8);
        }
        break;
    case ReductionTypes::moments: {
        if (is_integer(in) && row(in).bytes <= 2 && !dtype) {
            types.result = DType::float64;
            types.accumulator = "quern::IntegerMoments<long long, long long, unsigned long long>";
            types.accumulator_bytes = 24;
            types.exact = true;
            if (row(in).bytes == 1) {
                types.inner = "quern::IntegerMoments<int, int, unsigned int>";
                types.inner_steps = std::int64_t{1} << 16;
            }
            break;
        }
        if (is_integer(types.value))
            types.value = DType::float64;
        types.result = real_of(types.value);
        // CPUs compute in double, and parts meet in two numbers. On GPUs a float's parts meet in
        // double: a mean in float is too coarse for the squares about it.
        const bool lanes = meeting == Meeting::lanes;
        const DType part = lanes ? DType::float64 : accumulating(types.result);
        const std::string_view number = row(part).spelling;
        const bool complex = row(types.value).kind == Kind::complex;
        const auto type = [&](const std::string& own) {
            return complex ? join("quern::OfParts<", own, ">") : own;
        };
        const DType kept = lanes || types.result == DType::float32 ? DType::float64 : part;
        const std::string_view digits = row(kept).spelling;
        types.accumulator =
            type(join("quern::Moments<", number, ", ",
                      lanes ? join("quern::Twofold<", digits, ">") : std::string(digits), ">"));
        types.accumulator_bytes = (complex ? 2 : 1) * (8 + (lanes ? 4 : 2) * row(kept).bytes);
        const std::string_view value = row(accumulating(types.result)).spelling;
        types.inner = type(value == number ? join("quern::Shifted<", number, ">")
                                           : join("quern::Shifted<", number, ", ", value, ">"));
        types.inner_steps = std::int64_t{1} << 30;
        break;
    }
    }
    return types;
}

} // namespace quern
