// What walks do with the packs of a panel: elements are looked at, joined and stored, and what
// warps found becomes what all blocks found.
#include "compiler/codegen/panels.h"

#include "compiler/codegen/panel_packs.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace quern {
namespace {

class PanelEmitter : private PanelPacks {
  public:
    PanelEmitter(const RowSpec& spec, const Signature& signature, const RowLayout& layout)
        : PanelPacks(spec, signature, layout) {}

    std::string emit() {
        head("quern/panels.cuh");
        joins();
        nest_struct();
        open_kernel(1);
        out_.line("quern::wait_for_earlier();");
        places();
        lines();
        rounds();
        first_panel();
        out_.open("for (", wide(), " ", own("round"), " = 0; ", own("count"), " > 0; ++",
                  own("round"), ")");
        begin_turn();
        for (std::size_t k = 0; k < spec_.walks.size(); ++k)
            walk(k);
        end_turn();
        out_.close();
        out_.close();
        return out_.take();
    }

  private:
    // A list of parameters or arguments.
    struct List {
        std::string text;
        void add(const std::string& item) { text += (text.empty() ? "" : ", ") + item; }
    };
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
            start_at(true, false, join(int{layout_.packs}));
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
            go_on(true, false, 2);
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
            start_at(stores(k), loads, join(layout_.packs - 2));
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
            go_on(stores(k), loads, -2);
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
