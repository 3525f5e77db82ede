// Makes room for a row beside each block's result, and launches the prelude's partition.
#include "runtime/kernel/partition.h"

#include "runtime/driver/check.h"
#include "runtime/kernel/program.h"
#include "runtime/kernel/room.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace quern {
namespace {

std::int64_t length_of(const Array& rows) { return rows.shape()[1]; }

} // namespace

bool can_partition(const Array& rows, bool with_places, std::size_t wanted) {
    constexpr std::size_t most_wanted = 32;
    constexpr std::int64_t shortest = 257, longest = std::int64_t{1} << 31;
    // Values of one byte are counted sooner.
    return rows.device().is_cpu() && length_of(rows) >= shortest && length_of(rows) < longest &&
           wanted <= most_wanted && (with_places || row(rows.dtype()).bytes > 1);
}

void partition_rows(const Array& rows, const Array* values, const Array* places,
                    std::span<const std::int64_t> wanted, CUstream stream,
                    void (*on_wait)(bool entering)) {
    if (rows.size() == 0)
        return;
    Device& device = rows.device();
    constexpr std::int64_t worth_a_block = 1 << 14;
    const std::int64_t count = rows.shape()[0],
                       blocks = std::clamp<std::int64_t>(rows.size() / worth_a_block, 1,
                                                         device.properties().multiprocessors),
                       grid = std::min(count, blocks);
    Room made(device, stream);
    const auto room = [&](DType dtype, std::int64_t elements) {
        return &made.make(dtype, elements);
    };
    const std::int64_t elements = grid * length_of(rows);
    const Array* const there = room(rows.dtype(), elements);
    const Array* const here = values != nullptr ? values : room(rows.dtype(), elements);
    const Array *here_places = nullptr, *there_places = nullptr;
    if (places != nullptr) {
        here_places = room(DType::uint32, elements);
        there_places = room(DType::uint32, elements);
    }
    const Array* const at = room(DType::int64, static_cast<std::int64_t>(wanted.size()));
    std::vector<std::int64_t> kept(wanted.begin(), wanted.end());
    device.make_current();
    if (!wanted.empty()) // the CPU's driver takes them along: nothing is waited for
        check(
            device.api(),
            device.api().cuMemcpyHtoDAsync(at->address(), kept.data(), wanted.size_bytes(), stream),
            "copy the places of a partition to ", device.name());
    keep_for_graph(device, stream, std::move(kept));
    const DType types[] = {rows.dtype()};
    const std::array<std::pair<std::string_view, int>, 2> numbers{{
        {"QUERN_PARTITION_PAIRS", places != nullptr},
        {"QUERN_VECTORS", moved_vector_bytes(device)},
    }};
    const Argument args[] = {Argument::of(rows),
                             Argument::of(*here),
                             Argument::of(*there),
                             array_or_null(here_places),
                             array_or_null(there_places),
                             array_or_null(places),
                             number(count),
                             number(length_of(rows)),
                             Argument::of(*at),
                             number(static_cast<std::int64_t>(wanted.size()))};
    launch_program({"quern/partition.cuh", types, numbers}, "quern_partition", args,
                   {device, stream, static_cast<std::uint32_t>(grid), 1, on_wait});
    made.keep();
}

} // namespace quern
