// Makes room for the tiles' totals and launches.
#include "runtime/kernel/mask_tiles.h"

#include "compiler/plan/scan.h"
#include "runtime/kernel/program.h"
#include "runtime/memory/copy.h"
#include "runtime/stream/stream.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace quern {
namespace {

enum class Act : std::uint8_t { find, pick, fill, heads };

// As compiler/prelude/quern/mask.cuh has them.
constexpr std::int64_t threads = 256, tile = 32 * threads;

// `line`: what is cut into tiles, a mask but for Act::heads.
void launch_tiles(Act act, const char* kernel, const Array& line, const Array& typed,
                  std::initializer_list<Argument> more, void (*on_wait)(bool entering)) {
    Device& device = line.device();
    const CUstream stream = current_stream(device);
    const auto lead = act == Act::heads ? 0 : static_cast<std::int64_t>(line.address() % 16);
    const std::int64_t tiles = (line.size() + lead + tile - 1) / tile;
    const bool wide = line.size() >> 32 != 0;
    const std::int64_t told = wide ? 32 : 16; // bytes of a total, and of what is before it
    Array room = Array::empty(device, DType::uint8, Dims{scan_head_bytes + tiles * told}, stream);
    fill_bytes(device, room.address(), 0, static_cast<std::size_t>(room.nbytes()), stream);
    const std::array<std::pair<std::string_view, int>, 2> numbers{{
        {"QUERN_MASK_ACT", static_cast<int>(act)},
        {"QUERN_MASK_WIDE", wide},
    }};
    const DType types[] = {typed.dtype()};
    std::vector<Argument> args{Argument::of(line), number(line.size()), number(lead), number(tiles),
                               Argument::of(room)};
    args.insert(args.end(), more);
    // One block joins what the tiles tell.
    const ProgramLaunch launch{device, stream, static_cast<std::uint32_t>(tiles + 1), threads,
                               on_wait};
    launch_program({"quern/mask.cuh", types, numbers}, kernel, args, launch);
    keep_for_graph(device, stream, std::move(room));
}

} // namespace

void find_by_tiles(const Array& mask, const Array& places, void (*on_wait)(bool entering)) {
    launch_tiles(Act::find, "quern_mask_find", mask, places, {Argument::of(places)}, on_wait);
}

void pick_by_tiles(const Array& array, const Array& mask, const Array& result,
                   void (*on_wait)(bool entering)) {
    launch_tiles(Act::pick, "quern_mask_pick", mask, array,
                 {Argument::of(array), Argument::of(result)}, on_wait);
}

void pick_heads_by_tiles(const Array& sorted, bool one_nan, const Array& result, const Array& count,
                         void (*on_wait)(bool entering)) {
    launch_tiles(Act::heads, "quern_mask_heads", sorted, sorted,
                 {number(one_nan), Argument::of(result), Argument::of(count)}, on_wait);
}

void fill_by_tiles(const Array& array, const Array& mask, const Array& values,
                   void (*on_wait)(bool entering)) {
    launch_tiles(Act::fill, "quern_mask_fill", mask, array,
                 {Argument::of(values), number(values.size()), Argument::of(array)}, on_wait);
}

} // namespace quern
