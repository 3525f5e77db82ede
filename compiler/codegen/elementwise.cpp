// Emits the kernel of one ElementwiseSpec: declarations, the loop that the plan asks for, the user's body in it.
#include "compiler/codegen/elementwise.h"

#include "compiler/codegen/writer.h"

#include <algorithm>

namespace quern {
namespace {

bool starts_with_any(const std::vector<std::string>& identifiers, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(identifiers.begin(), identifiers.end(), [&](const std::string& identifier) {
        return std::any_of(beginnings.begin(), beginnings.end(),
                           [&](std::string_view beginning) { return identifier.starts_with(beginning); });
    });
}

class Emitter {
  public:
    Emitter(const ElementwiseSpec& spec, const Signature& signature, const ElementwiseVariant& variant)
        : spec_(spec), signature_(signature), variant_(variant), layout_(variant.layout), out_(spec.name + ".cu") {
        // Our own names share a prefix that no text of the user's begins with.
        while (starts_with_any(spec.facts.identifiers, {q_}) || named_like(q_)) q_ += '_';
        index_ = layout_.wide ? "unsigned long long" : "unsigned int";
        signed_ = layout_.wide ? "long long" : "int";
        int operand = 0;
        for (std::size_t k = 0; k < spec.params.size(); ++k)
            if (is_operand(k)) operands_.push_back({k, operand++});
    }

    std::string emit() {
        head();
        nest_struct();
        kernel_head();
        out_.user(loop_prep_label, spec_.loop_prep, ";");
        switch (layout_.strategy) {
        case Strategy::vector: vector_loop(); break;
        case Strategy::scattered: layout_.lanes == 1 ? single_loop() : scattered_loop(); break;
        case Strategy::tile: tile_loop(); break;
        case Strategy::range: range_loop(); break;
        case Strategy::blocked: blocked_loop(); break;
        }
        out_.user(after_loop_label, spec_.after_loop, ";");
        out_.close();
        return out_.take();
    }

  private:
    struct OperandRef {
        std::size_t param;
        int number;
    };

    [[nodiscard]] bool named_like(const std::string& prefix) const {
        return std::any_of(spec_.params.begin(), spec_.params.end(),
                           [&](const Param& param) { return param.name.starts_with(prefix); });
    }
    [[nodiscard]] bool is_operand(std::size_t k) const { return signature_.params[k].is_array && !spec_.params[k].raw; }
    [[nodiscard]] const Param& param(const OperandRef& ref) const { return spec_.params[ref.param]; }
    [[nodiscard]] Access access(const OperandRef& ref) const { return layout_.access[static_cast<std::size_t>(ref.number)]; }
    [[nodiscard]] bool loaded(const OperandRef& ref) const { // its old value matters
        return !param(ref).output || !(spec_.facts.assigned_first >> ref.param & 1);
    }
    [[nodiscard]] bool stored(const OperandRef& ref) const { return param(ref).output || param(ref).non_const; }
    [[nodiscard]] std::string type(std::size_t k) const {
        const ResolvedParam& resolved = signature_.params[k];
        if (spec_.params[k].placeholder) return std::string(1, spec_.params[k].placeholder);
        return resolved.layout ? resolved.layout->spelling : std::string(row(resolved.dtype).spelling);
    }
    [[nodiscard]] std::string type(const OperandRef& ref) const { return type(ref.param); }
    [[nodiscard]] std::string constness(const Param& param) const { return param.output || param.non_const ? "" : "const "; }
    [[nodiscard]] std::string own(std::string_view name) const { return q_ + std::string(name); }
    // A family of names has a word between the prefix and the parameter, so that `q_data_step` is never `q_step`.
    [[nodiscard]] std::string data(const OperandRef& ref) const { return own(join("data_", param(ref).name)); }
    [[nodiscard]] std::string nest(std::string_view field) const { return join(q_, "nest.", field); }
    [[nodiscard]] static std::string axis_name(std::string_view what, int axis) { return join(what, "_", axis); }
    [[nodiscard]] std::string stride_name(const OperandRef& ref, int axis) const {
        return join(param(ref).name, "_stride_", axis);
    }

