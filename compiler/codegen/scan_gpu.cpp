// Loops of scans on GPUs: threads along a row or across columns; where several blocks share one,
// each looks back at the totals of those before it.
#include "compiler/codegen/scan_emitter.h"

namespace quern {

namespace {
constexpr int warps = scan_block / 32;
} // namespace

void ScanEmitter::unroll(const std::string& variable, int count) {
    out_.line("#pragma unroll");
    out_.open("for (int ", variable, " = 0; ", variable, " < ", count, "; ++", variable, ")");
}

// own(unit): this block's tile among all. Blocks take them in the order in which they start, so
// that whom a block waits for has started.
void ScanEmitter::take_unit() {
    out_.line("__shared__ ", index_, " ", own("taken"), ";");
    out_.line("if (threadIdx.x == 0) ", own("taken"), " = static_cast<", index_,
              ">(atomicAdd(static_cast<unsigned long long*>(", own("room"), "), 1ull));");
    out_.line("__syncthreads();");
    out_.line("const ", index_, " ", own("unit"), " = ", own("taken"), ";");
}

void ScanEmitter::declare_packs(const std::vector<OperandRef>& list, const std::string& count) {
    for (const OperandRef& ref : list)
        out_.line("quern::Pack<", type(ref), ", ",
                  access(ref) == Access::contiguous ? int{layout_.lanes} : 1, "> ", pack(ref),
                  count, ";");
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
        else if (access(ref) == Access::repeated || position.empty())
            out_.line(pack(ref), slot, "[0] = *", from, ";");
        else
            out_.line(
                pack(ref), slot, "[0] = *",
                at_byte(from, join(as_signed(position), " * ", stride(ref, layout_.fastest()))),
                ";");
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

// own(values)[slot][...] from the packs; what lies past `count` is a value that nobody stores.
void ScanEmitter::read_values(const std::string& slot, const std::string& count) {
    const std::string lane = own("l"), value = own("values") + slot + "[" + lane + "]";
    unroll(lane, layout_.lanes);
    out_.line(value, " = _type_reduce();");
    out_.open("if (", lane, " < ", count, ")");
    mapped([&](const OperandRef& ref) {
        return join(pack(ref), slot, "[", access(ref) == Access::contiguous ? lane : "0", "]");
    });
    out_.line(value, " = ", own("value"), ";");
    out_.close();
    out_.close();
}

// The outputs' packs at `slot` from `value`, an expression of own(l).
void ScanEmitter::write_values(const std::string& slot, const std::string& value) {
    const std::string lane = own("l");
    unroll(lane, layout_.lanes);
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
        unroll(b, batch);
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
    read_values(slot, join("(", own("at"), " < ", nest("by_packs.divisor"), " ? ",
                           count_of(own("at")), " : 0)"));
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
        out_.open("if (", own("warp"), " == 0)");
        out_.line("quern::Chain<_type_reduce> ", own("chain"), "(", own("room"), ", ",
                  nest("by_tiles.divisor"), ", ", nest("values"), ", ", own("line"), ");");
        out_.line("if (", own("lane"), " == 0) ", own("chain"), ".tell_total(", own("tile"), ", ",
                  own("total"), ");");
        out_.line("const quern::Prefix<_type_reduce> ", own("behind"), " = ", own("chain"),
                  ".look_back(", own("tile"), ", ", own("total"), ", ", own("join"), ");");
        out_.line("if (", own("lane"), " == 0) ", own("slots"), "[", 2 * warps,
                  "] = ", own("behind"), ".value;");
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
    out_.line("const ", index_, " ", own("group"), " = 1u << ", nest("group_bits"), ", ",
              own("thread"), " = threadIdx.x & (", own("group"), " - 1), ", own("rows"),
              " = blockDim.x >> ", nest("group_bits"), ";");
    out_.line("const ", index_, " ", own("first"), " = blockIdx.x * ", own("rows"), " * ", batch,
              " + (threadIdx.x >> ", nest("group_bits"), ");");
    out_.line("const bool ", own("within"), " = ", own("thread"), " < ", nest("by_packs.divisor"),
              ";");
    declare_packs(inputs_, join("[", batch, "]"));
    const auto each_row = [&] {
        unroll(b, batch);
        out_.line("const ", index_, " ", own("line"), " = ", own("first"), " + ", b, " * ",
                  own("rows"), ";");
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
    read_values(slot, join("(", own("alive"), " ? ", count, " : 0)"));
    scan_pack(slot);
    out_.line("const _type_reduce ", own("joined"), " = quern::scan_lanes(", own("values"), slot,
              "[", lanes - 1, "], 1, ", own("group"), ", ", own("thread"), ", ", own("join"), ");");
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
    const std::string b = own("b"), l = own("l"), slot = "[" + b + "]";
    out_.line("__shared__ quern::Slots<_type_reduce, ", 2 * scan_block * lanes, "> ", own("slots"),
              ";");
    out_.line("const unsigned int ", own("width"), " = 1u << ", nest("group_bits"), ", ",
              own("column"), " = threadIdx.x & (", own("width"), " - 1), ", own("down"),
              " = threadIdx.x >> ", nest("group_bits"), ", ", own("downs"), " = blockDim.x >> ",
              nest("group_bits"), ";");
    // Threads of a warp that are below each other join by shuffles, the groups that are left
    // through shared memory.
    out_.line("const unsigned int ", own("lane"), " = threadIdx.x & 31, ", own("warp"),
              " = threadIdx.x >> 5, ", own("mine"), " = ", own("width"), " < 32 ? ", own("warp"),
              " : ", own("down"), ", ", own("groups"), " = ", own("width"), " < 32 ? ", warps,
              " : ", own("downs"), ";");
    if (layout_.split) {
        take_unit();
        out_.line("const ", index_, " ", own("tile"), " = ", nest("by_strips"), ".divide(",
                  own("unit"), "), ", own("strip"), " = ", own("unit"), " - ", own("tile"), " * ",
                  nest("by_strips.divisor"), ";");
    } else {
        out_.line("const ", index_, " ", own("strip"), " = blockIdx.x;");
    }
    out_.line("const ", index_, " ", own("place"), " = ", own("strip"), " * ", own("width"), " + ",
              own("column"), ", ", own("beyond"), " = ", nest("by_packs"), ".divide(", own("place"),
              "), ", own("pack"), " = ", own("place"), " - ", own("beyond"), " * ",
              nest("by_packs.divisor"), ";");
    out_.line("const bool ", own("alive"), " = ", own("beyond"), " * ", nest("across"), " < ",
              nest("lines"), ";");
    out_.line("const ", index_, " ", own("outer"), " = ", own("alive"), " ? ", own("beyond"),
              " : 0;");
    out_.line("const int ", own("count"), " = static_cast<int>(min(", as_signed(nest("across")),
              " - ", as_signed(own("pack")), " * ", lanes, ", ", as_signed(join(lanes)), "));");
    split_axes(own("outer"), 0, n - 1, "");
    starts(n - 1, join(own("pack"), lanes > 1 ? join(" * ", lanes) : ""));
    out_.line("const ", index_, " ", own("stop"), " = ", own("alive"), " ? ", nest("length"),
              " : 0;");
    out_.line("quern::Prefix<_type_reduce> ", own("carry"), "[", lanes, "];");
    if (layout_.split)
        out_.open();
    else
        out_.open("for (", index_, " ", own("tile"), " = 0; ", own("tile"), " < ",
                  nest("by_tiles.divisor"), "; ++", own("tile"), ")");
    out_.line("const ", index_, " ", own("first"), " = (", own("tile"), " * ", own("downs"), " + ",
              own("down"), ") * ", batch, ";");
    declare_packs(inputs_, join("[", batch, "]"));
    const auto step = join(own("first"), " + ", b);
    unroll(b, batch);
    out_.open("if (", step, " < ", own("stop"), ")");
    load_packs(slot, "", own("count"), as_signed(step));
    out_.close();
    out_.close();
    out_.line("_type_reduce ", own("values"), "[", batch, "][", lanes, "];");
    unroll(b, batch);
    read_values(slot, join("(", step, " < ", own("stop"), " ? ", own("count"), " : 0)"));
    out_.open("if (", b, " > 0)");
    unroll(l, lanes);
    out_.line(own("values"), slot, "[", l, "] = ", own("join"), "(", own("values"), "[", b,
              " - 1][", l, "], ", own("values"), slot, "[", l, "]);");
    out_.close();
    out_.close();
    out_.close();

    const std::string base = layout_.split ? "0"
                                           : join("static_cast<unsigned int>(", own("tile"),
                                                  " & 1) * ", scan_block * lanes);
    out_.line("quern::Prefix<_type_reduce> ", own("ahead"), "[", lanes, "];");
    out_.line("_type_reduce ", own("total"), "[", lanes, "];");
    unroll(l, lanes);
    out_.line(own("total"), "[", l, "] = ", own("values"), "[", batch - 1, "][", l, "];");
    out_.open("if (", own("width"), " < 32)");
    out_.line(own("total"), "[", l, "] = quern::scan_lanes(", own("total"), "[", l, "], ",
              own("width"), ", 32, ", own("lane"), ", ", own("join"), ");");
    out_.line("const _type_reduce ", own("above"), " = quern::value_above(", own("total"), "[", l,
              "], ", own("width"), ");");
    out_.line("if (", own("lane"), " >= ", own("width"), ") ", own("ahead"), "[", l, "].add(",
              own("above"), ", ", own("join"), ");");
    out_.close();
    out_.close();
    out_.open("if (", own("groups"), " > 1)");
    out_.open("if (", own("width"), " >= 32 || ", own("lane"), " + ", own("width"), " >= 32)");
    unroll(l, lanes);
    out_.line(own("slots"), "[", base, " + ", l, " * ", scan_block, " + ", own("mine"), " * ",
              own("width"), " + ", own("column"), "] = ", own("total"), "[", l, "];");
    out_.close();
    out_.close();
    out_.line("__syncthreads();");
    unroll(l, lanes);
    out_.line("quern::Prefix<_type_reduce> ", own("before"), " = quern::before_group(",
              own("slots"), ", ", base, " + ", l, " * ", scan_block, " + ", own("column"), ", ",
              own("width"), ", ", own("mine"), ", ", own("groups"), ", ", own("total"), "[", l,
              "], ", own("join"), ");");
    out_.line(own("before"), ".add(", own("ahead"), "[", l, "], ", own("join"), ");");
    out_.line(own("ahead"), "[", l, "] = ", own("before"), ";");
    out_.close();
    out_.close();
    if (layout_.split) { // a thread for each column tells, a warp looks back
        const std::string c = own("c"),
                          at = join(c, " % ", lanes, " * ", scan_block, " + ", c, " / ", lanes);
        const auto chain = [&] {
            out_.line("_type_reduce ", own("all"), ";");
            out_.line("quern::before_group(", own("slots"), ", ", at, ", ", own("width"), ", 0, ",
                      own("groups"), ", ", own("all"), ", ", own("join"), ");");
            out_.line("quern::Chain<_type_reduce> ", own("chain"), "(", own("room"), ", ",
                      nest("by_tiles.divisor"), ", ", nest("values"), ", ", own("strip"), " * ",
                      own("width"), " * ", lanes, " + ", c, ");");
        };
        out_.line("const unsigned int ", own("columns"), " = ", own("width"), " * ", lanes, ";");
        out_.open("for (unsigned int ", c, " = threadIdx.x; ", c, " < ", own("columns"), "; ", c,
                  " += blockDim.x)");
        chain();
        out_.line(own("chain"), ".tell_total(", own("tile"), ", ", own("all"), ");");
        out_.close();
        out_.open("for (unsigned int ", c, " = ", own("warp"), "; ", c, " < ", own("columns"), "; ",
                  c, " += ", warps, ")");
        chain();
        out_.line("const quern::Prefix<_type_reduce> ", own("behind"), " = ", own("chain"),
                  ".look_back(", own("tile"), ", ", own("all"), ", ", own("join"), ");");
        out_.line("if (", own("lane"), " == 0) ", own("slots"), "[", scan_block * lanes, " + ", at,
                  "] = ", own("behind"), ".value;");
        out_.close();
        out_.line("__syncthreads();");
        out_.open("if (", own("tile"), " > 0)");
        unroll(l, lanes);
        out_.line(own("carry"), "[", l, "].add(", own("slots"), "[", scan_block * lanes, " + ", l,
                  " * ", scan_block, " + ", own("column"), "], ", own("join"), ");");
        out_.close();
        out_.close();
    }
    unroll(l, lanes);
    out_.line("quern::Prefix<_type_reduce> ", own("here"), " = ", own("carry"), "[", l, "];");
    out_.line(own("here"), ".add(", own("ahead"), "[", l, "], ", own("join"), ");");
    out_.line(own("ahead"), "[", l, "] = ", own("here"), ";");
    out_.close();
    unroll(b, batch);
    out_.open("if (", step, " < ", own("stop"), ")");
    declare_packs(outputs_, "");
    write_values("", join(own("ahead"), "[", l, "].before(", own("values"), slot, "[", l, "], ",
                          own("join"), ")"));
    store_packs("", "", own("count"), as_signed(step));
    out_.close();
    out_.close();
    if (!layout_.split) {
        unroll(l, lanes);
        out_.line(own("carry"), "[", l, "].add(", own("total"), "[", l, "], ", own("join"), ");");
        out_.close();
    }
    out_.close();
}

} // namespace quern
