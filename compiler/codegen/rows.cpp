// The threads of a row hold it in registers, walk it, join what they found, and walk it again.
#include "compiler/codegen/rows.h"

#include "compiler/codegen/panels.h"
#include "compiler/codegen/row_texts.h"

#include <algorithm>

namespace quern {

namespace {

class RowEmitter : private RowTexts {
  public:
    RowEmitter(const RowSpec& spec, const Signature& signature, const RowLayout& layout)
        : RowTexts(spec, signature, layout) {}
    std::string emit() {
        head("quern/rows.cuh");
        joins();
        if (layout_.columns)
            widest();
        nest_struct();
        open_kernel(most_blocks());
        rows();
        for (std::size_t k = 0; k < spec_.walks.size(); ++k)
            walk(k);
        if (layout_.cluster_bits > 0)
            out_.line("quern::sync_cluster();"); // others may still read what this block told
        out_.close();
        return out_.take();
    }

  private:
    // Blocks that shall share a multiprocessor: what is held leaves registers for so many.
    [[nodiscard]] int most_blocks() const { return std::max(1, 1024 / int{layout_.block}); }

    // Room for a value of any join.
    void widest() {
        out_.open("union ", own("widest"));
        out_.line("unsigned int word;");
        for (std::size_t k = 0; k < spec_.walks.size(); ++k)
            for (std::size_t j = 0; j < spec_.walks[k].joins.size(); ++j)
                out_.line("unsigned char of_", k, "_", j, "[sizeof(", type_of_join(k, j),
                          "::_type_reduce)];");
        out_.close(";");
        out_.blank();
    }

    // A row whose threads are a large block. What is done once a block is too dear for small ones
    // (H200, log-sum-exp of 65536 rows of 1024 floats, by blocks of 32: 4351 GB/s, 3362).
    [[nodiscard]] bool has_the_block() const {
        return !layout_.columns && !layout_.several && layout_.cluster_bits == 0 &&
               layout_.block >= 256;
    }
    // Where whole packs of 16 bytes are held and nothing else. Who writes no rows reads as fast as
    // the chip hands rows on, and does not want them handed on twice (rows of 8192 floats on two
    // H200s: log-sum-exp 4374 GB/s, 4074 with it, cosine similarity 4543, 4106).
    void ask_for_rows() {
        constexpr int pack_bytes = 16;
        if (layout_.masked || layout_.rest || layout_.parks ||
            std::ranges::all_of(outputs_, [&](const OperandRef& ref) { return per_row(ref); }))
            return;
        for (const OperandRef& ref : inputs_) {
            const int bytes = static_cast<int>(row(signature_.params[ref.param].dtype).bytes);
            if (access(ref) == Access::contiguous && bytes * layout_.lanes == pack_bytes)
                out_.line("quern::ask_for(", own("line_" + name(ref)), ", ", nest("length"), " * ",
                          bytes, ");");
        }
    }

