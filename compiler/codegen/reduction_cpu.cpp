// Loops of reductions on the CPU: each block is a plain loop over its rows, or its tiles of
// columns.
#include "compiler/codegen/reduction_emitter.h"

#include <algorithm>

namespace quern {

// Opens the loop over this block's units; each is a tile and a part of its steps.
void ReductionEmitter::unit_loop() {
    if (!layout_.brief) // rows of a few vectors are over before it helps
        out_.line("__quern_read_ahead(static_cast<int>(", nest("ahead"), "));");
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

// Sums of sums.
void ReductionEmitter::declare_sums() {
    out_.line("quern::Pairwise<_type_reduce, decltype(", own("join"), "), ", spec_.exact, "> ",
              own("sums"), "(", own("join"), ", ", identity(), ");");
}

// `const auto at = [&](j)`: the value of element j of the current run; where elements stand a known
// step apart, of the j-th of all in the line. `end` is that of the lines' names.
void ReductionEmitter::cpu_element(const std::string& position, const std::string& row,
                                   const std::string& end) {
    out_.open("const auto ", own("at"), " = [&](const ", signed_, " ", own("j"), ") -> ",
              inner_type());
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "& ", name(ref), " = ",
                  cpu_operand(ref, own("from_" + name(ref)) + end), ";");
    map_value(position, row);
    out_.line("return ", own("value"), ";");
    out_.close(";");
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
    const std::string packs_limit = join("decltype(", own("lanes"), ")::limit");
    const std::string folded = widened(join(own("lanes"), ".fold(", inner_join(), ")"));
    const int m = layout_.reduced_ndim, n = layout_.kept_ndim, lanes = layout_.lanes;
    // Elements are taken at one go where there are few, or where nothing is rounded on the way.
    const bool whole = layout_.brief || spec_.exact;
    unit_loop();
    split_axes(own("tile"), 0, n, "");
    for (const OperandRef& ref : inputs_)
        out_.line(
            "const ", type(ref), "* const ", own("line_" + name(ref)), " = ",
            at_byte(own("data_" + name(ref)), join(nest(name(ref) + "_start"), offset(ref, 0, n))),
            ";");
    const int step = std::max(1, int{layout_.step});
    const std::string flag = join(own("tickets"), " + ", own("tile"));
    if (settles()) {
        out_.line("quern::Search<", lanes, ", ", step, "> ", own("search"), ";");
        out_.line("bool ", own("settled"), " = ",
                  layout_.split ? join("quern::is_settled(", flag, ")") : "false", ";");
    } else {
        if (!whole)
            declare_sums();
        out_.line("quern::Lanes<", inner_type(), ", ", lanes, ", ", step, ", ", spec_.exact, "> ",
                  own("lanes"), ";");
        out_.line(own("lanes"), ".clear(", inner_identity(), ");");
        if (layout_.scattered)
            out_.line(own("lanes"), ".in_any_order(", nest(join("place_", fastest())), " < 0);");
        if (whole && !layout_.brief && spec_.uses_position)
            out_.line(own("lanes"), ".beyond_caches(", nest("ahead"), " != 0);");
        if (!whole)
            out_.line(signed_, " ", own("packs"), " = 0;");
    }
    const std::string unless = settles() ? " && !" + own("settled") : "";
    if (m > 1) {
        out_.open("for (", signed_, " ", own("step"), " = ", own("begin"), "; ", own("step"), " < ",
                  own("end"), unless, ";)");
        out_.line("const ", signed_, " ", own("run"), " = ", own("step"), " / ",
                  as_signed(nest("length")), ", ", own("from"), " = ", own("step"), " - ",
                  own("run"), " * ", as_signed(nest("length")), ";");
        split_axes(own("run"), n, n + m - 1, "_run");
        out_.line("const ", signed_, " ", own("left"), " = ", own("end"), " - ", own("step"), ", ",
                  own("here"), " = ", as_signed(nest("length")), " - ", own("from"), ", ",
                  own("to"), " = ", own("from"), " + (", own("left"), " < ", own("here"), " ? ",
                  own("left"), " : ", own("here"), ");");
    } else { // one run, and no loop around what short rows do
        out_.open("if (", own("begin"), " < ", own("end"), unless, ")");
        out_.line("const ", signed_, " ", own("step"), " = ", own("begin"), ", ", own("run"),
                  " = 0, ", own("from"), " = ", own("begin"), ", ", own("to"), " = ", own("end"),
                  ";");
    }
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "* const ", own("from_" + name(ref)), " = ",
                  m > 1 ? at_byte(own("line_" + name(ref)), "0" + offset(ref, n, n + m - 1))
                        : own("line_" + name(ref)),
                  ";");
    if (layout_.scattered)
        out_.line("const ", signed_, " ", own("place"), " = ", nest("first_place"),
                  places(n, n + m - 1), ";");
    const std::string nth =
        own("j") + (layout_.step > 1 ? join(" / ", int{layout_.step}) : std::string());
    cpu_element(layout_.scattered
                    ? join(own("place"), " + (", nth, ") * ", nest(join("place_", fastest())))
                    : join(own("run"), " * ", as_signed(nest("length")), " + ", nth),
                own("tile"));
    const std::string take = join(own("lanes"), ".take(", own("at"));
    if (settles()) {
        out_.line(own("settled"), " = ", own("search"), ".take([&](const ", signed_, " ", own("j"),
                  ") { return ", own("at"), "(", own("j"), ") == ", spec_.settled, "; }, ",
                  own("from"), ", ", own("to"), ");");
    } else if (whole) {
        out_.line(take, ", ", own("from"), ", ", own("to"), ", ", inner_join(), ");");
    } else {
        out_.open("for (", signed_, " ", own("j"), " = ", own("from"), "; ", own("j"), " < ",
                  own("to"), ";)");
        out_.line("const ", signed_, " ", own("whole"), " = (", own("to"), " - ", own("j"), " + ",
                  lanes - 1, ") / ", lanes, ", ", own("room"), " = ", packs_limit, " - ",
                  own("packs"), ", ", own("count"), " = ", own("whole"), " < ", own("room"), " ? ",
                  own("whole"), " : ", own("room"), ", ", own("next"), " = ", own("j"), " + ",
                  own("count"), " * ", lanes, ", ", own("stop"), " = ", own("next"), " < ",
                  own("to"), " ? ", own("next"), " : ", own("to"), ";");
        out_.line(take, ", ", own("j"), ", ", own("stop"), ", ", inner_join(), ");");
        out_.line(own("j"), " = ", own("stop"), ";");
        out_.line(own("packs"), " += ", own("count"), ";");
        // once in the text, for what it takes to compile
        out_.open("if (", own("packs"), " == ", packs_limit, " || (", own("stop"),
                  " == ", own("to"), " && ", own("step"), " + ", own("to"), " - ", own("from"),
                  " >= ", own("end"), "))");
        out_.line(own("sums"), ".add(", folded, ");");
        out_.line(own("lanes"), ".clear(", inner_identity(), ");");
        out_.line(own("packs"), " = 0;");
        out_.close();
        out_.close();
    }
    if (m > 1)
        out_.line(own("step"), " += ", own("to"), " - ", own("from"), ";");
    out_.close();
    if (settles()) {
        out_.line(own("settled"), " = ", own("settled"), " || ", own("search"), ".found();");
        if (layout_.split)
            out_.line("if (", own("settled"), ") quern::settle(", flag, ");");
    }
    out_.line("const _type_reduce ", own("all"), " = ",
              settles() ? join(own("settled"), " ? ", spec_.settled, " : ", identity())
              : whole   ? folded
                        : own("sums") + ".total()",
              ";");
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
        if (layout_.scattered)
            out_.line(signed_, " ", numbered("place", r), ";");
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
        if (layout_.scattered)
            out_.line(numbered("place", r), " = ", nest("first_place"), places(n, n + m), ";");
        out_.close();
    }
    if (layout_.folds)
        return cpu_folded_runs();
    for (const OperandRef& ref : inputs_)
        if (access(ref) == Access::contiguous && !layout_.wraps)
            for (int r = 0; r < count; ++r)
                out_.line("quern::ask_for_row(",
                          at_byte(numbered("from_" + name(ref), r),
                                  join(count, " * ", stride(ref, n + m - 1))),
                          ", ", own("count"), ");");
    const std::string here = own(layout_.wraps && count == 1 ? "here" : "count");
    if (layout_.wraps && count == 1)
        out_.line("const ", signed_, " ", here, " = ", own("step"), " < ", own("full"), " ? ",
                  own("count"), " : ", as_signed(nest("rest")), ";");
    out_.line("QUERN_INDEPENDENT");
    out_.open("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ", here, "; ++", own("j"),
              ")");
    std::string values;
    for (int r = 0; r < count; ++r) {
        out_.open("const auto ", numbered("value", r), " = [&]() -> ", inner_type());
        for (const OperandRef& ref : inputs_)
            out_.line("const ", type(ref), "& ", name(ref), " = ",
                      cpu_operand(ref, numbered("from_" + name(ref), r)), ";");
        map_value(layout_.scattered ? numbered("place", r)
                  : layout_.wraps   ? join("(", own("step"), " + ", r, ") * ", nest("run"), " + ",
                                           own("row_of"), "[", own("j"), "]")
                                    : join(own("step"), " + ", r),
                  join(own("outer"), " * ", nest("length"), " + ", own("low"), " + ", own("j")));
        out_.line("return ", own("value"), ";");
        out_.close(";");
        values += numbered("value", r) + "(), ";
    }
    out_.line(own("sum"), ".add(", own("j"), ", ", values, inner_join(), ");");
    out_.close();
}

