// Loops of GPU kernels: packs of neighbours, scattered elements, one element a thread, tiles
// through shared memory.
#include "compiler/codegen/emitter.h"

#include <algorithm>

namespace quern {

// Of an array that is read here and there the caches keep what they can: all else makes way.
bool ElementwiseEmitter::reads_places() const {
    return std::ranges::any_of(spec_.params, [](const Param& p) { return p.place && !p.output; });
}

// A block's share of the steps, as wide as it is, or twice.
void ElementwiseEmitter::turns_loop() {
    out_.line("const ", index_, " ", own("past"), " = static_cast<", index_, ">(blockIdx.x + 1) * ",
              nest("share"), ", ", own("stop"), " = ", own("past"), " < ", nest("steps"), " ? ",
              own("past"), " : ", nest("steps"), ";");
    out_.line("#pragma unroll 1");
    out_.open("for (", index_, " ", own("step"), " = static_cast<", index_, ">(blockIdx.x) * ",
              nest("share"), " + threadIdx.x; ", own("step"), " < ", own("stop"), "; ", own("step"),
              layout_.pairs ? " += 2 * blockDim.x)" : " += blockDim.x)");
}

// Neighbouring elements of a row, in packs.
void ElementwiseEmitter::vector_loop() {
    const int inner = layout_.ndim - 1, lanes = layout_.lanes;
    layout_.swift ? turns_loop() : grid_loop(nest("steps"));
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
                  layout_.pairs ? "[2];" : ";");
    }
    // What lies past the ends is computed as well where that does no harm: asking takes longer.
    const bool asks =
        !spec_.total || std::any_of(operands_.begin(), operands_.end(),
                                    [&](const OperandRef& ref) { return param(ref).place; });
    const std::string next = own("next"), // of a pair, from the first pack on
        in_row = join("static_cast<ptrdiff_t>(", own("base"), ") + ", own("lane")),
                      nth = inner > 0 ? join("static_cast<ptrdiff_t>(", own("row"), ") * ", extent,
                                             " + ", in_row)
                                      : in_row;
    const std::string_view once = reads_places() ? "<true>(" : "(";
    const auto move_packs = [&](std::string_view how, auto&& chosen) {
        for (int pack = 0; pack <= (layout_.pairs ? 1 : 0); ++pack)
            for (const OperandRef& ref : operands_)
                if (access(ref) != Access::repeated && chosen(ref))
                    out_.line(own(join("pack_", param(ref).name)),
                              layout_.pairs ? join("[", pack, "]") : "", how, once,
                              own(join("at_", param(ref).name)), pack > 0 ? join(" + ", next) : "",
                              layout_.swift ? join(", 0, ", lanes, ");")
                                            : join(", ", own("begin"), ", ", own("end"), ");"));
    };
    if (layout_.swift) { // whole packs; where the second one is not, the first once more
        out_.line("bool quern_usual = ", own("begin"), " == 0 && ", own("end"), " >= ", lanes, ";");
        if (layout_.pairs)
            out_.line("const ", signed_, " ", own("apart"), " = static_cast<", signed_,
                      ">(blockDim.x) * ", lanes, ", ", next, " = ", own("end"),
                      " >= ", own("apart"), " + ", lanes, " ? ", own("apart"), " : 0;");
        out_.open("if (quern_usual)");
    }
    move_packs(".load", [&](const OperandRef& ref) { return loaded(ref); });
    const auto each_lane = [&](const std::string& operation) {
        if (layout_.pairs)
            out_.open_unrolled(own("pack"), 2);
        out_.open_unrolled(own("lane"), lanes);
        if (asks)
            out_.open("if (", own("lane"), " >= ", own("begin"), " && ", own("lane"), " < ",
                      own("end"), ")");
        for (const OperandRef& ref : operands_) {
            const std::string at = own(join("at_", param(ref).name)),
                              position = join(own("base"), " + ", own("lane"));
            if (!param(ref).place && access(ref) != Access::repeated)
                reference(ref, join(own(join("pack_", param(ref).name)),
                                    layout_.pairs ? join("[", own("pack"), "]") : "", "[",
                                    own("lane"), "]"));
            else if (param(ref).place && access(ref) == Access::contiguous)
                reference(ref, join(at, "[", position, "]"));
            else if (param(ref).place && access(ref) == Access::strided)
                reference(ref, join("*quern::at_byte(", at, ", (", position, ") * ",
                                    nest(stride_name(ref, inner)), ")"));
            else if (param(ref).place)
                reference(ref, join("*", at));
        }
        body(layout_.pairs ? join(nth, " + ", own("pack"), " * ", next) : nth, operation);
        if (asks)
            out_.close();
        out_.close();
        if (layout_.pairs)
            out_.close();
    };
    if (layout_.swift && !spec_.swift_inverse.empty()) { // asked once, not in each lane
        out_.open("if (", spec_.ones_condition, ")");
        each_lane(spec_.swift_inverse);
        out_.close();
        out_.open("else");
        each_lane(spec_.swift);
        out_.close();
    } else if (!layout_.swift && !spec_.quick.empty()) { // one question for all lanes
        out_.line("bool quern_usual = true;");
        each_lane(spec_.quick);
        out_.open("if (!quern_usual)");
        each_lane(spec_.mend);
        out_.close();
    } else {
        each_lane(layout_.swift ? spec_.swift : spec_.operation);
    }
    const auto is_stored = [&](const OperandRef& ref) { return stored(ref); };
    if (layout_.swift) { // all others element by element
        out_.open("if (quern_usual)");
        move_packs(".store", is_stored);
        out_.close();
        out_.close();
        const bool pairs = layout_.pairs;
        const std::string lane = own("lane"), apart = own("apart"),
                          first = pairs ? join("quern_usual ? ", next, " + ", apart, " : ",
                                               own("begin"))
                                        : own("begin"),
                          past = pairs ? join(apart, " + ", lanes) : join(lanes),
                          step = pairs ? join(lane, " += ", lane, " == ", lanes - 1, " ? ", apart,
                                              " - ", lanes - 1, " : 1")
                                       : join("++", lane);
        if (!pairs)
            out_.open("if (!quern_usual)");
        out_.line("#pragma unroll 1");
        out_.open("for (", signed_, " ", lane, " = ", first, "; ", lane, " < ", past, " && ", lane,
                  " < ", own("end"), "; ", step, ")");
        for (const OperandRef& ref : operands_)
            if (access(ref) != Access::repeated)
                reference(ref, join(own(join("at_", param(ref).name)), "[", own("lane"), "]"));
        body(nth);
        out_.close();
        if (!layout_.pairs)
            out_.close();
    } else {
        move_packs(".store", is_stored);
    }
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
        out_.open_unrolled(own("lane"), lanes);
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
            if (stored(ref) && reads_places())
                out_.line("quern::store_once(", lane_of("places_", ref), ", ",
                          lane_of("lanes_", ref), ");");
            else if (stored(ref))
                out_.line("*", lane_of("places_", ref), " = ", lane_of("lanes_", ref), ";");
    });
    out_.close();
}

