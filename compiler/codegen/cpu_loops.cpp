// Loops of CPU kernels: each block is a plain loop over its share of the elements, or of the tiles.
#include "compiler/codegen/emitter.h"
#include "compiler/ops/op_table.h"

namespace quern {

// The op table's copy, to rows that lie one element after the other.
bool ElementwiseEmitter::moves() const {
    const OpRow& copy = row(Op::copy);
    return spec_.operation == copy.operation && spec_.in_params == copy.in_params &&
           spec_.out_params == copy.out_params &&
           std::ranges::all_of(operands_, [&](const OperandRef& ref) {
               return access(ref) == Access::contiguous || access(ref) == Access::tiled ||
                      access(ref) == Access::gathered;
           });
}

// The innermost CPU loop over [from, to) of one row; `start` gives an operand's first element of
// that row.
void ElementwiseEmitter::row_loop(const std::string& from, const std::string& to,
                                  const Start& start, const std::string& position) {
    const int inner = layout_.ndim - 1;
    for (const OperandRef& ref : operands_) {
        if (access(ref) == Access::repeated && !stored(ref) && !param(ref).place)
            out_.line("const ", type(ref), " ", own(join("one_", param(ref).name)), " = *",
                      start(ref), ";");
        else
            out_.line(constness(param(ref)), type(ref), "* const ",
                      own(join("row_", param(ref).name)), " = ", start(ref), ";");
    }
    // LLVM guesses that a stride it only meets by name is 1, and writes no vectors for any other:
    // as a sum, with blockIdx.y, which is 0 here, it is left alone.
    for (const OperandRef& ref : operands_)
        if (access(ref) == Access::strided || access(ref) == Access::gathered)
            out_.line("const ", signed_, " ", own(join("by_", param(ref).name)), " = ",
                      nest(stride_name(ref, inner)), " + blockIdx.y;");
    const auto gather = [&](const OperandRef& ref, const std::string& into,
                            const std::string& begin, const std::string& end) {
        const std::string by = own(join("by_", param(ref).name));
        out_.line("quern::gather_row(", into, ", quern::at_byte(",
                  own(join("row_", param(ref).name)), ", (", begin, ") * ", by, "), ", by, ", ",
                  end, " - (", begin, "));");
    };
    const auto gathers = [&](const OperandRef& ref) { return access(ref) == Access::gathered; };
    const bool gathering = std::ranges::any_of(operands_, gathers);
    if (moves()) {
        if (gathering)
            gather(*std::ranges::find_if(operands_, gathers), join(own("row_y"), " + (", from, ")"),
                   from, to);
        else
            out_.line("quern::move_row(", own("row_y"), ", ", own("row_x"), ", ", from, ", ", to,
                      ");");
        return;
    }
    const int gathered = std::ranges::count_if(operands_, gathers) <= 8 ? 512 : 64; // elements
    std::string begin = from, end = to;
    if (gathering) {
        begin = own("begin"), end = own("past");
        out_.open("for (", signed_, " ", begin, " = ", from, "; ", begin, " < ", to, "; ", begin,
                  " += ", gathered, ")");
        out_.line("const ", signed_, " ", end, " = ", begin, " + ", gathered, " < ", to, " ? ",
                  begin, " + ", gathered, " : ", to, ";");
        for (const OperandRef& ref : operands_)
            if (gathers(ref)) {
                const std::string near = own(join("near_", param(ref).name));
                out_.line("alignas(64) unsigned char ", near, "_bytes[", gathered, " * sizeof(",
                          type(ref), ")];");
                out_.line(type(ref), "* const ", near, " = reinterpret_cast<", type(ref), "*>(",
                          near, "_bytes);");
                gather(ref, near, begin, end);
            }
    }
    if (!writes_places(spec_)) // two elements may write one place
        out_.line("QUERN_INDEPENDENT");
    out_.open("for (", signed_, " ", own("j"), " = ", begin, "; ", own("j"), " < ", end, "; ++",
              own("j"), ")");
    const auto element_of = [&](const OperandRef& ref) {
        const std::string row = own(join("row_", param(ref).name));
        if (access(ref) == Access::contiguous || access(ref) == Access::tiled)
            return join(row, "[", own("j"), "]");
        if (gathers(ref))
            return join(own(join("near_", param(ref).name)), "[", own("j"), " - ", begin, "]");
        if (access(ref) != Access::repeated)
            return join("*quern::at_byte(", row, ", ", own("j"), " * ",
                        own(join("by_", param(ref).name)), ")");
        return stored(ref) || param(ref).place ? join("*", row)
                                               : own(join("one_", param(ref).name));
    };
    // What a body may leave as it was is stored in any case: before AVX-512 vectors of small
    // elements have no masks, and AMD's stores with masks take twenty steps.
    const auto kept = [&](const OperandRef& ref) {
        return stored(ref) && loaded(ref) && !spec_.facts.leaves_early &&
               access(ref) != Access::repeated;
    };
    for (const OperandRef& ref : operands_)
        if (kept(ref))
            out_.line(type(ref), " ", param(ref).name, " = ", element_of(ref), ";");
        else
            value(ref, element_of(ref));
    body(position);
    for (const OperandRef& ref : operands_)
        if (kept(ref))
            out_.line(element_of(ref), " = ", param(ref).name, ";");
    out_.close();
    if (gathering)
        out_.close();
}

// CPU: this block's share of the elements, row by row.
void ElementwiseEmitter::range_loop() {
    const int inner = layout_.ndim - 1;
    out_.line("const ", signed_, " ", own("first"), " = static_cast<", signed_, ">(blockIdx.x * ",
              nest("share"), ");");
    out_.line("const ", signed_, " ", own("limit"), " = static_cast<", signed_, ">(", nest("count"),
              "), ", own("end"), " = ", own("first"), " + static_cast<", signed_, ">(",
              nest("share"), ");");
    out_.line("const ", signed_, " ", own("last"), " = ", own("end"), " < ", own("limit"), " ? ",
              own("end"), " : ", own("limit"), ";");
    if (inner == 0) {
        row_loop(
            own("first"), own("last"), [&](const OperandRef& ref) { return data(ref); }, own("j"));
        return;
    }
    const std::string extent =
        join("static_cast<", signed_, ">(", nest(axis_name("by_extent", inner)), ".divisor)");
    out_.open("for (", signed_, " ", own("step"), " = ", own("first"), "; ", own("step"), " < ",
              own("last"), ";)");
    out_.line("const ", signed_, " ", own("row"), " = static_cast<", signed_, ">(",
              nest(axis_name("by_extent", inner)), ".divide(", own("step"), ")), ", own("from"),
              " = ", own("step"), " - ", own("row"), " * ", extent, ";");
    out_.line("const ", signed_, " ", own("left"), " = ", own("last"), " - ", own("step"), ", ",
              own("here"), " = ", extent, " - ", own("from"), ";");
    out_.line("const ", signed_, " ", own("to"), " = ", own("from"), " + (", own("left"), " < ",
              own("here"), " ? ", own("left"), " : ", own("here"), ");");
    split(inner - 1, own("row"));
    row_loop(
        own("from"), own("to"),
        [&](const OperandRef& ref) { return shifted(ref, offset(ref, inner - 1)); },
        join(own("row"), " * ", extent, " + ", own("j")));
    out_.line(own("step"), " += ", own("to"), " - ", own("from"), ";");
    out_.close();
}

// CPU: this block's share of the tiles; inside a tile both the rows and the columns stay in cache.
void ElementwiseEmitter::blocked_loop() {
    const int inner = layout_.ndim - 1, extent = layout_.lanes;
    const auto bound = [&](std::string_view name, std::string_view start,
                           const std::string& limit) {
        out_.line("const ", index_, " ", own(name), " = ", own(start), " + ", extent, " < ", limit,
                  " ? ", own(start), " + ", extent, " : ", limit, ";");
    };
    out_.line("const ", index_, " ", own("first"), " = blockIdx.x * ", nest("share"), ", ",
              own("end"), " = ", own("first"), " + ", nest("share"), ";");
    out_.open("for (", index_, " ", own("tile"), " = ", own("first"), "; ", own("tile"), " < ",
              own("end"), " && ", own("tile"), " < ", nest("steps"), "; ++", own("tile"), ")");
    locate_tile(extent);
    bound("high_end", "high", nest(axis_name("extent", inner - 1)));
    bound("low_end", "low", nest(axis_name("extent", inner)));
    for (const OperandRef& ref :
         operands_) // turned once, on the stack: memory is only ever read along its lines
        if (access(ref) == Access::tiled) {
            out_.line(type(ref), " ", own(join("tile_", param(ref).name)), "[", extent, "][",
                      extent, "];");
            out_.line("quern::turn_tile<", extent, ">(", own(join("tile_", param(ref).name)),
                      ", quern::at_byte(", outer(ref), ", static_cast<", signed_, ">(", own("low"),
                      ") * ", nest(stride_name(ref, inner)), ") + ", own("high"), ", ",
                      nest(stride_name(ref, inner)), ", ", own("high_end"), " - ", own("high"),
                      ", ", own("low_end"), " - ", own("low"), ");");
        }
    out_.open("for (", index_, " ", own("q"), " = ", own("high"), "; ", own("q"), " < ",
              own("high_end"), "; ++", own("q"), ")");
    const auto row_of = [&](const OperandRef& ref) {
        return join("quern::at_byte(", outer(ref), ", static_cast<", signed_, ">(", own("q"),
                    ") * ", nest(stride_name(ref, inner - 1)), ")");
    };
    if (!moves()) // copies ask for themselves
        for (const OperandRef& ref : operands_)
            if (access(ref) == Access::contiguous)
                out_.line("quern::ask_for_run<", extent, ", ", stored(ref) ? 1 : 0, ">(",
                          row_of(ref), " + ", own("low_end"), ");");
    row_loop(
        join("static_cast<", signed_, ">(", own("low"), ")"),
        join("static_cast<", signed_, ">(", own("low_end"), ")"),
        [&](const OperandRef& ref) {
            if (access(ref) == Access::tiled)
                return join(own(join("tile_", param(ref).name)), "[", own("q"), " - ", own("high"),
                            "] - ", own("low"));
            return row_of(ref);
        },
        "0"); // as in tile_loop: no position is seen
    out_.close();
    out_.close();
}

} // namespace quern
