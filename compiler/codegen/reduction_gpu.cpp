// Loops of reductions on GPUs: threads along a row or across columns, several loads in flight.
#include "compiler/codegen/reduction_emitter.h"

#include <algorithm>

namespace quern {

// Which tile of work this block has, and which part of its steps.
void ReductionEmitter::split_block() {
    if (!layout_.split) {
        out_.line("const ", index_, " ", own("tile"), " = blockIdx.x, ", own("begin"), " = 0, ",
                  own("end"), " = ", nest("steps"), ";");
        return;
    }
    out_.line("const ", index_, " ", own("tile"), " = ", nest("by_splits"), ".divide(blockIdx.x), ",
              own("part"), " = blockIdx.x - ", own("tile"), " * ", nest("by_splits.divisor"), ";");
    out_.line("const ", index_, " ", own("begin"), " = ", own("part"), " * ", nest("chunk"), ", ",
              own("end"), " = min(", own("begin"), " + ", nest("chunk"), ", ", nest("steps"), ");");
}

void ReductionEmitter::declare_batch(int count) {
    for (const OperandRef& ref : inputs_)
        out_.line("quern::Pack<", type(ref), ", ",
                  access(ref) == Access::contiguous ? layout_.lanes * layout_.spread : 1, "> ",
                  own("pack_" + name(ref)), "[", count, "];");
}

// Loads each input's pack of the current step; own(from_<input>) points at its row.
void ReductionEmitter::load_batch(const std::string& batch, const std::string& base,
                                  const std::string& from, const std::string& to) {
    for (const OperandRef& ref : inputs_) {
        const std::string pack = join(own("pack_" + name(ref)), "[", batch, "]"),
                          start = own("from_" + name(ref));
        if (access(ref) == Access::contiguous && layout_.spread > 1) // whole packs, always
            out_.line(pack, ".load(", start, " + ", base, " * ", int{layout_.spread}, " - ",
                      int{layout_.phase}, ", 0, ", layout_.lanes * layout_.spread, ");");
        else if (access(ref) == Access::contiguous)
            out_.line(pack, ".load(", start, " + ", base, ", ", from, ", ", to, ");");
        else if (access(ref) == Access::repeated)
            out_.line(pack, "[0] = *", start, ";");
        else
            out_.line(pack, "[0] = *", at_byte(start, join(base, " * ", stride(ref, fastest()))),
                      ";");
    }
}

void ReductionEmitter::accumulate_batch(const std::string& batch, const std::string& accumulators,
                                        int accumulator_count, const std::string& position,
                                        const std::string& position_step, const std::string& row) {
    if (takes_packs()) {
        const std::string into = join(accumulators, "[", batch, " % ", accumulator_count, "]");
        out_.line(into, " = ", inner_join(), "(", into, ", ", inner_type(), "(",
                  own("pack_" + name(inputs_.front())), "[", batch, "], ", position, "));");
        return;
    }
    out_.open_unrolled(own("lane"), int{layout_.lanes});
    if (layout_.masked)
        out_.open("if (", own("lane"), " >= ", own("first"), "[", batch, "] && ", own("lane"),
                  " < ", own("last"), "[", batch, "])");
    else
        out_.open();
    const std::string lane = layout_.spread > 1 ? join(own("lane"), " * ", int{layout_.spread},
                                                       " + ", int{layout_.phase})
                                                : own("lane");
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "& ", name(ref), " = ", own("pack_" + name(ref)), "[", batch,
                  "][", access(ref) == Access::contiguous ? lane : "0", "];");
    const std::string place = join(position, position_step);
    accumulate(join(accumulators, "[", own("lane"), " % ", accumulator_count, "]"), place, row);
    out_.close();
    out_.close();
}

