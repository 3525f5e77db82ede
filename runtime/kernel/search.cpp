// Launches of the prelude's searches and sets, and the one number that decides an output's size.
#include "runtime/kernel/search.h"

#include "runtime/array/views.h"
#include "runtime/device/waits.h"
#include "runtime/kernel/cumulative.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/mask_tiles.h"
#include "runtime/kernel/order.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/program.h"
#include "runtime/kernel/waiting.h"
#include "runtime/memory/copy.h"
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

void run_sets(const Array& of, const char* kernel, std::span<const Argument> args,
              const ProgramLaunch& launch) {
    const DType types[] = {of.dtype()};
    launch_program({"quern/sets.cuh", types}, kernel, args, launch);
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
    run_sets(sorted, "quern_heads", args, each(sorted, sorted.size(), on_wait));
    return heads;
}

// Blocks of one thread that share `count` elements of a sorted array on a CPU.
struct Chunks {
    Device& device;
    std::int64_t blocks, chunk;
    Chunks(Device& of, std::int64_t count) : device(of) {
        constexpr std::int64_t worth_a_block = 1 << 16;
        blocks =
            std::clamp<std::int64_t>(count / worth_a_block, 1, device.properties().multiprocessors);
        chunk = (count + blocks - 1) / blocks;
        blocks = (count + chunk - 1) / chunk;
    }
    [[nodiscard]] ProgramLaunch launch(OnWait on_wait) const {
        return {device, current_stream(device), static_cast<std::uint32_t>(blocks), 1, on_wait};
    }
};

// What a CPU's array holds: its memory is the host's.
template <class T> std::span<T> on_host(const Array& array) {
    return {reinterpret_cast<T*>(array.address()), static_cast<std::size_t>(array.size())};
}

// Where other values begin in a sorted array.
struct Heads {
    Array upto; // how many do up to each element, of a CPU up to the end of each chunk
    std::int64_t total = 0;
    std::optional<Array> marks; // of a GPU
};
Heads number_heads(const Array& sorted, bool one_nan, OnWait on_wait) {
    Device& device = sorted.device();
    if (sorted.size() == 0)
        return {make(sorted, DType::int64, Dims{0})};
    if (device.is_cpu()) {
        const Chunks chunks(device, sorted.size());
        Heads made{make(sorted, DType::int64, Dims{chunks.blocks})};
        const Argument args[] = {Argument::of(sorted), number(sorted.size()), number(chunks.chunk),
                                 number(one_nan), Argument::of(made.upto)};
        run_sets(sorted, "quern_count_heads", args, chunks.launch(on_wait));
        wait_here(device, on_wait);
        const std::span upto = on_host<std::int64_t>(made.upto);
        std::partial_sum(upto.begin(), upto.end(), upto.begin());
        made.total = upto.back();
        return made;
    }
    const Array marks = heads_of(sorted, one_nan, false, on_wait);
    CumulativeCall call;
    call.axis = 0;
    call.dtype = DType::int64;
    Heads made{cumulative(ScanOp::sum, marks, call, on_wait), 0, marks};
    const auto last = static_cast<std::uint64_t>(marks.size() - 1) * sizeof made.total;
    made.total = read_back<std::int64_t>(device, made.upto.address() + last, on_wait);
    return made;
}

// Writes what of `made` is asked for, and where values begin.
void keep_heads(const Array& sorted, const Heads& heads, bool one_nan,
                const std::optional<Array>& places, const Distinct& made,
                const std::optional<Array>& begins, OnWait on_wait) {
    const auto given = [](const std::optional<Array>& array) {
        return array_or_null(array ? &*array : nullptr);
    };
    const Chunks chunks(sorted.device(), sorted.size());
    const Argument args[] = {
        Argument::of(sorted), given(heads.marks),        Argument::of(heads.upto),
        given(places),        number(sorted.size()),     number(chunks.chunk),
        number(one_nan),      Argument::of(made.values), given(begins),
        given(made.firsts),   given(made.inverse)};
    run_sets(sorted, "quern_keep", args,
             sorted.device().is_cpu() ? chunks.launch(on_wait)
                                      : each(sorted, sorted.size(), on_wait));
}

// The first `count` of `values`. Their number is known too late to make room for just them: few are
// copied, more stay where there would be room for four times as many at most.
Array first_of(const Array& values, const Array& count, OnWait on_wait) {
    constexpr std::int64_t most_waste = 4;
    const auto total = read_back<std::int64_t>(values.device(), count.address(), on_wait);
    Array kept = slice(values, 0, {.count = total});
    if (total * most_waste >= values.size())
        return kept;
    Array copy = make(values, values.dtype(), kept.shape());
    copy_into(copy, kept, current_stream(values.device()));
    return copy;
}

