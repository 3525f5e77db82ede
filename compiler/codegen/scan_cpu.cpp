// Loops of scans on the CPU: each block is a plain loop over rows or strips of columns. Where those
// are too few each is cut into tiles, which threads take one after another: a tile's elements are
// joined first, and scanned behind what the tiles before have while they are still in the cache.
#include "compiler/codegen/scan_emitter.h"
#include "compiler/spec/body_facts.h"

namespace quern {

// Opens the loop over this block's units.
void ScanEmitter::unit_loop() {
    if (layout_.split)
        out_.line("const quern::SharedTiles<_type_reduce> ", own("tiles"), "(", own("room"), ", ",
                  nest("units"), ");");
    out_.line("const ", index_, " ", own("first_unit"), " = blockIdx.x * ", nest("share"), ", ",
              own("past_unit"), " = min(", own("first_unit"), " + ", nest("share"), ", ",
              nest("units"), ");");
    const std::string turn = own(layout_.split ? "turn" : "unit");
    out_.open("for (", index_, " ", turn, " = ", own("first_unit"), "; ", turn, " < ",
              own("past_unit"), "; ++", turn, ")");
    if (!layout_.split) {
        out_.line("const ", index_, " ", own("whole"), " = ", own("unit"), ";");
        out_.line("const ", signed_, " ", own("begin"), " = 0, ", own("end"), " = ", nest("length"),
                  ";");
        return;
    }
    out_.line("const ", index_, " ", own("unit"), " = ", own("tiles"), ".take(), ", own("whole"),
              " = ", nest("by_tiles"), ".divide(", own("unit"), "), ", own("tile"), " = ",
              own("unit"), " - ", own("whole"), " * ", nest("by_tiles.divisor"), ";");
    out_.line("const ", signed_, " ", own("begin"), " = ", own("tile"), " * ", nest("chunk"), ", ",
              own("end"), " = min(", own("begin"), " + ", as_signed(nest("chunk")), ", ",
              as_signed(nest("length")), ");");
}

std::string ScanEmitter::tells() const {
    return join("if (", own("tile"), " + 1 < ", nest("by_tiles.divisor"), ")");
}

// own(at)(j) maps the element at `j` behind own(from_<input>), own(put)(j, a) post-maps to it.
void ScanEmitter::element_lambdas() {
    const auto element = [&](const OperandRef& ref) {
        const std::string from = start(ref);
        return access(ref) == Access::contiguous ? join(from, "[", own("j"), "]")
               : access(ref) == Access::repeated
                   ? "*" + from
                   : "*" + at_byte(from, join(own("j"), " * ", stride(ref, layout_.fastest())));
    };
    out_.open("const auto ", own("at"), " = [&](const ", signed_, " ", own("j"),
              ") -> _type_reduce");
    mapped(element);
    out_.line("return ", own("value"), ";");
    out_.close(";");
    out_.open("const auto ", own("put"), " = [&](const ", signed_, " ", own("j"), ", _type_reduce ",
              own("joined"), ")");
    post_mapped(own("joined"), element);
    out_.close(";");
}

void ScanEmitter::cpu_rows() {
    unit_loop();
    split_axes(own("whole"), 0, layout_.kept_ndim, "");
    starts(layout_.kept_ndim);
    element_lambdas();
    const bool slow = is_costly(spec_.reduce_expr);
    const auto run_with = [&](bool puts) {
        return join("quern::scan_run<", puts, ", ", slow, ">(", own("begin"), ", ", own("end"),
                    ", ", own(puts ? "carry" : "total"), ", ", own("join"), ", ", own("at"), ", ",
                    own("put"), ");");
    };
    out_.line("quern::Prefix<_type_reduce> ", own("carry"), ";");
    if (layout_.split) {
        out_.line("quern::Prefix<_type_reduce> ", own("total"), ";");
        out_.line(tells(), " ", run_with(false));
        out_.open("if (", own("tile"), " > 0)");
        out_.line(own("tiles"), ".wait(", own("unit"), " - 1);");
        out_.line(own("carry"), ".add(", own("tiles"), ".joined[", own("unit"), " - 1], ",
                  own("join"), ");");
        out_.close();
        out_.open(tells());
        out_.line(own("tiles"), ".joined[", own("unit"), "] = ", own("carry"), ".before(",
                  own("total"), ".value, ", own("join"), ");");
        out_.line(own("tiles"), ".tell(", own("unit"), ");");
        out_.close();
    }
    out_.line(run_with(true));
    out_.close();
}

void ScanEmitter::open_columns() {
    const std::string j = own("j");
    out_.line("QUERN_COLUMNS");
    out_.open("for (", signed_, " ", j, " = 0; ", j, " < ", own("count"), "; ++", j, ")");
}

// Goes down a strip of columns with own(carry).
void ScanEmitter::column_walk(bool puts) {
    const int n = layout_.kept_ndim;
    const std::string j = own("j"), carry = join(own("carry"), "[", j, "]");
    out_.open("for (", signed_, " ", own("step"), " = ", own("begin"), "; ", own("step"), " < ",
              own("end"), "; ++", own("step"), ")");
    out_.line("const ", index_, " ", own(join("at_", n)), " = ", own("step"), ";");
    for (const auto* list : {&inputs_, &outputs_})
        for (const OperandRef& ref : *list) {
            const bool strided = access(ref) == Access::strided;
            out_.line(list == &inputs_ ? "const " : "", type(ref), "* const ", start(ref), " = ",
                      at_byte(own("data_" + name(ref)),
                              join("0", offset(ref, 0, n - 1), offset(ref, n, n + 1),
                                   strided ? join(" + ", own("low"), " * ",
                                                  stride(ref, layout_.fastest()))
                                           : "")),
                      access(ref) == Access::contiguous ? " + " + own("low") : "", ";");
        }
    element_lambdas();
    const auto joins = [&](const std::string& value) {
        open_columns();
        out_.line(carry, " = ", value, ";");
        if (puts)
            out_.line(own("put"), "(", j, ", ", carry, ");");
        out_.close();
        out_.close();
    };
    out_.open("if (", own("started"), ")");
    joins(join(own("join"), "(", carry, ", ", own("at"), "(", j, "))"));
    out_.open("else");
    joins(join(own("at"), "(", j, ")"));
    out_.line(own("started"), " = true;");
    out_.close();
}

void ScanEmitter::cpu_columns() {
    const int n = layout_.kept_ndim;
    const std::string j = own("j"), carry = join(own("carry"), "[", j, "]");
    out_.line("_type_reduce ", own("carry"), "[", cpu_scan_columns, "];");
    unit_loop();
    out_.line("const ", index_, " ", own("outer"), " = ", nest("by_strips"), ".divide(",
              own("whole"), ");");
    out_.line("const ", signed_, " ", own("low"), " = (", own("whole"), " - ", own("outer"), " * ",
              nest("by_strips.divisor"), ") * ", cpu_scan_columns, ", ", own("count"), " = min(",
              as_signed(nest("across")), " - ", own("low"), ", ", as_signed(join(cpu_scan_columns)),
              ");");
    split_axes(own("outer"), 0, n - 1, "");
    out_.line("bool ", own("started"), " = false;");
    if (layout_.split) {
        out_.open(tells());
        column_walk(false);
        out_.close();
        out_.line("_type_reduce* const ", own("own_row"), " = ", own("tiles"), ".joined + ",
                  own("tile"), " * ", nest("lines"), " + ", own("outer"), " * ", nest("across"),
                  " + ", own("low"), ";");
        out_.line("const _type_reduce* const ", own("before"), " = ", own("own_row"), " - ",
                  nest("lines"), ";");
        out_.line("if (", own("tile"), " > 0) ", own("tiles"), ".wait(", own("unit"), " - 1);");
        out_.open(tells());
        open_columns();
        out_.line(own("own_row"), "[", j, "] = ", own("tile"), " > 0 ? ", own("join"), "(",
                  own("before"), "[", j, "], ", carry, ") : ", carry, ";");
        out_.close();
        out_.line(own("tiles"), ".tell(", own("unit"), ");");
        out_.close();
        out_.line(own("started"), " = ", own("tile"), " > 0;");
        out_.line("for (", signed_, " ", j, " = 0; ", own("started"), " && ", j, " < ",
                  own("count"), "; ++", j, ") ", carry, " = ", own("before"), "[", j, "];");
    }
    column_walk(true);
    out_.close();
}

} // namespace quern