    void head() {
        std::string arguments, results;
        for (std::size_t k = 0; k < spec_.params.size(); ++k) {
            const ResolvedParam& resolved = signature_.params[k];
            std::string& list = spec_.params[k].output ? results : arguments;
            if (!list.empty()) list += ", ";
            list += join(spec_.params[k].raw ? "raw " : "", spec_.params[k].name, ": ",
                         resolved.layout ? std::string_view("structure") : row(resolved.dtype).name,
                         resolved.is_array ? "[n]" : "");
        }
        out_.line("// quern | elementwise | ", spec_.name, "(", arguments, ") -> ", results.empty() ? "nothing" : results);
        out_.line("// plan: ", describe(layout_));
        for (const std::string& piece : elementwise_pieces(spec_, signature_)) out_.line("#include \"", piece, "\"");
        out_.blank();
        for (const ResolvedParam& resolved : signature_.params)
            if (resolved.layout && declared_.find(resolved.layout->spelling) == std::string::npos) {
                declared_ += resolved.layout->spelling + " ";
                out_.line(resolved.layout->definition);
            }
        for (const auto& [placeholder, spelling] : signature_.placeholders)
            out_.line("typedef ", spelling, " ", std::string(1, placeholder), ";");
        out_.user(preamble_label, spec_.preamble, "");
        out_.blank();
    }

    void nest_struct() {
        using Kind = NestField::Kind;
        out_.open("struct ", own("nest_type"));
        for (const NestField& field : nest_fields(layout_)) {
            switch (field.kind) {
            case Kind::steps: out_.line(index_, " steps;"); break;
            case Kind::count: out_.line(index_, " count;"); break;
            case Kind::share: out_.line(index_, " share;"); break;
            case Kind::shift: out_.line(index_, " shift;"); break;
            case Kind::extent: out_.line(index_, " ", axis_name("extent", field.axis), ";"); break;
            case Kind::divisor: out_.line("quern::Divisor<", index_, "> ", axis_name("by_extent", field.axis), ";"); break;
            case Kind::row_steps: out_.line("quern::Divisor<", index_, "> by_row;"); break;
            case Kind::tiles: out_.line("quern::Divisor<", index_, "> ", axis_name("by_tiles", field.axis), ";"); break;
            case Kind::stride:
                out_.line(signed_, " ", stride_name(operands_[static_cast<std::size_t>(field.operand)], field.axis), ";");
                break;
            }
        }
        out_.close(";");
        out_.blank();
    }

    void kernel_head() {
        std::string list;
        std::size_t raw = 0;
        for (std::size_t k = 0; k < spec_.params.size(); ++k) {
            const Param& p = spec_.params[k];
            if (p.raw) {
                const RawLayout& layout = variant_.raw[raw++];
                list += join(p.output ? "" : "const ", "CArray<", constness(p), type(k), ", ", int{layout.ndim}, ", ",
                             layout.c_contiguous, ", ", layout.narrow, "> ", p.name, ", ");
            } else if (signature_.params[k].is_array) {
                list += join(constness(p), type(k), "* ", own(join("data_", p.name)), ", ");
            } else {
                list += join(constness(p), type(k), " ", p.name, ", ");
            }
        }
        if (variant_.indexer) list += join("const CIndexer<", int{layout_.ndim}, "> ", own("indexer"), ", ");
        out_.open("extern \"C\" __global__ void ", spec_.name, "(", list, "const ", own("nest_type"), " ", own("nest"), ")");
        if (variant_.indexer) out_.line("CIndexer<", int{layout_.ndim}, "> _ind = ", own("indexer"), ";");
        if (spec_.facts.uses_n) out_.line("const ptrdiff_t n = ", variant_.indexer ? "_ind.size()" : element_count(), ";");
    }
    [[nodiscard]] std::string element_count() const {
        if (layout_.strategy == Strategy::vector) return "static_cast<ptrdiff_t>(" + rows_times_inner() + ")";
        return join("static_cast<ptrdiff_t>(", nest("count"), ")");
    }
    [[nodiscard]] std::string rows_times_inner() const { // vector plans know steps; rows = steps / row_steps
        const std::string inner = nest(axis_name("extent", layout_.ndim - 1));
        if (layout_.ndim == 1) return inner;
        return join(nest("by_row.divide("), nest("steps"), ") * ", inner);
    }