void ReductionEmitter::gpu_rows() {
    const int m = layout_.reduced_ndim, n = layout_.kept_ndim, lanes = layout_.lanes;
    const bool by_rows = layout_.batch_rows > 1;
    // Single elements, as far apart as they may be: as many bytes in flight take more loads.
    const int batch = by_rows      ? layout_.batch_rows
                      : lanes == 1 ? 2 * reduction_batch
                                   : reduction_batch;
    const int accumulators =
        by_rows ? 1 : std::min(lanes, spec_.accumulator_bytes >= heavy_accumulator ? 2 : 4);
    const std::string b = own("b");
    out_.line("__shared__ quern::Slots<_type_reduce, ",
              layout_.split ? reduction_block : reduction_block / 32, "> ", own("slots"), ";");
    split_block();
    out_.line("const ", index_, " ", own("group"), " = 1u << ", nest("group_bits"), ", ",
              own("thread"), " = threadIdx.x & (", own("group"), " - 1), ", own("lines"),
              " = blockDim.x >> ", nest("group_bits"), ";");
    out_.line("const ", index_, " ", own("row"), " = ", own("tile"), " * ", own("lines"), " * ",
              int{layout_.batch_rows}, " + (threadIdx.x >> ", nest("group_bits"), ");");
    out_.line(inner_type(), " ", own("sum"), "[", by_rows ? batch : accumulators, "];");
    out_.open_unrolled("q", by_rows ? batch : accumulators);
    out_.line(own("sum"), "[q] = ", inner_identity(), ";");
    out_.close();

    const auto row_pointers = [&] { // own(line_<input>): where the row begins
        split_axes(own("here"), 0, n, "");
        for (const OperandRef& ref : inputs_)
            out_.line("const ", type(ref), "* const ", own("line_" + name(ref)), " = ",
                      at_byte(own("data_" + name(ref)),
                              join(nest(name(ref) + "_start"), offset(ref, 0, n))),
                      ";");
    };
    if (!by_rows) {
        out_.line("const ", index_, " ", own("here"), " = ", own("row"), " < ", nest("outputs"),
                  " ? ", own("row"), " : ", zero(), ";");
        row_pointers();
        out_.line("const ", index_, " ", own("stop"), " = ", own("row"), " < ", nest("outputs"),
                  " ? ", own("end"), " : ", zero(), ";");
    }
    const std::string stop = by_rows ? own("end") : own("stop");
    out_.open("for (", index_, " ", own("turn"), " = ", own("begin"), " + ", own("thread"), "; ",
              own("turn"), " < ", stop, "; ", own("turn"),
              " += ", by_rows ? own("group") : join(batch, " * ", own("group")), ")");
    declare_batch(batch);
    if (layout_.masked)
        out_.line("int ", own("first"), "[", batch, "], ", own("last"), "[", batch, "];");
    if (spec_.uses_position)
        out_.line(signed_, " ", own("at"), "[", batch, "];");
    out_.open_unrolled(b, batch);
    const std::string next = by_rows ? join(own("row"), " + ", b, " * ", own("lines"))
                                     : join(own("turn"), " + ", b, " * ", own("group")),
                      past = by_rows ? nest("outputs") : stop;
    if (by_rows) {
        out_.line("const ", index_, " ", own("here"), " = ", clamped(next, past), ";");
        row_pointers();
        out_.line("const ", index_, " ", own("step"), " = ", own("turn"), ";");
    } else {
        out_.line("const ", index_, " ", own("step"), " = ", clamped(next, past), ";");
    }
    std::string column = own("step");
    if (m > 1) {
        out_.line("const ", index_, " ", own("run"), " = ", nest("by_packs"), ".divide(",
                  own("step"), ");");
        column = join("(", own("step"), " - ", own("run"), " * ", nest("by_packs"), ".divisor)");
        split_axes(own("run"), n, n + m - 1, "_run");
    }
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "* const ", own("from_" + name(ref)), " = ",
                  m > 1 ? at_byte(own("line_" + name(ref)), "0" + offset(ref, n, n + m - 1))
                        : own("line_" + name(ref)),
                  ";");
    std::string shift;
    if (layout_.drifts) {
        for (const OperandRef& ref : inputs_)
            if (access(ref) == Access::contiguous && shift.empty()) {
                out_.line("const ", signed_, " ", own("shift"), " = reinterpret_cast<size_t>(",
                          own("from_" + name(ref)), ") % (", lanes, " * sizeof(", type(ref),
                          ")) / sizeof(", type(ref), ");");
                shift = " - " + own("shift");
            }
    } else if (layout_.masked) {
        shift = " - " + as_signed(nest("shift"));
    }
    out_.line("const ", signed_, " ", own("base"), " = ", as_signed(join(column, " * ", lanes)),
              shift, ";");
    if (layout_.masked) {
        out_.line(own("first"), "[", b, "] = ", own("base"), " < 0 ? static_cast<int>(-",
                  own("base"), ") : 0;");
        out_.line(own("last"), "[", b, "] = static_cast<int>(min(", as_signed(nest("length")),
                  " - ", own("base"), ", ", as_signed(join(lanes)), "));");
    }
    if (layout_.scattered)
        out_.line(own("at"), "[", b, "] = ", nest("first_place"), places(n, n + m - 1), " + ",
                  own("base"), " * ", nest(join("place_", n + m - 1)), ";");
    else if (spec_.uses_position)
        out_.line(own("at"), "[", b, "] = ",
                  m > 1 ? join(as_signed(own("run")), " * ", as_signed(nest("length")), " + ") : "",
                  own("base"), ";");
    load_batch(b, own("base"), layout_.masked ? join(own("first"), "[", b, "]") : "0",
               layout_.masked ? join(own("last"), "[", b, "]") : join(lanes));
    out_.close();

    out_.open_unrolled(b, batch);
    if (by_rows)
        out_.line("const ", index_, " ", own("here"), " = ", next, ";");
    out_.open("if (", by_rows ? own("here") : next, " < ", past, ")");
    accumulate_batch(
        b, by_rows ? join("(&", own("sum"), "[", b, "])") : own("sum"), accumulators,
        join(own("at"), "[", b, "]"),
        join(" + ", own("lane"), layout_.scattered ? " * " + nest(join("place_", n + m - 1)) : ""),
        own("here"));
    out_.close();
    out_.close();
    out_.close();

    if (layout_.split)
        declare_parts("1");
    out_.open_unrolled(b, by_rows ? batch : 1);
    out_.line("_type_reduce ", own("own"), " = ", widened(join(own("sum"), "[", b, "]")), ";");
    for (int k = 1; !by_rows && k < accumulators; ++k)
        out_.line(own("own"), " = ", own("join"), "(", own("own"), ", ",
                  widened(join(own("sum"), "[", k, "]")), ");");
    out_.line("const _type_reduce ", own("all"), " = quern::join_threads(", own("own"), ", ",
              nest("group_bits"), ", ", own("join"), ", ", own("slots"), ");");
    out_.line("const ", index_, " ", own("mine"), " = ", own("row"), " + ", b, " * ", own("lines"),
              ";");
    out_.line("if (", own("thread"), " == 0 && ", own("mine"), " < ", nest("outputs"), ") ",
              layout_.split ? leave_part(own("part"), "0", own("all"))
                            : join(own("post"), "(", own("mine"), ", ", own("all"), ");"));
    out_.close();
    if (!layout_.split)
        return;
    out_.open("const auto ", own("put"), " = [&](unsigned int, const _type_reduce& total)");
    out_.line(own("post"), "(", own("tile"), ", total);");
    out_.close(";");
    finish("1u");
}