// The runs of a row of a tile, each folded and joined to its output's own("sum").
void ReductionEmitter::cpu_folded_runs() {
    const int lanes = layout_.lanes;
    const std::string kind =
        join("quern::Lanes<", inner_type(), ", ", lanes, ", 1, ", spec_.exact, ">");
    const std::string run = as_signed(nest("run"));
    cpu_element(join(own("step"), " * ", run, " + ", own("j"), " % ", run),
                join("(", own("outer"), " * ", nest("length"), " + ", own("low"), " + ", own("j"),
                     ") / ", run),
                "_0");
    out_.line(signed_, " ", own("place"), " = 0;");
    out_.open("for (", signed_, " ", own("from"), " = 0; ", own("from"), " < ", own("count"), ";)");
    out_.line("const ", signed_, " ", own("run_end"), " = (", own("place"), " + 1) * ", run, ";");
    if (spec_.exact) // nothing is rounded on the way
        out_.line("const ", signed_, " ", own("to"), " = ", own("run_end"), ";");
    else
        out_.line("const ", signed_, " ", own("most"), " = ", own("from"), " + ", kind,
                  "::limit * ", lanes, ", ", own("to"), " = ", own("most"), " < ", own("run_end"),
                  " ? ", own("most"), " : ", own("run_end"), ";");
    out_.line(kind, " ", own("lanes"), ";");
    out_.line(own("lanes"), ".clear(", inner_identity(), ");");
    out_.line(own("lanes"), ".take(", own("at"), ", ", own("from"), ", ", own("to"), ", ",
              inner_join(), ");");
    out_.line(own("sum"), ".add(", own("place"), ", ",
              widened(join(own("lanes"), ".fold(", inner_join(), ")")), ", ", own("join"), ");");
    out_.line(own("place"), " += ", own("to"), " == ", own("run_end"), ";");
    out_.line(own("from"), " = ", own("to"), ";");
    out_.close();
}