    // The user's body, its variables already in scope.
    void body(const std::string& position) {
        if (spec_.facts.uses_i || variant_.indexer) out_.line("const ptrdiff_t i = ", position, ";");
        if (variant_.indexer) out_.line("_ind.set(i);");
        out_.open();
        out_.user(operation_label, spec_.operation, ";");
        out_.close();
    }

    void reference(const OperandRef& ref, const std::string& element) {
        out_.line(constness(param(ref)), type(ref), "& ", param(ref).name, " = ", element, ";");
    }

    // Splits `position` over the axes [1, last], declares own("at_<axis>") for [0, last].
    void split(int last, const std::string& position) {
        if (last == 0) {
            out_.line("const ", index_, " ", own("at_0"), " = ", position, ";");
            return;
        }
        out_.line(index_, " ", own("rest"), " = ", position, ";");
        for (int d = last; d > 0; --d) {
            out_.line("const ", index_, " ", own(axis_name("above", d)), " = ", nest(axis_name("by_extent", d)), ".divide(",
                      own("rest"), ");");
            out_.line("const ", index_, " ", own(axis_name("at", d)), " = ", own("rest"), " - ",
                      own(axis_name("above", d)), " * ", nest(axis_name("by_extent", d)), ".divisor;");
            out_.line(own("rest"), " = ", own(axis_name("above", d)), ";");
        }
        out_.line("const ", index_, " ", own("at_0"), " = ", own("rest"), ";");
    }
    // Byte offset of an operand from the axes [0, last].
    [[nodiscard]] std::string offset(const OperandRef& ref, int last) const {
        std::string sum;
        for (int d = 0; d <= last; ++d)
            sum += join(d ? " + " : "", "static_cast<", signed_, ">(", own(axis_name("at", d)), ") * ",
                        nest(stride_name(ref, d)));
        return sum;
    }
    [[nodiscard]] std::string shifted(const OperandRef& ref, const std::string& bytes) const {
        return join("quern::at_byte(", data(ref), ", ", bytes, ")");
    }

    void grid_loop(const std::string& limit) {
        out_.open("for (", index_, " ", own("step"), " = static_cast<", index_, ">(blockIdx.x) * blockDim.x + threadIdx.x; ",
                  own("step"), " < ", limit, "; ", own("step"), " += static_cast<", index_, ">(gridDim.x) * blockDim.x)");
    }