// Operands whose fast axis is the tile's other one are read along it, and turned in shared memory.
// Blocks of tiles that a multiprocessor is to hold at a time, where the body is a short expression:
// so many bytes are in flight as its threads' registers allow, which toolchains do not count on by
// themselves. 0: theirs to choose, as where bytes are put together or elements go one by one, which
// takes registers of its own.
int ElementwiseEmitter::tile_blocks() const {
    if (layout_.strategy != Strategy::tile || layout_.lanes > (layout_.packed ? 2 : 1) ||
        spec_.operation.find_first_of("({;") != std::string::npos)
        return 0;
    constexpr int most = 8, spare = 16, registers = 65536 / tile_block;
    const int elements = tile_extent * layout_.lanes / (tile_block / tile_extent) * layout_.lanes;
    int held = 0;
    for (const OperandRef& ref : operands_)
        held += elements * static_cast<int>(row(signature_.params[ref.param].dtype).bytes) / 4;
    return std::min(most, registers / (spare + held));
}

void ElementwiseEmitter::tile_loop() {
    const int inner = layout_.ndim - 1, lanes = layout_.lanes, extent = tile_extent * lanes,
              rows = tile_block / tile_extent, rounds = extent / rows;
    const std::string limit_q = nest(axis_name("extent", inner - 1)),
                      limit_p = nest(axis_name("extent", inner)), round = own("round"),
                      lane = own("lane"), turn = join(own("line"), " + ", round, " * ", rows),
                      along = join(own("column"), " + ", lane,
                                   layout_.packed ? "" : join(" * ", tile_extent));
    const auto is_tiled = [&](const OperandRef& ref) { return access(ref) == Access::tiled; };
    const auto held = [&](const OperandRef& ref) { // in registers, by rounds and lanes
        return !param(ref).place && (is_tiled(ref) || loaded(ref) || stored(ref));
    };
    const auto pack = [&](const OperandRef& ref) {
        return join(own(join("pack_", param(ref).name)), "[", round, "]");
    };
    const auto tile = [&](const OperandRef& ref) { return own(join("tile_", param(ref).name)); };
    const auto places = [&](const OperandRef& ref) {
        return join("quern::TilePlaces<", type(ref), ", ", extent, ">");
    };

    for (const OperandRef& ref : operands_)
        if (is_tiled(ref))
            out_.line("alignas(16) __shared__ ", type(ref), " ", tile(ref), "[", places(ref),
                      "::count];");
    out_.line("const ", index_, " ", own("column"), " = threadIdx.x % ", tile_extent,
              layout_.packed ? join(" * ", lanes) : "", ", ", own("line"), " = threadIdx.x / ",
              tile_extent, ";");
    out_.open("for (", index_, " ", own("tile"), " = blockIdx.x; ", own("tile"), " < ",
              nest("steps"), "; ", own("tile"), " += gridDim.x)");
    locate_tile(extent);
    out_.line("const bool ", own("whole"), " = ", own("high"), " + ", extent, " <= ", limit_q,
              " && ", own("low"), " + ", extent, " <= ", limit_p, ";");
    for (const OperandRef& ref : operands_) {
        out_.line(constness(param(ref)), type(ref), "* ", own(join("at_", param(ref).name)), " = ",
                  outer(ref), ";");
        if (held(ref))
            out_.line("quern::Pack<", type(ref), ", ", lanes, "> ",
                      own(join("pack_", param(ref).name)), "[", rounds, "];");
    }
    // Where round and lane are along the tile's axes: as those of the outputs, or turned.
    const auto element = [&](const OperandRef& ref, bool turned, const std::string& across) {
        return tile_element(ref, own(join("at_", param(ref).name)),
                            join(own("high"), " + ", turned ? across : turn),
                            join(own("low"), " + ", turned ? turn : across));
    };
    // Whether the element of round and lane is in the array.
    const auto inside_edges = [&](bool turned) {
        return join(own("high"), " + ", turned ? along : turn, " < ", limit_q, " && ", own("low"),
                    " + ", turned ? turn : along, " < ", limit_p);
    };
    const auto each_lane = [&](const std::string& condition, auto&& work) {
        out_.open_unrolled(lane, lanes);
        if (!condition.empty())
            out_.open("if (", condition, ")");
        work();
        if (!condition.empty())
            out_.close();
        out_.close();
    };
    const auto in_packs = [&](const OperandRef& ref) {
        return layout_.packed && (is_tiled(ref) || access(ref) == Access::contiguous);
    };
    // by_round(whole), twice: for whole tiles, and for those that the array's edges cut. An element
    // that must ask whether it is within holds up the others of its thread.
    const auto each_round = [&](auto&& by_round) {
        for (const bool whole : {true, false}) {
            whole ? out_.open("if (", own("whole"), ")") : out_.open("else");
            out_.open_unrolled(round, rounds);
            by_round(whole);
            out_.close();
            out_.close();
        }
    };
    // Loads or stores operands of which `chosen` is true: a whole tile in packs, others by element.
    const auto move = [&](bool turned, auto&& chosen, auto&& by_pack, auto&& by_element) {
        if (!std::ranges::any_of(operands_, chosen))
            return;
        each_round([&](bool whole) {
            for (const OperandRef& ref : operands_) {
                if (!chosen(ref))
                    continue;
                if (whole && in_packs(ref))
                    by_pack(ref);
                else
                    each_lane(whole ? "" : inside_edges(turned), [&] { by_element(ref); });
            }
        });
    };
    const auto load = [&](bool turned, auto&& chosen) {
        move(
            turned, chosen,
            [&](const OperandRef& ref) {
                out_.line(pack(ref), ".load(&", element(ref, turned, own("column")), ", 0, ", lanes,
                          ");");
            },
            [&](const OperandRef& ref) {
                out_.line(pack(ref), "[", lane, "] = ", element(ref, turned, along), ";");
            });
    };
    load(true, [&](const OperandRef& ref) { return is_tiled(ref); });
    load(false, [&](const OperandRef& ref) { return !is_tiled(ref) && loaded(ref); });
    out_.open_unrolled(round, rounds);
    for (const OperandRef& ref : operands_) {
        if (!is_tiled(ref))
            continue;
        const auto at = [&](const std::string& across) {
            return join(places(ref), "::at(", turn, ", ", across, ")");
        };
        if (layout_.packed)
            out_.line(pack(ref), ".store(", tile(ref), " + ", at(own("column")), ", 0, ", lanes,
                      ");");
        else
            each_lane("", [&] {
                out_.line(tile(ref), "[", at(along), "] = ", pack(ref), "[", lane, "];");
            });
    }
    out_.close();
    out_.line("__syncthreads();");
    each_round([&](bool whole) {
        each_lane(whole ? "" : inside_edges(false), [&] {
            for (const OperandRef& ref : operands_)
                reference(ref, param(ref).place ? element(ref, false, along)
                               : is_tiled(ref)  ? join(tile(ref), "[", places(ref), "::at(", along,
                                                       ", ", turn, ")]")
                                                : join(pack(ref), "[", lane, "]"));
            body("0"); // a plan that exchanges axes is made only for bodies that see no position
        });
    });
    move(
        false, [&](const OperandRef& ref) { return stored(ref); },
        [&](const OperandRef& ref) {
            out_.line(pack(ref), ".store(&", element(ref, false, own("column")), ", 0, ", lanes,
                      ");");
        },
        [&](const OperandRef& ref) {
            out_.line(element(ref, false, along), " = ", pack(ref), "[", lane, "];");
        });
    out_.line("__syncthreads();");
    out_.close();
}

} // namespace quern
