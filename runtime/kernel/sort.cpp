// Plans a sort, makes its room and launches its kernels: one, or one for each digit where blocks
// share a row.
#include "runtime/kernel/sort.h"

#include "compiler/base/text.h"
#include "runtime/array/views.h"
#include "runtime/kernel/program.h"
#include "runtime/kernel/room.h"
#include "runtime/memory/copy.h"

#include <bit>
#include <utility>
#include <vector>

namespace quern {
namespace {

SortPlan plan_of(const Array& rows, bool pairs, const SortCall& call) {
    SortRequest request;
    request.rows = rows.shape()[0];
    request.length = rows.shape()[1];
    request.item_bytes = row(rows.dtype()).bytes;
    request.pairs = pairs;
    if (request.item_bytes >= 4 && row(rows.dtype()).kind != Kind::complex)
        request.vector_bytes = moved_vector_bytes(rows.device());
    request.target = call.gpu_layout ? Target::gpu : rows.device().arch().target;
    request.processors = rows.device().properties().multiprocessors;
    request.key_bits = call.key_bits;
    request.force = call.road;
    request.force_held = call.held;
    request.force_block = call.block;
    return plan_sort(request);
}

// One sort on its way.
class Sort {
  public:
    Sort(const Array& rows, const Array* values, const Array* places, const Array* given,
         const SortCall& call, void (*on_wait)(bool))
        : rows_(rows), values_(values), places_(places), given_(given), call_(call),
          device_(rows.device()), plan_(plan_of(rows, places != nullptr, call)),
          numbers_(sort_numbers(plan_.layout)),
          type_(rows.dtype()), launch_{device_, call.stream, plan_.grid,
                                       plan_.layout.threads ? plan_.layout.block : 1U, on_wait} {}

    void run() {
        switch (plan_.layout.road) {
        case SortRoad::short_rows:
            run("quern_sort_short",
                {{Argument::of(rows_), array_or_null(values_), array_or_null(given_),
                  array_or_null(places_), number(count()), number(length()),
                  number(plan_.rows_per_block)}});
            break;
        case SortRoad::whole_rows:
            plan_.layout.threads ? whole_rows_of_threads() : whole_rows();
            break;
        case SortRoad::split_rows:
            plan_.layout.threads ? split_rows_of_threads() : split_rows();
            break;
        case SortRoad::dealt_rows:
            dealt_rows();
            break;
        }
        room_.keep();
    }

  private:
    [[nodiscard]] std::int64_t count() const { return rows_.shape()[0]; }
    [[nodiscard]] std::int64_t length() const { return rows_.shape()[1]; }
    [[nodiscard]] std::int64_t key_bits() const {
        return std::int64_t{sort_digit_bits} * plan_.passes;
    }
    void run(std::string_view kernel, const std::vector<Argument>& args) {
        run(kernel, args, launch_.grid);
    }
    void run(std::string_view kernel, const std::vector<Argument>& args, std::uint32_t grid) {
        ProgramLaunch launch = launch_;
        launch.grid = grid;
        launch_program({"quern/sort.cuh", {&type_, 1}, numbers_}, kernel, args, launch);
    }
    const Array* room(DType dtype, std::int64_t elements) { return &room_.make(dtype, elements); }
    const Array* room_for_values() { return room(type_, rows_.size()); }
    const Array* room_for_places() {
        return places_ == nullptr ? nullptr : room(place_type(), rows_.size());
    }
    [[nodiscard]] DType place_type() const {
        return plan_.layout.wide ? DType::int64 : DType::uint32;
    }

    // What passes before the last write, in turn; where the values are wanted every other one
    // writes there. So do merges, which need `all`.
    struct Between {
        const Array *spare = nullptr, *second = nullptr, *here = nullptr, *there = nullptr;
    };
    Between make_between(bool all) {
        Between made;
        made.second = values_;
        if (plan_.passes > 1 || all) {
            made.spare = room_for_values();
            made.here = room_for_places();
        }
        if (plan_.passes > 2 || all) {
            made.there = room_for_places();
            if (values_ == nullptr)
                made.second = room_for_values();
        }
        return made;
    }

