// A warp has parts of the rows across a panel, a thread neighbouring columns of them: first packs
// in registers, then packs that are parked in shared memory. As soon as a pack's results are
// stored, it is that of the next panel; the first ones of that are in shared memory by then, for
// nothing may come while the blocks of a cluster wait for each other.
#include "compiler/codegen/panels.h"

#include "compiler/codegen/row_texts.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace quern {
namespace {

class PanelEmitter : private RowTexts {
  public:
    PanelEmitter(const RowSpec& spec, const Signature& signature, const RowLayout& layout)
        : RowTexts(spec, signature, layout) {}

    std::string emit() {
        head("quern/panels.cuh");
        joins();
        nest_struct();
        open_kernel(1);
        places();
        lines();
        rounds();
        first_panel();
        out_.open("for (", wide(), " ", own("round"), " = 0; ", own("count"), " > 0; ++",
                  own("round"), ")");
        turn();
        out_.close();
        out_.close();
        return out_.take();
    }

  private:
    [[nodiscard]] int warps() const { return layout_.block / 32; }
    [[nodiscard]] int blocks() const { return 1 << layout_.cluster_bits; }
    // Counts columns beyond the last one too.
    [[nodiscard]] std::string wide() const {
        return layout_.index_bits == 64 ? "unsigned long long" : "unsigned int";
    }
    // From row to row, of this turn.
    [[nodiscard]] std::string step(const OperandRef& ref) const {
        return own(join("step_", name(ref)));
    }
    void steps() {
        for (const auto* list : {&inputs_, &outputs_})
            for (const OperandRef& ref : *list)
                if (!is_single(ref))
                    out_.line("const ", signed_, " ", step(ref), " = quern::afresh(",
                              stride(ref, layout_.kept_ndim), ");");
    }
    // A list of parameters or arguments.
    struct List {
        std::string text;
        void add(const std::string& item) { text += (text.empty() ? "" : ", ") + item; }
    };
    template <class Visit> void each_stored(const Visit& visit) const {
        for (const OperandRef& ref : outputs_)
            if (!per_row(ref))
                visit(ref);
    }
    template <class Visit> void each_held_input(const Visit& visit) const {
        int k = 0;
        for (const OperandRef& ref : inputs_)
            if (!is_single(ref))
                visit(ref, k++);
    }

    // The bytes of shared memory in which the threads of a walk join.
    [[nodiscard]] std::string join_room(std::size_t k, std::size_t joins) const {
        std::string sizes = "0";
        for (std::size_t j = 0; j < joins; ++j)
            sizes += join(" + sizeof(", type_of_join(k, j), "::_type_reduce)");
        return join("(", sizes, ") * ", own("joiners"));
    }

    // What a thread has a part of; where things are in shared memory.
    void places() {
        out_.line("extern __shared__ __align__(128) unsigned char ", own("shared"), "[];");
        out_.line("const int ", own("joiners"), " = ",
                  (warps() + (blocks() > 1 ? 2 * blocks() : 0) + 1) * layout_.columns, ";");
        std::string room = "0";
        for (std::size_t k = 0; k < spec_.walks.size(); ++k) {
            const std::size_t count = spec_.walks[k].joins.size();
            if (count == 0)
                continue;
            const std::string own_room = join_room(k, count);
            room = room == "0" ? own_room : join("quern::larger(", room, ", ", own_room, ")");
            for (std::size_t j = 0; j < count; ++j)
                out_.line("static_assert(sizeof(", type_of_join(k, j), "::_type_reduce) <= ",
                          std::max(spec_.walks[k].joins[j].accumulator_bytes, 4U), ", \"\");");
        }
        out_.line("const unsigned int ", own("room"), " = static_cast<unsigned int>(", room, ");");
        out_.line("const unsigned int ", own("warp"), " = threadIdx.x / 32, ", own("column"),
                  " = threadIdx.x % 32 * ", int{layout_.lanes}, ", ", own("rank"),
                  " = blockIdx.x & ", blocks() - 1, ", ", own("cluster"), " = blockIdx.x >> ",
                  int{layout_.cluster_bits}, ", ", own("clusters"), " = gridDim.x >> ",
                  int{layout_.cluster_bits}, ";");
        out_.line("const ", index_, " ", own("group"), " = ", warps() * blocks(), ", ",
                  own("thread"), " = ", own("rank"), " * ", warps(), " + ", own("warp"), ";");
        const std::string parked = layout_.parks ? nest("parked") : "0";
        out_.line("const unsigned int ", own("slots"), " = ", parked, " + ", int{layout_.ahead},
                  ";");
        each_held_input([&](const OperandRef& ref, int k) {
            out_.line("unsigned char* const ", own("parked_" + name(ref)), " = ", own("shared"),
                      " + ", own("room"), " + (", k, " * ", own("slots"), " * ", warps(), " + ",
                      own("warp"), ") * ", panel_row_bytes, ";");
            out_.line("unsigned char* const ", own("ahead_" + name(ref)), " = ",
                      own("parked_" + name(ref)), " + ", parked, " * ", warps() * panel_row_bytes,
                      ";");
        });
    }