void ReductionEmitter::cpu_columns() {
    const int n = layout_.kept_ndim;
    const std::string columns = layout_.folds
                                    ? join("quern::Results<_type_reduce, ", int{layout_.tile}, "> ")
                                    : join("quern::Columns<", inner_type(), ", ", int{layout_.tile},
                                           layout_.scattered ? ", false> " : "> ");
    const std::string none = layout_.folds ? identity() : inner_identity(),
                      meet = layout_.folds ? own("join") : inner_join(),
                      places = own(layout_.folds ? "places" : "count");
    out_.line(columns, own("sum"), ", ", own("upper"), ";");
    if (layout_.wraps) {
        out_.line("const ", signed_, " ", own("full"), " = ", as_signed(nest("full")), ", ",
                  own("across"), " = ", as_signed(nest("length")), " / ", as_signed(nest("run")),
                  ";");
        if (spec_.uses_position) {
            out_.line("unsigned short ", own("row_of"), "[", int{layout_.tile}, "];");
            out_.line("for (", signed_, " ", own("j"), " = 0, ", own("row"), " = -1; ", own("j"),
                      " < ", as_signed(nest("length")), "; ++", own("j"), ") ", own("row_of"), "[",
                      own("j"), "] = static_cast<unsigned short>(", own("row"), " += ", own("j"),
                      " % ", own("across"), " == 0);");
        }
    }
    unit_loop();
    out_.line("const ", index_, " ", own("outer"), " = ", nest("by_tiles"), ".divide(", own("tile"),
              ");");
    const std::string span = as_signed(nest("span"));
    out_.line("const ", signed_, " ", own("low"), " = (", own("tile"), " - ", own("outer"), " * ",
              nest("by_tiles.divisor"), ") * ", span, ", ", own("past"), " = ", own("low"), " + ",
              span, ", ", own("high"), " = ", own("past"), " < ", as_signed(nest("length")), " ? ",
              own("past"), " : ", nest("length"), ", ", own("count"), " = ", own("high"), " - ",
              own("low"), ";");
    if (layout_.folds)
        out_.line("const ", signed_, " ", places, " = ", own("count"), " / ",
                  as_signed(nest("run")), ";");
    split_axes(own("outer"), 0, n - 1, "");
    out_.line("bool ", own("joined"), " = false;");
    out_.line(signed_, " ", own("step"), " = ", own("begin"), ";");
    out_.open("do");
    const std::string kind = join("decltype(", own("sum"), ")");
    out_.line("const ", signed_, " ", own("first"), " = ", own("step"), ", ", own("past"), " = ",
              own("step"), " + ", kind, "::limit, ", own("stop"), " = ", own("past"), " < ",
              own("end"), " ? ", own("past"), " : ", own("end"), ";");
    out_.line(own("sum"), ".clear(", places, ", ", none, ");");
    out_.open("for (int ", own("pass"), " = 0; ", own("pass"), " < ", kind, "::passes; ++",
              own("pass"), ")");
    out_.line("if (", own("pass"), " > 0) ", own("sum"), ".again(", places, ");");
    constexpr int together = reduction_rows_together;
    if (layout_.folds) {
        out_.line(own("step"), " = ", own("first"), ";");
    } else {
        out_.open("for (", own("step"), " = ", own("first"), "; ", nest("together"),
                  " == ", together, " && ", own("step"), " + ", together, " <= ", own("stop"),
                  layout_.wraps ? join(" && ", own("step"), " + ", together, " <= ", own("full"))
                                : "",
                  "; ", own("step"), " += ", together, ")");
        cpu_column_rows(together);
        out_.close();
    }
    out_.open("for (; ", own("step"), " < ", own("stop"), "; ++", own("step"), ")");
    cpu_column_rows(1);
    out_.close();
    out_.close();
    out_.line("if (!", own("joined"), " && ", own("step"), " >= ", own("end"), ") break;");
    out_.line("if (!", own("joined"), ") ", own("upper"), ".clear(", places, ", ", none, ");");
    out_.line(own("upper"), ".absorb(", own("sum"), ", ", places, ", ", meet, ");");
    out_.line(own("joined"), " = true;");
    out_.close(join(" while (", own("step"), " < ", own("end"), ");"));
    out_.line("auto& ", own("all"), " = ", own("joined"), " ? ", own("upper"), " : ", own("sum"),
              ";");
    if (layout_.runs) {
        out_.line(index_, " ", own("row"), " = (", own("outer"), " * ", nest("length"), " + ",
                  own("low"), ") / ", nest("run"), ";");
        const std::string step = layout_.wraps ? "1" : nest("run");
        out_.open("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ",
                  own(layout_.wraps ? "across" : "count"), "; ", own("j"), " += ", step, ", ++",
                  own("row"), ")");
        out_.line(result(
            own("row"),
            layout_.folds
                ? join(own("all"), ".get(", own("j"), " / ", as_signed(nest("run")), ")")
                : widened(join(own("all"), ".fold(", own("j"), ", ", nest("run"), ", ",
                               layout_.wraps ? own("across") : "1", ", ", inner_join(), ")"))));
    } else {
        std::string side_by_side; // outputs whose columns are neighbours
        const bool beside = !layout_.split && std::ranges::all_of(outputs_, [&](const auto& ref) {
            return access(ref) == Access::contiguous;
        });
        for (const OperandRef& ref : outputs_)
            if (beside) {
                out_.line(type(ref), "* const ", own("to_" + name(ref)), " = ",
                          at_byte(own("data_" + name(ref)),
                                  join(nest(name(ref) + "_start"), offset(ref, 0, n - 1))),
                          " + ", own("low"), ";");
                side_by_side += join(", ", own("to_" + name(ref)), "[", own("j"), "]");
            }
        out_.open("for (", signed_, " ", own("j"), " = 0; ", own("j"), " < ", own("count"), "; ++",
                  own("j"), ")");
        out_.line("const ", index_, " ", own("row"), " = ", own("outer"), " * ", nest("length"),
                  " + ", own("low"), " + ", own("j"), ";");
        const std::string total = widened(join(own("all"), ".get(", own("j"), ")"));
        if (beside)
            out_.line(own("assign"), "(", own("row"), ", ", total, side_by_side, ");");
        else
            out_.line(result(own("row"), total));
    }
    out_.close();
    out_.close();
}

// The second kernel: one thread folds the partial results of every output.
void ReductionEmitter::cpu_finish() {
    out_.open("for (", index_, " ", own("row"), " = 0; ", own("row"), " < ", nest("outputs"),
              "; ++", own("row"), ")");
    declare_sums();
    out_.line("for (", index_, " ", own("part"), " = 0; ", own("part"), " < ",
              nest("by_splits.divisor"), "; ++", own("part"), ") ", own("sums"), ".add(",
              own("partial"), "[", own("row"), " * ", nest("by_splits.divisor"), " + ", own("part"),
              "]);");
    out_.line(own("post"), "(", own("row"), ", ", own("sums"), ".total());");
    if (settles())
        out_.line(own("tickets"), "[", own("row"), "] = 0;");
    out_.close();
}

} // namespace quern
