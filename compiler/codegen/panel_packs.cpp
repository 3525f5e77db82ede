// See panel_packs.h.
#include "compiler/codegen/panel_packs.h"

#include <algorithm>

namespace quern {

std::string PanelPacks::join_room(std::size_t k, std::size_t joins) const {
    std::string sizes = "0";
    for (std::size_t j = 0; j < joins; ++j)
        sizes += join(" + sizeof(", type_of_join(k, j), "::_type_reduce)");
    return join("(", sizes, ") * ", own("joiners"));
}

void PanelPacks::steps() {
    for (const auto* list : {&inputs_, &outputs_})
        for (const OperandRef& ref : *list)
            if (!is_single(ref))
                out_.line("const ", signed_, " ", step(ref), " = quern::afresh(",
                          stride(ref, layout_.kept_ndim), ");");
}

void PanelPacks::places() {
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
              " = threadIdx.x % 32 * ", int{layout_.lanes}, ", ", own("rank"), " = blockIdx.x & ",
              blocks() - 1, ", ", own("cluster"), " = blockIdx.x >> ", int{layout_.cluster_bits},
              ", ", own("clusters"), " = gridDim.x >> ", int{layout_.cluster_bits}, ";");
    out_.line("const ", index_, " ", own("group"), " = ", warps() * blocks(), ", ", own("thread"),
              " = ", own("rank"), " * ", warps(), " + ", own("warp"), ";");
    const std::string parked = layout_.parks ? nest("parked") : "0";
    out_.line("const unsigned int ", own("slots"), " = ", parked, " + ", int{layout_.ahead}, ";");
    each_held_input([&](const OperandRef& ref, int k) {
        out_.line("unsigned char* const ", own("parked_" + name(ref)), " = ", own("shared"), " + ",
                  own("room"), " + (", k, " * ", own("slots"), " * ", warps(), " + ", own("warp"),
                  ") * ", panel_row_bytes, ";");
        out_.line("unsigned char* const ", own("ahead_" + name(ref)), " = ",
                  own("parked_" + name(ref)), " + ", parked, " * ", warps() * panel_row_bytes, ";");
    });
}

void PanelPacks::lines() {
    for (const auto* list : {&inputs_, &outputs_})
        for (const OperandRef& ref : *list) {
            out_.open("const auto ", own("line_" + name(ref)), " = [&](", wide(), " ", own("first"),
                      ")");
            split_axes(join("static_cast<", index_, ">(", own("first"), ")"), 0, layout_.kept_ndim,
                       "");
            out_.line("return ",
                      at_byte(own("data_" + name(ref)), "0" + offset(ref, 0, layout_.kept_ndim)),
                      ";");
            out_.close(";");
        }
}

void PanelPacks::rounds() {
    const std::string columns = join(int{layout_.columns}), round = own("round"),
                      last = join(nest("rounds"), " * ", own("clusters"), " * ", columns, " + ",
                                  own("cluster"), " * ", nest("last_columns"));
    out_.line("const bool ", own("early"), " = ", own("cluster"), " < ", own("clusters"),
              " / 2 && ", last, " < ", nest("rows"), ";");
    const auto of_turn = [&](std::string_view function, std::string_view result) {
        out_.open("const auto ", own(function), " = [&](", wide(), " ", own("number"), ") -> ",
                  result);
        out_.line("const ", wide(), " ", round, " = !", own("early"), " ? ", own("number"), " : ",
                  own("number"), " > 0 ? ", own("number"), " - 1 : ", nest("rounds"), ";");
    };
    of_turn("first_of", wide());
    out_.line("return ", round, " < ", nest("rounds"), " ? (", round, " * ", own("clusters"), " + ",
              own("cluster"), ") * ", columns, " : ", last, ";");
    out_.close(";");
    of_turn("count_of", "unsigned int");
    out_.line("const ", wide(), " ", own("rows"), " = ", nest("rows"), ", ", own("first"), " = ",
              own("first_of"), "(", own("number"), ");");
    out_.line("const ", wide(), " ", own("whole"), " = ", round, " < ", nest("rounds"), " ? ",
              columns, " : ", nest("last_columns"), ";");
    out_.line("if (", own("number"), " > ", nest("rounds"), " || ", own("first"),
              " >= ", own("rows"), ") return 0;");
    out_.line("return static_cast<unsigned int>(", own("rows"), " - ", own("first"), " < ",
              own("whole"), " ? ", own("rows"), " - ", own("first"), " : ", own("whole"), ");");
    out_.close(";");
}

void PanelPacks::fetch(std::string_view where, const std::string& first, const std::string& count,
                       std::string_view from, std::string_view columns) {
    each_held_input([&](const OperandRef& ref, int) {
        out_.line("quern::fetch_packs<", warps(), ">(", own(join(where, "_", name(ref))), ", ",
                  own(join(from, "_", name(ref))), ", ", step(ref), ", ", "static_cast<", index_,
                  ">(", first, ") * ", own("group"), " + ", own("thread"), ", ", own("group"), ", ",
                  nest("packs"), ", ", count, ", ", own(columns), ");");
    });
    out_.line("quern::commit_fetches();");
}

