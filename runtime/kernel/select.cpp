// Plans a selection, finds or compiles its kernels, and launches them: one, or where blocks share a
// row two for each digit, on a CPU three in all.
#include "runtime/kernel/select.h"

#include "compiler/base/text.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/program.h"
#include "runtime/kernel/raw.h"
#include "runtime/kernel/room.h"
#include "runtime/kernel/sort.h"
#include "runtime/memory/copy.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

namespace quern {
namespace {

// The kernels of one text, in the order of their launches.
using Kernels = std::vector<std::unique_ptr<RawKernel>>;

Kernels make_kernels(DType value, DType result, const SelectLayout& layout) {
    RawSource source;
    source.code = emit_select(value, result, layout);
    source.label = "quern_select.cu";
    source.options = {"--fmad=false"};
    const auto program = std::make_shared<RawProgram>(std::move(source), "quern_select");
    const auto kernels = [&](std::initializer_list<const char*> names) {
        Kernels made;
        for (const char* name : names)
            made.push_back(std::make_unique<RawKernel>(program, name));
        return made;
    };
    switch (layout.road) {
    case SelectRoad::brief_rows:
    case SelectRoad::short_rows:
        return kernels({"quern_select_short"});
    case SelectRoad::whole_rows:
        return kernels({"quern_select_rows"});
    case SelectRoad::split_rows:
        break;
    }
    return layout.threads
               ? kernels({"quern_select_count", "quern_select_choose"})
               : kernels({"quern_select_brackets", "quern_select_gather", "quern_select_finish"});
}

Kernels& kernels_of(DType value, DType result, const SelectLayout& layout) {
    using Key = std::tuple<DType, DType, SelectRoad, bool, int, int, int, int>;
    static std::mutex mutex;
    static auto* const all = new std::map<Key, Kernels>;
    const std::lock_guard lock(mutex);
    const Key key{value,          result,         layout.road,
                  layout.threads, layout.vectors, layout.digit_bits,
                  layout.targets, layout.held};
    const auto found = all->find(key);
    return found != all->end()
               ? found->second
               : all->emplace(key, make_kernels(value, result, layout)).first->second;
}

SelectPlan plan_of(const Array& rows, const Array& q, const SelectCall& call) {
    SelectRequest request;
    request.rows = rows.shape()[0];
    request.length = rows.shape()[1];
    request.places = q.size();
    request.item_bytes = row(rows.dtype()).bytes;
    request.target = plan_target(rows.device());
    request.vector_bytes = moved_vector_bytes(rows.device());
    request.processors = rows.device().properties().multiprocessors;
    request.force_splits = call.splits;
    return plan_select(request);
}

// The rows that are picked from: on GPUs short ones are sorted before.
Array prepared(const Array& rows, const SelectLayout& layout, CUstream stream,
               void (*on_wait)(bool entering)) {
    if (layout.road != SelectRoad::short_rows || !layout.threads)
        return rows;
    Array sorted = Array::empty(rows.device(), rows.dtype(), rows.shape(), stream);
    SortCall call;
    call.stream = stream;
    call.gpu_layout = true;
    sort_rows(rows, &sorted, nullptr, nullptr, call, on_wait);
    keep_for_graph(rows.device(), stream, sorted);
    return sorted;
}

// One selection on its way.
class Selection {
  public:
    Selection(const Array& rows, const Array& q, const Array& out, const SelectCall& call,
              void (*on_wait)(bool))
        : rows_(rows), q_(q), out_(out), call_(call), device_(rows.device()),
          plan_(plan_of(rows, q, call)),
          kernels_(kernels_of(rows.dtype(), out.dtype(), plan_.layout)),
          method_(number(static_cast<int>(call.method))), skip_(number(call.skip_nan)) {
        hooks_.on_wait = on_wait;
    }

    void run() {
        if (plan_.layout.road != SelectRoad::split_rows)
            whole_rows();
        else if (plan_.layout.threads)
            split_rows_of_threads();
        else
            split_rows();
        room_.keep();
    }

  private:
    [[nodiscard]] std::int64_t count() const { return rows_.shape()[0]; }
    [[nodiscard]] std::int64_t length() const { return rows_.shape()[1]; }
    [[nodiscard]] std::int64_t places() const { return q_.size(); }
    void run(std::size_t kernel, std::span<const Argument> args, std::int64_t grid) {
        RawLaunch launch;
        launch.grid = {static_cast<unsigned>(grid), 1, 1};
        launch.block = {plan_.block, 1, 1};
        launch.has_stream = true;
        launch.stream = call_.stream;
        (*kernels_[kernel])(args, launch, hooks_);
    }
    void run(std::size_t kernel, std::initializer_list<Argument> args, std::int64_t grid) {
        run(kernel, std::span(args.begin(), args.size()), grid);
    }
    const Array& cleared(std::int64_t bytes) {
        const Array& made = room_.make(DType::uint8, bytes);
        fill_bytes(device_, made.address(), 0, static_cast<std::size_t>(bytes), call_.stream);
        return made;
    }