    // What is seen of the parts of rows first, in as much room for each; then, with room for what
    // is astray, those that are made of few runs are sorted by themselves, and merged.
    static constexpr std::int64_t look_bytes = 512;
    void look(const Array* astray, const Array& looks, const Between& between) {
        const std::int64_t levels = std::bit_width(static_cast<std::uint64_t>(plan_.splits - 1));
        const auto look_or_sort = [&](const char* kernel) {
            run(kernel,
                {Argument::of(rows_), array_or_null(astray), Argument::of(looks),
                 array_or_null(between.second), array_or_null(between.spare),
                 array_or_null(between.here), array_or_null(between.there), number(length()),
                 number(plan_.splits), number(plan_.tile), number(levels)});
        };
        look_or_sort("quern_sort_look");
        if (astray == nullptr)
            return;
        look_or_sort("quern_sort_part");
        for (std::int64_t level = 0; level < levels; ++level)
            run("quern_sort_merge",
                {Argument::of(rows_), Argument::of(looks), array_or_null(between.second),
                 number(values_ != nullptr), array_or_null(between.spare),
                 array_or_null(between.here), array_or_null(between.there), array_or_null(given_),
                 array_or_null(places_), number(length()), number(plan_.splits), number(plan_.tile),
                 number(level), number(levels)});
    }

    void whole_rows_of_threads() {
        run("quern_sort_rows",
            {{Argument::of(rows_), array_or_null(values_), array_or_null(given_),
              array_or_null(places_), number(count()), number(length()), number(key_bits())}});
    }
    // A block has room for a row beside the one where its result goes.
    void whole_rows() {
        const std::int64_t elements = plan_.grid * length();
        const Array* const spare = room(type_, elements);
        const Array* const second = values_ == nullptr ? room(type_, elements) : nullptr;
        const Array *here = nullptr, *there = nullptr;
        if (places_ != nullptr) {
            here = room(place_type(), elements);
            there = room(place_type(), elements);
        }
        run("quern_sort_rows", {{Argument::of(rows_), array_or_null(values_), array_or_null(spare),
                                 array_or_null(second), array_or_null(here), array_or_null(there),
                                 array_or_null(given_), array_or_null(places_), number(count()),
                                 number(length()), number(plan_.rows_per_block)}});
    }