    // Which row a thread has a part of; where it begins; what there is one of; what is held.
    void rows() {
        const int n = layout_.kept_ndim;
        const int warps = layout_.block / 32, bits = layout_.cluster_bits;
        for (std::size_t k = 0; k < spec_.walks.size(); ++k)
            for (std::size_t j = 0; j < spec_.walks[k].joins.size(); ++j) {
                const std::string type = type_of_join(k, j) + "::_type_reduce";
                if (!layout_.columns)
                    out_.line("__shared__ quern::Slots<", type, ", ", warps, "> ",
                              own(join("slots_", k, "_", j)), ";");
                if (bits > 0)
                    out_.line("__shared__ quern::Slots<", type, ", ",
                              layout_.columns ? int{layout_.columns} : 1, "> ",
                              own(join("told_", k, "_", j)),
                              layout_.columns ? "" : ", " + own(join("all_", k, "_", j)), ";");
            }
        if (layout_.columns)
            out_.line("__shared__ quern::Slots<", own("widest"), ", ", int{layout_.block}, "> ",
                      own("slots"), ";");
        if (layout_.parks)
            out_.line("extern __shared__ __align__(16) unsigned char ", own("parked"), "[];");
        // Of the row's threads in this block, or of its units; then of all its blocks.
        const std::string per = layout_.columns ? join(" / ", int{layout_.columns}) : "";
        const int known = layout_.block_bits();
        const std::string group_bits = known < 0 ? nest("group_bits") : join(known + bits);
        out_.line("const unsigned int ", own("in_block"), " = ", group_bits, " - ", bits, ", ",
                  own("unit"), " = threadIdx.x", per, ";");
        out_.line("const ", index_, " ", own("group"), " = 1u << ", group_bits, ", ", own("thread"),
                  " = ((blockIdx.x & ", (1 << bits) - 1, "u) << ", own("in_block"), ") + (",
                  own("unit"), " & ((1u << ", own("in_block"), ") - 1));");
        const std::string group =
            join("(blockIdx.x >> ", bits, ") * (blockDim.x", per, " >> ", own("in_block"), ") + (",
                 own("unit"), " >> ", own("in_block"), ")");
        out_.line("const ", index_, " ", own("row"), " = ",
                  layout_.columns ? join("(", group, ") * ", int{layout_.columns},
                                         " + threadIdx.x % ", int{layout_.columns})
                                  : group,
                  ";");
        out_.line("const bool ", own("alive"), " = ", own("row"), " < ", nest("rows"), ";");
        out_.line("const ", index_, " ", own("here"), " = ", own("alive"), " ? ", own("row"), " : ",
                  zero(), ";");
        split_axes(own("here"), 0, n, "");
        for (const auto* list : {&inputs_, &outputs_})
            for (const OperandRef& ref : *list)
                out_.line(list == &inputs_ ? "const " : "", type(ref), "* const ",
                          own("line_" + name(ref)), " = ",
                          at_byte(own("data_" + name(ref)), "0" + offset(ref, 0, n)), ";");
        if (has_the_block()) {
            out_.line("quern::let_next_come();");
            ask_for_rows();
        }
        out_.line("quern::wait_for_earlier();");
        if (layout_.shifted)
            lead();
        for (const OperandRef& ref : inputs_)
            if (is_single(ref))
                out_.line("const ", type(ref), " ", name(ref), " = *", own("line_" + name(ref)),
                          ";");
            else
                out_.line(pack_type(ref), " ", own("held_" + name(ref)), "[", int{layout_.packs},
                          "];");
        for (const RowKept& kept : spec_.kept)
            out_.line(kept.type, " ", own("kept_" + kept.name), "[", int{layout_.packs}, "][",
                      int{layout_.lanes}, "];");
        out_.line(spec_.before);
        if (layout_.parks)
            park();
        each_held([&](const std::string& which) { load(which); });
    }

    // Packs beyond a row are passed over where elements know their places or lie apart; else they
    // are packs of which nothing counts, so that what is done to the others need not wait for a
    // branch.
    [[nodiscard]] bool passes_over() const {
        const auto lies_apart = [&](const OperandRef& ref) {
            return access(ref) == Access::strided;
        };
        return layout_.partial &&
               (spec_.uses_position || std::ranges::any_of(inputs_, lies_apart) ||
                std::ranges::any_of(outputs_, lies_apart) ||
                std::ranges::any_of(spec_.params, [](const Param& param) { return param.raw; }));
    }
    template <class Body> void each_held(const Body& body) {
        out_.open_unrolled(own("p"), int{layout_.packs});
        out_.line("const ", index_, " ", own("pack"), " = ", own("p"), " * ", own("group"), " + ",
                  own("thread"), ";");
        if (passes_over())
            out_.open("if (", own("pack"), " < ", nest("packs"), ")");
        body(join("[", own("p"), "]"));
        if (passes_over())
            out_.close();
        out_.close();
    }

    // The lane of a pack that a row begins at.
    void lead() {
        for (const auto* list : {&inputs_, &outputs_})
            for (const OperandRef& ref : *list)
                if (!is_single(ref) && !per_row(ref) && access(ref) == Access::contiguous) {
                    out_.line("const int ", own("lead"),
                              " = static_cast<int>(reinterpret_cast<size_t>(",
                              own("line_" + name(ref)), ") / sizeof(", type(ref), ") % ",
                              int{layout_.lanes}, ");");
                    return;
                }
    }
    [[nodiscard]] std::string first() const {
        const std::string place = join(as_signed(own("pack")), " * ", int{layout_.lanes});
        return layout_.shifted ? join("(", place, " - ", own("lead"), ")") : place;
    }
    [[nodiscard]] std::string begin() const { // of a pack's elements
        return as_signed(layout_.shifted ? join(own("pack"), " == 0 ? ", own("lead"), " : 0")
                                         : "0");
    }
    // Do all packs count as a whole that are taken?
    [[nodiscard]] bool whole() const {
        return !layout_.masked && (!layout_.partial || passes_over());
    }
    [[nodiscard]] std::string limit() const { // of a pack's elements
        if (layout_.masked)
            return join(as_signed(nest("length")), " - ", first());
        return whole() ? join(int{layout_.lanes})
                       : join("(", own("pack"), " < ", nest("packs"), " ? ", int{layout_.lanes},
                              " : 0)");
    }

    // The inputs' pack number own(pack), into held_<input> + `which`.
    void load(const std::string& which) {
        for (const OperandRef& ref : inputs_) {
            if (is_single(ref))
                continue;
            const std::string held = own("held_" + name(ref)) + which,
                              line = own("line_" + name(ref));
            if (access(ref) == Access::contiguous)
                out_.line(held, layout_.shifted ? ".load_whole(" : ".load(", line, " + ", first(),
                          ", ", begin(), ", ", as_signed(limit()), ");");
            else
                out_.line(held, "[0] = *",
                          at_byte(line, join(first(), " * ", stride(ref, layout_.kept_ndim))), ";");
        }
    }