    // By the first column of a panel: where its elements begin.
    void lines() {
        for (const auto* list : {&inputs_, &outputs_})
            for (const OperandRef& ref : *list) {
                out_.open("const auto ", own("line_" + name(ref)), " = [&](", wide(), " ",
                          own("first"), ")");
                split_axes(join("static_cast<", index_, ">(", own("first"), ")"), 0,
                           layout_.kept_ndim, "");
                out_.line(
                    "return ",
                    at_byte(own("data_" + name(ref)), "0" + offset(ref, 0, layout_.kept_ndim)),
                    ";");
                out_.close(";");
            }
    }
    // Which columns a cluster has in its turns. Half of those which have some of the last round
    // begin with them: while their blocks wait for each other the others' store.
    void rounds() {
        const std::string columns = join(int{layout_.columns}), round = own("round"),
                          last = join(nest("rounds"), " * ", own("clusters"), " * ", columns, " + ",
                                      own("cluster"), " * ", nest("last_columns"));
        out_.line("const bool ", own("early"), " = ", own("cluster"), " < ", own("clusters"),
                  " / 2 && ", last, " < ", nest("rows"), ";");
        const auto of_turn = [&](std::string_view function, std::string_view result) {
            out_.open("const auto ", own(function), " = [&](", wide(), " ", own("number"), ") -> ",
                      result);
            out_.line("const ", wide(), " ", round, " = !", own("early"), " ? ", own("number"),
                      " : ", own("number"), " > 0 ? ", own("number"), " - 1 : ", nest("rounds"),
                      ";");
        };
        of_turn("first_of", wide());
        out_.line("return ", round, " < ", nest("rounds"), " ? (", round, " * ", own("clusters"),
                  " + ", own("cluster"), ") * ", columns, " : ", last, ";");
        out_.close(";");
        of_turn("count_of", "unsigned int");
        out_.line("const ", wide(), " ", own("rows"), " = ", nest("rows"), ", ", own("first"),
                  " = ", own("first_of"), "(", own("number"), ");");
        out_.line("const ", wide(), " ", own("whole"), " = ", round, " < ", nest("rounds"), " ? ",
                  columns, " : ", nest("last_columns"), ";");
        out_.line("if (", own("number"), " > ", nest("rounds"), " || ", own("first"),
                  " >= ", own("rows"), ") return 0;");
        out_.line("return static_cast<unsigned int>(", own("rows"), " - ", own("first"), " < ",
                  own("whole"), " ? ", own("rows"), " - ", own("first"), " : ", own("whole"), ");");
        out_.close(";");
    }

