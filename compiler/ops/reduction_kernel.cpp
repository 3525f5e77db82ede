// Writes the texts of a reduction: elements converted, those that do not take part skipped, results
// converted back.
#include "compiler/ops/reduction_kernel.h"

#include "compiler/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace quern {
namespace {

// Where CUDA has an atomic operation that does as the row's join on slots of 64 bits.
std::string atomic_join(const ReductionRow& wanted, const ReductionTyping& types) {
    switch (wanted.id) {
    case Reduction::sum:
    case Reduction::nansum:
    case Reduction::count_nonzero: {
        static constexpr std::array added{"long long", "unsigned long long", "float", "double"};
        return std::ranges::find(added, types.accumulator) != added.end()
                   ? "quern::AtomicSum<_type_reduce>"
                   : "";
    }
    case Reduction::max:
    case Reduction::min:
        return row(types.value).kind == Kind::complex
                   ? ""
                   : join("quern::AtomicExtreme<_type_reduce, ", wanted.id == Reduction::max, ">");
    case Reduction::any:
    case Reduction::all:
        return join("quern::AtomicTruth<", wanted.id == Reduction::any, ">");
    default:
        return "";
    }
}

} // namespace

ReductionSpec reduction_spec(Reduction op, const ReductionTyping& types, bool has_where,
                             bool has_initial) {
    const ReductionRow& wanted = row(op);
    const bool floating =
        row(types.value).kind == Kind::floating || row(types.value).kind == Kind::complex;
    std::string inputs = "T x";
    if (has_where)
        inputs += ", bool mask";
    if (has_initial)
        inputs += join(", ", row(types.value).name, " initial");
    if (wanted.types == ReductionTypes::moments)
        inputs += ", float64 ddof";
    if (wanted.types == ReductionTypes::average)
        inputs += ", int64 count";

    // `v` is a name of the texts only: each use becomes the converted element.
    const std::string element = "quern::convert<quern_value>(x)";
    std::string map;
    for (std::size_t k = 0; k < wanted.map.size(); ++k) {
        const auto part_of_name = [&](std::size_t at) {
            return at < wanted.map.size() &&
                   (std::isalnum(static_cast<unsigned char>(wanted.map[at])) ||
                    wanted.map[at] == '_');
        };
        if (wanted.map[k] == 'v' && !part_of_name(k + 1) && (k == 0 || !part_of_name(k - 1)))
            map += element;
        else
            map += wanted.map[k];
    }
    std::string skip;
    if (has_where)
        skip = "!mask";
    if (wanted.skips_nan && floating)
        skip += join(skip.empty() ? "" : " || ", "quern::is_nan(", element, ")");
    if (!skip.empty())
        map = join("(", skip, ") ? quern_inner(", wanted.start, ") : quern_inner(", map, ")");

    std::string post = join("y = quern::convert<quern_result>(", wanted.post, ")");
    if (has_initial)
        post = join("const _type_reduce b = static_cast<_type_reduce>(initial); a = (", wanted.join,
                    "); ", post);

    const std::string name = join("quern_", wanted.name), out = join(row(types.result).name, " y"),
                      preamble = join(
                          "typedef ", row(types.value).spelling, " quern_value;\ntypedef ",
                          row(types.result).spelling, " quern_result;\ntypedef ", types.accumulator,
                          " quern_part;\ntypedef ",
                          types.inner.empty() ? types.accumulator : types.inner, " quern_inner;");
    ReductionText text;
    text.in_params = inputs;
    text.out_params = out;
    text.map_expr = map;
    text.reduce_expr = wanted.join;
    text.post_map_expr = post;
    text.identity = wanted.start;
    text.name = name;
    text.reduce_type = types.accumulator;
    text.preamble = preamble;
    ReductionSpec spec = make_reduction_spec(text);
    spec.inner_type = types.inner;
    spec.inner_steps = types.inner_steps;
    spec.inner_takes_packs = types.inner_takes_packs;
    spec.maps_anything = true;
    spec.accumulator_bytes = types.accumulator_bytes;
    spec.atomic_join = atomic_join(wanted, types);
    spec.exact = types.exact;
    spec.settled = wanted.settled;
    spec.ends_early = !spec.settled.empty() ||
                      (wanted.types == ReductionTypes::place && types.value == DType::boolean);
    spec.refuses_empty = wanted.refuses_empty && !has_initial;
    return spec;
}