    // The elements of a pack that is loaded, held as number `which` or one of the rest: their
    // values joined, or stored.
    void take(std::size_t k, const std::string& which) {
        const RowWalk& walk = spec_.walks[k];
        const bool last = k + 1 == spec_.walks.size(), kept = !which.empty() && !walk.held.empty();
        if (last)
            each_stored([&](const OperandRef& ref) {
                out_.line(pack_type(ref), " ", own("made_" + name(ref)), ";");
            });
        if (last && !walk.swift.empty()) {
            out_.line("bool quern_usual = true;");
            take_lanes(k, which, kept ? walk.held_swift : walk.swift);
            out_.open("if (!quern_usual", whole() ? "" : join(" && ", limit(), " > 0"), ")");
        }
        take_lanes(k, which, kept ? walk.held : walk.elements);
        if (last && !walk.swift.empty())
            out_.close();
        if (last)
            each_stored([&](const OperandRef& ref) {
                const std::string line = own("line_" + name(ref)), made = own("made_" + name(ref));
                if (access(ref) == Access::contiguous)
                    out_.line("if (", own("alive"), ") ", made, ".store(", line, " + ", first(),
                              ", ", begin(), ", ", as_signed(limit()), ");");
                else
                    out_.line("if (", own("alive"), ") *",
                              at_byte(line, join(first(), " * ", stride(ref, layout_.kept_ndim))),
                              " = ", made, "[0];");
            });
    }
    void take_lanes(std::size_t k, const std::string& which, const std::string& text) {
        const RowWalk& walk = spec_.walks[k];
        const bool held = !which.empty();
        out_.open_unrolled(own("lane"), int{layout_.lanes});
        if (spec_.uses_position)
            out_.line("const ptrdiff_t _J = static_cast<ptrdiff_t>(", first(), ") + ", own("lane"),
                      ";");
        for (const OperandRef& ref : inputs_)
            if (!is_single(ref))
                out_.line("const ", type(ref), "& ", name(ref), " = ", own("held_" + name(ref)),
                          which, "[", own("lane"), "];");
        if (k + 1 == spec_.walks.size())
            each_stored([&](const OperandRef& ref) {
                out_.line(type(ref), "& ", name(ref), " = ", own("made_" + name(ref)), "[",
                          own("lane"), "];");
            });
        const auto each_kept = [&](auto write) {
            for (const RowKept& kept : spec_.kept)
                if (held)
                    write(kept, join(own("kept_" + kept.name), which, "[", own("lane"), "]"));
        };
        each_kept([&](const RowKept& kept, const std::string& place) {
            if (kept.from < k)
                out_.line("const ", kept.type, "& ", kept.name, " = ", place, ";");
        });
        out_.line(text);
        each_kept([&](const RowKept& kept, const std::string& place) {
            if (kept.from == k)
                out_.line(place, " = ", kept.name, ";");
        });
        const std::string condition =
            whole()
                ? ""
                : join("if (", layout_.shifted ? join(own("lane"), " >= ", begin(), " && ") : "",
                       own("lane"), " < ", limit(), ") ");
        for (std::size_t j = 0; j < walk.joins.size(); ++j)
            join_element(k, j, inner(k, j),
                         condition + joined_to(k, j, own(join("own_", k, "_", j))));
        out_.close();
    }

    void walk(std::size_t k) {
        const RowWalk& walk = spec_.walks[k];
        for (std::size_t j = 0; j < walk.joins.size(); ++j)
            out_.line(inner(k, j), " ", own(join("own_", k, "_", j)), " = ", inner(k, j), "(",
                      type_of_join(k, j), "::start());");
        if (k + 1 == spec_.walks.size())
            out_.line(walk.swift_rows);
        if (!walk.joins.empty() || !walk.elements.empty()) {
            each_held([&](const std::string& which) { take(k, which); });
            if (layout_.rest)
                rest(k);
        }
        for (std::size_t j = 0; j < walk.joins.size(); ++j)
            out_.line("const ", type_of_join(k, j), "::_type_reduce ", RowSpec::join_name(k, j),
                      " = ", joined(k, j), ";");
        if (k + 1 == spec_.walks.size())
            for (const OperandRef& ref : outputs_)
                if (per_row(ref))
                    out_.line(type(ref), " ", name(ref), ";");
        out_.line(walk.rows);
        if (k + 1 == spec_.walks.size())
            for (const OperandRef& ref : outputs_)
                if (per_row(ref))
                    out_.line("if (", own("alive"), " && ", own("thread"), " == 0) *",
                              own("line_" + name(ref)), " = ", name(ref), ";");
    }

