// The packs of panels: where they lie and come from, and how they follow one another.
//
// A warp has parts of the rows across a panel, a thread neighbouring columns of them: first packs
// in registers, then packs that are parked in shared memory. As soon as a pack's results are
// stored, it is that of the next panel; the first ones of that are in shared memory by then, for
// nothing may come while the blocks of a cluster wait for each other.
#pragma once
#include "compiler/codegen/row_texts.h"

#include <functional>
#include <string>
#include <string_view>

namespace quern {

class PanelPacks : protected RowTexts {
  protected:
    using RowTexts::RowTexts;
    using Place = std::function<std::string(const OperandRef&)>;

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
    template <class Visit> void each_held_input(const Visit& visit) const {
        int k = 0;
        for (const OperandRef& ref : inputs_)
            if (!is_single(ref))
                visit(ref, k++);
    }

    // The bytes of shared memory in which the threads of a walk join.
    [[nodiscard]] std::string join_room(std::size_t k, std::size_t joins) const;

    // What a thread has a part of; where things are in shared memory.
    void places();
    // By the first column of a panel: where its elements begin.
    void lines();
    // Which columns a cluster has in its turns. Half of those which have some of the last round
    // begin with them: while their blocks wait for each other the others' store.
    void rounds();
    void fetch_parked(std::string_view from, std::string_view columns);
    // Pack `p` of a panel, the row's pack `number`, from where it is into its registers: unless it
    // came ahead.
    void load(const std::string& number, const std::string& p, const Place& place,
              std::string_view columns);
    void first_panel();
    [[nodiscard]] std::string slot(std::string_view where, const OperandRef& ref,
                                   const std::string& k) const;
    // What was asked for earlier is there, except for the last request.
    void await_fetches();
    // What is to be known of a turn and the next one; what came ahead of time is in registers, and
    // the next panel's first packs are on their way.
    void begin_turn();
    void end_turn();
    // Pointers that go on from pack to pack, in place of an offset for each: to where results are
    // stored, and from where the next panel's packs come into registers.
    // They begin at a pack, in a scope of their own.
    void start_at(bool stores, bool loads, const std::string& pack);
    void go_on(bool stores, bool loads, int packs);
    // Where the first or second of two packs is.
    [[nodiscard]] std::string gone_to(const OperandRef& ref, int place) const;

  private:
    void steps();
    // Packs [first, first + count) of a panel on their way to shared memory.
    void fetch(std::string_view where, const std::string& first, const std::string& count,
               std::string_view from, std::string_view columns);
    void fetch_ahead(std::string_view from, std::string_view columns);
    // A thread's part of its pack `number`, in the panel that begins there.
    [[nodiscard]] std::string place_of(std::string_view line, const OperandRef& ref,
                                       const std::string& number) const;
    [[nodiscard]] std::string goes(const OperandRef& ref) const;
    // From one pack to the next.
    [[nodiscard]] std::string way(const OperandRef& ref) const;
    template <class Visit> void each_going(bool stores, bool loads, const Visit& visit) const {
        if (stores)
            each_stored([&](const OperandRef& ref) { visit(ref, "to"); });
        if (loads)
            each_held_input([&](const OperandRef& ref, int) { visit(ref, "next"); });
    }
};

} // namespace quern
