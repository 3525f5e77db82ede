// What every loop shares: the head of the text, the struct of the nest, the parameters, the user's
// body.
#include "compiler/codegen/emitter.h"

namespace quern {

std::string ElementwiseEmitter::emit() {
    head();
    nest_struct();
    kernel_head();
    out_.user(loop_prep_label, spec_.loop_prep, ";");
    switch (layout_.strategy) {
    case Strategy::vector:
        vector_loop();
        break;
    case Strategy::scattered:
        layout_.lanes == 1 ? single_loop() : scattered_loop();
        break;
    case Strategy::tile:
        tile_loop();
        break;
    case Strategy::range:
        range_loop();
        break;
    case Strategy::blocked:
        blocked_loop();
        break;
    }
    out_.user(after_loop_label, spec_.after_loop, ";");
    out_.close();
    return out_.take();
}

void ElementwiseEmitter::head() {
    std::vector<std::string> pieces =
        kernel_pieces(spec_, signature_, index_pieces(layout_.index_bits));
    if (layout_.swift)
        pieces.emplace_back("quern/swift.cuh");
    write_head(out_, "elementwise", spec_, signature_, describe(layout_), pieces);
}

void ElementwiseEmitter::nest_struct() {
    using Kind = NestField::Kind;
    out_.open("struct ", own("nest_type"));
    for (const NestField& field : nest_fields(layout_)) {
        switch (field.kind) {
        case Kind::steps:
            out_.line(index_, " steps;");
            break;
        case Kind::count:
            out_.line(index_, " count;");
            break;
        case Kind::share:
            out_.line(index_, " share;");
            break;
        case Kind::shift:
            out_.line(index_, " shift;");
            break;
        case Kind::extent:
            out_.line(index_, " ", axis_name("extent", field.axis), ";");
            break;
        case Kind::divisor:
            out_.line("quern::Divisor<", index_, "> ", axis_name("by_extent", field.axis), ";");
            break;
        case Kind::row_steps:
            out_.line("quern::Divisor<", index_, "> by_row;");
            break;
        case Kind::tiles:
            out_.line("quern::Divisor<", index_, "> ", axis_name("by_tiles", field.axis), ";");
            break;
        case Kind::stride:
            out_.line(signed_, " ",
                      stride_name(operands_[static_cast<std::size_t>(field.operand)], field.axis),
                      ";");
            break;
        }
    }
    out_.close(";");
    out_.blank();
}

void ElementwiseEmitter::kernel_head() {
    std::string list = kernel_params(spec_, signature_, variant_.raw, q_);
    if (spec_.facts.uses_ind)
        list += join("const CIndexer<", int{layout_.ndim}, "> ", own("indexer"), ", ");
    std::string bounds;
    if (const int blocks = tile_blocks(); blocks > 0)
        bounds = join("__launch_bounds__(", tile_block, ", ", blocks, ") ");
    else if (layout_.gathers)
        bounds = join("__launch_bounds__(", gather_block, ") ");
    out_.open("extern \"C\" __global__ void ", bounds, spec_.name, "(", list, "const ",
              own("nest_type"), " ", own("nest"), ")");
    if (spec_.facts.uses_ind)
        out_.line("CIndexer<", int{layout_.ndim}, "> _ind = ", own("indexer"), ";");
    if (spec_.facts.uses_n)
        out_.line("const ptrdiff_t n = ", spec_.facts.uses_ind ? "_ind.size()" : element_count(),
                  ";");
}

// The user's body, or a form of it, its variables already in scope.
void ElementwiseEmitter::body(const std::string& position, const std::string& operation) {
    if (spec_.facts.uses_i || spec_.facts.uses_ind)
        out_.line("const ptrdiff_t i = ", position, ";");
    if (spec_.facts.uses_ind)
        out_.line("_ind.set(i);");
    out_.open();
    out_.user(operation_label, operation, ";");
    out_.close();
}

// Splits `position` over the axes [1, last], declares own("at_<axis>") for [0, last].
void ElementwiseEmitter::split(int last, const std::string& position) {
    if (last == 0) {
        out_.line("const ", index_, " ", own("at_0"), " = ", position, ";");
        return;
    }
    out_.line(index_, " ", own("rest"), " = ", position, ";");
    for (int d = last; d > 0; --d) {
        out_.line("const ", index_, " ", own(axis_name("above", d)), " = ",
                  nest(axis_name("by_extent", d)), ".divide(", own("rest"), ");");
        out_.line("const ", index_, " ", own(axis_name("at", d)), " = ", own("rest"), " - ",
                  own(axis_name("above", d)), " * ", nest(axis_name("by_extent", d)), ".divisor;");
        out_.line(own("rest"), " = ", own(axis_name("above", d)), ";");
    }
    out_.line("const ", index_, " ", own("at_0"), " = ", own("rest"), ";");
}

// Position of a tile: own("at_<d>") for the outer axes, own("low")/own("high") where the tile
// starts along the last two.
void ElementwiseEmitter::locate_tile(int extent) {
    const int inner = layout_.ndim - 1;
    const auto cut = [&](int axis, std::string_view start, const std::string& from,
                         std::string_view above) {
        const std::string by = nest(axis_name("by_tiles", axis));
        out_.line("const ", index_, " ", own(above), " = ", by, ".divide(", from, ");");
        out_.line("const ", index_, " ", own(start), " = (", from, " - ", own(above), " * ", by,
                  ".divisor) * ", extent, ";");
    };
    cut(inner, "low", own("tile"), "above_low");
    if (layout_.ndim == 2) {
        out_.line("const ", index_, " ", own("high"), " = ", own("above_low"), " * ", extent, ";");
        return;
    }
    cut(inner - 1, "high", own("above_low"), "above_high");
    split(inner - 2, own("above_high"));
}

// The element at (high, low) positions `q` and `p`, from `start`.
std::string ElementwiseEmitter::tile_element(const OperandRef& ref, const std::string& start,
                                             const std::string& q, const std::string& p) const {
    const int inner = layout_.ndim - 1;
    const auto times = [&](const std::string& position, int axis) {
        return join("static_cast<", signed_, ">(", position, ") * ", nest(stride_name(ref, axis)));
    };
    switch (access(ref)) {
    case Access::contiguous:
        return join("quern::at_byte(", start, ", ", times(q, inner - 1), ")[", p, "]");
    case Access::repeated:
        return join("*quern::at_byte(", start, ", ", times(q, inner - 1), ")");
    case Access::tiled:
        return join("quern::at_byte(", start, ", ", times(p, inner), ")[", q, "]");
    case Access::strided:
    case Access::gathered:
        break;
    }
    return join("*quern::at_byte(", start, ", ", times(q, inner - 1), " + ", times(p, inner), ")");
}

} // namespace quern
