// Loops of GPU kernels: packs of neighbours, scattered elements, one element a thread, tiles
// through shared memory.
#include "compiler/codegen/emitter.h"

namespace quern {

// Neighbouring elements of a row, in packs.
void ElementwiseEmitter::vector_loop() {
    const int inner = layout_.ndim - 1, lanes = layout_.lanes;
    grid_loop(nest("steps"));
    std::string column = own("step");
    if (inner > 0) {
        out_.line("const ", index_, " ", own("row"), " = ", nest("by_row"), ".divide(", own("step"),
                  ");");
        column = join("(", own("step"), " - ", own("row"), " * ", nest("by_row"), ".divisor)");
        split(inner - 1, own("row"));
    }
    const std::string extent = nest(axis_name("extent", inner));
    out_.line("const ", signed_, " ", own("base"), " = static_cast<", signed_, ">(", column, " * ",
              lanes, layout_.peel ? join(" - ", nest("shift")) : "", ");");
    out_.line("const ", signed_, " ", own("begin"), " = ",
              layout_.peel ? join(own("base"), " < 0 ? -", own("base"), " : ", index_zero(signed_))
                           : "0",
              ", ", own("end"), " = static_cast<", signed_, ">(", extent, ") - ", own("base"), ";");
    for (const OperandRef& ref : operands_) {
        const std::string start = inner > 0 ? shifted(ref, offset(ref, inner - 1)) : data(ref);
        if (param(ref).place) {
            out_.line(constness(param(ref)), type(ref), "* ", own(join("at_", param(ref).name)),
                      " = ", start, ";");
            continue;
        }
        if (access(ref) == Access::repeated) {
            out_.line(constness(param(ref)), type(ref), "& ", param(ref).name, " = *", start, ";");
            continue;
        }
        out_.line(constness(param(ref)), type(ref), "* ", own(join("at_", param(ref).name)), " = ",
                  start, " + ", own("base"), ";");
        out_.line("quern::Pack<", type(ref), ", ", lanes, "> ", own(join("pack_", param(ref).name)),
                  ";");
    }
    for (const OperandRef& ref : operands_)
        if (access(ref) != Access::repeated && loaded(ref))
            out_.line(own(join("pack_", param(ref).name)), ".load(",
                      own(join("at_", param(ref).name)), ", ", own("begin"), ", ", own("end"),
                      ");");
    out_.line("#pragma unroll");
    out_.open("for (int ", own("lane"), " = 0; ", own("lane"), " < ", lanes, "; ++", own("lane"),
              ")");
    out_.open("if (", own("lane"), " >= ", own("begin"), " && ", own("lane"), " < ", own("end"),
              ")");
    for (const OperandRef& ref : operands_) {
        const std::string at = own(join("at_", param(ref).name)),
                          position = join(own("base"), " + ", own("lane"));
        if (!param(ref).place && access(ref) != Access::repeated)
            reference(ref, join(own(join("pack_", param(ref).name)), "[", own("lane"), "]"));
        else if (param(ref).place && access(ref) == Access::contiguous)
            reference(ref, join(at, "[", position, "]"));
        else if (param(ref).place && access(ref) == Access::strided)
            reference(ref, join("*quern::at_byte(", at, ", (", position, ") * ",
                                nest(stride_name(ref, inner)), ")"));
        else if (param(ref).place)
            reference(ref, join("*", at));
    }
    const std::string in_row = join("static_cast<ptrdiff_t>(", own("base"), ") + ", own("lane"));
    body(inner > 0 ? join("static_cast<ptrdiff_t>(", own("row"), ") * ", extent, " + ", in_row)
                   : in_row);
    out_.close();
    out_.close();
    for (const OperandRef& ref : operands_)
        if (access(ref) != Access::repeated && stored(ref))
            out_.line(own(join("pack_", param(ref).name)), ".store(",
                      own(join("at_", param(ref).name)), ", ", own("begin"), ", ", own("end"),
                      ");");
    out_.close();
}

// One element at a time, in place: what the body would see in a hand-written grid-stride loop.
void ElementwiseEmitter::single_loop() {
    grid_loop(nest("count"));
    split(layout_.ndim - 1, own("step"));
    for (const OperandRef& ref : operands_)
        reference(ref, element(ref));
    body(join("static_cast<ptrdiff_t>(", own("step"), ")"));
    out_.close();
}

// A few elements a thread, a block apart: all loads first, then the bodies, then the stores.
void ElementwiseEmitter::scattered_loop() {
    const int lanes = layout_.lanes;
    out_.open("for (", index_, " ", own("first"), " = static_cast<", index_,
              ">(blockIdx.x) * blockDim.x * ", lanes, " + threadIdx.x; ", own("first"), " < ",
              nest("count"), "; ", own("first"), " += static_cast<", index_,
              ">(gridDim.x) * blockDim.x * ", lanes, ")");
    for (const OperandRef& ref : operands_) {
        if (!param(ref).place)
            out_.line(type(ref), " ", own(join("lanes_", param(ref).name)), "[", lanes, "];");
        if (stored(ref) || param(ref).place)
            out_.line(constness(param(ref)), type(ref), "* ", own(join("places_", param(ref).name)),
                      "[", lanes, "];");
    }
    const auto each_lane = [&](auto&& inside) {
        out_.line("#pragma unroll");
        out_.open("for (int ", own("lane"), " = 0; ", own("lane"), " < ", lanes, "; ++",
                  own("lane"), ")");
        out_.line("const ", index_, " ", own("step"), " = ", own("first"), " + ", own("lane"),
                  " * blockDim.x;");
        out_.open("if (", own("step"), " < ", nest("count"), ")");
        inside();
        out_.close();
        out_.close();
    };
    const auto lane_of = [&](std::string_view what, const OperandRef& ref) {
        return join(own(join(what, param(ref).name)), "[", own("lane"), "]");
    };
    each_lane([&] {
        split(layout_.ndim - 1, own("step"));
        for (const OperandRef& ref : operands_) {
            if (stored(ref) || param(ref).place)
                out_.line(lane_of("places_", ref), " = &", element(ref), ";");
            if (loaded(ref))
                out_.line(lane_of("lanes_", ref), " = ", element(ref), ";");
        }
    });
    each_lane([&] {
        for (const OperandRef& ref : operands_)
            reference(ref, param(ref).place ? join("*", lane_of("places_", ref))
                                            : lane_of("lanes_", ref));
        body(join("static_cast<ptrdiff_t>(", own("step"), ")"));
    });
    each_lane([&] {
        for (const OperandRef& ref : operands_)
            if (stored(ref))
                out_.line("*", lane_of("places_", ref), " = ", lane_of("lanes_", ref), ";");
    });
    out_.close();
}

// Operands whose fast axis is the tile's other one are read along it, and turned in shared memory.
void ElementwiseEmitter::tile_loop() {
    const int inner = layout_.ndim - 1, extent = tile_extent * layout_.lanes,
              rows = tile_block / extent, rounds = extent / rows;
    const std::string limit_q = nest(axis_name("extent", inner - 1)),
                      limit_p = nest(axis_name("extent", inner));
    for (const OperandRef& ref : operands_) // rows of a tile begin in other banks
        if (access(ref) == Access::tiled)
            out_.line("__shared__ ", type(ref), " ", own(join("tile_", param(ref).name)), "[",
                      extent, "][",
                      layout_.lanes > 1 ? join(extent, " + 4 / sizeof(", type(ref), ")")
                                        : join(extent + 1),
                      "];");
    out_.line("const ", index_, " ", own("column"), " = threadIdx.x % ", extent, ", ", own("line"),
              " = threadIdx.x / ", extent, ";");
    out_.open("for (", index_, " ", own("tile"), " = blockIdx.x; ", own("tile"), " < ",
              nest("steps"), "; ", own("tile"), " += gridDim.x)");
    locate_tile(extent);
    for (const OperandRef& ref : operands_) {
        out_.line(constness(param(ref)), type(ref), "* ", own(join("at_", param(ref).name)), " = ",
                  outer(ref), ";");
        if (access(ref) != Access::tiled && !param(ref).place)
            out_.line(type(ref), " ", own(join("lanes_", param(ref).name)), "[", rounds, "];");
    }
    const auto each_round = [&](auto&& inside) {
        out_.line("#pragma unroll");
        out_.open("for (int ", own("round"), " = 0; ", own("round"), " < ", rounds, "; ++",
                  own("round"), ")");
        out_.line("const ", index_, " ", own("turn"), " = ", own("line"), " + ", own("round"),
                  " * ", rows, ";");
        inside();
        out_.close();
    };
    const auto inside_edges = [&] {
        out_.line("const ", index_, " ", own("q"), " = ", own("high"), " + ", own("turn"), ", ",
                  own("p"), " = ", own("low"), " + ", own("column"), ";");
        out_.open("if (", own("q"), " < ", limit_q, " && ", own("p"), " < ", limit_p, ")");
    };
    each_round([&] {
        out_.line("const ", index_, " ", own("tq"), " = ", own("high"), " + ", own("column"), ", ",
                  own("tp"), " = ", own("low"), " + ", own("turn"), ";");
        out_.open("if (", own("tq"), " < ", limit_q, " && ", own("tp"), " < ", limit_p, ")");
        for (const OperandRef& ref : operands_)
            if (access(ref) == Access::tiled)
                out_.line(
                    own(join("tile_", param(ref).name)), "[", own("turn"), "][", own("column"),
                    "] = ",
                    tile_element(ref, own(join("at_", param(ref).name)), own("tq"), own("tp")),
                    ";");
        out_.close();
        inside_edges();
        for (const OperandRef& ref : operands_)
            if (access(ref) != Access::tiled && loaded(ref))
                out_.line(own(join("lanes_", param(ref).name)), "[", own("round"), "] = ",
                          tile_element(ref, own(join("at_", param(ref).name)), own("q"), own("p")),
                          ";");
        out_.close();
    });
    out_.line("__syncthreads();");
    each_round([&] {
        inside_edges();
        for (const OperandRef& ref : operands_)
            reference(ref,
                      param(ref).place
                          ? tile_element(ref, own(join("at_", param(ref).name)), own("q"), own("p"))
                      : access(ref) == Access::tiled
                          ? join(own(join("tile_", param(ref).name)), "[", own("column"), "][",
                                 own("turn"), "]")
                          : join(own(join("lanes_", param(ref).name)), "[", own("round"), "]"));
        body("0"); // a plan that exchanges axes is made only for bodies that see no position
        for (const OperandRef& ref : operands_)
            if (stored(ref))
                out_.line(tile_element(ref, own(join("at_", param(ref).name)), own("q"), own("p")),
                          " = ", param(ref).name, ";");
        out_.close();
    });
    out_.line("__syncthreads();");
    out_.close();
}

} // namespace quern
