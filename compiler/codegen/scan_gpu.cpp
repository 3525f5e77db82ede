// Loops of scans on GPUs: threads along a row or across columns; where several blocks share one,
// each looks back at the totals of those before it.
#include "compiler/codegen/scan_emitter.h"

namespace quern {

namespace {
constexpr int warps = scan_block / 32;
} // namespace

// own(unit): this block's tile among all. Blocks take them in the order in which they start, so
// that whom a block waits for has started. The first blocks join what the others tell.
void ScanEmitter::take_unit() {
    out_.line("__shared__ ", index_, " ", own("taken"), ";");
    out_.line("if (threadIdx.x == 0) ", own("taken"), " = static_cast<", index_,
              ">(atomicAdd(static_cast<unsigned long long*>(", own("room"), "), 1ull));");
    out_.line("__syncthreads();");
    out_.open("if (", own("taken"), " < ", nest("scanners"), ")");
    out_.line("const ", index_, " ", own("value"), " = min((", own("taken"), " * ", warps, " + ",
              own("warp"), ") * ", nest("share"), ", ", nest("values"), ");");
    out_.line("quern::Ledger<_type_reduce>::scan(", own("room"), ", ", nest("steps"), ", ",
              nest("values"), ", ", own("value"), ", min(", own("value"), " + ", nest("share"),
              ", ", nest("values"), "), ", nest("by_tiles"), ", ", own("join"), ");");
    out_.line("return;");
    out_.close();
    out_.line("const ", index_, " ", own("unit"), " = ", own("taken"), " - ", nest("scanners"),
              ";");
}

// Tells `total`, waits for what is before it and leaves that at `slot`.
void ScanEmitter::ask_before(const std::string& value, const std::string& step,
                             const std::string& total, const std::string& slot) {
    out_.line("const quern::Ledger<_type_reduce> ", own("ledger"), "(", own("room"), ", ",
              nest("steps"), ", ", nest("values"), ", ", value, ");");
    out_.line(own("ledger"), ".tell_total(", step, ", ", total, ");");
    out_.line("if (", own("tile"), " > 0) ", own("slots"), "[", slot, "] = ", own("ledger"),
              ".wait_before(", step, ");");
}

void ScanEmitter::declare_packs(const std::vector<OperandRef>& list, const std::string& count) {
    for (const OperandRef& ref : list)
        out_.line("quern::Pack<", type(ref), ", ",
                  access(ref) == Access::repeated ? 1 : int{layout_.lanes}, "> ", pack(ref), count,
                  ";");
}

// The packs at `position` along the fastest axis; `further` bytes of each operand by its name.
void ScanEmitter::load_packs(const std::string& slot, const std::string& position,
                             const std::string& count, const std::string& further) {
    for (const OperandRef& ref : inputs_) {
        const std::string from =
            further.empty()
                ? start(ref)
                : at_byte(start(ref), join(further, " * ", stride(ref, layout_.kept_ndim)));
        if (access(ref) == Access::contiguous)
            out_.line(pack(ref), slot, ".load(", from,
                      position.empty() ? "" : join(" + ", position, " * ", int{layout_.lanes}),
                      ", 0, ", count, ");");
        else if (access(ref) == Access::repeated)
            out_.line(pack(ref), slot, "[0] = *", from, ";");
        else {
            const std::string l = own("l"), first = position.empty()
                                                        ? ""
                                                        : join(as_signed(position), " * ",
                                                               int{layout_.lanes}, " + ");
            out_.line("#pragma unroll");
            out_.line("for (int ", l, " = 0; ", l, " < ", int{layout_.lanes}, "; ++", l, ") if (",
                      l, " < ", count, ") ", pack(ref), slot, "[", l, "] = *",
                      at_byte(from, join("(", first, l, ") * ", stride(ref, layout_.fastest()))),
                      ";");
        }
    }
}

void ScanEmitter::store_packs(const std::string& slot, const std::string& position,
                              const std::string& count, const std::string& further) {
    for (const OperandRef& ref : outputs_) {
        const std::string to =
            further.empty()
                ? start(ref)
                : at_byte(start(ref), join(further, " * ", stride(ref, layout_.kept_ndim)));
        if (access(ref) == Access::contiguous)
            out_.line(pack(ref), slot, ".store(", to,
                      position.empty() ? "" : join(" + ", position, " * ", int{layout_.lanes}),
                      ", 0, ", count, ");");
        else if (access(ref) == Access::repeated || position.empty())
            out_.line("*", to, " = ", pack(ref), slot, "[0];");
        else
            out_.line("*",
                      at_byte(to, join(as_signed(position), " * ", stride(ref, layout_.fastest()))),
                      " = ", pack(ref), slot, "[0];");
    }
}

// own(values)[slot][...] from the packs. What lies past the end of a line is joined to nothing that
// is stored.
void ScanEmitter::read_values(const std::string& slot) {
    const std::string lane = own("l");
    out_.open_unrolled(lane, layout_.lanes);
    mapped([&](const OperandRef& ref) {
        return join(pack(ref), slot, "[", access(ref) == Access::repeated ? "0" : lane, "]");
    });
    out_.line(own("values"), slot, "[", lane, "] = ", own("value"), ";");
    out_.close();
}

// The outputs' packs at `slot` from `value`, an expression of own(l).
void ScanEmitter::write_values(const std::string& slot, const std::string& value) {
    const std::string lane = own("l");
    out_.open_unrolled(lane, layout_.lanes);
    post_mapped(value, [&](const OperandRef& ref) {
        return join(pack(ref), slot, "[", access(ref) == Access::contiguous ? lane : "0", "]");
    });
    out_.close();
}

// own(values)[slot] joined along its lanes.
void ScanEmitter::scan_pack(const std::string& slot) {
    const std::string values = own("values") + slot;
    if (layout_.lanes == 1)
        return;
    out_.line("#pragma unroll");
    out_.line("for (int ", own("l"), " = 1; ", own("l"), " < ", int{layout_.lanes}, "; ++",
              own("l"), ") ", values, "[", own("l"), "] = ", own("join"), "(", values, "[",
              own("l"), " - 1], ", values, "[", own("l"), "]);");
}

void ScanEmitter::gpu_rows() {
    const int n = layout_.kept_ndim, lanes = layout_.lanes, batch = layout_.batch;
    const std::string b = own("b"), slot = "[" + b + "]";
    const int threads = layout_.block_rows ? scan_block : 32;
    const auto count_of = [&](const std::string& at) {
        return join("static_cast<int>(min(", as_signed(nest("length")), " - ", as_signed(at), " * ",
                    lanes, ", ", as_signed(join(lanes)), "))");
    };
    out_.line("const unsigned int ", own("lane"), " = threadIdx.x & 31, ", own("warp"),
              " = threadIdx.x >> 5;");
    if (layout_.block_rows)
        out_.line("__shared__ quern::Slots<_type_reduce, ", 2 * warps + 1, "> ", own("slots"), ";");
    if (layout_.split) {
        take_unit();
        out_.line("const ", index_, " ", own("line"), " = ", nest("by_tiles"), ".divide(",
                  own("unit"), "), ", own("tile"), " = ", own("unit"), " - ", own("line"), " * ",
                  nest("by_tiles.divisor"), ";");
    } else if (layout_.block_rows) {
        out_.line("const ", index_, " ", own("line"), " = blockIdx.x;");
    } else {
        out_.line("const ", index_, " ", own("line"), " = blockIdx.x * ", warps, " + ", own("warp"),
                  ";");
        out_.line("if (", own("line"), " >= ", nest("lines"), ") return;");
    }
    split_axes(own("line"), 0, n, "");
    starts(n);
    out_.line("quern::Prefix<_type_reduce> ", own("carry"), ";");
    if (layout_.split)
        out_.open();
    else
        out_.open("for (", index_, " ", own("tile"), " = 0; ", own("tile"), " < ",
                  nest("by_tiles.divisor"), "; ++", own("tile"), ")");
    out_.line("const ", index_, " ", own("first"), " = ", own("tile"), " * ", threads * batch,
              " + ", layout_.block_rows ? join(own("warp"), " * ", 32 * batch, " + ") : "",
              own("lane"), ";");
    declare_packs(inputs_, join("[", batch, "]"));
    const auto at_pack = [&] {
        out_.open_unrolled(b, batch);
        out_.line("const ", index_, " ", own("at"), " = ", own("first"), " + ", b, " * 32;");
    };
    at_pack();
    out_.open("if (", own("at"), " < ", nest("by_packs.divisor"), ")");
    load_packs(slot, own("at"), count_of(own("at")), "");
    out_.close();
    out_.close();
    out_.line("_type_reduce ", own("values"), "[", batch, "][", lanes, "];");
    out_.line("quern::Prefix<_type_reduce> ", own("ahead"), "[", batch, "], ", own("run"), ";");
    at_pack();
    read_values(slot);
    scan_pack(slot);
    out_.line("const _type_reduce ", own("joined"), " = quern::scan_lanes(", own("values"), slot,
              "[", lanes - 1, "], 1, 32, ", own("lane"), ", ", own("join"), ");");
    out_.line("const _type_reduce ", own("above"), " = quern::value_above(", own("joined"),
              ", 1);");
    out_.line(own("ahead"), slot, " = ", own("run"), ";");
    out_.line("if (", own("lane"), " > 0) ", own("ahead"), slot, ".add(", own("above"), ", ",
              own("join"), ");");
    out_.line(own("run"), ".add(quern::value_of(", own("joined"), ", 31), ", own("join"), ");");
    out_.close();
    if (layout_.block_rows) {
        const std::string base =
            layout_.split ? "0"
                          : join("static_cast<unsigned int>(", own("tile"), " & 1) * ", warps);
        out_.line("if (", own("lane"), " == 31) ", own("slots"), "[", base, " + ", own("warp"),
                  "] = ", own("run"), ".value;");
        out_.line("__syncthreads();");
        out_.line("_type_reduce ", own("total"), ";");
        out_.line("const quern::Prefix<_type_reduce> ", own("before"), " = quern::before_group(",
                  own("slots"), ", ", base, ", 1, ", own("warp"), ", ", warps, ", ", own("total"),
                  ", ", own("join"), ");");
    }
    if (layout_.split) {
        out_.open("if (threadIdx.x == 0)");
        ask_before("0", own("unit"), own("total"), join(2 * warps));
        out_.close();
        out_.line("__syncthreads();");
        out_.line("if (", own("tile"), " > 0) ", own("carry"), ".add(", own("slots"), "[",
                  2 * warps, "], ", own("join"), ");");
    }
    out_.line("quern::Prefix<_type_reduce> ", own("here"), " = ", own("carry"), ";");
    if (layout_.block_rows)
        out_.line(own("here"), ".add(", own("before"), ", ", own("join"), ");");
    at_pack();
    out_.line("quern::Prefix<_type_reduce> ", own("mine"), " = ", own("here"), ";");
    out_.line(own("mine"), ".add(", own("ahead"), slot, ", ", own("join"), ");");
    declare_packs(outputs_, "");
    write_values("", join(own("mine"), ".before(", own("values"), slot, "[", own("l"), "], ",
                          own("join"), ")"));
    out_.open("if (", own("at"), " < ", nest("by_packs.divisor"), ")");
    store_packs("", own("at"), count_of(own("at")), "");
    out_.close();
    out_.close();
    if (!layout_.split)
        out_.line(own("carry"), ".add(", layout_.block_rows ? own("total") : own("run") + ".value",
                  ", ", own("join"), ");");
    out_.close();
}

void ScanEmitter::gpu_short_rows() {
    const int n = layout_.kept_ndim, lanes = layout_.lanes, batch = layout_.batch;
    const std::string b = own("b"), slot = "[" + b + "]";
    const std::string count =
        join("static_cast<int>(min(", as_signed(nest("length")), " - ", as_signed(own("thread")),
             " * ", lanes, ", ", as_signed(join(lanes)), "))");
    const int group = 1 << layout_.group_bits, rows = scan_block / group;
    out_.line("const ", index_, " ", own("thread"), " = threadIdx.x & ", group - 1, ", ",
              own("first"), " = blockIdx.x * ", rows * batch, " + (threadIdx.x >> ",
              int{layout_.group_bits}, ");");
    out_.line("const bool ", own("within"), " = ", own("thread"), " < ", nest("by_packs.divisor"),
              ";");
    declare_packs(inputs_, join("[", batch, "]"));
    const auto each_row = [&] {
        out_.open_unrolled(b, batch);
        out_.line("const ", index_, " ", own("line"), " = ", own("first"), " + ", b, " * ", rows,
                  ";");
        out_.line("const bool ", own("alive"), " = ", own("within"), " && ", own("line"), " < ",
                  nest("lines"), ";");
    };
    each_row();
    out_.open("if (", own("alive"), ")");
    split_axes(own("line"), 0, n, "");
    starts(n);
    load_packs(slot, own("thread"), count, "");
    out_.close();
    out_.close();
    out_.line("_type_reduce ", own("values"), "[", batch, "][", lanes, "];");
    each_row();
    read_values(slot);
    scan_pack(slot);
    out_.line("const _type_reduce ", own("joined"), " = quern::scan_lanes(", own("values"), slot,
              "[", lanes - 1, "], 1, ", group, ", ", own("thread"), ", ", own("join"), ");");
    out_.line("const _type_reduce ", own("above"), " = quern::value_above(", own("joined"),
              ", 1);");
    out_.line("quern::Prefix<_type_reduce> ", own("mine"), ";");
    out_.line("if (", own("thread"), " > 0) ", own("mine"), ".add(", own("above"), ", ",
              own("join"), ");");
    declare_packs(outputs_, "");
    write_values("", join(own("mine"), ".before(", own("values"), slot, "[", own("l"), "], ",
                          own("join"), ")"));
    out_.open("if (", own("alive"), ")");
    split_axes(own("line"), 0, n, "");
    starts(n);
    store_packs("", own("thread"), count, "");
    out_.close();
    out_.close();
}

void ScanEmitter::gpu_columns() {
    const int n = layout_.kept_ndim, lanes = layout_.lanes, batch = layout_.batch;
    const int width = 1 << layout_.group_bits, downs = scan_block / width;
    // Threads of a warp that are below each other join by shuffles, the groups that are left
    // through shared memory.
    const bool shuffled = width < 32;
    const int groups = shuffled ? warps : downs, columns = width * lanes;
    const std::string b = own("b"), l = own("l"), slot = "[" + b + "]",
                      mine = shuffled ? own("warp") : own("down");
    out_.line("__shared__ quern::Slots<_type_reduce, ", groups * columns * 2, "> ", own("slots"),
              ";");
    out_.line("const unsigned int ", own("lane"), " = threadIdx.x & 31, ", own("warp"),
              " = threadIdx.x >> 5, ", own("column"), " = threadIdx.x & ", width - 1, ", ",
              own("down"), " = threadIdx.x >> ", int{layout_.group_bits}, ";");
    if (layout_.split) {
        take_unit();
        out_.line("const ", index_, " ", own("tile"), " = ", nest("by_strips"), ".divide(",
                  own("unit"), "), ", own("strip"), " = ", own("unit"), " - ", own("tile"), " * ",
                  nest("by_strips.divisor"), ";");
    } else {
        out_.line("const ", index_, " ", own("strip"), " = blockIdx.x;");
    }
    out_.line("const ", index_, " ", own("place"), " = ", own("strip"), " * ", width, " + ",
              own("column"), ", ", own("beyond"), " = ", nest("by_packs"), ".divide(", own("place"),
              "), ", own("pack"), " = ", own("place"), " - ", own("beyond"), " * ",
              nest("by_packs.divisor"), ";");
    out_.line("const bool ", own("alive"), " = ", own("beyond"), " * ", nest("across"), " < ",
              nest("lines"), ";");
    out_.line("const ", index_, " ", own("outer"), " = ", own("alive"), " ? ", own("beyond"), " : ",
              zero(), ";");
    out_.line("const int ", own("count"), " = static_cast<int>(min(", as_signed(nest("across")),
              " - ", as_signed(own("pack")), " * ", lanes, ", ", as_signed(join(lanes)), "));");
    split_axes(own("outer"), 0, n - 1, "");
    starts(n - 1, join(own("pack"), lanes > 1 ? join(" * ", lanes) : ""));
    out_.line("const ", index_, " ", own("stop"), " = ", own("alive"), " ? ", nest("length"), " : ",
              zero(), ";");
    declare_packs(inputs_, join("[", batch, "]"));
    const auto step = join(own("first"), " + ", b);
    out_.open("const auto ", own("load"), " = [&](const ", index_, " ", own("first"), ")");
    out_.open_unrolled(b, batch);
    out_.line("if (", step, " >= ", own("stop"), ") continue;");
    load_packs(slot, "", own("count"), as_signed(step));
    out_.close();
    out_.close(";");
    out_.line("quern::Prefix<_type_reduce> ", own("carry"), "[", lanes, "];");
    const std::string first_of_tile =
        join("(", own("tile"), " * ", downs, " + ", own("down"), ") * ", batch);
    if (layout_.split) {
        out_.open();
        out_.line("const ", index_, " ", own("first"), " = ", first_of_tile, ";");
        out_.line(own("load"), "(", own("first"), ");");
    } else { // the next tile is on its way while this one is joined
        out_.line(own("load"), "(", own("down"), " * ", batch, ");");
        out_.open("for (", index_, " ", own("tile"), " = 0; ", own("tile"), " < ",
                  nest("by_tiles.divisor"), "; ++", own("tile"), ")");
        out_.line("const ", index_, " ", own("first"), " = ", first_of_tile, ";");
    }
    out_.line("_type_reduce ", own("values"), "[", batch, "][", lanes, "];");
    out_.open_unrolled(b, batch);
    read_values(slot);
    out_.open("if (", b, " > 0)");
    out_.open_unrolled(l, lanes);
    out_.line(own("values"), slot, "[", l, "] = ", own("join"), "(", own("values"), "[", b,
              " - 1][", l, "], ", own("values"), slot, "[", l, "]);");
    out_.close();
    out_.close();
    out_.close();
    if (!layout_.split)
        out_.line("if (", own("tile"), " + 1 < ", nest("by_tiles.divisor"), ") ", own("load"), "(",
                  own("first"), " + ", downs * batch, ");");

    const std::string base = layout_.split ? "0"
                                           : join("static_cast<unsigned int>(", own("tile"),
                                                  " & 1) * ", groups * columns);
    out_.line("quern::Prefix<_type_reduce> ", own("ahead"), "[", lanes, "];");
    out_.line("_type_reduce ", own("total"), "[", lanes, "];");
    out_.open_unrolled(l, lanes);
    out_.line(own("total"), "[", l, "] = ", own("values"), "[", batch - 1, "][", l, "];");
    if (shuffled) {
        out_.line(own("total"), "[", l, "] = quern::scan_lanes(", own("total"), "[", l, "], ",
                  width, ", 32, ", own("lane"), ", ", own("join"), ");");
        out_.line("const _type_reduce ", own("above"), " = quern::value_above(", own("total"), "[",
                  l, "], ", width, ");");
        out_.line("if (", own("lane"), " >= ", width, ") ", own("ahead"), "[", l, "].add(",
                  own("above"), ", ", own("join"), ");");
    }
    out_.close();
    if (groups > 1) {
        if (shuffled)
            out_.open("if (", own("lane"), " >= ", 32 - width, ")");
        out_.open_unrolled(l, lanes);
        out_.line(own("slots"), "[", base, " + ", l, " * ", groups * width, " + ", mine, " * ",
                  width, " + ", own("column"), "] = ", own("total"), "[", l, "];");
        out_.close();
        if (shuffled)
            out_.close();
        out_.line("__syncthreads();");
        out_.open_unrolled(l, lanes);
        out_.line("quern::Prefix<_type_reduce> ", own("before"), " = quern::before_group(",
                  own("slots"), ", ", base, " + ", l, " * ", groups * width, " + ", own("column"),
                  ", ", width, ", ", mine, ", ", groups, ", ", own("total"), "[", l, "], ",
                  own("join"), ");");
        out_.line(own("before"), ".add(", own("ahead"), "[", l, "], ", own("join"), ");");
        out_.line(own("ahead"), "[", l, "] = ", own("before"), ";");
        out_.close();
    }
    if (layout_.split) { // a thread for each column
        const std::string c = own("c"),
                          at = join(c, " % ", lanes, " * ", groups * width, " + ", c, " / ", lanes);
        out_.open("if (threadIdx.x < ", columns, ")");
        out_.line("const unsigned int ", c, " = threadIdx.x;");
        out_.line("_type_reduce ", own("all"), ";");
        out_.line("quern::before_group(", own("slots"), ", ", at, ", ", width, ", 0, ", groups,
                  ", ", own("all"), ", ", own("join"), ");");
        ask_before(join(own("strip"), " * ", columns, " + ", c), own("tile"), own("all"),
                   join(groups * columns, " + ", at));
        out_.close();
        out_.line("__syncthreads();");
        out_.open("if (", own("tile"), " > 0)");
        out_.open_unrolled(l, lanes);
        out_.line(own("carry"), "[", l, "].add(", own("slots"), "[", groups * columns, " + ", l,
                  " * ", groups * width, " + ", own("column"), "], ", own("join"), ");");
        out_.close();
        out_.close();
    }
    out_.open_unrolled(l, lanes);
    out_.line("quern::Prefix<_type_reduce> ", own("here"), " = ", own("carry"), "[", l, "];");
    out_.line(own("here"), ".add(", own("ahead"), "[", l, "], ", own("join"), ");");
    out_.line(own("ahead"), "[", l, "] = ", own("here"), ";");
    out_.close();
    out_.open_unrolled(b, batch);
    out_.open("if (", step, " < ", own("stop"), ")");
    declare_packs(outputs_, "");
    write_values("", join(own("ahead"), "[", l, "].before(", own("values"), slot, "[", l, "], ",
                          own("join"), ")"));
    store_packs("", "", own("count"), as_signed(step));
    out_.close();
    out_.close();
    if (!layout_.split) {
        out_.open_unrolled(l, lanes);
        out_.line(own("carry"), "[", l, "].add(", own("total"), "[", l, "], ", own("join"), ");");
        out_.close();
    }
    out_.close();
}

} // namespace quern