    // Neighbouring elements of a row, in packs.
    void vector_loop() {
        const int inner = layout_.ndim - 1, lanes = layout_.lanes;
        grid_loop(nest("steps"));
        std::string column = own("step");
        if (inner > 0) {
            out_.line("const ", index_, " ", own("row"), " = ", nest("by_row"), ".divide(", own("step"), ");");
            column = join("(", own("step"), " - ", own("row"), " * ", nest("by_row"), ".divisor)");
            split(inner - 1, own("row"));
        }
        const std::string extent = nest(axis_name("extent", inner));
        out_.line("const ", signed_, " ", own("base"), " = static_cast<", signed_, ">(", column, " * ", lanes,
                  layout_.peel ? join(" - ", nest("shift")) : "", ");");
        out_.line("const ", signed_, " ", own("begin"), " = ",
                  layout_.peel ? join(own("base"), " < 0 ? -", own("base"), " : 0") : "0", ", ", own("end"),
                  " = static_cast<", signed_, ">(", extent, ") - ", own("base"), ";");
        for (const OperandRef& ref : operands_) {
            const std::string start = inner > 0 ? shifted(ref, offset(ref, inner - 1)) : data(ref);
            if (access(ref) == Access::repeated) {
                out_.line(constness(param(ref)), type(ref), "& ", param(ref).name, " = *", start, ";");
                continue;
            }
            out_.line(constness(param(ref)), type(ref), "* ", own(join("at_", param(ref).name)), " = ", start, " + ",
                      own("base"), ";");
            out_.line("quern::Pack<", type(ref), ", ", lanes, "> ", own(join("pack_", param(ref).name)), ";");
        }
        for (const OperandRef& ref : operands_)
            if (access(ref) != Access::repeated && loaded(ref))
                out_.line(own(join("pack_", param(ref).name)), ".load(", own(join("at_", param(ref).name)), ", ",
                          own("begin"), ", ", own("end"), ");");
        out_.line("#pragma unroll");
        out_.open("for (int ", own("lane"), " = 0; ", own("lane"), " < ", lanes, "; ++", own("lane"), ")");
        out_.open("if (", own("lane"), " >= ", own("begin"), " && ", own("lane"), " < ", own("end"), ")");
        for (const OperandRef& ref : operands_)
            if (access(ref) != Access::repeated)
                reference(ref, join(own(join("pack_", param(ref).name)), "[", own("lane"), "]"));
        const std::string in_row = join("static_cast<ptrdiff_t>(", own("base"), ") + ", own("lane"));
        body(inner > 0 ? join("static_cast<ptrdiff_t>(", own("row"), ") * ", extent, " + ", in_row) : in_row);
        out_.close();
        out_.close();
        for (const OperandRef& ref : operands_)
            if (access(ref) != Access::repeated && stored(ref))
                out_.line(own(join("pack_", param(ref).name)), ".store(", own(join("at_", param(ref).name)), ", ",
                          own("begin"), ", ", own("end"), ");");
        out_.close();
    }

    [[nodiscard]] bool one_row() const { return layout_.ndim == 1; }
    [[nodiscard]] bool all_plain() const { // one axis, every operand contiguous or repeated: no split needed
        return one_row() && std::all_of(operands_.begin(), operands_.end(), [&](const OperandRef& ref) {
                   return access(ref) == Access::contiguous || access(ref) == Access::repeated;
               });
    }
    // The element of an operand at the axes that split() declared.
    [[nodiscard]] std::string element(const OperandRef& ref) const {
        const int inner = layout_.ndim - 1;
        std::string bytes = inner > 0 ? offset(ref, inner - 1) : "";
        const std::string last = own(axis_name("at", inner));
        if (access(ref) == Access::strided)
            bytes += join(bytes.empty() ? "" : " + ", "static_cast<", signed_, ">(", last, ") * ",
                          nest(stride_name(ref, inner)));
        const std::string start = bytes.empty() ? data(ref) : shifted(ref, bytes);
        return access(ref) == Access::contiguous ? join(start, "[", last, "]") : join("*", start);
    }

    // One element at a time, in place: what the body would see in a hand-written grid-stride loop.
    void single_loop() {
        grid_loop(nest("count"));
        split(layout_.ndim - 1, own("step"));
        for (const OperandRef& ref : operands_) reference(ref, element(ref));
        body(join("static_cast<ptrdiff_t>(", own("step"), ")"));
        out_.close();
    }