    void whole_rows() {
        const Array from = prepared(rows_, plan_.layout, call_.stream, hooks_.on_wait);
        const bool by_pivots = plan_.layout.road == SelectRoad::whole_rows && !plan_.layout.threads;
        const std::int64_t rooms = by_pivots ? 2 * plan_.grid : 0;
        const Array* const values =
            by_pivots ? &room_.make(rows_.dtype(), rooms * length()) : nullptr;
        const Array* const ranks =
            by_pivots ? &room_.make(DType::int64, rooms * places()) : nullptr;
        const Argument args[] = {Argument::of(from),
                                 number(count()),
                                 number(length()),
                                 Argument::of(q_),
                                 number(places()),
                                 Argument::of(out_),
                                 method_,
                                 skip_,
                                 array_or_null(values),
                                 array_or_null(ranks),
                                 number(plan_.sampled)};
        run(0, std::span(args).first(by_pivots ? 11 : 8), plan_.grid);
    }

    void split_rows_of_threads() {
        const Array &searches = cleared(count() * select_search_bytes(plan_.layout)),
                    &tables = cleared(count() * select_table_bytes(plan_.layout, plan_.splits));
        const int bits = 8 * row(rows_.dtype()).bytes;
        for (std::int64_t first = 0; first < places(); first += plan_.layout.targets / 2)
            for (int left = bits; left > 0; left -= plan_.layout.digit_bits) {
                run(0,
                    {Argument::of(rows_), number(length()), number(plan_.splits),
                     number(plan_.chunk), Argument::of(searches), Argument::of(tables),
                     number(left)},
                    plan_.grid);
                run(1,
                    {number(count()), number(length()), Argument::of(q_), number(places()),
                     number(first), Argument::of(out_), method_, skip_, Argument::of(searches),
                     Argument::of(tables), number(left)},
                    count());
            }
    }

    void split_rows() {
        const Array &searches =
                        room_.make(DType::uint8, count() * select_search_bytes(plan_.layout)),
                    &parts = room_.make(DType::uint8,
                                        count() * select_table_bytes(plan_.layout, plan_.splits)),
                    &lists = room_.make(rows_.dtype(), 2 * rows_.size()),
                    &ranks = room_.make(DType::int64, 2 * count() * places());
        run(0,
            {Argument::of(rows_), number(length()), Argument::of(q_), number(places()), method_,
             skip_, Argument::of(searches), Argument::of(lists), Argument::of(ranks),
             number(plan_.sampled)},
            count());
        run(1,
            {Argument::of(rows_), number(length()), number(plan_.splits), number(plan_.chunk),
             Argument::of(searches), Argument::of(parts), Argument::of(lists)},
            plan_.grid);
        run(2,
            {Argument::of(rows_), number(count()), number(length()), Argument::of(q_),
             number(places()), Argument::of(out_), method_, skip_, Argument::of(searches),
             Argument::of(parts), number(plan_.splits), number(plan_.chunk), Argument::of(lists),
             Argument::of(ranks)},
            count());
    }

    const Array &rows_, &q_, &out_;
    const SelectCall& call_;
    Device& device_;
    SelectPlan plan_;
    Kernels& kernels_;
    Argument method_, skip_;
    CallHooks hooks_;
    Room room_{device_, call_.stream};
};

} // namespace

void select(const Array& rows, const Array& q, const Array& out, const SelectCall& call,
            void (*on_wait)(bool entering)) {
    if (out.size() > 0)
        Selection(rows, q, out, call, on_wait).run();
}

std::string explain_select(const Array& rows, const Array& q, const SelectCall& call) {
    const SelectPlan plan = plan_of(rows, q, call);
    std::string text =
        join("selection on ", rows.device().name(), ": ", rows.shape()[0], " rows of ",
             rows.shape()[1], " elements, ", q.size(), " places\n  plan: ", describe(plan),
             "\n  launch: ", plan.grid, " blocks of ", plan.block, " threads");
    if (plan.layout.road == SelectRoad::split_rows)
        text += join("; ", plan.splits, " blocks share a row");
    return text;
}

} // namespace quern
