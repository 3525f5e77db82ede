// Launches of the prelude's searches and sets, and the one number that decides an output's size.
#include "runtime/kernel/search.h"

#include "runtime/kernel/cumulative.h"
#include "runtime/kernel/masks.h"
#include "runtime/kernel/order.h"
#include "runtime/kernel/program.h"
#include "runtime/kernel/waiting.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

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

// GPUs, many searches: in how many parts of `sorted` the ends are kept in shared memory; 0 for
// none. Where there is room each value is a part, and one part more lies behind them.
constexpr int search_room = 16384; // bytes of shared memory
std::int64_t parts_of(const Array& sorted, const Array& wanted) {
    constexpr std::int64_t worth_it = 1 << 16;
    if (wanted.device().is_cpu() || wanted.size() < worth_it)
        return 0;
    const std::int64_t most = search_room / row(sorted.dtype()).bytes;
    return std::min(most, static_cast<std::int64_t>(std::bit_ceil(
                              static_cast<std::uint64_t>(std::min(sorted.size(), most)) + 1)));
}

// Launches a search of all of `wanted`, with `ends` behind what every search is told.
void run_search(const char* kernel, const Array& sorted, const Array& wanted, const Array* sorter,
                std::pair<std::string_view, int> how, std::span<const Argument> ends,
                OnWait on_wait) {
    const DType types[] = {sorted.dtype()};
    const std::int64_t parts = sorter != nullptr ? 0 : parts_of(sorted, wanted);
    const std::array numbers{
        how, std::pair<std::string_view, int>{"QUERN_SEARCH_TOP", parts > 0 ? search_room : 0}};
    ProgramLaunch launch = each(wanted, wanted.size(), on_wait);
    if (parts > 0) { // few blocks, for each makes a top of its own
        launch.block = 512;
        launch.grid =
            std::min(launch.grid / 2 + 1,
                     4U * static_cast<std::uint32_t>(wanted.device().properties().multiprocessors));
    }
    std::vector<Argument> args{Argument::of(sorted), number(sorted.size()), array_or_null(sorter),
                               Argument::of(wanted), number(wanted.size()), number(parts)};
    args.insert(args.end(), ends.begin(), ends.end());
    launch_program({"quern/search.cuh", types, numbers}, kernel, args, launch);
}

Array search(const Array& sorted, const Array& wanted, int mode, const Array* sorter,
             OnWait on_wait) {
    Array made = make(wanted, mode < 2 ? DType::int64 : DType::boolean, wanted.shape());
    if (made.size() == 0)
        return made;
    const Argument ends[] = {array_or_null(mode < 2 ? &made : nullptr),
                             array_or_null(mode < 2 ? nullptr : &made)};
    run_search("quern_search", sorted, wanted, sorter, {"QUERN_SEARCH_MODE", mode}, ends, on_wait);
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
    const auto last = static_cast<std::uint64_t>(mask.size() - 1) * sizeof made.total;
    made.total = read_back<std::int64_t>(mask.device(), made.upto.address() + last, on_wait);
    return made;
}

// Blocks of one thread that share `count` elements of a sorted array on a CPU.
struct Chunks {
    std::int64_t blocks, chunk;
    Chunks(const Device& device, std::int64_t count) {
        constexpr std::int64_t worth_a_block = 1 << 16;
        blocks =
            std::clamp<std::int64_t>(count / worth_a_block, 1, device.properties().multiprocessors);
        chunk = (count + blocks - 1) / blocks;
        blocks = (count + chunk - 1) / chunk;
    }
};

// The distinct values of a sorted array on a CPU: counted, and then written to where they belong.
Array keep_distinct(const Array& sorted, bool one_nan, OnWait on_wait) {
    Device& device = sorted.device();
    const CUstream stream = current_stream(device);
    const Chunks chunks(device, sorted.size());
    const Array ends = make(sorted, DType::int64, Dims{chunks.blocks});
    const DType types[] = {sorted.dtype()};
    const ProgramLaunch launch{device, stream, static_cast<std::uint32_t>(chunks.blocks), 1,
                               on_wait};
    const Argument counting[] = {Argument::of(sorted), number(sorted.size()), number(chunks.chunk),
                                 number(one_nan), Argument::of(ends)};
    launch_program({"quern/sets.cuh", types}, "quern_count_heads", counting, launch);
    wait_here(device, on_wait);
    // A CPU's memory is the host's.
    const std::span<std::int64_t> upto(reinterpret_cast<std::int64_t*>(ends.address()),
                                       static_cast<std::size_t>(chunks.blocks));
    std::partial_sum(upto.begin(), upto.end(), upto.begin());
    Array kept = make(sorted, sorted.dtype(), Dims{upto.back()});
    const Argument keeping[] = {Argument::of(sorted), number(sorted.size()), number(chunks.chunk),
                                number(one_nan),      Argument::of(ends),    Argument::of(kept)};
    launch_program({"quern/sets.cuh", types}, "quern_keep_heads", keeping, launch);
    return kept;
}

