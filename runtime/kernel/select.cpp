// Plans a selection, finds or compiles its kernels, and launches them once, or twice for each
// digit where blocks share a row.
#include "runtime/kernel/select.h"

#include "compiler/base/text.h"
#include "runtime/driver/check.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/program.h"
#include "runtime/kernel/raw.h"
#include "runtime/kernel/sort.h"
#include "runtime/memory/copy.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>

namespace quern {
namespace {

// The kernels of one text; one of them, or the two of split rows.
struct Kernels {
    std::unique_ptr<RawKernel> first, second;
};

Kernels make_kernels(DType value, DType result, const SelectLayout& layout) {
    RawSource source;
    source.code = emit_select(value, result, layout);
    source.label = "quern_select.cu";
    source.options = {"--fmad=false"};
    const auto program = std::make_shared<RawProgram>(std::move(source), "quern_select");
    const auto kernel = [&](const char* name) {
        return std::make_unique<RawKernel>(program, name);
    };
    switch (layout.road) {
    case SelectRoad::brief_rows:
    case SelectRoad::short_rows:
        return {kernel("quern_select_short"), nullptr};
    case SelectRoad::whole_rows:
        return {kernel("quern_select_rows"), nullptr};
    case SelectRoad::split_rows:
        break;
    }
    return {kernel("quern_select_count"), kernel("quern_select_choose")};
}

Kernels& kernels_of(DType value, DType result, const SelectLayout& layout) {
    using Key = std::tuple<DType, DType, SelectRoad, bool, bool, int, int, int>;
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
    request.vectors = moved_vector_bytes(rows.device()) > 0;
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
    keep_for_graph(rows.device(), stream, std::make_shared<const Array>(sorted));
    return sorted;
}

} // namespace

void select(const Array& rows, const Array& q, const Array& out, const SelectCall& call,
            void (*on_wait)(bool entering)) {
    if (out.size() == 0)
        return;
    Device& device = rows.device();
    const SelectPlan plan = plan_of(rows, q, call);
    Kernels& kernels = kernels_of(rows.dtype(), out.dtype(), plan.layout);
    const std::int64_t count = rows.shape()[0], length = rows.shape()[1], places = q.size();
    RawLaunch launch;
    launch.grid = {plan.grid, 1, 1};
    launch.block = {plan.block, 1, 1};
    launch.has_stream = true;
    launch.stream = call.stream;
    CallHooks hooks;
    hooks.on_wait = on_wait;
    const auto method = number(static_cast<int>(call.method)), skip = number(call.skip_nan);
    if (plan.layout.road != SelectRoad::split_rows) {
        const Array from = prepared(rows, plan.layout, call.stream, on_wait);
        const bool has_room = plan.layout.road == SelectRoad::whole_rows && !plan.layout.threads;
        const Array room = Array::empty(device, rows.dtype(),
                                        Dims{has_room ? 2 * plan.grid * length : 0}, call.stream),
                    ranks = Array::empty(device, DType::int64,
                                         Dims{has_room ? 2 * plan.grid * places : 0}, call.stream);
        const Argument args[] = {
            Argument::of(from), number(count),      number(length), Argument::of(q),
            number(places),     Argument::of(out),  method,         skip,
            Argument::of(room), Argument::of(ranks)};
        (*kernels.first)(std::span(args).first(has_room ? 10 : 8), launch, hooks);
        if (has_room)
            for (const Array* made : {&room, &ranks})
                keep_for_graph(device, call.stream, std::make_shared<const Array>(*made));
        return;
    }
    const auto room = [&](std::int64_t bytes) {
        Array made = Array::empty(device, DType::uint8, Dims{count * bytes}, call.stream);
        fill_bytes(device, made.address(), 0, static_cast<std::size_t>(made.nbytes()), call.stream);
        return made;
    };
    Array searches = room(select_search_bytes(plan.layout)),
          tables = room(select_table_bytes(plan.layout));
    RawLaunch choosing = launch;
    choosing.grid = {static_cast<unsigned>(count), 1, 1};
    const int bits = 8 * row(rows.dtype()).bytes;
    for (std::int64_t first = 0; first < places; first += plan.layout.targets / 2)
        for (int left = bits; left > 0; left -= plan.layout.digit_bits) {
            const Argument counting[] = {
                Argument::of(rows), number(length),         number(plan.splits),
                number(plan.chunk), Argument::of(searches), Argument::of(tables),
                number(left)};
            (*kernels.first)(counting, launch, hooks);
            const Argument going_on[] = {
                number(count),          number(length),       Argument::of(q), number(places),
                number(first),          Argument::of(out),    method,          skip,
                Argument::of(searches), Argument::of(tables), number(left)};
            (*kernels.second)(going_on, choosing, hooks);
        }
    for (Array* made : {&searches, &tables})
        keep_for_graph(device, call.stream, std::make_shared<const Array>(std::move(*made)));
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
