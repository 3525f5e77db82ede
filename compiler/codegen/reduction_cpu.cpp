// Loops of reductions on the CPU: each block is a plain loop over its rows, or its tiles of
// columns.
#include "compiler/codegen/reduction_emitter.h"

namespace quern {

// Opens the loop over this block's units; each is a tile and a part of its steps.
void ReductionEmitter::unit_loop() {
    out_.line("const ", signed_, " ", own("first_unit"), " = blockIdx.x * ", nest("share"), ", ",
              own("past_unit"), " = ", own("first_unit"), " + ", nest("share"), " < ",
              nest("units"), " ? ", own("first_unit"), " + ", nest("share"), " : ", nest("units"),
              ";");
    out_.open("for (", signed_, " ", own("unit"), " = ", own("first_unit"), "; ", own("unit"),
              " < ", own("past_unit"), "; ++", own("unit"), ")");
    if (layout_.split) {
        out_.line("const ", index_, " ", own("tile"), " = ", nest("by_splits"), ".divide(",
                  own("unit"), "), ", own("part"), " = ", own("unit"), " - ", own("tile"), " * ",
                  nest("by_splits.divisor"), ";");
        out_.line("const ", signed_, " ", own("begin"), " = ", own("part"), " * ", nest("chunk"),
                  ", ", own("whole"), " = ", own("begin"), " + ", nest("chunk"), ", ", own("end"),
                  " = ", own("whole"), " < ", as_signed(nest("steps")), " ? ", own("whole"), " : ",
                  nest("steps"), ";");
    } else {
        out_.line("const ", index_, " ", own("tile"), " = ", own("unit"), ";");
        out_.line("const ", signed_, " ", own("begin"), " = 0, ", own("end"), " = ", nest("steps"),
                  ";");
    }
}

// `const auto at = [&](j)`: the value of element j of the current run. Where elements stand a known
// step apart, `dense(k)` is the k-th of all in the line.
void ReductionEmitter::cpu_element() {
    const bool steps = layout_.step > 1;
    out_.open("const auto ", own(steps ? "dense" : "at"), " = [&](const ", signed_, " ", own("j"),
              ") -> ", inner_type());
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "& ", name(ref), " = ",
                  cpu_operand(ref, own("from_" + name(ref))), ";");
    map_value(join(own("run"), " * ", as_signed(nest("length")), " + ", own("j")), own("tile"));
    out_.line("return ", own("value"), ";");
    out_.close(";");
    if (steps)
        out_.line("const auto ", own("at"), " = [&](const ", signed_, " ", own("j"), ") { return ",
                  own("dense"), "(", own("j"), " * ", int{layout_.step}, "); };");
}

// Element j of a line that begins at `from`.
std::string ReductionEmitter::cpu_operand(const OperandRef& ref, const std::string& from) const {
    if (access(ref) == Access::contiguous)
        return join(from, "[", own("j"), "]");
    if (access(ref) == Access::repeated)
        return "*" + from;
    if (layout_.step > 1)
        return join(from, "[", own("j"), "]");
    return "*" + at_byte(from, join(own("j"), " * ", stride(ref, fastest())));
}