ReductionSpec product_spec(DType result, bool conjugate) {
    const bool logical = result == DType::boolean,
               in_float = result == DType::float16 || result == DType::bfloat16;
    const std::string_view sum = row(in_float ? DType::float32 : result).spelling;
    const auto element = [&](std::string_view name, bool conjugated) {
        const std::string value = join("quern::convert<quern_sum>(", name, ")");
        return conjugated ? join("conj(", value, ")") : value;
    };
    const std::string out = join(row(result).name, " z"),
                      map = join(element("x", conjugate && row(result).kind == Kind::complex),
                                 logical ? " && " : " * ", element("y", false)),
                      preamble = join("typedef ", sum, " quern_sum;\ntypedef ",
                                      row(result).spelling, " quern_result;");
    ReductionText text;
    text.in_params = "X x, Y y";
    text.out_params = out;
    text.map_expr = map;
    text.reduce_expr = logical ? "a || b" : "a + b";
    text.post_map_expr = "z = quern::convert<quern_result>(a)";
    text.identity = logical ? "false" : "0";
    text.name = "quern_product";
    text.reduce_type = sum;
    text.preamble = preamble;
    ReductionSpec spec = make_reduction_spec(text);
    spec.maps_anything = true;
    spec.accumulator_bytes = static_cast<std::uint32_t>(in_float ? 4 : bytes_of(result));
    spec.exact = row(result).kind != Kind::floating && row(result).kind != Kind::complex;
    return spec;
}

ReductionSpec scaled_sum_spec(DType dtype) {
    const std::string_view name = row(dtype).name;
    const std::string type = join("quern::ScaledSum<", row(dtype).spelling, ">"),
                      in = join(name, " x"), out = join(name, " most, ", name, " sum"),
                      identity = join(type, "()");
    ReductionText text;
    text.in_params = in;
    text.out_params = out;
    text.map_expr = "x";
    text.reduce_expr = "quern::joined(a, b)";
    text.post_map_expr = "most = a.largest(); sum = a.total()";
    text.name = "quern_scaled_sum";
    text.reduce_type = type;
    text.identity = identity;
    ReductionSpec spec = make_reduction_spec(text);
    spec.maps_anything = true;
    spec.accumulator_bytes = static_cast<std::uint32_t>(2 * bytes_of(dtype));
    spec.about_type = join("quern::ScaledTop<", row(dtype).spelling, ">");
    return spec;
}

ReductionSpec moments_spec(DType dtype, bool deviation) {
    const std::string_view name = row(dtype).name,
                           part = row(dtype == DType::float64 ? dtype : DType::float32).spelling;
    const std::string types = join("<", part, ">"), type = join("quern::ColumnMoments", types),
                      in = join(name, " x, float64 ddof"),
                      out = join(name, " mean, ", name, " spread"), identity = join(type, "()"),
                      preamble = join("typedef ", row(dtype).spelling, " quern_value;"),
                      post = join("mean = quern::convert<quern_value>(a.average()); spread = ",
                                  "quern::convert<quern_value>(",
                                  deviation ? "sqrt(a.variance(ddof))" : "a.variance(ddof)", ")");
    const std::string inner = join("quern::ColumnShifted", types), map = join(inner, "(x)");
    ReductionText text;
    text.in_params = in;
    text.out_params = out;
    text.map_expr = map;
    text.reduce_expr = "quern::combined(a, b)";
    text.post_map_expr = post;
    text.name = "quern_moments";
    text.reduce_type = type;
    text.preamble = preamble;
    text.identity = identity;
    ReductionSpec spec = make_reduction_spec(text);
    spec.maps_anything = true;
    spec.inner_type = inner;
    spec.accumulator_bytes = 4 * (dtype == DType::float64 ? 8 : 4);
    return spec;
}

} // namespace quern
