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

void ReductionEmitter::cpu_rows() {
    constexpr int steps_of_a_lane = 128; // before its sum is folded into the others
    constexpr int loose_limit = 256;     // the same for elements one by one
    const int m = layout_.reduced_ndim, n = layout_.kept_ndim, lanes = layout_.lanes;
    unit_loop();
    split_axes(own("tile"), 0, n, "");
    for (const OperandRef& ref : inputs_)
        out_.line(
            "const ", type(ref), "* const ", own("line_" + name(ref)), " = ",
            at_byte(own("data_" + name(ref)), join(nest(name(ref) + "_start"), offset(ref, 0, n))),
            ";");
    out_.line("quern::Pairwise<_type_reduce, decltype(", own("join"), ")> ", own("sums"), "(",
              own("join"), ", ", identity(), ");");
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
    out_.open("const auto ", own("at"), " = [&](const ", signed_, " ", own("j"), ") -> ",
              inner_type());
    for (const OperandRef& ref : inputs_) {
        const std::string from = own("from_" + name(ref));
        out_.line("const ", type(ref), "& ", name(ref), " = ",
                  access(ref) == Access::contiguous ? join(from, "[", own("j"), "]")
                  : access(ref) == Access::repeated
                      ? "*" + from
                      : "*" + at_byte(from, join(own("j"), " * ", stride(ref, fastest()))),
                  ";");
    }
    map_value(join(own("run"), " * ", as_signed(nest("length")), " + ", own("j")), own("tile"));
    out_.line("return ", own("value"), ";");
    out_.close(";");
    out_.line(signed_, " ", own("j"), " = ", own("from"), ";");
    if (lanes > 1) {
        out_.open("while (", own("to"), " - ", own("j"), " >= ", lanes, ")");
        out_.line(inner_type(), " ", own("lane"), "[", lanes, "];");
        out_.line("for (int ", own("l"), " = 0; ", own("l"), " < ", lanes, "; ++", own("l"), ") ",
                  own("lane"), "[", own("l"), "] = ", inner_identity(), ";");
        out_.line("const ", signed_, " ", own("packs"), " = (", own("to"), " - ", own("j"), ") / ",
                  lanes, ", ", own("stop"), " = ", own("j"), " + (", own("packs"), " < ",
                  steps_of_a_lane, " ? ", own("packs"), " : ", steps_of_a_lane, ") * ", lanes, ";");
        out_.open("for (; ", own("j"), " < ", own("stop"), "; ", own("j"), " += ", lanes, ")");
        out_.line("QUERN_INDEPENDENT");
        out_.line("for (int ", own("l"), " = 0; ", own("l"), " < ", lanes, "; ++", own("l"), ") ",
                  own("lane"), "[", own("l"), "] = ", inner_join(), "(", own("lane"), "[", own("l"),
                  "], ", own("at"), "(", own("j"), " + ", own("l"), "));");
        out_.close();
        out_.line(
            own("sums"), ".add(",
            widened(join("quern::fold_lanes<", lanes, ">(", own("lane"), ", ", inner_join(), ")")),
            ");");
        out_.close();
    }
    out_.open("while (", own("j"), " < ", own("to"), ")");
    out_.line("const ", signed_, " ", own("room"), " = ", own("to"), " - ", own("j"), " < ",
              loose_limit, " ? ", own("to"), " - ", own("j"), " : ", loose_limit, ", ", own("stop"),
              " = ", own("j"), " + ", own("room"), ";");
    out_.line("for (; ", own("j"), " < ", own("stop"), "; ++", own("j"), ") ", own("loose"), " = ",
              inner_join(), "(", own("loose"), ", ", own("at"), "(", own("j"), "));");
    out_.line(own("loose_count"), " += ", own("room"), ";");
    out_.open("if (", own("loose_count"), " >= ", loose_limit, ")");
    out_.line(own("sums"), ".add(", widened(own("loose")), ");");
    out_.line(own("loose"), " = ", inner_identity(), ";");
    out_.line(own("loose_count"), " = 0;");
    out_.close();
    out_.close();
    out_.line(own("step"), " += ", own("to"), " - ", own("from"), ";");
    out_.close();
    out_.line("if (", own("loose_count"), " > 0) ", own("sums"), ".add(", widened(own("loose")),
              ");");
    out_.line("const _type_reduce ", own("all"), " = ", own("sums"), ".total();");
    out_.line(result(own("tile"), own("all")));
    out_.close();
}

void ReductionEmitter::cpu_columns() {
    const int m = layout_.reduced_ndim, n = layout_.kept_ndim;
    out_.line(inner_type(), " ", own("sum"), "[", cpu_column_tile, "];");
    unit_loop();
    out_.line("const ", index_, " ", own("outer"), " = ", nest("by_tiles"), ".divide(", own("tile"),
              ");");
    out_.line("const ", signed_, " ", own("low"), " = (", own("tile"), " - ", own("outer"), " * ",
              nest("by_tiles.divisor"), ") * ", cpu_column_tile, ", ", own("past"), " = ",
              own("low"), " + ", cpu_column_tile, ", ", own("high"), " = ", own("past"), " < ",
              as_signed(nest("length")), " ? ", own("past"), " : ", nest("length"), ", ",
              own("count"), " = ", own("high"), " - ", own("low"), ";");
    split_axes(own("outer"), 0, n - 1, "");
    out_.line("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ", own("count"), "; ++",
              own("j"), ") ", own("sum"), "[", own("j"), "] = ", inner_identity(), ";");
    out_.open("for (", signed_, " ", own("step"), " = ", own("begin"), "; ", own("step"), " < ",
              own("end"), "; ++", own("step"), ")");
    split_axes(own("step"), n, n + m, "_step");
    for (const OperandRef& ref : inputs_) {
        const bool strided = access(ref) == Access::strided;
        out_.line(
            "const ", type(ref), "* const ", own("from_" + name(ref)), " = ",
            at_byte(own("data_" + name(ref)),
                    join(nest(name(ref) + "_start"), offset(ref, 0, n - 1), offset(ref, n, n + m),
                         strided ? join(" + ", own("low"), " * ", stride(ref, fastest())) : "")),
            access(ref) == Access::contiguous ? " + " + own("low") : "", ";");
    }
    out_.line("QUERN_INDEPENDENT");
    out_.open("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ", own("count"), "; ++",
              own("j"), ")");
    for (const OperandRef& ref : inputs_) {
        const std::string from = own("from_" + name(ref));
        out_.line("const ", type(ref), "& ", name(ref), " = ",
                  access(ref) == Access::contiguous ? join(from, "[", own("j"), "]")
                  : access(ref) == Access::repeated
                      ? "*" + from
                      : "*" + at_byte(from, join(own("j"), " * ", stride(ref, fastest()))),
                  ";");
    }
    const std::string row =
        join(own("outer"), " * ", nest("length"), " + ", own("low"), " + ", own("j"));
    accumulate(join(own("sum"), "[", own("j"), "]"), own("step"), row);
    out_.close();
    out_.close();
    out_.open("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ", own("count"), "; ++",
              own("j"), ")");
    out_.line("const ", index_, " ", own("row"), " = ", row, ";");
    out_.line(result(own("row"), widened(join(own("sum"), "[", own("j"), "]"))));
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