void ReductionEmitter::cpu_rows() {
    constexpr int loose_limit = 256; // elements one by one, before their sum joins the others
    const std::string packs_limit = join("decltype(", own("lanes"), ")::limit");
    const int m = layout_.reduced_ndim, n = layout_.kept_ndim, lanes = layout_.lanes;
    const bool brief = layout_.brief;
    const std::string settle = lanes > 1 ? join("quern::settle(", own("sums"), ", ", own("lanes"),
                                                ", ", own("packs"), " > 0, ", own("loose"), ", ",
                                                own("loose_count"), " > 0, ", inner_join(), ");")
                                         : join("if (", own("loose_count"), " > 0) ", own("sums"),
                                                ".add(", widened(own("loose")), ");");
    const auto start_over = [&] {
        if (lanes > 1)
            out_.line(own("packs"), " = 0;");
        out_.line(own("loose"), " = ", inner_identity(), ";");
        out_.line(own("loose_count"), " = 0;");
    };
    unit_loop();
    split_axes(own("tile"), 0, n, "");
    for (const OperandRef& ref : inputs_)
        out_.line(
            "const ", type(ref), "* const ", own("line_" + name(ref)), " = ",
            at_byte(own("data_" + name(ref)), join(nest(name(ref) + "_start"), offset(ref, 0, n))),
            ";");
    if (!brief)
        out_.line("quern::Pairwise<_type_reduce, decltype(", own("join"), ")> ", own("sums"), "(",
                  own("join"), ", ", identity(), ");");
    if (lanes > 1) {
        out_.line("quern::Lanes<", inner_type(), ", ", lanes, "> ", own("lanes"), ";");
        out_.line(signed_, " ", own("packs"), " = 0;");
    }
    out_.line(inner_type(), " ", own("loose"), " = ", inner_identity(), ";");
    out_.line(signed_, " ", own("loose_count"), " = 0;");
    out_.open("for (", signed_, " ", own("step"), " = ", own("begin"), "; ", own("step"), " < ",
              own("end"), ";)");
    if (m > 1) {
        out_.line("const ", signed_, " ", own("run"), " = ", own("step"), " / ",
                  as_signed(nest("length")), ", ", own("from"), " = ", own("step"), " - ",
                  own("run"), " * ", as_signed(nest("length")), ";");
        split_axes(own("run"), n, n + m - 1, "_run");
    } else {
        out_.line("const ", signed_, " ", own("run"), " = 0, ", own("from"), " = ", own("step"),
                  ";");
    }
    out_.line("const ", signed_, " ", own("left"), " = ", own("end"), " - ", own("step"), ", ",
              own("here"), " = ", as_signed(nest("length")), " - ", own("from"), ", ", own("to"),
              " = ", own("from"), " + (", own("left"), " < ", own("here"), " ? ", own("left"),
              " : ", own("here"), ");");
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "* const ", own("from_" + name(ref)), " = ",
                  m > 1 ? at_byte(own("line_" + name(ref)), "0" + offset(ref, n, n + m - 1))
                        : own("line_" + name(ref)),
                  ";");
    cpu_element();
    out_.line(signed_, " ", own("j"), " = ", own("from"), ";");
    if (lanes > 1) {
        out_.open("while (", own("to"), " - ", own("j"), " >= ", lanes, ")");
        out_.line("const ", signed_, " ", own("whole"), " = (", own("to"), " - ", own("j"), ") / ",
                  lanes, ", ", own("room"), " = ", packs_limit, " - ", own("packs"), ", ",
                  own("count"), " = ", own("whole"), " < ", own("room"), " ? ", own("whole"), " : ",
                  own("room"), ";");
        out_.line("if (", own("packs"), " == 0) ", own("lanes"), ".clear(", inner_identity(), ");");
        out_.line(own("lanes"),
                  layout_.step > 1 ? join(".take_every<", int{layout_.step}, ">(", own("dense"))
                                   : join(".take(", own("at")),
                  ", ", own("j"), ", ", own("j"), " + ", own("count"), " * ", lanes, ", ",
                  inner_join(), ");");
        out_.line(own("j"), " += ", own("count"), " * ", lanes, ";");
        out_.line(own("packs"), " += ", own("count"), ";");
        if (!brief) {
            out_.open("if (", own("packs"), " == ", packs_limit, ")");
            out_.line(settle);
            start_over();
            out_.close();
        }
        out_.close();
    }
    out_.open("while (", own("j"), " < ", own("to"), ")");
    out_.line("const ", signed_, " ", own("room"), " = ", own("to"), " - ", own("j"), " < ",
              loose_limit, " ? ", own("to"), " - ", own("j"), " : ", loose_limit, ", ", own("stop"),
              " = ", own("j"), " + ", own("room"), ";");
    if (lanes > 1)
        out_.line("QUERN_PLAIN");
    out_.line("for (; ", own("j"), " < ", own("stop"), "; ++", own("j"), ") ", own("loose"), " = ",
              inner_join(), "(", own("loose"), ", ", own("at"), "(", own("j"), "));");
    out_.line(own("loose_count"), " += ", own("room"), ";");
    if (!brief) {
        out_.open("if (", own("loose_count"), " >= ", loose_limit, ")");
        out_.line(settle);
        start_over();
        out_.close();
    }
    out_.close();
    out_.line(own("step"), " += ", own("to"), " - ", own("from"), ";");
    out_.close();
    if (brief) {
        const std::string folded = widened(join(own("lanes"), ".fold(", inner_join(), ")"));
        out_.line("_type_reduce ", own("all"), " = ", widened(own("loose")), ";");
        if (lanes > 1)
            out_.line("if (", own("packs"), " > 0) ", own("all"), " = ", own("loose_count"),
                      " > 0 ? ", own("join"), "(", folded, ", ", own("all"), ") : ", folded, ";");
    } else {
        out_.line(settle);
        out_.line("const _type_reduce ", own("all"), " = ", own("sums"), ".total();");
    }
    out_.line(result(own("tile"), own("all")));
    out_.close();
}