    // Packs [first, first + count) of a panel on their way to shared memory.
    void fetch(std::string_view where, const std::string& first, const std::string& count,
               std::string_view from, std::string_view columns) {
        each_held_input([&](const OperandRef& ref, int) {
            out_.line("quern::fetch_packs<", warps(), ">(", own(join(where, "_", name(ref))), ", ",
                      own(join(from, "_", name(ref))), ", ", step(ref), ", ", "static_cast<",
                      index_, ">(", first, ") * ", own("group"), " + ", own("thread"), ", ",
                      own("group"), ", ", nest("packs"), ", ", count, ", ", own(columns), ");");
        });
        out_.line("quern::commit_fetches();");
    }
    void fetch_ahead(std::string_view from, std::string_view columns) {
        fetch("ahead", "0", join(int{layout_.ahead}), from, columns);
    }
    void fetch_parked(std::string_view from, std::string_view columns) {
        if (layout_.parks)
            fetch("parked", join(int{layout_.packs}), nest("parked"), from, columns);
        else
            out_.line("quern::commit_fetches();");
    }
    // A thread's part of its pack `number`, in the panel that begins there.
    [[nodiscard]] std::string place_of(std::string_view line, const OperandRef& ref,
                                       const std::string& number) const {
        return at_byte(join(own(join(line, "_", name(ref))), " + ", own("column")),
                       join(as_signed(number), " * ", step(ref)));
    }
    // Pack `p` of a panel, the row's pack `number`, from where it is into its registers: unless it
    // came ahead.
    template <class Place> void load(const std::string& number, const std::string& p,
                                     const Place& place, std::string_view columns) {
        out_.open("if (", p, " >= ", int{layout_.ahead}, " && ", own("column"), " < ", own(columns),
                  layout_.partial && !layout_.parks ? join(" && ", number, " < ", nest("packs"))
                                                    : "",
                  ")");
        each_held_input([&](const OperandRef& ref, int) {
            out_.line(own("held_" + name(ref)), "[", p, "].load(", place(ref), ", 0, ",
                      int{layout_.lanes}, ");");
        });
        out_.close();
    }

    void first_panel() {
        each_held_input([&](const OperandRef& ref, int) {
            out_.line(pack_type(ref), " ", own("held_" + name(ref)), "[", int{layout_.packs}, "];");
        });
        out_.line("unsigned int ", own("count"), " = ", own("count_of"), "(0), ", own("turn"),
                  " = 0;");
        for (const OperandRef& ref : inputs_)
            out_.line("const ", type(ref), "* ", own("from_" + name(ref)), " = ",
                      own("line_" + name(ref)), "(", own("count"), " > 0 ? ", own("first_of"),
                      "(0) : 0);");
        if (blocks() > 1)
            out_.line("quern::sync_cluster();"); // the others have begun
        out_.open();
        steps();
        fetch_ahead("from", "count");
        fetch_parked("from", "count");
        if (layout_.ahead < layout_.packs) {
            out_.line("#pragma unroll");
            out_.open("for (int ", own("p"), " = ", int{layout_.ahead}, "; ", own("p"), " < ",
                      int{layout_.packs}, "; ++", own("p"), ")");
            out_.line("const ", index_, " ", own("pack"), " = ", own("p"), " * ", own("group"),
                      " + ", own("thread"), ";");
            load(
                own("pack"), own("p"),
                [&](const OperandRef& ref) { return place_of("from", ref, own("pack")); }, "count");
            out_.close();
        }
        out_.close();
    }

    // What was asked for earlier is there, except for the last request.
    void await_fetches() {
        out_.line("quern::await_fetches();");
        out_.line("__syncwarp();");
    }

    void turn() {
        const std::string next = own("next_count");
        steps();
        out_.line("const unsigned int ", next, " = ", own("count_of"), "(", own("round"), " + 1);");
        out_.line("const ", wide(), " ", own("first"), " = ", own("first_of"), "(", own("round"),
                  "), ", own("next_first"), " = ", next, " > 0 ? ", own("first_of"), "(",
                  own("round"), " + 1) : 0;");
        for (const OperandRef& ref : inputs_)
            out_.line("const ", type(ref), "* const ", own("next_" + name(ref)), " = ",
                      own("line_" + name(ref)), "(", own("next_first"), ");");
        for (const OperandRef& ref : outputs_)
            out_.line(type(ref), "* const ", own("to_" + name(ref)), " = ",
                      own("line_" + name(ref)), "(", own("first"), ");");
        out_.line("const bool ", own("alive"), " = ", own("column"), " < ", own("count"), ";");
        await_fetches();
        if (layout_.ahead > 0) {
            out_.open_unrolled(own("p"), int{layout_.ahead});
            each_held_input([&](const OperandRef& ref, int) {
                out_.line(own("held_" + name(ref)), "[", own("p"),
                          "] = ", slot("ahead", ref, own("p")), ";");
            });
            out_.close();
            out_.line("__syncwarp();");
        }
        fetch_ahead("next", "next_count");
        for (std::size_t k = 0; k < spec_.walks.size(); ++k)
            walk(k);
        for (const OperandRef& ref : inputs_)
            out_.line(own("from_" + name(ref)), " = ", own("next_" + name(ref)), ";");
        out_.line(own("count"), " = ", next, ";");
    }
    [[nodiscard]] std::string slot(std::string_view where, const OperandRef& ref,
                                   const std::string& k) const {
        return join("reinterpret_cast<", pack_type(ref), "*>(", own(join(where, "_", name(ref))),
                    " + ", k, " * ", warps() * panel_row_bytes, ")[threadIdx.x % 32]");
    }