void PanelPacks::fetch_ahead(std::string_view from, std::string_view columns) {
    fetch("ahead", "0", join(int{layout_.ahead}), from, columns);
}

void PanelPacks::fetch_parked(std::string_view from, std::string_view columns) {
    if (layout_.parks)
        fetch("parked", join(int{layout_.packs}), nest("parked"), from, columns);
    else
        out_.line("quern::commit_fetches();");
}

std::string PanelPacks::place_of(std::string_view line, const OperandRef& ref,
                                 const std::string& number) const {
    return at_byte(join(own(join(line, "_", name(ref))), " + ", own("column")),
                   join(as_signed(number), " * ", step(ref)));
}

void PanelPacks::load(const std::string& number, const std::string& p, const Place& place,
                      std::string_view columns) {
    out_.open("if (", p, " >= ", int{layout_.ahead}, " && ", own("column"), " < ", own(columns),
              layout_.partial && !layout_.parks ? join(" && ", number, " < ", nest("packs")) : "",
              ")");
    each_held_input([&](const OperandRef& ref, int) {
        out_.line(own("held_" + name(ref)), "[", p, "].load(", place(ref), ", 0, ",
                  int{layout_.lanes}, ");");
    });
    out_.close();
}

void PanelPacks::first_panel() {
    each_held_input([&](const OperandRef& ref, int) {
        out_.line(pack_type(ref), " ", own("held_" + name(ref)), "[", int{layout_.packs}, "];");
    });
    out_.line("unsigned int ", own("count"), " = ", own("count_of"), "(0), ", own("turn"), " = 0;");
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
        out_.line("const ", index_, " ", own("pack"), " = ", own("p"), " * ", own("group"), " + ",
                  own("thread"), ";");
        load(
            own("pack"), own("p"),
            [&](const OperandRef& ref) { return place_of("from", ref, own("pack")); }, "count");
        out_.close();
    }
    out_.close();
}

std::string PanelPacks::slot(std::string_view where, const OperandRef& ref,
                             const std::string& k) const {
    return join("reinterpret_cast<", pack_type(ref), "*>(", own(join(where, "_", name(ref))), " + ",
                k, " * ", warps() * panel_row_bytes, ")[threadIdx.x % 32]");
}

void PanelPacks::await_fetches() {
    out_.line("quern::await_fetches();");
    out_.line("__syncwarp();");
}

void PanelPacks::begin_turn() {
    const std::string next = own("next_count");
    steps();
    out_.line("const unsigned int ", next, " = ", own("count_of"), "(", own("round"), " + 1);");
    out_.line("const ", wide(), " ", own("first"), " = ", own("first_of"), "(", own("round"), "), ",
              own("next_first"), " = ", next, " > 0 ? ", own("first_of"), "(", own("round"),
              " + 1) : 0;");
    for (const OperandRef& ref : inputs_)
        out_.line("const ", type(ref), "* const ", own("next_" + name(ref)), " = ",
                  own("line_" + name(ref)), "(", own("next_first"), ");");
    for (const OperandRef& ref : outputs_)
        out_.line(type(ref), "* const ", own("to_" + name(ref)), " = ", own("line_" + name(ref)),
                  "(", own("first"), ");");
    out_.line("const bool ", own("alive"), " = ", own("column"), " < ", own("count"), ";");
    await_fetches();
    if (layout_.ahead > 0) {
        out_.open_unrolled(own("p"), int{layout_.ahead});
        each_held_input([&](const OperandRef& ref, int) {
            out_.line(own("held_" + name(ref)), "[", own("p"), "] = ", slot("ahead", ref, own("p")),
                      ";");
        });
        out_.close();
        out_.line("__syncwarp();");
    }
    fetch_ahead("next", "next_count");
}

void PanelPacks::end_turn() {
    for (const OperandRef& ref : inputs_)
        out_.line(own("from_" + name(ref)), " = ", own("next_" + name(ref)), ";");
    out_.line(own("count"), " = ", own("next_count"), ";");
}

std::string PanelPacks::goes(const OperandRef& ref) const { return own(join("goes_", name(ref))); }

std::string PanelPacks::way(const OperandRef& ref) const { return own(join("way_", name(ref))); }

void PanelPacks::start_at(bool stores, bool loads, const std::string& pack) {
    out_.open();
    each_going(stores, loads, [&](const OperandRef& ref, std::string_view line) {
        const std::string number = join("(", pack, " * ", own("group"), " + ", own("thread"), ")");
        out_.line("auto ", goes(ref), " = ", place_of(line, ref, number), ";");
        out_.line("const ", signed_, " ", way(ref), " = ", step(ref), " * ",
                  as_signed(own("group")), ";");
    });
}

void PanelPacks::go_on(bool stores, bool loads, int packs) {
    each_going(stores, loads, [&](const OperandRef& ref, std::string_view) {
        out_.line(goes(ref), " = ", at_byte(goes(ref), join(packs, " * ", way(ref))), ";");
    });
}

std::string PanelPacks::gone_to(const OperandRef& ref, int place) const {
    return place == 0 ? goes(ref) : at_byte(goes(ref), way(ref));
}

} // namespace quern