    // Parts of a row are dealt out into cells, and cells sorted, each like a row.
    void dealt_rows() {
        constexpr std::int64_t splitters_bytes =
            65 * 16; // 64 keys, of the widest type, and a range
        const std::int64_t cells = plan_.cells, entries = cells * plan_.splits;
        const Array &splitters = *room(DType::uint8, count() * splitters_bytes),
                    &cell_of = *room(DType::uint8, rows_.size()),
                    &looks = *room(DType::uint8, count() * plan_.splits * look_bytes),
                    &counts =
                        *room(plan_.layout.wide ? DType::uint64 : DType::uint32, count() * entries),
                    &dealt = *room_for_values();
        const Array* const places = room_for_places();
        const Between between = make_between(true);
        look(&cell_of, looks, between);
        run("quern_sort_splitters",
            {Argument::of(rows_), Argument::of(cell_of), Argument::of(looks),
             Argument::of(splitters), number(length()), number(plan_.splits), number(cells)},
            static_cast<std::uint32_t>(count()));
        run("quern_sort_count", {Argument::of(rows_), Argument::of(cell_of),
                                 Argument::of(splitters), Argument::of(counts), number(length()),
                                 number(plan_.splits), number(plan_.tile), number(cells)});
        run("quern_sort_offsets", {Argument::of(counts), number(entries)},
            static_cast<std::uint32_t>(count()));
        run("quern_sort_deal",
            {Argument::of(rows_), Argument::of(cell_of), Argument::of(splitters),
             Argument::of(dealt), array_or_null(places), Argument::of(counts), number(length()),
             number(plan_.splits), number(plan_.tile), number(cells)});
        run("quern_sort_cells",
            {Argument::of(rows_), Argument::of(dealt), Argument::of(cell_of), Argument::of(looks),
             Argument::of(splitters), array_or_null(places), array_or_null(between.second),
             number(values_ != nullptr), array_or_null(between.spare), array_or_null(between.here),
             array_or_null(between.there), array_or_null(given_), array_or_null(places_),
             Argument::of(counts), number(length()), number(plan_.splits), number(cells)},
            static_cast<std::uint32_t>(count() * cells));
    }
    void split_rows() {
        const Array& counts = *room(plan_.layout.wide ? DType::uint64 : DType::uint32,
                                    (count() * plan_.splits) << sort_digit_bits);
        const Array& looks = *room(DType::uint8, count() * plan_.splits * look_bytes);
        const bool merges = places_ != nullptr;
        const Between between = make_between(merges);
        const Array* const astray = merges ? room(DType::uint8, rows_.size()) : nullptr;
        look(astray, looks, between);
        for (int k = 0; k < plan_.passes; ++k) {
            run("quern_sort_count",
                {Argument::of(rows_), array_or_null(between.spare), array_or_null(between.second),
                 Argument::of(looks), number(length()), number(plan_.splits), number(plan_.tile),
                 Argument::of(counts), number(k), number(plan_.passes)});
            run("quern_sort_offsets",
                {Argument::of(counts), number(plan_.splits << sort_digit_bits)},
                static_cast<std::uint32_t>(count()));
            run("quern_sort_pass",
                {Argument::of(rows_), array_or_null(values_), array_or_null(between.spare),
                 array_or_null(between.second), array_or_null(between.here),
                 array_or_null(between.there), array_or_null(given_), array_or_null(places_),
                 Argument::of(looks), number(length()), number(plan_.splits), number(plan_.tile),
                 Argument::of(counts), number(k), number(plan_.passes)});
        }
    }
    void split_rows_of_threads() {
        const DType counter = plan_.layout.wide ? DType::uint64 : DType::uint32;
        const std::int64_t totals_bytes = count() * plan_.passes * 256 * 8, tickets_bytes = 64,
                           live_bytes = (count() + 15) / 16 * 64,
                           told_at = totals_bytes + live_bytes + tickets_bytes,
                           tiles = count() * plan_.splits,
                           told_bytes = tiles * 256 * static_cast<std::int64_t>(bytes_of(counter));
        const Array room = *this->room(DType::uint8, told_at + 2 * told_bytes);
        fill_bytes(device_, room.address(), 0, static_cast<std::size_t>(room.nbytes()),
                   call_.stream);
        const auto part = [&](DType dtype, std::int64_t at, std::int64_t elements) {
            return Array(room.buffer(), room.address() + static_cast<std::uint64_t>(at), dtype,
                         Dims{elements}, Dims{static_cast<std::int64_t>(bytes_of(dtype))});
        };
        const Array totals = part(DType::uint64, 0, totals_bytes / 8);
        const Array told[2] = {part(counter, told_at, tiles * 256),
                               part(counter, told_at + told_bytes, tiles * 256)};
        const Array live = part(DType::uint32, totals_bytes, count());
        constexpr std::int64_t counted = 4; // tiles of each block that counts
        const std::int64_t parts = (plan_.splits + counted - 1) / counted;
        run("quern_sort_count",
            {Argument::of(rows_), number(length()), number(parts), Argument::of(totals),
             number(key_bits())},
            static_cast<std::uint32_t>(count() * parts));
        if (bytes_of(type_) == 1 && places_ == nullptr) {
            run("quern_sort_fill",
                {Argument::of(*values_), number(length()), number(parts), Argument::of(totals)},
                static_cast<std::uint32_t>(count() * parts));
            return;
        }
        run("quern_sort_live",
            {Argument::of(totals), number(length()), number(plan_.passes), Argument::of(live)},
            static_cast<std::uint32_t>(count()));
        const Between between = make_between(false);
        for (int k = 0; k < plan_.passes; ++k) {
            const Array ticket = part(DType::uint32, totals_bytes + live_bytes + 4 * k, 1);
            run("quern_sort_pass",
                {Argument::of(rows_), array_or_null(values_), array_or_null(between.spare),
                 array_or_null(between.second), array_or_null(between.here),
                 array_or_null(between.there), array_or_null(given_), array_or_null(places_),
                 number(length()), number(plan_.splits), Argument::of(totals), Argument::of(live),
                 Argument::of(ticket), Argument::of(told[k % 2]), Argument::of(told[(k + 1) % 2]),
                 number(8 * k), number(plan_.passes)});
        }
    }

    const Array& rows_;
    const Array *values_, *places_, *given_;
    const SortCall& call_;
    Device& device_;
    SortPlan plan_;
    std::array<std::pair<std::string_view, int>, 7> numbers_;
    DType type_;
    ProgramLaunch launch_;
    Room room_{device_, call_.stream};
};

} // namespace

void sort_rows(const Array& rows, const Array* values, const Array* places, const Array* given,
               const SortCall& call, void (*on_wait)(bool entering)) {
    if (rows.size() > 0)
        Sort(rows, values, places, given, call, on_wait).run();
}

std::string explain_sort(const Array& rows, bool with_places, const SortCall& call) {
    const SortPlan plan = plan_of(rows, with_places, call);
    return join("sort on ", rows.device().name(), ": ", rows.shape()[0], " rows of ",
                rows.shape()[1], " elements\n  plan: ", describe(plan), "\n  launch: ", plan.grid,
                " blocks of ", plan.layout.threads ? plan.layout.block : 1, " threads");
}

} // namespace quern