    // A few elements a thread, a block apart: all loads first, then the bodies, then the stores.
    void scattered_loop() {
        const int lanes = layout_.lanes;
        out_.open("for (", index_, " ", own("first"), " = static_cast<", index_, ">(blockIdx.x) * blockDim.x * ", lanes,
                  " + threadIdx.x; ", own("first"), " < ", nest("count"), "; ", own("first"), " += static_cast<", index_,
                  ">(gridDim.x) * blockDim.x * ", lanes, ")");
        for (const OperandRef& ref : operands_) {
            out_.line(type(ref), " ", own(join("lanes_", param(ref).name)), "[", lanes, "];");
            if (stored(ref)) out_.line(type(ref), "* ", own(join("places_", param(ref).name)), "[", lanes, "];");
        }
        const auto each_lane = [&](auto&& inside) {
            out_.line("#pragma unroll");
            out_.open("for (int ", own("lane"), " = 0; ", own("lane"), " < ", lanes, "; ++", own("lane"), ")");
            out_.line("const ", index_, " ", own("step"), " = ", own("first"), " + ", own("lane"), " * blockDim.x;");
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
                if (stored(ref)) out_.line(lane_of("places_", ref), " = &", element(ref), ";");
                if (loaded(ref)) out_.line(lane_of("lanes_", ref), " = ", element(ref), ";");
            }
        });
        each_lane([&] {
            for (const OperandRef& ref : operands_) reference(ref, lane_of("lanes_", ref));
            body(join("static_cast<ptrdiff_t>(", own("step"), ")"));
        });
        each_lane([&] {
            for (const OperandRef& ref : operands_)
                if (stored(ref)) out_.line("*", lane_of("places_", ref), " = ", lane_of("lanes_", ref), ";");
        });
        out_.close();
    }

    // Position of a tile: own("at_<d>") for the outer axes, own("low")/own("high") where the tile starts along the last two.
    void locate_tile(int extent) {
        const int inner = layout_.ndim - 1;
        const auto cut = [&](int axis, std::string_view start, const std::string& from, std::string_view above) {
            const std::string by = nest(axis_name("by_tiles", axis));
            out_.line("const ", index_, " ", own(above), " = ", by, ".divide(", from, ");");
            out_.line("const ", index_, " ", own(start), " = (", from, " - ", own(above), " * ", by, ".divisor) * ", extent, ";");
        };
        cut(inner, "low", own("tile"), "above_low");
        if (layout_.ndim == 2) {
            out_.line("const ", index_, " ", own("high"), " = ", own("above_low"), " * ", extent, ";");
            return;
        }
        cut(inner - 1, "high", own("above_low"), "above_high");
        split(inner - 2, own("above_high"));
    }
    [[nodiscard]] std::string outer(const OperandRef& ref) const { // start of an operand for the tile's outer axes
        return layout_.ndim > 2 ? shifted(ref, offset(ref, layout_.ndim - 3)) : data(ref);
    }
    // The element at (high, low) positions `q` and `p`, from `start`.
    [[nodiscard]] std::string tile_element(const OperandRef& ref, const std::string& start, const std::string& q,
                                           const std::string& p) const {
        const int inner = layout_.ndim - 1;
        const auto times = [&](const std::string& position, int axis) {
            return join("static_cast<", signed_, ">(", position, ") * ", nest(stride_name(ref, axis)));
        };
        switch (access(ref)) {
        case Access::contiguous: return join("quern::at_byte(", start, ", ", times(q, inner - 1), ")[", p, "]");
        case Access::repeated: return join("*quern::at_byte(", start, ", ", times(q, inner - 1), ")");
        case Access::tiled: return join("quern::at_byte(", start, ", ", times(p, inner), ")[", q, "]");
        case Access::strided: break;
        }
        return join("*quern::at_byte(", start, ", ", times(q, inner - 1), " + ", times(p, inner), ")");
    }

