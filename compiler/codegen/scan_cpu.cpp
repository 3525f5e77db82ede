// Loops of scans on the CPU: each block is a plain loop over rows or strips of columns. Where those
// are too few each is cut into tiles: one launch joins each tile's elements, the next one scans
// them behind what the tiles before have.
#include "compiler/codegen/scan_emitter.h"

namespace quern {

// Opens the loop over this block's units. A total of the last tile is nobody's.
void ScanEmitter::unit_loop(bool totals) {
    out_.line("const ", index_, " ", own("first_unit"), " = blockIdx.x * ", nest("share"), ", ",
              own("past_unit"), " = min(", own("first_unit"), " + ", nest("share"), ", ",
              nest("units"), ");");
    out_.open("for (", index_, " ", own("unit"), " = ", own("first_unit"), "; ", own("unit"), " < ",
              own("past_unit"), "; ++", own("unit"), ")");
    if (!layout_.split) {
        out_.line("const ", index_, " ", own("whole"), " = ", own("unit"), ";");
        out_.line("const ", signed_, " ", own("begin"), " = 0, ", own("end"), " = ", nest("length"),
                  ";");
        return;
    }
    out_.line("const ", index_, " ", own("whole"), " = ", nest("by_tiles"), ".divide(", own("unit"),
              "), ", own("tile"), " = ", own("unit"), " - ", own("whole"), " * ",
              nest("by_tiles.divisor"), ";");
    if (totals)
        out_.line("if (", own("tile"), " + 1 == ", nest("by_tiles.divisor"), ") continue;");
    out_.line("const ", signed_, " ", own("begin"), " = ", own("tile"), " * ", nest("chunk"), ", ",
              own("end"), " = min(", own("begin"), " + ", as_signed(nest("chunk")), ", ",
              as_signed(nest("length")), ");");
    out_.line("_type_reduce* const ", own("told"), " = static_cast<_type_reduce*>(", own("room"),
              ");");
}

// own(at)(j) maps the element at `j` behind own(from_<input>), own(put)(j, a) post-maps to it.
void ScanEmitter::element_lambdas(bool totals) {
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
    if (!totals)
        post_mapped(own("joined"), element);
    out_.close(";");
}

void ScanEmitter::cpu_rows(bool totals) {
    unit_loop(totals);
    split_axes(own("whole"), 0, layout_.kept_ndim, "");
    starts(layout_.kept_ndim);
    element_lambdas(totals);
    out_.line("quern::Prefix<_type_reduce> ", own("carry"), ";");
    if (layout_.split && !totals)
        out_.line("for (", index_, " ", own("k"), " = 0; ", own("k"), " < ", own("tile"), "; ++",
                  own("k"), ") ", own("carry"), ".add(", own("told"), "[", own("k"), " * ",
                  nest("lines"), " + ", own("whole"), "], ", own("join"), ");");
    out_.line("quern::scan_run<", totals ? "false" : "true", ">(", own("begin"), ", ", own("end"),
              ", ", own("carry"), ", ", own("join"), ", ", own("at"), ", ", own("put"), ");");
    if (totals)
        out_.line(own("told"), "[", own("tile"), " * ", nest("lines"), " + ", own("whole"),
                  "] = ", own("carry"), ".value;");
    out_.close();
}

void ScanEmitter::cpu_columns(bool totals) {
    const int n = layout_.kept_ndim;
    const std::string j = own("j"), carry = join(own("carry"), "[", j, "]");
    const auto each_column = [&](bool independent) {
        if (independent)
            out_.line("QUERN_INDEPENDENT");
        out_.open("for (", signed_, " ", j, " = 0; ", j, " < ", own("count"), "; ++", j, ")");
    };
    out_.line("_type_reduce ", own("carry"), "[", cpu_scan_columns, "];");
    unit_loop(totals);
    out_.line("const ", index_, " ", own("outer"), " = ", nest("by_strips"), ".divide(",
              own("whole"), ");");
    out_.line("const ", signed_, " ", own("low"), " = (", own("whole"), " - ", own("outer"), " * ",
              nest("by_strips.divisor"), ") * ", cpu_scan_columns, ", ", own("count"), " = min(",
              as_signed(nest("across")), " - ", own("low"), ", ", as_signed(join(cpu_scan_columns)),
              ");");
    split_axes(own("outer"), 0, n - 1, "");
    out_.line("bool ", own("started"), " = false;");
    const std::string told = join(own("told"), "[%", " * ", nest("lines"), " + ", own("outer"),
                                  " * ", nest("across"), " + ", own("low"), " + ", j, "]");
    const auto told_of = [&](const std::string& tile) {
        std::string text = told;
        return text.replace(text.find('%'), 1, tile);
    };
    if (layout_.split && !totals) {
        out_.open("for (", index_, " ", own("k"), " = 0; ", own("k"), " < ", own("tile"), "; ++",
                  own("k"), ")");
        each_column(true);
        out_.line(carry, " = ", own("started"), " ? ", own("join"), "(", carry, ", ",
                  told_of(own("k")), ") : ", told_of(own("k")), ";");
        out_.close();
        out_.line(own("started"), " = true;");
        out_.close();
    }
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
    element_lambdas(totals);
    out_.open("if (", own("started"), ")");
    each_column(true);
    out_.line(carry, " = ", own("join"), "(", carry, ", ", own("at"), "(", j, "));");
    out_.line(own("put"), "(", j, ", ", carry, ");");
    out_.close();
    out_.close();
    out_.open("else");
    each_column(true);
    out_.line(carry, " = ", own("at"), "(", j, ");");
    out_.line(own("put"), "(", j, ", ", carry, ");");
    out_.close();
    out_.close();
    out_.line(own("started"), " = true;");
    out_.close();
    if (totals) {
        each_column(true);
        out_.line(told_of(own("tile")), " = ", carry, ";");
        out_.close();
    }
    out_.close();
}

} // namespace quern