// GPUs, distinct values alone: of a sorted array in one pass; of elements of one or two bytes that
// are not sorted by a table of bits. There all NaN are one.
Array keep_by_tiles(const Array& sorted, bool one_nan, OnWait on_wait) {
    const Array values = make(sorted, sorted.dtype(), Dims{sorted.size()}),
                count = make(sorted, DType::int64, Dims{1});
    pick_heads_by_tiles(sorted, one_nan, values, count, on_wait);
    return first_of(values, count, on_wait);
}
Array keep_by_keys(const Array& a, OnWait on_wait) {
    constexpr std::int64_t threads = 512, list_threads = 1024, of_a_thread = 64;
    Device& device = a.device();
    const CUstream stream = current_stream(device);
    const std::int64_t keys = std::int64_t{1} << 8 * row(a.dtype()).bytes;
    const Array table = make(a, DType::uint32, Dims{keys / 32}),
                values = make(a, a.dtype(), Dims{std::min(keys, a.size())}),
                count = make(a, DType::int64, Dims{1});
    fill_bytes(device, table.address(), 0, static_cast<std::size_t>(table.nbytes()), stream);
    const DType types[] = {a.dtype()};
    const ProgramText program{"quern/distinct.cuh", types};
    const auto blocks = static_cast<std::uint32_t>(
        std::min<std::int64_t>(a.size() / (threads * of_a_thread) + 1,
                               2 * static_cast<std::int64_t>(device.properties().multiprocessors)));
    const Argument marking[] = {Argument::of(a), number(a.size()), Argument::of(table)};
    launch_program(program, "quern_mark", marking, {device, stream, blocks, threads, on_wait});
    const Argument listing[] = {Argument::of(table), Argument::of(values), Argument::of(count)};
    launch_program(program, "quern_list", listing, {device, stream, 1, list_threads, on_wait});
    return first_of(values, count, on_wait);
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
    launch_program({"quern/search.cuh", types, numbers}, "quern_walk", args,
                   chunks.launch(on_wait));
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

std::size_t count_in_order(std::span<const Array> rows, const Array* places, OnWait on_wait) {
    constexpr std::int64_t worth_a_wait = 1 << 14;
    if (rows.empty() || rows[0].size() < worth_a_wait || !may_wait())
        return 0;
    Device& device = rows[0].device();
    if (!device.is_cpu() || is_capturing(device, current_stream(device)))
        return 0;
    const Chunks chunks(device, rows[0].size());
    const auto count = static_cast<std::int64_t>(rows.size());
    const Array stands = make(rows[0], DType::boolean, Dims{count * chunks.blocks});
    std::int64_t first = 0;
    for (const Array& row : rows) {
        const DType types[] = {row.dtype()};
        const Argument args[] = {Argument::of(row),    array_or_null(places), number(row.size()),
                                 number(chunks.chunk), Argument::of(stands),  number(first)};
        launch_program({"quern/stand.cuh", types}, "quern_stand", args, chunks.launch(on_wait));
        first += chunks.blocks;
    }
    wait_here(device, on_wait);
    const std::span<const bool> found = on_host<bool>(stands);
    return static_cast<std::size_t>((std::ranges::find(found, false) - found.begin()) /
                                    chunks.blocks);
}

Distinct distinct(const Array& a, const DistinctCall& call, OnWait on_wait) {
    const bool values_alone = !call.firsts && !call.inverse && !call.counts && a.size() > 0 &&
                              plan_target(a.device()) == Target::gpu;
    const bool has_unlike_nan = row(a.dtype()).kind == Kind::floating && !call.one_nan;
    if (values_alone && row(a.dtype()).bytes <= 2 && a.c_contiguous() && !has_unlike_nan)
        return {keep_by_keys(a, on_wait), {}, {}, {}};
    std::optional<Array> places;
    const auto sorted = [&] {
        if (!call.firsts && !call.inverse)
            return sort(a, 0, {}, on_wait);
        SortedWithPlaces made = sort_with_places(a, {}, on_wait);
        places = std::move(made.places);
        return std::move(made.values);
    }();
    if (values_alone)
        return {keep_by_tiles(sorted, call.one_nan, on_wait), {}, {}, {}};
    const Heads heads = number_heads(sorted, call.one_nan, on_wait);
    const Dims kept{heads.total};
    Distinct made{make(a, a.dtype(), kept), {}, {}, {}};
    if (call.firsts)
        made.firsts = make(a, DType::int64, kept);
    if (call.inverse)
        made.inverse = make(a, DType::int64, a.shape());
    std::optional<Array> begins;
    if (call.counts) {
        made.counts = make(a, DType::int64, kept);
        begins = make(a, DType::int64, kept);
    }
    if (heads.total == 0)
        return made;
    keep_heads(sorted, heads, call.one_nan, places, made, begins, on_wait);
    if (begins) {
        const Argument lengths[] = {Argument::of(*begins), number(heads.total), number(a.size()),
                                    Argument::of(*made.counts)};
        run_sets(a, "quern_runs", lengths, each(a, heads.total, on_wait));
    }
    return made;
}

Array lonely(const Array& sorted, OnWait on_wait) {
    return sorted.size() == 0 ? make(sorted, DType::boolean, sorted.shape())
                              : heads_of(sorted, false, true, on_wait);
}

} // namespace quern