    // What there is one of for lane own(lane) of the thread's columns, up to the results of the
    // walks before `walks`.
    void row_values(std::size_t walks) {
        for (const OperandRef& ref : inputs_)
            if (is_single(ref))
                out_.line(
                    "const ", type(ref), " ", name(ref), " = *",
                    at_byte(own("from_" + name(ref)),
                            join("static_cast<int>(", own("alive"), " ? ", own("column"), " + ",
                                 own("lane"), " : 0) * ", stride(ref, layout_.kept_ndim - 1))),
                    ";");
        out_.line(spec_.before);
        for (std::size_t k = 0; k < walks; ++k) {
            for (std::size_t j = 0; j < spec_.walks[k].joins.size(); ++j)
                out_.line("const ", type_of_join(k, j), "::_type_reduce ", RowSpec::join_name(k, j),
                          " = ", own(join("all_", k, "_", j)), "[", own("lane"), "];");
            out_.line(spec_.walks[k].rows);
        }
    }

    [[nodiscard]] bool is_last(std::size_t k) const { return k + 1 == spec_.walks.size(); }
    [[nodiscard]] bool stores_elements() const {
        return std::ranges::any_of(outputs_, [&](const OperandRef& ref) { return !per_row(ref); });
    }

    // What a thread does with its elements: joins them, stores what it makes of them, or finds what
    // they are measured from.
    enum class Deed : std::uint8_t { look, work, swift };
    [[nodiscard]] static std::string_view word(Deed deed) {
        return deed == Deed::look ? "look" : deed == Deed::work ? "walk" : "swift";
    }
    [[nodiscard]] bool looks(std::size_t k, std::size_t j) const {
        return !spec_.walks[k].joins[j].about_type.empty();
    }
    [[nodiscard]] bool takes_part(std::size_t k, std::size_t j, Deed deed) const {
        return deed != Deed::look || looks(k, j);
    }
    [[nodiscard]] bool stores(std::size_t k) const { return is_last(k) && stores_elements(); }
    [[nodiscard]] std::string accumulator(std::size_t k, std::size_t j, Deed deed) const {
        return own(join(deed == Deed::look ? "about_" : "own_", k, "_", j));
    }
    [[nodiscard]] std::string accumulator_type(std::size_t k, std::size_t j, Deed deed) const {
        const std::string about = type_of_join(k, j) + "::quern_about";
        return deed == Deed::look ? about : looks(k, j) ? about + "::Own" : inner(k, j);
    }