// The blocks that share a tile join what they found: own(put)(place, total) is called in one.
void ReductionEmitter::finish(const std::string& places) {
    const std::string splits = nest("by_splits.divisor");
    if (layout_.atomic) {
        out_.line("quern::finish_atomically<", spec_.atomic_join, ">(", own("parts"), ", ",
                  own("counter"), ", ", splits, ", ", places, ", ", own("put"), ");");
        return;
    }
    out_.line("quern::finish(", own("parts"), ", ", own("tickets"), " + ", own("tile"), " * (",
              own("groups"), " + 1), ", own("part"), ", ", splits, ", ", nest("fan"), ", ", places,
              ", ", identity(), ", ", own("join"), ", ", own("slots"), ", ", own("put"), ");");
}

// own(parts): this tile's partial results, `places` of each part, then those of groups of parts; or
// the slots that are joined by atomics, behind their counter.
void ReductionEmitter::declare_parts(const std::string& places) {
    const std::string splits = nest("by_splits.divisor");
    if (layout_.atomic) {
        out_.line("unsigned int* const ", own("counter"), " = ", own("tickets"),
                  " + static_cast<size_t>(", own("tile"), ") * (2 + 2 * ", places, ");");
        out_.line("quern::AtomicSlot* const ", own("parts"),
                  " = reinterpret_cast<quern::AtomicSlot*>(", own("counter"), " + 2);");
        return;
    }
    out_.line("const ", index_, " ", own("groups"), " = (", splits, " + ", nest("fan"), " - 1) / ",
              nest("fan"), ";");
    out_.line("_type_reduce* const ", own("parts"), " = ", own("partial"),
              " + static_cast<size_t>(", own("tile"), ") * (", splits, " + ", own("groups"), ") * ",
              places, ";");
}