    // Operands whose fast axis is the tile's other one are read along it, and turned in shared memory.
    void tile_loop() {
        const int inner = layout_.ndim - 1, rounds = tile_extent / tile_rows;
        const std::string limit_q = nest(axis_name("extent", inner - 1)), limit_p = nest(axis_name("extent", inner));
        for (const OperandRef& ref : operands_)
            if (access(ref) == Access::tiled)
                out_.line("__shared__ ", type(ref), " ", own(join("tile_", param(ref).name)), "[", tile_extent, "][",
                          tile_extent + 1, "];");
        out_.line("const ", index_, " ", own("column"), " = threadIdx.x % ", tile_extent, ", ", own("line"), " = threadIdx.x / ",
                  tile_extent, ";");
        out_.open("for (", index_, " ", own("tile"), " = blockIdx.x; ", own("tile"), " < ", nest("steps"), "; ", own("tile"),
                  " += gridDim.x)");
        locate_tile(tile_extent);
        for (const OperandRef& ref : operands_) {
            out_.line(constness(param(ref)), type(ref), "* ", own(join("at_", param(ref).name)), " = ", outer(ref), ";");
            if (access(ref) != Access::tiled)
                out_.line(type(ref), " ", own(join("lanes_", param(ref).name)), "[", rounds, "];");
        }
        const auto each_round = [&](auto&& inside) {
            out_.line("#pragma unroll");
            out_.open("for (int ", own("round"), " = 0; ", own("round"), " < ", rounds, "; ++", own("round"), ")");
            out_.line("const ", index_, " ", own("turn"), " = ", own("line"), " + ", own("round"), " * ", tile_rows, ";");
            inside();
            out_.close();
        };
        const auto inside_edges = [&] {
            out_.line("const ", index_, " ", own("q"), " = ", own("high"), " + ", own("turn"), ", ", own("p"), " = ", own("low"),
                      " + ", own("column"), ";");
            out_.open("if (", own("q"), " < ", limit_q, " && ", own("p"), " < ", limit_p, ")");
        };
        each_round([&] {
            out_.line("const ", index_, " ", own("tq"), " = ", own("high"), " + ", own("column"), ", ", own("tp"), " = ",
                      own("low"), " + ", own("turn"), ";");
            out_.open("if (", own("tq"), " < ", limit_q, " && ", own("tp"), " < ", limit_p, ")");
            for (const OperandRef& ref : operands_)
                if (access(ref) == Access::tiled)
                    out_.line(own(join("tile_", param(ref).name)), "[", own("turn"), "][", own("column"), "] = ",
                              tile_element(ref, own(join("at_", param(ref).name)), own("tq"), own("tp")), ";");
            out_.close();
            inside_edges();
            for (const OperandRef& ref : operands_)
                if (access(ref) != Access::tiled && loaded(ref))
                    out_.line(own(join("lanes_", param(ref).name)), "[", own("round"), "] = ",
                              tile_element(ref, own(join("at_", param(ref).name)), own("q"), own("p")), ";");
            out_.close();
        });
        out_.line("__syncthreads();");
        each_round([&] {
            inside_edges();
            for (const OperandRef& ref : operands_)
                reference(ref, access(ref) == Access::tiled
                                   ? join(own(join("tile_", param(ref).name)), "[", own("column"), "][", own("turn"), "]")
                                   : join(own(join("lanes_", param(ref).name)), "[", own("round"), "]"));
            body("0"); // a plan that exchanges axes is made only for bodies that see no position
            for (const OperandRef& ref : operands_)
                if (stored(ref))
                    out_.line(tile_element(ref, own(join("at_", param(ref).name)), own("q"), own("p")), " = ", param(ref).name, ";");
            out_.close();
        });
        out_.line("__syncthreads();");
        out_.close();
    }