    // A function of an element's inputs and results, which knows the row of its lane.
    void element_function(std::size_t k, Deed deed) {
        const std::string function = own(join(word(deed), "_", k));
        out_.open("const auto ", function, " = [&](int ", own("lane"), ")");
        row_values(k);
        if (deed == Deed::swift)
            out_.line(spec_.walks[k].swift_rows);
        List params;
        if (spec_.uses_position)
            params.add("const ptrdiff_t _J");
        each_held_input([&](const OperandRef& ref, int) {
            params.add(join("const ", type(ref), "& ", name(ref)));
        });
        if (stores(k))
            each_stored(
                [&](const OperandRef& ref) { params.add(join(type(ref), "& ", name(ref))); });
        for (std::size_t j = 0; j < spec_.walks[k].joins.size(); ++j)
            if (takes_part(k, j, deed))
                params.add(join(accumulator_type(k, j, deed), "& ", own(join("into_", j))));
        if (deed == Deed::swift)
            params.add("bool& quern_usual");
        out_.open("return [=](", params.text, ")");
        out_.line(deed == Deed::swift ? spec_.walks[k].swift : spec_.walks[k].elements);
        for (std::size_t j = 0; j < spec_.walks[k].joins.size(); ++j) {
            const std::string into = own(join("into_", j));
            if (!takes_part(k, j, deed))
                continue;
            if (!looks(k, j))
                join_element(k, j, inner(k, j), joined_to(k, j, into));
            else
                join_element(
                    k, j, "_type_reduce",
                    join(into, deed == Deed::look ? ".look(" : ".add(", own("value"), ");"));
        }
        out_.close(";");
        out_.close(";");
        for (int lane = 0; lane < layout_.lanes; ++lane)
            out_.line("const auto ", function, "_", lane, " = ", function, "(", lane, ");");
    }
    // A pack: how it is numbered, when it is one of the row (always: ""), how an input's is named,
    // and which of the results together it has.
    struct Taken {
        std::string number, present;
        std::function<std::string(const OperandRef&)> held;
        int place;
    };
    void take_lanes(std::size_t k, Deed deed, const Taken& pack) {
        for (int lane = 0; lane < layout_.lanes; ++lane) {
            List args;
            if (spec_.uses_position)
                args.add(join("static_cast<ptrdiff_t>(", pack.number, ")"));
            each_held_input([&](const OperandRef& ref, int) {
                args.add(join(pack.held(ref), "[", lane, "]"));
            });
            if (stores(k))
                each_stored([&](const OperandRef& ref) {
                    args.add(join(own("made_" + name(ref)), "[", pack.place, "][", lane, "]"));
                });
            for (std::size_t j = 0; j < spec_.walks[k].joins.size(); ++j)
                if (takes_part(k, j, deed))
                    args.add(join(accumulator(k, j, deed), "[", lane, "]"));
            if (deed == Deed::swift)
                args.add("quern_usual");
            out_.line(own(join(word(deed), "_", k, "_", lane)), "(", args.text, ");");
        }
    }
    // Packs side by side, of which the swift form is asked once whether it is good for all.
    void take(std::size_t k, Deed deed, const std::vector<Taken>& packs) {
        if (stores(k))
            each_stored([&](const OperandRef& ref) {
                out_.line(pack_type(ref), " ", own("made_" + name(ref)), "[", packs.size(), "];");
            });
        if (deed == Deed::swift) {
            out_.line("bool quern_usual = true;");
            for (const Taken& pack : packs)
                take_lanes(k, Deed::swift, pack);
            out_.open("if (!quern_usual)");
        }
        for (const Taken& pack : packs)
            take_lanes(k, deed == Deed::swift ? Deed::work : deed, pack);
        if (deed == Deed::swift)
            out_.close();
        if (!stores(k))
            return;
        for (const Taken& pack : packs)
            each_stored([&](const OperandRef& ref) {
                out_.line("if (", own("alive"),
                          pack.present.empty() ? "" : join(" && ", pack.present), ") ",
                          own("made_" + name(ref)), "[", pack.place, "].store(",
                          gone_to(ref, pack.place), ", 0, ", int{layout_.lanes}, ");");
            });
    }

    // Pointers that go on from pack to pack, in place of an offset for each: to where results are
    // stored, and from where the next panel's packs come into registers.
    [[nodiscard]] std::string goes(const OperandRef& ref) const {
        return own(join("goes_", name(ref)));
    }
    [[nodiscard]] std::string way(const OperandRef& ref) const { // from one pack to the next
        return own(join("way_", name(ref)));
    }
    template <class Visit> void each_going(std::size_t k, bool loads, const Visit& visit) const {
        if (stores(k))
            each_stored([&](const OperandRef& ref) { visit(ref, "to"); });
        if (loads)
            each_held_input([&](const OperandRef& ref, int) { visit(ref, "next"); });
    }
    void start_at(std::size_t k, bool loads, const std::string& pack) {
        out_.open();
        each_going(k, loads, [&](const OperandRef& ref, std::string_view line) {
            const std::string number =
                join("(", pack, " * ", own("group"), " + ", own("thread"), ")");
            out_.line("auto ", goes(ref), " = ", place_of(line, ref, number), ";");
            out_.line("const quern_int64 ", way(ref), " = static_cast<quern_int64>(", step(ref),
                      ") * ", own("group"), ";");
        });
    }
    void go_on(std::size_t k, bool loads, int packs) {
        each_going(k, loads, [&](const OperandRef& ref, std::string_view) {
            out_.line(goes(ref), " = ", at_byte(goes(ref), join(packs, " * ", way(ref))), ";");
        });
    }
    [[nodiscard]] std::string gone_to(const OperandRef& ref, int place) const {
        return place == 0 ? goes(ref) : at_byte(goes(ref), way(ref));
    }

