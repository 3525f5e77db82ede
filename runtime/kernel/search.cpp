// Launches of the prelude's searches and sets, and the one number that decides an output's size.
#include "runtime/kernel/search.h"

#include "runtime/kernel/cumulative.h"
#include "runtime/kernel/order.h"
#include "runtime/kernel/program.h"
#include "runtime/kernel/waiting.h"
#include "runtime/memory/copy.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <array>
#include <memory>

namespace quern {
namespace {

// Many threads, each with some of `count` iterations.
ProgramLaunch each(const Array& of, std::int64_t count, OnWait on_wait) {
    Device& device = of.device();
    ProgramLaunch launch{device, current_stream(device), 1, 1, on_wait};
    constexpr std::int64_t threads = 256, least_on_cpu = 1 << 14;
    const std::int64_t processors = device.properties().multiprocessors;
    launch.block = device.is_cpu() ? 1 : threads;
    launch.grid = static_cast<std::uint32_t>(
        device.is_cpu()
            ? std::clamp<std::int64_t>(count / least_on_cpu, 1, processors)
            : std::clamp<std::int64_t>((count + threads - 1) / threads, 1, 32 * processors));
    return launch;
}

void run_sets(const Array& of, std::int64_t count, const char* kernel,
              std::span<const Argument> args, OnWait on_wait) {
    const DType types[] = {of.dtype()};
    launch_program({"quern/sets.cuh", types}, kernel, args, each(of, count, on_wait));
}

Array make(const Array& like, DType dtype, const Dims& shape) {
    return Array::empty(like.device(), dtype, shape, current_stream(like.device()));
}

Array search(const Array& sorted, const Array& wanted, int mode, const Array* sorter,
             OnWait on_wait) {
    Array made = make(wanted, mode < 2 ? DType::int64 : DType::boolean, wanted.shape());
    if (made.size() == 0)
        return made;
    const DType types[] = {sorted.dtype()};
    const std::array<std::pair<std::string_view, int>, 1> numbers{{{"QUERN_SEARCH_MODE", mode}}};
    const Argument args[] = {Argument::of(sorted),
                             number(sorted.size()),
                             array_or_null(sorter),
                             Argument::of(wanted),
                             number(wanted.size()),
                             array_or_null(mode < 2 ? &made : nullptr),
                             array_or_null(mode < 2 ? nullptr : &made)};
    launch_program({"quern/search.cuh", types, numbers}, "quern_search", args,
                   each(wanted, wanted.size(), on_wait));
    return made;
}

Array heads_of(const Array& sorted, bool one_nan, bool lonely, OnWait on_wait) {
    const Array heads = make(sorted, DType::boolean, sorted.shape());
    const Argument args[] = {Argument::of(sorted), number(sorted.size()), Argument::of(heads),
                             number(one_nan), number(lonely)};
    run_sets(sorted, sorted.size(), "quern_heads", args, on_wait);
    return heads;
}

// How many of `mask` are true up to each element, and in all.
struct Ordinals {
    Array upto;
    std::int64_t total = 0;
};
Ordinals number_true(const Array& mask, OnWait on_wait) {
    CumulativeCall call;
    call.axis = 0;
    call.dtype = DType::int64;
    Ordinals made{cumulative(ScanOp::sum, mask, call, on_wait)};
    const Waiting waiting(on_wait);
    copy_to_host(mask.device(), &made.total,
                 made.upto.address() + static_cast<std::uint64_t>(mask.size() - 1) * 8, 8,
                 current_stream(mask.device()));
    return made;
}

} // namespace

Array search_sorted(const Array& sorted, const Array& wanted, Side side, const Array* sorter,
                    OnWait on_wait) {
    return search(sorted, wanted, side == Side::right, sorter, on_wait);
}

Array is_in(const Array& sorted, const Array& wanted, bool invert, OnWait on_wait) {
    return search(sorted, wanted, invert ? 3 : 2, nullptr, on_wait);
}

Distinct distinct(const Array& a, const DistinctCall& call, OnWait on_wait) {
    const bool with_places = call.firsts || call.inverse;
    std::optional<Array> places;
    const auto sorted = [&] {
        if (!with_places)
            return sort(a, 0, {}, on_wait);
        SortedWithPlaces made = sort_with_places(a, nullptr, {}, on_wait);
        places = std::move(made.places);
        return std::move(made.values);
    }();
    const std::int64_t count = a.size();
    Ordinals ordinals{make(a, DType::int64, Dims{0})};
    std::optional<Array> heads;
    if (count > 0) {
        heads = heads_of(sorted, call.one_nan, false, on_wait);
        ordinals = number_true(*heads, on_wait);
    }
    const Dims kept{ordinals.total};
    Distinct made{make(a, a.dtype(), kept), {}, {}, {}};
    std::optional<Array> begins;
    if (call.firsts)
        made.firsts = make(a, DType::int64, kept);
    if (call.inverse)
        made.inverse = make(a, DType::int64, a.shape());
    if (call.counts) {
        made.counts = make(a, DType::int64, kept);
        begins = make(a, DType::int64, kept);
    }
    if (count == 0)
        return made;
    const auto given = [](const std::optional<Array>& array) {
        return array_or_null(array ? &*array : nullptr);
    };
    const Argument args[] = {
        Argument::of(sorted), Argument::of(*heads), Argument::of(ordinals.upto),
        given(places),        number(count),        Argument::of(made.values),
        given(begins),        given(made.firsts),   given(made.inverse)};
    run_sets(a, count, "quern_keep", args, on_wait);
    if (begins) {
        const Argument lengths[] = {Argument::of(*begins), number(ordinals.total), number(count),
                                    Argument::of(*made.counts)};
        run_sets(a, ordinals.total, "quern_runs", lengths, on_wait);
    }
    return made;
}

Array lonely(const Array& sorted, OnWait on_wait) {
    return sorted.size() == 0 ? make(sorted, DType::boolean, sorted.shape())
                              : heads_of(sorted, false, true, on_wait);
}

} // namespace quern