// Whether sorted values are among others, on a CPU: both are walked along.
Array walk_along(const Array& sorted, const Array& wanted, bool invert, OnWait on_wait) {
    Device& device = sorted.device();
    Array found = make(wanted, DType::boolean, wanted.shape());
    if (wanted.size() == 0)
        return found;
    const Chunks chunks(device, sorted.size() + wanted.size());
    const DType types[] = {sorted.dtype()};
    const std::array<std::pair<std::string_view, int>, 1> numbers{{{"QUERN_SEARCH_MODE", 2}}};
    const Argument args[] = {Argument::of(sorted),  number(sorted.size()), Argument::of(wanted),
                             number(wanted.size()), Argument::of(found),   number(invert)};
    launch_program(
        {"quern/search.cuh", types, numbers}, "quern_walk", args,
        {device, current_stream(device), static_cast<std::uint32_t>(chunks.blocks), 1, on_wait});
    return found;
}

// By a table of bytes, on a CPU: nothing where `values` are no integers or lie too far apart.
std::optional<Array> look_up(const Array& values, const Array& wanted, bool invert,
                             OnWait on_wait) {
    const Kind kind = row(values.dtype()).kind;
    Device& device = values.device();
    if (!device.is_cpu() || kind == Kind::floating || kind == Kind::complex || values.size() == 0)
        return std::nullopt;
    const CUstream stream = current_stream(device);
    const DType types[] = {values.dtype()};
    const ProgramText program{"quern/table.cuh", types};
    const ProgramLaunch once{device, stream, 1, 1, on_wait};
    const Array range = make(values, DType::uint64, Dims{2});
    const Argument seen[] = {Argument::of(values), number(values.size()), Argument::of(range)};
    launch_program(program, "quern_find_range", seen, once);
    std::uint64_t ends[2];
    read_back(device, ends, range.address(), sizeof ends, on_wait);
    const std::uint64_t apart = ends[1] - ends[0];
    if (apart >= 6 * static_cast<std::uint64_t>(values.size() + wanted.size()))
        return std::nullopt;
    const auto size = static_cast<std::int64_t>(apart) + 1,
               least = static_cast<std::int64_t>(ends[0]);
    const Array table = make(values, DType::uint8, Dims{size + 1});
    const Argument making[] = {Argument::of(values), number(values.size()), number(least),
                               Argument::of(table), number(size)};
    launch_program(program, "quern_make_table", making, once);
    Array found = make(wanted, DType::boolean, wanted.shape());
    const Argument looking[] = {Argument::of(wanted), number(wanted.size()), number(least),
                                Argument::of(table),  number(size),          Argument::of(found),
                                number(invert)};
    launch_program(program, "quern_look_up", looking, each(wanted, wanted.size(), on_wait));
    return found;
}

} // namespace

Array search_sorted(const Array& sorted, const Array& wanted, Side side, const Array* sorter,
                    OnWait on_wait) {
    return search(sorted, wanted, side == Side::right, sorter, on_wait);
}

Array interpolate(const Array& x, const Array& xp, const Array& fp, const Array* left,
                  const Array* right, OnWait on_wait) {
    Array made = make(x, fp.dtype(), x.shape());
    if (made.size() == 0)
        return made;
    const Argument ends[] = {Argument::of(fp), array_or_null(left), array_or_null(right),
                             Argument::of(made)};
    run_search("quern_interp", xp, x, nullptr,
               {"QUERN_INTERP_PARTS", row(fp.dtype()).kind == Kind::complex ? 2 : 1}, ends,
               on_wait);
    return made;
}

Array is_in(const Array& values, bool are_sorted, const Array& wanted, bool invert,
            OnWait on_wait) {
    if (std::optional<Array> found = look_up(values, wanted, invert, on_wait))
        return std::move(*found);
    if (are_sorted && values.device().is_cpu())
        return walk_along(values, wanted, invert, on_wait);
    const Array sorted = are_sorted ? values : sort(values, 0, {}, on_wait);
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
    if (count > 0 && !with_places && !call.counts)
        return {a.device().is_cpu()
                    ? keep_distinct(sorted, call.one_nan, on_wait)
                    : pick(sorted, heads_of(sorted, call.one_nan, false, on_wait), on_wait),
                {},
                {},
                {}};
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