    // The last walk joins nothing, the others do.
    void walk(std::size_t k) {
        if (!is_last(k)) {
            joining_walk(k);
            return;
        }
        const Deed deed = spec_.walks[k].swift.empty() ? Deed::work : Deed::swift;
        if (stores(k)) {
            element_function(k, Deed::work);
            if (deed == Deed::swift)
                element_function(k, Deed::swift);
            parked(k, deed);
        }
        out_.line("__syncwarp();"); // where a pack was read, the next panel's comes
        fetch_parked("next", "next_count");
        held(k, deed);
        store_rows();
    }
    void joining_walk(std::size_t k) {
        const std::size_t joins = spec_.walks[k].joins.size();
        bool any = false;
        for (std::size_t j = 0; j < joins; ++j)
            if (looks(k, j)) {
                any = true;
                out_.line(accumulator_type(k, j, Deed::look), " ", accumulator(k, j, Deed::look),
                          "[", int{layout_.lanes}, "];");
            }
        if (any) {
            element_function(k, Deed::look);
            held(k, Deed::look);
            parked(k, Deed::look);
        }
        for (std::size_t j = 0; j < joins; ++j)
            start(k, j);
        element_function(k, Deed::work);
        held(k, Deed::work);
        parked(k, Deed::work);
        meet(k);
    }
    void start(std::size_t k, std::size_t j) {
        List starts;
        const std::string type = accumulator_type(k, j, Deed::work);
        for (int lane = 0; lane < layout_.lanes; ++lane)
            starts.add(looks(k, j) ? join(type, "(", accumulator(k, j, Deed::look), "[", lane, "])")
                                   : join(type, "(", type_of_join(k, j), "::start())"));
        out_.line(type, " ", accumulator(k, j, Deed::work), "[", int{layout_.lanes}, "] = {",
                  starts.text, "};");
    }
    // Packs in shared memory, two at a time. Where a row ends between them the second is whatever
    // was there.
    void parked(std::size_t k, Deed deed) {
        if (!layout_.parks)
            return;
        if (!std::exchange(awaited_, true))
            await_fetches();
        if (stores(k))
            start_at(k, false, join(int{layout_.packs}));
        out_.line("#pragma unroll 4");
        out_.open("for (", index_, " ", own("slot"), " = 0; ", own("slot"), " < ", nest("parked"),
                  "; ", own("slot"), " += 2)");
        std::vector<Taken> packs;
        for (int place = 0; place < 2; ++place) {
            const std::string slot_number = join("(", own("slot"), " + ", place, ")"),
                              number = own(join("pack_", place));
            out_.line("const ", index_, " ", number, " = (", slot_number, " + ", int{layout_.packs},
                      ") * ", own("group"), " + ", own("thread"), ";");
            each_held_input([&](const OperandRef& ref, int) {
                out_.line(pack_type(ref), " ", own(join("parked_", place, "_", name(ref))), " = ",
                          slot("parked", ref, slot_number), ";");
            });
            packs.push_back({number, layout_.partial ? join(number, " < ", nest("packs")) : "",
                             [this, place](const OperandRef& ref) {
                                 return own(join("parked_", place, "_", name(ref)));
                             },
                             place});
        }
        take_some(k, deed, packs);
        if (stores(k))
            go_on(k, false, 2);
        out_.close();
        if (stores(k))
            out_.close();
    }
    // Where elements are joined those beyond a row are passed over.
    void take_some(std::size_t k, Deed deed, const std::vector<Taken>& packs) {
        if (stores(k) || packs.front().present.empty()) {
            take(k, deed, packs);
            return;
        }
        for (const Taken& pack : packs) {
            out_.open("if (", pack.present, ")");
            take(k, deed, {pack});
            out_.close();
        }
    }
    // Those in registers, by twos; the last ones first where they are refilled, so that those which
    // are not come last.
    void held(std::size_t k, Deed deed) {
        const bool last = is_last(k), works = !last || stores(k),
                   loads = last && layout_.ahead < layout_.packs;
        if (last)
            start_at(k, loads, join(layout_.packs - 2));
        out_.line("#pragma unroll");
        out_.open("for (int ", own("pair"), " = 0; ", own("pair"), " < ", layout_.packs / 2, "; ++",
                  own("pair"), ")");
        out_.line("const int ", own("p"), " = ",
                  last ? join(layout_.packs - 2, " - 2 * ", own("pair")) : "2 * " + own("pair"),
                  ";");
        std::vector<Taken> packs;
        for (int place = 0; place < 2; ++place) {
            const std::string number = own(join("pack_", place)), p = join(own("p"), " + ", place);
            out_.line("const ", index_, " ", number, " = (", p, ") * ", own("group"), " + ",
                      own("thread"), ";");
            // Only the last ones may be missing, and they are parked where any are.
            packs.push_back({number,
                             layout_.partial && !layout_.parks
                                 ? join("(", p, " < ", layout_.packs - 2, " || ", number, " < ",
                                        nest("packs"), ")")
                                 : "",
                             [this, p](const OperandRef& ref) {
                                 return join(own("held_" + name(ref)), "[", p, "]");
                             },
                             place});
        }
        if (works)
            take_some(k, deed, packs);
        if (loads)
            for (int place = 0; place < 2; ++place)
                load(
                    packs[static_cast<std::size_t>(place)].number, join(own("p"), " + ", place),
                    [&](const OperandRef& ref) { return gone_to(ref, place); }, "next_count");
        if (last)
            go_on(k, loads, -2);
        out_.close();
        if (last)
            out_.close();
    }

