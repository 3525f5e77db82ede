// Shares elements out among blocks, or warps, with a table each, and joins the tables in order.
#include "runtime/kernel/count.h"

#include "runtime/kernel/program.h"
#include "runtime/memory/copy.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <array>
#include <vector>

namespace quern {
namespace {

constexpr std::int64_t threads = 256, warps = threads / 32;

// How many blocks, and how many of their tables there are.
struct Shares {
    std::int64_t blocks = 1, tables = 1;
};

Shares shares_of(const Device& device, std::int64_t count, std::int64_t bins, bool weighted) {
    constexpr std::int64_t most_room = 1 << 23, worth_a_share = 1 << 15; // sums; elements
    const std::int64_t processors = device.properties().multiprocessors;
    if (device.is_cpu()) {
        const std::int64_t worth = count / std::max(worth_a_share, 4 * bins);
        const std::int64_t blocks = std::clamp<std::int64_t>(worth, 1, processors);
        return {blocks, blocks};
    }
    if (!weighted)
        return {
            std::clamp<std::int64_t>((count + 8 * threads - 1) / (8 * threads), 1, 8 * processors),
            1};
    const std::int64_t most = std::max<std::int64_t>(most_room / bins / warps, 1);
    const std::int64_t blocks =
        std::clamp<std::int64_t>(count / (64 * threads), 1, std::min(most, 8 * processors));
    return {blocks, blocks * warps};
}

} // namespace

Array count_by_bin(const Array& x, const Bins& bins, const Array* weights,
                   void (*on_wait)(bool entering)) {
    Device& device = x.device();
    const CUstream stream = current_stream(device);
    const DType sum = weights != nullptr ? DType::float64 : DType::int64;
    const auto zeros = [&](std::int64_t elements) {
        Array made = Array::empty(device, sum, Dims{elements}, stream);
        fill_bytes(device, made.address(), 0, static_cast<std::size_t>(made.nbytes()), stream);
        return made;
    };
    if (x.size() == 0 || bins.bins == 0)
        return zeros(bins.bins);
    const Shares shares = shares_of(device, x.size(), bins.bins, weights != nullptr);
    constexpr int most_shared = 1 << 12;
    const std::array<std::pair<std::string_view, int>, 3> numbers{{
        {"QUERN_COUNT_EDGES", bins.edges != nullptr},
        {"QUERN_COUNT_THREADS", !device.is_cpu()},
        {"QUERN_COUNT_SHARED", bins.bins <= most_shared ? most_shared : 0},
    }};
    std::vector<DType> types{x.dtype()};
    if (bins.edges != nullptr)
        types.push_back(bins.edges->dtype());
    const auto run = [&](std::string_view kernel, std::span<const Argument> args,
                         std::int64_t blocks) {
        const ProgramLaunch launch{device, stream, static_cast<std::uint32_t>(blocks),
                                   device.is_cpu() ? 1U : static_cast<std::uint32_t>(threads),
                                   on_wait};
        launch_program({"quern/count.cuh", types, numbers}, kernel, args, launch);
    };
    const Array tables = zeros(shares.tables * bins.bins);
    std::vector<Argument> args{Argument::of(x), number(x.size()), array_or_null(bins.edges),
                               number(bins.bins), Argument::of(Scalar::of(bins.scale))};
    if (weights != nullptr)
        args.push_back(Argument::of(*weights));
    args.push_back(Argument::of(tables));
    run(weights != nullptr ? "quern_weigh" : "quern_count", args, shares.blocks);
    if (shares.tables == 1)
        return tables;
    const Array made = Array::empty(device, sum, Dims{bins.bins}, stream);
    const Argument joined[] = {Argument::of(tables), number(shares.tables), number(bins.bins),
                               Argument::of(made)};
    run(weights != nullptr ? "quern_join_weights" : "quern_join_counts", joined,
        device.is_cpu() ? 1 : std::min<std::int64_t>((bins.bins + threads - 1) / threads, 4096));
    return made;
}

} // namespace quern