    // What all threads of a row found in a walk.
    [[nodiscard]] std::string joined(std::size_t k, std::size_t j) const {
        const std::string type = type_of_join(k, j),
                          found = join("static_cast<", type, "::_type_reduce>(",
                                       own(join("own_", k, "_", j)), ")"),
                          in_block = layout_.columns
                                         ? join("quern::join_columns<", int{layout_.columns}, ">(",
                                                found, ", ", own("in_block"), ", ", type, "(), ",
                                                own("slots"), ".bytes)")
                                         : join("quern::join_group(", own(join("own_", k, "_", j)),
                                                ", ", own("in_block"), ", ", type, "(), ",
                                                own(join("slots_", k, "_", j)), ")");
        if (layout_.cluster_bits == 0)
            return in_block;
        return join(layout_.columns
                        ? join("quern::join_cluster_columns<", int{layout_.columns}, ">(")
                        : "quern::join_cluster(",
                    in_block, ", ", int{layout_.cluster_bits}, ", ", type, "(), ",
                    own(join("told_", k, "_", j)), ", ",
                    layout_.columns ? own("slots") + ".bytes" : own(join("all_", k, "_", j)), ")");
    }

    // Packs that are in shared memory, and those behind them.
    void open_parked() {
        out_.line("#pragma unroll 4");
        out_.open("for (", index_, " ", own("slot"), " = 0; ", own("slot"), " < ", nest("parked"),
                  "; ++", own("slot"), ")");
        out_.line("const ", index_, " ", own("pack"), " = (", own("slot"), " + ",
                  int{layout_.packs}, ") * ", own("group"), " + ", own("thread"), ";");
        out_.line("if (", own("pack"), " >= ", nest("packs"), ") break;");
    }
    void open_rest() {
        out_.line("#pragma unroll 4");
        out_.open("for (", index_, " ", own("pack"), " = (",
                  layout_.parks ? nest("parked") + " + " : "", int{layout_.packs}, ") * ",
                  own("group"), " + ", own("thread"), "; ", own("pack"), " < ", nest("packs"), "; ",
                  own("pack"), " += ", own("group"), ")");
    }
    void declare_held() {
        for (const OperandRef& ref : inputs_)
            if (!is_single(ref))
                out_.line(pack_type(ref), " ", own("held_" + name(ref)), ";");
    }

    // A thread's place in shared memory for a pack of an input, one input behind another.
    [[nodiscard]] std::string parked(const OperandRef& which) const {
        std::string before = "0";
        for (const OperandRef& ref : inputs_) {
            if (ref == which)
                break;
            if (!is_single(ref))
                before += join(" + sizeof(", pack_type(ref), ")");
        }
        return join("reinterpret_cast<", pack_type(which), "*>(", own("parked"), " + (", before,
                    ") * blockDim.x * ", nest("parked"), ")[", own("slot"),
                    " * blockDim.x + threadIdx.x]");
    }

    // All that goes to shared memory is under way at once.
    void park() {
        open_parked();
        if (layout_.masked) {
            out_.open("if (", layout_.shifted ? own("pack") + " == 0 || " : "", limit(), " < ",
                      int{layout_.lanes}, ")");
            declare_held();
            load("");
            for (const OperandRef& ref : inputs_)
                if (!is_single(ref))
                    out_.line(parked(ref), " = ", own("held_" + name(ref)), ";");
            out_.line("continue;");
            out_.close();
        }
        for (const OperandRef& ref : inputs_) {
            if (is_single(ref))
                continue;
            const std::string line = own("line_" + name(ref)),
                              from = access(ref) == Access::contiguous
                                         ? join(line, " + ", first())
                                         : at_byte(line, join(first(), " * ",
                                                              stride(ref, layout_.kept_ndim)));
            out_.line("quern::fetch(&", parked(ref), ", reinterpret_cast<const ", pack_type(ref),
                      "*>(", from, "));");
        }
        out_.close();
    }

    // What is not held in registers was parked in shared memory, or is loaded again.
    void rest(std::size_t k) {
        if (layout_.parks) {
            if (k == 0)
                out_.line("quern::fetched();");
            open_parked();
            for (const OperandRef& ref : inputs_)
                if (!is_single(ref))
                    out_.line(pack_type(ref), " ", own("held_" + name(ref)), " = ", parked(ref),
                              ";");
            take(k, "");
            out_.close();
        }
        open_rest();
        declare_held();
        load("");
        take(k, "");
        out_.close();
    }
};

} // namespace

std::string emit_rows(const RowSpec& spec, const Signature& signature, const RowLayout& layout) {
    return layout.panels ? emit_panels(spec, signature, layout)
                         : RowEmitter(spec, signature, layout).emit();
}

} // namespace quern