// A block's part of `place`, left at `at` of all parts or added to what others found.
std::string ReductionEmitter::leave_part(const std::string& at, const std::string& place,
                                         const std::string& value) const {
    if (layout_.atomic)
        return join(spec_.atomic_join, "::add(", own("parts"), " + ", place, ", ", value, ");");
    return join(own("parts"), "[", at, "] = ", value, ";");
}

// Loads may reach past the end, joins may not: every load is made at once, the last ones again.
std::string ReductionEmitter::clamped(const std::string& index, const std::string& end) const {
    return join("min(", index, ", ", end, " - 1)");
}

void ReductionEmitter::gpu_columns() {
    const int m = layout_.reduced_ndim, n = layout_.kept_ndim, lanes = layout_.lanes;
    const int batch = reduction_batch;
    const std::string b = own("b");
    out_.line("__shared__ quern::Slots<_type_reduce, ",
              reduction_block * (lanes > 1 ? lanes + 1 : 1), "> ", own("slots"), ";");
    split_block();
    out_.line("const ", index_, " ", own("width"), " = 1u << ", nest("group_bits"), ", ",
              own("column"), " = threadIdx.x & (", own("width"), " - 1), ", own("line"),
              " = threadIdx.x >> ", nest("group_bits"), ", ", own("lines"), " = blockDim.x >> ",
              nest("group_bits"), ";");
    const std::string shift = layout_.masked ? " - " + as_signed(nest("shift")) : "";
    const auto find_row = [&](const std::string& column) { // of all packs of all rows
        out_.line("const ", index_, " ", own("pack"), " = ", own("tile"), " * ", own("width"),
                  " + ", column, ", ", own("outer"), " = ", nest("by_packs"), ".divide(",
                  own("pack"), ");");
        out_.line("const ", signed_, " ", own("base"), " = ",
                  as_signed(join("(", own("pack"), " - ", own("outer"), " * ",
                                 nest("by_packs.divisor"), ") * ", lanes)),
                  shift, ";");
        out_.line("const bool ", own("alive"), " = ", own("outer"), " * ", nest("length"), " < ",
                  nest("outputs"), ";");
    };
    if (layout_.wraps) {
        find_row(own("column"));
    } else {
        out_.line("const ", index_, " ", own("outer"), " = ", nest("by_tiles"), ".divide(",
                  own("tile"), ");");
        out_.line(
            "const ", signed_, " ", own("base"), " = ",
            as_signed(join("((", own("tile"), " - ", own("outer"), " * ", nest("by_tiles.divisor"),
                           ") * ", own("width"), " + ", own("column"), ") * ", lanes)),
            shift, ";");
        out_.line("const bool ", own("alive"), " = ", own("base"), " < ", as_signed(nest("length")),
                  ";");
    }
    out_.line("const int ", own("low"), " = ",
              layout_.masked ? join(own("base"), " < 0 ? static_cast<int>(-", own("base"), ") : 0")
                             : "0",
              ", ", own("high"), " = ",
              layout_.masked ? join("static_cast<int>(min(", as_signed(nest("length")), " - ",
                                    own("base"), ", ", as_signed(join(lanes)), "))")
                             : join(lanes),
              ";");
    split_axes(own("outer"), 0, n - 1, "");
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "* const ", own("line_" + name(ref)), " = ",
                  at_byte(own("data_" + name(ref)),
                          join(nest(name(ref) + "_start"), offset(ref, 0, n - 1))),
                  ";");
    out_.line(inner_type(), " ", own("sum"), "[", lanes, "];");
    out_.open_unrolled("q", lanes);
    out_.line(own("sum"), "[q] = ", inner_identity(), ";");
    out_.close();
    out_.line("const ", index_, " ", own("stop"), " = ", own("alive"), " ? ", own("end"), " : ",
              zero(), ";");
    out_.open("for (", index_, " ", own("turn"), " = ", own("begin"), " + ", own("line"), "; ",
              own("turn"), " < ", own("stop"), "; ", own("turn"), " += ", batch, " * ",
              own("lines"), ")");
    declare_batch(batch);
    if (layout_.scattered)
        out_.line(signed_, " ", own("at"), "[", batch, "];");
    const std::string next = join(own("turn"), " + ", b, " * ", own("lines"));
    out_.open_unrolled(b, batch);
    out_.line("const ", index_, " ", own("step"), " = ", clamped(next, own("stop")), ";");
    split_axes(own("step"), n, n + m, "_step");
    if (layout_.scattered)
        out_.line(own("at"), "[", b, "] = ", nest("first_place"), places(n, n + m), ";");
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "* const ", own("from_" + name(ref)), " = ",
                  at_byte(own("line_" + name(ref)), "0" + offset(ref, n, n + m)), ";");
    load_batch(b, own("base"), own("low"), own("high"));
    out_.close();

    out_.open_unrolled(b, batch);
    out_.line("const ", index_, " ", own("step"), " = ", next, ";");
    out_.open("if (", own("step"), " < ", own("stop"), ")");
    out_.line("#pragma unroll");
    out_.open("for (int ", own("lane"), " = 0; ", own("lane"), " < ", lanes, "; ++", own("lane"),
              ")");
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "& ", name(ref), " = ", own("pack_" + name(ref)), "[", b,
                  "][", access(ref) == Access::contiguous ? own("lane") : "0", "];");
    const std::string row =
        join("(static_cast<ptrdiff_t>(", own("outer"), ") * static_cast<ptrdiff_t>(",
             nest("length"), ") + ", own("base"), " + ", own("lane"), ")");
    if (layout_.masked)
        out_.open("if (", own("lane"), " >= ", own("low"), " && ", own("lane"), " < ", own("high"),
                  ")");
    accumulate(join(own("sum"), "[", own("lane"), "]"),
               layout_.scattered ? join(own("at"), "[", b, "]") : own("step"), row);
    if (layout_.masked)
        out_.close();
    out_.close();
    out_.close();
    out_.close();
    out_.close();

    const std::string mine = own("own") + "[" + own("lane") + "]";
    out_.line("_type_reduce ", own("own"), "[", lanes, "];");
    const auto each_lane = [&](auto&& body) {
        out_.line("#pragma unroll");
        out_.open("for (int ", own("lane"), " = 0; ", own("lane"), " < ", lanes, "; ++",
                  own("lane"), ")");
        body();
        out_.close();
    };
    each_lane(
        [&] { out_.line(mine, " = ", widened(join(own("sum"), "[", own("lane"), "]")), ";"); });
    const auto slot = [&](const std::string& thread) { // lanes apart: neighbours in other banks
        return join(own("slots"), "[", own("lane"), " * ", reduction_block, " + ", thread, "]");
    };
    out_.open("if (", own("lines"), " > 1)");
    each_lane([&] { out_.line(slot("threadIdx.x"), " = ", mine, ";"); });
    out_.open("for (", index_, " ", own("half"), " = ", own("lines"), " / 2; ", own("half"),
              " > 0; ", own("half"), " /= 2)");
    out_.line("__syncthreads();");
    out_.open("if (", own("line"), " < ", own("half"), ")");
    each_lane([&] {
        out_.line(mine, " = ", own("join"), "(", mine, ", ",
                  slot(join("threadIdx.x + ", own("half"), " * ", own("width"))), ");");
        out_.line(slot("threadIdx.x"), " = ", mine, ";");
    });
    out_.close();
    out_.close();
    out_.close();
    const std::string row_of_place = join(own("outer"), " * ", nest("length"), " + ", own("place"));
    const auto write = [&](const std::string& value) { // own(place) along the fastest axis
        out_.line("const ", index_, " ", own("row"), " = ", row_of_place, ";");
        out_.line(own("post"), "(", own("row"), ", ", value, ");");
    };
    const auto place_of = [&](const std::string& k) { // k counts from the tile's first lane
        out_.line("const ", signed_, " ", own("place"), " = ", own("base"), " + ", as_signed(k),
                  " - ", as_signed(join(own("column"), " * ", lanes)), ";");
    };
    const std::string in_row = join(layout_.masked ? own("place") + " >= 0 && " : "", own("place"),
                                    " < ", as_signed(nest("length")));
    if (layout_.split) {
        out_.line("const unsigned int ", own("places"), " = ", own("width"), " * ", lanes, ";");
        declare_parts(own("places"));
    }
    const auto leave = [&](const std::string& place, const std::string& value) {
        out_.line(leave_part(
            join("static_cast<size_t>(", own("part"), ") * ", own("places"), " + ", place), place,
            value));
    };
    if (lanes == 1) {
        out_.open("if (", own("line"), " == 0 && ", own("alive"), ")");
        if (layout_.split) {
            leave(own("column"), own("own") + "[0]");
        } else {
            out_.line("const ", signed_, " ", own("place"), " = ", own("base"), ";");
            write(own("own") + "[0]");
        }
        out_.close();
    } else {
        // Through shared memory once more, so that neighbouring threads write neighbouring outputs.
        const std::string pitch = join(lanes + 1);
        out_.line("__syncthreads();");
        out_.open("if (", own("line"), " == 0)");
        each_lane([&] {
            out_.line(own("slots"), "[", own("column"), " * ", pitch, " + ", own("lane"),
                      "] = ", mine, ";");
        });
        out_.close();
        out_.line("__syncthreads();");
        out_.open("for (", index_, " ", own("k"), " = threadIdx.x; ", own("k"), " < ", own("width"),
                  " * ", lanes, "; ", own("k"), " += blockDim.x)");
        const std::string value = join(own("slots"), "[", own("k"), " / ", lanes, " * ", pitch,
                                       " + ", own("k"), " % ", lanes, "]");
        if (layout_.split) {
            leave(own("k"), value);
        } else if (layout_.wraps) {
            find_row(join(own("k"), " / ", lanes));
            out_.line("const ", signed_, " ", own("place"), " = ", own("base"), " + ",
                      as_signed(join(own("k"), " % ", lanes)), ";");
            out_.open("if (", own("alive"), " && ", in_row, ")");
            write(value);
            out_.close();
        } else {
            place_of(own("k"));
            out_.open("if (", in_row, ")");
            write(value);
            out_.close();
        }
        out_.close();
    }
    if (!layout_.split)
        return;
    out_.open("const auto ", own("put"), " = [&](unsigned int ", own("k"),
              ", const _type_reduce& total)");
    place_of(own("k"));
    out_.open("if (", in_row, ")");
    write("total");
    out_.close();
    out_.close(";");
    finish(own("places"));
}

} // namespace quern