    // The innermost CPU loop over [from, to) of one row; `start` gives an operand's first element of that row.
    template <class Start> void row_loop(const std::string& from, const std::string& to, Start&& start, const std::string& position) {
        const int inner = layout_.ndim - 1;
        for (const OperandRef& ref : operands_) {
            if (access(ref) == Access::repeated && !stored(ref))
                out_.line("const ", type(ref), " ", own(join("one_", param(ref).name)), " = *", start(ref), ";");
            else
                out_.line(constness(param(ref)), type(ref), "* const ", own(join("row_", param(ref).name)), " = ", start(ref), ";");
        }
        out_.line("QUERN_INDEPENDENT");
        out_.open("for (", signed_, " ", own("j"), " = ", from, "; ", own("j"), " < ", to, "; ++", own("j"), ")");
        for (const OperandRef& ref : operands_) {
            const std::string row = own(join("row_", param(ref).name));
            if (access(ref) == Access::contiguous || access(ref) == Access::tiled) reference(ref, join(row, "[", own("j"), "]"));
            else if (access(ref) != Access::repeated)
                reference(ref, join("*quern::at_byte(", row, ", ", own("j"), " * ", nest(stride_name(ref, inner)), ")"));
            else reference(ref, stored(ref) ? join("*", row) : own(join("one_", param(ref).name)));
        }
        body(position);
        out_.close();
    }

    // CPU: this block's share of the elements, row by row.
    void range_loop() {
        const int inner = layout_.ndim - 1;
        out_.line("const ", signed_, " ", own("first"), " = static_cast<", signed_, ">(blockIdx.x * ", nest("share"), ");");
        out_.line("const ", signed_, " ", own("limit"), " = static_cast<", signed_, ">(", nest("count"), "), ", own("end"), " = ",
                  own("first"), " + static_cast<", signed_, ">(", nest("share"), ");");
        out_.line("const ", signed_, " ", own("last"), " = ", own("end"), " < ", own("limit"), " ? ", own("end"), " : ",
                  own("limit"), ";");
        if (inner == 0) {
            row_loop(own("first"), own("last"), [&](const OperandRef& ref) { return data(ref); }, own("j"));
            return;
        }
        const std::string extent = join("static_cast<", signed_, ">(", nest(axis_name("by_extent", inner)), ".divisor)");
        out_.open("for (", signed_, " ", own("step"), " = ", own("first"), "; ", own("step"), " < ", own("last"), ";)");
        out_.line("const ", signed_, " ", own("row"), " = static_cast<", signed_, ">(", nest(axis_name("by_extent", inner)),
                  ".divide(", own("step"), ")), ", own("from"), " = ", own("step"), " - ", own("row"), " * ", extent, ";");
        out_.line("const ", signed_, " ", own("left"), " = ", own("last"), " - ", own("step"), ", ", own("here"), " = ", extent,
                  " - ", own("from"), ";");
        out_.line("const ", signed_, " ", own("to"), " = ", own("from"), " + (", own("left"), " < ", own("here"), " ? ", own("left"),
                  " : ", own("here"), ");");
        split(inner - 1, own("row"));
        row_loop(own("from"), own("to"), [&](const OperandRef& ref) { return shifted(ref, offset(ref, inner - 1)); },
                 join(own("row"), " * ", extent, " + ", own("j")));
        out_.line(own("step"), " += ", own("to"), " - ", own("from"), ";");
        out_.close();
    }