    // What all threads of the panel found in a walk, in own(all_...) of each.
    void meet(std::size_t k) {
        const std::size_t count = spec_.walks[k].joins.size();
        const auto each = [&](auto write) {
            for (std::size_t j = 0; j < count; ++j) {
                const std::string type = type_of_join(k, j);
                write(join("reinterpret_cast<", type, "::_type_reduce*>(", own("shared"), " + ",
                           join_room(k, j), ")"),
                      type, j);
            }
        };
        const std::string shape = join(int{layout_.columns}, ", ", warps(), ", ", blocks());
        each([&](const std::string& room, const std::string&, std::size_t j) {
            out_.line("quern::lay_out<", int{layout_.columns}, ">(", own(join("own_", k, "_", j)),
                      ", ", room, ");");
        });
        out_.line("__syncthreads();");
        each([&](const std::string& room, const std::string& type, std::size_t) {
            out_.line("quern::join_block<", shape, ">(", room, ", ", type, "(), ", own("rank"),
                      ", ", own("turn"), ");");
        });
        if (blocks() > 1) {
            out_.line("quern::sync_cluster();");
            each([&](const std::string& room, const std::string& type, std::size_t) {
                out_.line("quern::join_blocks<", shape, ">(", room, ", ", type, "(), ", own("turn"),
                          ");");
            });
        }
        out_.line("__syncthreads();");
        each([&](const std::string& room, const std::string& type, std::size_t j) {
            const std::string all = own(join("all_", k, "_", j));
            out_.line(type, "::_type_reduce ", all, "[", int{layout_.lanes}, "];");
            out_.open_unrolled(own("lane"), int{layout_.lanes});
            out_.line(all, "[", own("lane"), "] = quern::panel_totals<", shape, ">(", room, ")[",
                      own("column"), " + ", own("lane"), "];");
            out_.close();
        });
        out_.line(own("turn"), " ^= 1;");
    }

    void store_rows() {
        if (std::ranges::none_of(outputs_, [&](const OperandRef& ref) { return per_row(ref); }))
            return;
        out_.open("if (", own("alive"), " && ", own("thread"), " == 0)");
        out_.open_unrolled(own("lane"), int{layout_.lanes});
        const std::size_t last = spec_.walks.size() - 1;
        for (const OperandRef& ref : outputs_)
            if (per_row(ref))
                out_.line(type(ref), " ", name(ref), ";");
        row_values(last + 1);
        for (const OperandRef& ref : outputs_)
            if (per_row(ref))
                out_.line("*",
                          at_byte(own("to_" + name(ref)),
                                  join("static_cast<int>(", own("column"), " + ", own("lane"),
                                       ") * ", stride(ref, layout_.kept_ndim - 1))),
                          " = ", name(ref), ";");
        out_.close();
        out_.close();
    }

    bool awaited_ = false; // what is parked
};

} // namespace

std::string emit_panels(const RowSpec& spec, const Signature& signature, const RowLayout& layout) {
    return PanelEmitter(spec, signature, layout).emit();
}

} // namespace quern