// `count` rows of a tile of columns, from own("step") on, joined to own("sum").
void ReductionEmitter::cpu_column_rows(int count) {
    const int m = layout_.reduced_ndim, n = layout_.kept_ndim;
    const auto numbered = [&](std::string_view what, int r) { return own(join(what, "_", r)); };
    for (int r = 0; r < count; ++r) {
        for (const OperandRef& ref : inputs_)
            out_.line("const ", type(ref), "* ", numbered("from_" + name(ref), r), ";");
        out_.open();
        out_.line("const ", index_, " ", own("this_step"), " = ", own("step"), " + ", r, ";");
        split_axes(own("this_step"), n, n + m, "_step");
        for (const OperandRef& ref : inputs_)
            out_.line(numbered("from_" + name(ref), r), " = ",
                      at_byte(own("data_" + name(ref)),
                              join(nest(name(ref) + "_start"), offset(ref, 0, n - 1),
                                   offset(ref, n, n + m),
                                   access(ref) == Access::strided
                                       ? join(" + ", own("low"), " * ", stride(ref, fastest()))
                                       : "")),
                      access(ref) == Access::contiguous ? " + " + own("low") : "", ";");
        out_.close();
    }
    out_.line("QUERN_INDEPENDENT");
    out_.open("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ", own("count"), "; ++",
              own("j"), ")");
    std::string values;
    for (int r = 0; r < count; ++r) {
        out_.open("const auto ", numbered("value", r), " = [&]() -> ", inner_type());
        for (const OperandRef& ref : inputs_)
            out_.line("const ", type(ref), "& ", name(ref), " = ",
                      cpu_operand(ref, numbered("from_" + name(ref), r)), ";");
        map_value(join(own("step"), " + ", r),
                  join(own("outer"), " * ", nest("length"), " + ", own("low"), " + ", own("j")));
        out_.line("return ", own("value"), ";");
        out_.close(";");
        values += numbered("value", r) + "(), ";
    }
    out_.line(own("sum"), ".add(", own("j"), ", ", values, inner_join(), ");");
    out_.close();
}

void ReductionEmitter::cpu_columns() {
    constexpr int rows_together = 4;
    constexpr int rows_of_a_sum = 128; // before it is joined to the others
    const int n = layout_.kept_ndim;
    const int tile = int{layout_.tile};
    const std::string columns = join("quern::Columns<", inner_type(), ", ", tile, "> ");
    out_.line(columns, own("sum"), ", ", own("upper"), ";");
    unit_loop();
    out_.line("const ", index_, " ", own("outer"), " = ", nest("by_tiles"), ".divide(", own("tile"),
              ");");
    out_.line("const ", signed_, " ", own("low"), " = (", own("tile"), " - ", own("outer"), " * ",
              nest("by_tiles.divisor"), ") * ", tile, ", ", own("past"), " = ", own("low"), " + ",
              tile, ", ", own("high"), " = ", own("past"), " < ", as_signed(nest("length")), " ? ",
              own("past"), " : ", nest("length"), ", ", own("count"), " = ", own("high"), " - ",
              own("low"), ";");
    split_axes(own("outer"), 0, n - 1, "");
    out_.line("bool ", own("joined"), " = false;");
    out_.line(signed_, " ", own("step"), " = ", own("begin"), ";");
    out_.open("do");
    out_.line("const ", signed_, " ", own("room"), " = ", own("end"), " - ", own("step"), " < ",
              rows_of_a_sum, " ? ", own("end"), " - ", own("step"), " : ", rows_of_a_sum, ", ",
              own("stop"), " = ", own("step"), " + ", own("room"), ";");
    out_.line(own("sum"), ".clear(", own("count"), ", ", inner_identity(), ");");
    out_.open("for (; ", own("step"), " + ", rows_together, " <= ", own("stop"), "; ", own("step"),
              " += ", rows_together, ")");
    cpu_column_rows(rows_together);
    out_.close();
    out_.open("for (; ", own("step"), " < ", own("stop"), "; ++", own("step"), ")");
    cpu_column_rows(1);
    out_.close();
    out_.line("if (!", own("joined"), " && ", own("step"), " >= ", own("end"), ") break;");
    out_.line("if (!", own("joined"), ") ", own("upper"), ".clear(", own("count"), ", ",
              inner_identity(), ");");
    out_.line(own("upper"), ".absorb(", own("sum"), ", ", own("count"), ", ", inner_join(), ");");
    out_.line(own("joined"), " = true;");
    out_.close(join(" while (", own("step"), " < ", own("end"), ");"));
    out_.line("const auto& ", own("all"), " = ", own("joined"), " ? ", own("upper"), " : ",
              own("sum"), ";");
    out_.open("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ", own("count"), "; ++",
              own("j"), ")");
    out_.line("const ", index_, " ", own("row"), " = ", own("outer"), " * ", nest("length"), " + ",
              own("low"), " + ", own("j"), ";");
    out_.line(result(own("row"), widened(join(own("all"), ".get(", own("j"), ")"))));
    out_.close();
    out_.close();
}

// The second kernel: one thread folds the partial results of every output.
void ReductionEmitter::cpu_finish() {
    out_.open("for (", index_, " ", own("row"), " = 0; ", own("row"), " < ", nest("outputs"),
              "; ++", own("row"), ")");
    out_.line("quern::Pairwise<_type_reduce, decltype(", own("join"), ")> ", own("sums"), "(",
              own("join"), ", ", identity(), ");");
    out_.line("for (", index_, " ", own("part"), " = 0; ", own("part"), " < ",
              nest("by_splits.divisor"), "; ++", own("part"), ") ", own("sums"), ".add(",
              own("partial"), "[", own("row"), " * ", nest("by_splits.divisor"), " + ", own("part"),
              "]);");
    out_.line(own("post"), "(", own("row"), ", ", own("sums"), ".total());");
    out_.close();
}

} // namespace quern