    // CPU: this block's share of the tiles; inside a tile both the rows and the columns stay in cache.
    void blocked_loop() {
        const int inner = layout_.ndim - 1;
        const auto bound = [&](std::string_view name, std::string_view start, const std::string& limit) {
            out_.line("const ", index_, " ", own(name), " = ", own(start), " + ", cpu_tile_extent, " < ", limit, " ? ", own(start),
                      " + ", cpu_tile_extent, " : ", limit, ";");
        };
        out_.line("const ", index_, " ", own("first"), " = blockIdx.x * ", nest("share"), ", ", own("end"), " = ", own("first"),
                  " + ", nest("share"), ";");
        out_.open("for (", index_, " ", own("tile"), " = ", own("first"), "; ", own("tile"), " < ", own("end"), " && ", own("tile"),
                  " < ", nest("steps"), "; ++", own("tile"), ")");
        locate_tile(cpu_tile_extent);
        bound("high_end", "high", nest(axis_name("extent", inner - 1)));
        bound("low_end", "low", nest(axis_name("extent", inner)));
        for (const OperandRef& ref : operands_) // turned once, on the stack: memory is only ever read along its lines
            if (access(ref) == Access::tiled) {
                out_.line(type(ref), " ", own(join("tile_", param(ref).name)), "[", cpu_tile_extent, "][", cpu_tile_extent, "];");
                out_.line("quern::turn_tile<", cpu_tile_extent, ">(", own(join("tile_", param(ref).name)), ", quern::at_byte(",
                          outer(ref), ", static_cast<", signed_, ">(", own("low"), ") * ", nest(stride_name(ref, inner)), ") + ",
                          own("high"), ", ", nest(stride_name(ref, inner)), ", ", own("high_end"), " - ", own("high"), ", ",
                          own("low_end"), " - ", own("low"), ");");
            }
        out_.open("for (", index_, " ", own("q"), " = ", own("high"), "; ", own("q"), " < ", own("high_end"), "; ++", own("q"), ")");
        row_loop(join("static_cast<", signed_, ">(", own("low"), ")"), join("static_cast<", signed_, ">(", own("low_end"), ")"),
                 [&](const OperandRef& ref) {
                     if (access(ref) == Access::tiled)
                         return join(own(join("tile_", param(ref).name)), "[", own("q"), " - ", own("high"), "] - ", own("low"));
                     return join("quern::at_byte(", outer(ref), ", static_cast<", signed_, ">(", own("q"), ") * ",
                                 nest(stride_name(ref, inner - 1)), ")");
                 },
                 "0"); // as in tile_loop: no position is seen
        out_.close();
        out_.close();
    }

    const ElementwiseSpec& spec_;
    const Signature& signature_;
    const ElementwiseVariant& variant_;
    const ElementwiseLayout& layout_;
    Writer out_;
    std::string q_ = "q_", index_, signed_, declared_;
    std::vector<OperandRef> operands_;
};

} // namespace

std::vector<std::string> elementwise_pieces(const ElementwiseSpec& spec, const Signature& signature) {
    const std::vector<std::string>& identifiers = spec.facts.identifiers;
    const auto has_dtype = [&](std::string_view header) {
        return std::any_of(signature.params.begin(), signature.params.end(), [&](const ResolvedParam& resolved) {
            if (!resolved.layout) return row(resolved.dtype).header == header;
            const std::vector<std::string>& needed = resolved.layout->headers;
            return std::find(needed.begin(), needed.end(), header) != needed.end();
        });
    };
    std::vector<std::string> pieces{"quern/elementwise.cuh"};
    const auto add = [&](std::string_view piece, bool needed) {
        if (needed) pieces.emplace_back(piece);
    };
    add("quern/half.cuh", has_dtype("quern/half.cuh") || spec.facts.mentions_half);
    add("quern/bfloat16.cuh", has_dtype("quern/bfloat16.cuh") || spec.facts.mentions_bfloat16);
    add("quern/complex.cuh", has_dtype("quern/complex.cuh") || spec.facts.mentions_complex);
    add("quern/carray.cuh", starts_with_any(identifiers, {"CArray"}) ||
                                std::any_of(spec.params.begin(), spec.params.end(), [](const Param& p) { return p.raw; }));
    add("quern/names.cuh", starts_with_any(identifiers, {"CUDART_", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t",
                                                        "uint16_t", "uint32_t", "uint64_t", "intptr_t", "uintptr_t", "M_",
                                                        "INFINITY", "NAN", "FLT_", "DBL_", "INT_", "UINT_", "LLONG_", "ULLONG_"}));
    add("quern/atomic.cuh", starts_with_any(identifiers, {"atomic"}));
    add("quern/convert.cuh", starts_with_any(identifiers, {"convert"}));
    return pieces;
}

std::string emit_elementwise(const ElementwiseSpec& spec, const Signature& signature, const ElementwiseVariant& variant) {
    return Emitter(spec, signature, variant).emit();
}

} // namespace quern
