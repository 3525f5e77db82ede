// See row_texts.h.
#include "compiler/codegen/row_texts.h"

#include "compiler/codegen/parts.h"

namespace quern {

void RowTexts::head(std::string_view piece) {
    std::vector<std::string> pieces =
        kernel_pieces(spec_, signature_, index_pieces(layout_.index_bits, piece));
    if (!spec_.walks.back().swift.empty())
        pieces.emplace_back("quern/swift.cuh");
    write_head(out_, "rows", spec_, signature_, describe(layout_), pieces);
}

void RowTexts::joins() {
    for (std::size_t k = 0; k < spec_.walks.size(); ++k)
        for (std::size_t j = 0; j < spec_.walks[k].joins.size(); ++j) {
            const RowJoin& joined = spec_.walks[k].joins[j];
            out_.open("struct ", type_of_join(k, j));
            out_.line(joined.preamble);
            out_.line("typedef ", joined.type, " _type_reduce;");
            out_.line("typedef ", joined.inner_type.empty() ? "_type_reduce" : joined.inner_type,
                      " quern_own;");
            if (layout_.panels && !joined.about_type.empty())
                out_.line("typedef ", joined.about_type, " quern_about;");
            out_.line("static __device__ _type_reduce start() { return _type_reduce(",
                      joined.identity, "); }");
            out_.line("template <class Quern> static __device__ Quern join(Quern a, Quern b) "
                      "{ return (",
                      joined.reduce_expr, "); }");
            out_.line("__device__ _type_reduce operator()(const _type_reduce& a, const "
                      "_type_reduce& b) const { return join<_type_reduce>(a, b); }");
            out_.close(";");
        }
    out_.blank();
}

void RowTexts::nest_struct() {
    using Kind = RowField::Kind;
    out_.open("struct ", own("nest_type"));
    for (const RowField& field : row_fields(layout_)) {
        switch (field.kind) {
        case Kind::rows:
            out_.line(index_, " rows;");
            break;
        case Kind::length:
            out_.line(index_, " length;");
            break;
        case Kind::packs:
            out_.line(index_, " packs;");
            break;
        case Kind::group_bits:
            out_.line(index_, " group_bits;");
            break;
        case Kind::parked:
            out_.line(index_, " parked;");
            break;
        case Kind::rounds:
            out_.line(index_, " rounds;");
            break;
        case Kind::last_columns:
            out_.line(index_, " last_columns;");
            break;
        case Kind::extent:
            out_.line("quern::Divisor<", index_, "> by_extent_", field.axis, ";");
            break;
        case Kind::stride:
            out_.line(signed_, " ", name_of(field.operand), "_stride_", field.axis, ";");
            break;
        }
    }
    out_.close(";");
    out_.blank();
}

void RowTexts::open_kernel(int blocks) {
    out_.open(
        "extern \"C\" __global__ void __launch_bounds__(", int{layout_.block}, ", ", blocks, ") ",
        layout_.cluster_bits > 0 ? join("__cluster_dims__(", 1 << layout_.cluster_bits, ", 1, 1) ")
                                 : "",
        spec_.name, "(", kernel_params(spec_, signature_, {}, q_), "const ", own("nest_type"), " ",
        own("nest"), ")");
}

void RowTexts::join_element(std::size_t k, std::size_t j, const std::string& type,
                            const std::string& use) {
    const RowJoin& joined = spec_.walks[k].joins[j];
    out_.open();
    out_.line(joined.preamble);
    out_.line("typedef ", joined.type, " _type_reduce;");
    out_.line(joined.names);
    out_.line("const ", type, " ", own("value"), " = static_cast<", type, ">(", joined.map_expr,
              ");");
    out_.line(use);
    out_.close();
}

} // namespace quern
