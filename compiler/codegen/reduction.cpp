// What every reduction shares: the head of the text, the struct of its numbers, the user's
// expressions.
#include "compiler/codegen/reduction_emitter.h"

namespace quern {

ReductionEmitter::ReductionEmitter(const ReductionSpec& spec, const Signature& signature,
                                   const ReductionVariant& variant)
    : JoinEmitter(spec, signature, variant.layout.index_bits), variant_(variant),
      layout_(variant.layout) {}

std::string emit_reduction(const ReductionSpec& spec, const Signature& signature,
                           const ReductionVariant& variant) {
    return ReductionEmitter(spec, signature, variant).emit();
}

std::string ReductionEmitter::emit() {
    head();
    nest_struct();
    kernel_open("");
    lambdas();
    if (!layout_.split || !cpu())
        post_lambda();
    if (cpu())
        rows() ? cpu_rows() : cpu_columns();
    else
        rows() ? gpu_rows() : gpu_columns();
    out_.close();
    if (layout_.split && cpu()) {
        out_.blank();
        kernel_open("_finish");
        lambdas();
        post_lambda();
        cpu_finish();
        out_.close();
    }
    return out_.take();
}

void ReductionEmitter::head() {
    std::vector<std::string> pieces =
        kernel_pieces(spec_, signature_, index_pieces(layout_.index_bits, "quern/reduce.cuh"));
    if (layout_.atomic)
        pieces.emplace_back("quern/atomic_join.cuh");
    write_head(out_, "reduction", spec_, signature_, describe(layout_), pieces);
    accumulator_type();
    if (!spec_.inner_type.empty())
        out_.line("typedef ", spec_.inner_type, " ", own("inner"), ";");
    if (layout_.split) // its size, for whoever makes room for partial results
        out_.line("extern \"C\" { __device__ unsigned int ", own("accumulator_bytes"),
                  " = sizeof(_type_reduce); }");
    out_.blank();
}

void ReductionEmitter::nest_struct() {
    using Kind = ReductionField::Kind;
    const auto divisor = [&](const std::string& field) {
        out_.line("quern::Divisor<", index_, "> ", field, ";");
    };
    out_.open("struct ", own("nest_type"));
    for (const ReductionField& field : reduction_fields(layout_)) {
        switch (field.kind) {
        case Kind::outputs:
            out_.line(index_, " outputs;");
            break;
        case Kind::steps:
            out_.line(index_, " steps;");
            break;
        case Kind::chunk:
            out_.line(index_, " chunk;");
            break;
        case Kind::shift:
            out_.line(index_, " shift;");
            break;
        case Kind::share:
            out_.line(index_, " share;");
            break;
        case Kind::group_bits:
            out_.line(index_, " group_bits;");
            break;
        case Kind::length:
            out_.line(index_, " length;");
            break;
        case Kind::units:
            out_.line(index_, " units;");
            break;
        case Kind::ahead:
            out_.line(index_, " ahead;");
            break;
        case Kind::fan:
            out_.line(index_, " fan;");
            break;
        case Kind::run:
            out_.line(index_, " run;");
            break;
        case Kind::full:
            out_.line(index_, " full;");
            break;
        case Kind::rest:
            out_.line(index_, " rest;");
            break;
        case Kind::span:
            out_.line(index_, " span;");
            break;
        case Kind::together:
            out_.line(index_, " together;");
            break;
        case Kind::splits:
            divisor("by_splits");
            break;
        case Kind::packs:
            divisor("by_packs");
            break;
        case Kind::tiles_along:
            divisor("by_tiles");
            break;
        case Kind::extent:
            divisor(join("by_extent_", field.axis));
            break;
        case Kind::stride:
            out_.line(signed_, " ", name_of(field.operand), "_stride_", field.axis, ";");
            break;
        case Kind::place:
            out_.line(signed_, " place_", field.axis, ";");
            break;
        case Kind::first_place:
            out_.line(signed_, " first_place;");
            break;
        case Kind::start:
            out_.line(signed_, " ", name_of(field.operand), "_start;");
            break;
        }
    }
    out_.close(";");
    out_.blank();
}

void ReductionEmitter::kernel_open(std::string_view suffix) {
    std::string list = kernel_params(spec_, signature_, variant_.raw, q_);
    if (spec_.uses_in_ind || spec_.uses_out_ind)
        list += join("const CIndexer<", layout_.ndim(), "> ", own("in_indexer"),
                     ", const CIndexer<", int{layout_.kept_ndim}, "> ", own("out_indexer"), ", ");
    if (layout_.split)
        list += join(layout_.atomic ? "" : join("_type_reduce* ", own("partial"), ", "),
                     cpu() && !settles() ? "" : join("unsigned int* ", own("tickets"), ", "));
    out_.open("extern \"C\" __global__ void ",
              cpu() ? "" : join("__launch_bounds__(", reduction_block, ") "), spec_.name, suffix,
              "(", list, "const ", own("nest_type"), " ", own("nest"), ")");
    if (spec_.uses_in_ind)
        out_.line("CIndexer<", layout_.ndim(), "> _in_ind = ", own("in_indexer"), ";");
    if (spec_.uses_out_ind)
        out_.line("CIndexer<", int{layout_.kept_ndim}, "> _out_ind = ", own("out_indexer"), ";");
}

std::string ReductionEmitter::identity() const {
    return spec_.identity.empty() ? "_type_reduce()" : own("identity()");
}

std::string ReductionEmitter::inner_type() const {
    return spec_.inner_type.empty() ? "_type_reduce" : own("inner");
}

std::string ReductionEmitter::inner_join() const {
    return spec_.inner_type.empty() ? own("join") : own("join_inner");
}

std::string ReductionEmitter::inner_identity() const {
    return spec_.inner_type.empty() ? identity() : join(own("inner"), "(", identity(), ")");
}

std::string ReductionEmitter::widened(const std::string& sum) const {
    return spec_.inner_type.empty() ? sum : join("static_cast<_type_reduce>(", sum, ")");
}

void ReductionEmitter::lambdas() {
    if (!spec_.identity.empty()) {
        out_.open("const auto ", own("identity"), " = [&]() -> _type_reduce");
        out_.line("return _type_reduce(");
        out_.user(identity_label, spec_.identity, ");");
        out_.close(";");
    }
    join_lambda("join", "_type_reduce");
    if (!spec_.inner_type.empty())
        join_lambda("join_inner", own("inner"));
}

// Writes the outputs of one row from its accumulator: `post` where the row says where they are,
// `assign` where somebody knows.
void ReductionEmitter::post_lambda() {
    std::string given, found;
    for (const OperandRef& ref : outputs_) {
        given += join(", ", type(ref), "& ", name(ref));
        found += join(", *",
                      at_byte(own("data_" + name(ref)),
                              join(nest(name(ref) + "_start"), offset(ref, 0, layout_.kept_ndim))));
    }
    out_.open("const auto ", own("assign"), " = [&](const ", index_, " ", own("row"),
              ", _type_reduce a", given, ")");
    if (spec_.uses_row)
        out_.line("const ptrdiff_t _i = static_cast<ptrdiff_t>(", own("row"), ");");
    if (spec_.uses_out_ind)
        out_.line("_out_ind.set(_i);");
    out_.user(post_map_label, spec_.post_map_expr, ";");
    out_.close(";");
    out_.open("const auto ", own("post"), " = [&](const ", index_, " ", own("row"),
              ", const _type_reduce& ", own("total"), ")");
    split_axes(own("row"), 0, layout_.kept_ndim, "");
    out_.line(own("assign"), "(", own("row"), ", ", own("total"), found, ");");
    out_.close(";");
}

void ReductionEmitter::map_value(const std::string& position, const std::string& row) {
    if (spec_.uses_position)
        out_.line("const ptrdiff_t _J = static_cast<ptrdiff_t>(", position, ");");
    if (spec_.uses_row)
        out_.line("const ptrdiff_t _i = static_cast<ptrdiff_t>(", row, ");");
    if (spec_.uses_in_ind)
        out_.line("_in_ind.set(_J * static_cast<ptrdiff_t>(", nest("outputs"), ") + _i);");
    if (spec_.uses_out_ind)
        out_.line("_out_ind.set(_i);");
    out_.line("const ", inner_type(), " ", own("value"), " = static_cast<", inner_type(), ">(");
    out_.user(map_label, spec_.map_expr, ");");
}

void ReductionEmitter::accumulate(const std::string& into, const std::string& position,
                                  const std::string& row) {
    map_value(position, row);
    out_.line(into, " = ", inner_join(), "(", into, ", ", own("value"), ");");
}

// How far the place of a reduced element is from the first one's.
std::string ReductionEmitter::places(int begin, int end) const {
    std::string sum;
    for (int d = begin; d < end; ++d)
        sum += join(" + ", as_signed(own(join("at_", d))), " * ", nest(join("place_", d)));
    return sum;
}

// What becomes of a finished accumulator: a partial result, or the outputs.
std::string ReductionEmitter::result(const std::string& row, const std::string& value) const {
    if (layout_.split)
        return join(own("partial"), "[static_cast<size_t>(", row, ") * ", nest("by_splits.divisor"),
                    " + ", own("part"), "] = ", value, ";");
    return join(own("post"), "(", row, ", ", value, ");");
}

} // namespace quern
