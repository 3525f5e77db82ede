// Which threads run which region next. As a rule all threads of a block are at the same place;
// where they are not, stretches of threads that are take their turns.
#include "runtime/host/regions.h"

#include "runtime/host/hooks.h"
#include "runtime/host/module.h"
#include "runtime/host/warp_meeting.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <cuda.h>

namespace quern::host {
namespace {

constexpr unsigned most_threads = host_most_threads;
constexpr unsigned most_side_by_side = 32;
constexpr unsigned places = 8, stagger = 512; // bytes
constexpr std::size_t near_bytes = 2
                                   << 10; // more would push each other out of the first-level cache

struct Bytes { // grows, never shrinks; a worker's, kept for the next launch
    std::byte* start = nullptr;
    std::size_t size = 0;
    ~Bytes() { std::free(start); }
    bool reserve(std::size_t wanted) {
        if (wanted <= size)
            return true;
        std::free(start);
        size = (wanted + 4095) / 4096 * 4096;
        start = static_cast<std::byte*>(std::aligned_alloc(4096, size));
        if (start == nullptr)
            size = 0;
        return start != nullptr;
    }
};

class RegionBlock {
  public:
    // False when there is no memory for it. `shared` is null for a block that brings its own;
    // blocks side by side have different places, so that their frames do not meet in the cache.
    bool prepare(const HostLaunch& launch, const void* args, void* shared,
                 const HostRegionTable& table, unsigned place, bool alone) noexcept {
        if (!frame_.reserve(table.frame_bytes + std::size_t{places} * stagger) ||
            !kept_.reserve(3 * std::size_t{table.kept_bytes} + 64) ||
            (shared == nullptr && !shared_.reserve(shared_bytes_opt_in)))
            return false;
        table_ = &table;
        args_ = args;
        rows_ = launch.block[1] * launch.block[2];
        alone_ = alone;
        ready_.fill(false);
        call_.shared = shared != nullptr ? shared : shared_.start;
        call_.frame = frame_.start + place % places * stagger;
        call_.kept = kept_.start;
        call_.keep = keep();
        call_.states = states_.data();
        call_.votes = votes_.data();
        call_.masks = meeting_.masks();
        call_.values = meeting_.values();
        call_.sources = meeting_.sources();
        std::copy_n(launch.block, 3, call_.block_size);
        std::copy_n(launch.grid, 3, call_.grid_size);
        return true;
    }

    // How many blocks from this one on, of `left`, run as one: neighbours along x.
    [[nodiscard]] unsigned count_as_one(std::uint64_t number, std::uint64_t left) const noexcept {
        if (table_->neighbours == HostNeighbours::apart)
            return 1;
        const unsigned most = table_->neighbours == HostNeighbours::any_row && rows_ == 1
                                  ? host_longest_row
                                  : most_threads;
        const std::uint64_t fit = most / (rows_ * call_.block_size[0]);
        const std::uint64_t to_edge = call_.grid_size[0] - number % call_.grid_size[0];
        return static_cast<unsigned>(std::min({fit, to_edge, left}));
    }

    // Runs that many to their end.
    void run(std::uint64_t number, unsigned blocks, int& status) noexcept {
        auto state = begin(number, blocks);
        if (threads_ <= most_threads)
            return finish(state, status);
        std::uint32_t from = 0;
        while (state != host_see_states) {
            if (state == host_thread_done)
                return;
            from = state;
            state = go_on(state, status);
        }
        // Not all take one way from there: in parts that may part.
        std::memcpy(saved(), keep(), table_->kept_bytes);
        const unsigned share = most_threads / call_.block_size[0];
        for (unsigned first = 0; first < blocks; first += share) {
            const unsigned count = std::min(share, blocks - first);
            if (from == 0) {
                finish(begin(number + first, count), status);
                continue;
            }
            place(number + first, count);
            std::memcpy(keep(), saved(), table_->kept_bytes);
            finish(go_on(from, status), status);
        }
    }

    // Returns where all threads of the blocks are then: a region, host_thread_done, or
    // host_see_states.
    std::uint32_t begin(std::uint64_t number, unsigned blocks) noexcept {
        place(number, blocks);
        return run_all(table_->regions[0]);
    }

    void place(std::uint64_t number, unsigned blocks) noexcept {
        const auto& grid = call_.grid_size;
        all_rows_ = blocks * rows_;
        threads_ = all_rows_ * call_.block_size[0];
        call_.block[0] = static_cast<std::uint32_t>(number % grid[0]);
        call_.block[1] = static_cast<std::uint32_t>(number / grid[0] % grid[1]);
        call_.block[2] = static_cast<std::uint32_t>(number / grid[0] / grid[1]);
    }

    void finish(std::uint32_t state, int& status) noexcept {
        while (state != host_thread_done)
            state = go_on(state, status);
    }

    // The same, from there on. Sets `status` when they can never meet.
    std::uint32_t go_on(std::uint32_t state, int& status) noexcept {
        if (state == host_see_states) {
            if (std::memcmp(states_.data(), states_.data() + 1, threads_ - 1) != 0)
                if (const int found = run_apart(); found >= 0) {
                    status = found;
                    return host_thread_done;
                }
            state = states_[0];
            if (state == host_thread_done)
                return state;
        }
        const HostRegionEntry& region = table_->regions[state];
        if (region.stop == HostStop::block && region.op != 0)
            count_votes_of_all();
        if (region.stop == HostStop::warp)
            for (unsigned first = 0; first < threads_; first += 32)
                meeting_.meet_all(first, std::min(32U, threads_ - first), region.op);
        take_agreed(region);
        return run_all(region);
    }

  private:
    // What threads agree on, in three copies: one that they read, one that they write, and a spare.
    [[nodiscard]] std::byte* keep() const noexcept { return kept_.start + table_->kept_bytes; }
    [[nodiscard]] std::byte* saved() const noexcept { return keep() + table_->kept_bytes; }
    [[nodiscard]] const HostRegionEntry& region_of(unsigned thread) const noexcept {
        return table_->regions[states_[thread]];
    }

    // Returns what the region returns; the states are known only where it says so.
    std::uint32_t run_all(const HostRegionEntry& region) noexcept {
        call_.first_row = call_.from = 0;
        call_.last_row =
            table_->neighbours >= HostNeighbours::one_row && rows_ == 1 ? 1 : all_rows_;
        call_.to = threads_ / call_.last_row;
        call_.alone = alone_;
        return region.run(&call_, args_);
    }

    void run_rows(const HostRegionEntry& region, unsigned row, unsigned rows, unsigned from,
                  unsigned to) noexcept {
        call_.first_row = row;
        call_.last_row = row + rows;
        call_.from = from;
        call_.to = to;
        call_.alone = 0;
        const std::uint32_t state = region.run(&call_, args_);
        if (state == host_see_states)
            return;
        const unsigned wide = call_.block_size[0];
        std::memset(states_.data() + row * wide + from, static_cast<int>(state),
                    (rows - 1) * wide + to - from);
    }

    // Threads [first, last): what of them is in whole rows, and the ends. The states say where they
    // came to.
    void run_stretch(const HostRegionEntry& region, unsigned first, unsigned last) noexcept {
        const unsigned wide = call_.block_size[0];
        while (first < last) {
            const unsigned row = first / wide, from = first % wide;
            const unsigned rows = from == 0 ? (last - first) / wide : 0;
            if (rows > 0) {
                run_rows(region, row, rows, 0, wide);
                first += rows * wide;
            } else {
                const unsigned to = std::min(wide, from + last - first);
                run_rows(region, row, 1, from, to);
                first += to - from;
            }
        }
    }

    // What the threads agreed on is read from a copy: they may agree on the next while they run.
    void take_agreed(const HostRegionEntry& region) noexcept {
        if (region.stop == HostStop::block && region.op != 0)
            call_.vote = outcome(region.op);
        if (region.kept_bytes != 0)
            std::memcpy(kept_.start + region.kept_offset, keep() + region.kept_offset,
                        region.kept_bytes);
    }

    void count_votes_of_all() noexcept {
        voters_ = threads_;
        votes_cast_ = 0;
        for (unsigned thread = 0; thread < threads_; ++thread)
            votes_cast_ += votes_[thread] != 0;
    }

    void count_votes() noexcept {
        votes_cast_ = voters_ = 0;
        for (unsigned thread = 0; thread < threads_; ++thread) {
            if (states_[thread] == host_thread_done)
                continue;
            ++voters_;
            votes_cast_ += region_of(thread).op != 0 && votes_[thread] != 0;
        }
    }

    [[nodiscard]] std::uint32_t outcome(std::uint32_t op) const noexcept {
        return op == 1 ? votes_cast_ : op == 2 ? votes_cast_ == voters_ : votes_cast_ != 0;
    }

    // While threads are at different places: 0 when all are done, -1 when they are together again,
    // else a status.
    int run_apart() noexcept {
        for (;;) {
            while (run_one_place()) {
            }
            if (std::memcmp(states_.data(), states_.data() + 1, threads_ - 1) == 0)
                return -1;
            if (meet(true))
                continue;
            unsigned live = 0, at_barrier = 0;
            for (unsigned thread = 0; thread < threads_; ++thread)
                if (states_[thread] != host_thread_done) {
                    ++live;
                    at_barrier += region_of(thread).stop == HostStop::block;
                }
            if (at_barrier == live) {
                count_votes();
                for (unsigned thread = 0; thread < threads_; ++thread)
                    ready_[thread] = states_[thread] != host_thread_done;
                continue;
            }
            if (meet(false))
                continue;
            std::fprintf(stderr,
                         "quern: block (%u, %u, %u): threads wait for each other for ever (%u at "
                         "__syncthreads, %u elsewhere)\n",
                         call_.block[0], call_.block[1], call_.block[2], at_barrier,
                         live - at_barrier);
            return CUDA_ERROR_LAUNCH_TIMEOUT;
        }
    }

    // Runs all threads at one place that may go on from it; false when nobody may.
    bool run_one_place() noexcept {
        unsigned at = 0;
        const auto may_go = [&](unsigned thread) {
            return states_[thread] != host_thread_done &&
                   (ready_[thread] || region_of(thread).stop == HostStop::none);
        };
        while (at < threads_ && !may_go(at))
            ++at;
        if (at == threads_)
            return false;
        const std::uint8_t state = states_[at];
        const HostRegionEntry& region = table_->regions[state];
        take_agreed(region);
        while (at < threads_) { // who has run is behind, wherever it came to
            unsigned end = at;
            while (end < threads_ && states_[end] == state && may_go(end))
                ready_[end++] = false;
            if (end > at)
                run_stretch(region, at, end);
            at = std::max(end, at + 1);
            while (at < threads_ && (states_[at] != state || !may_go(at)))
                ++at;
        }
        return true;
    }

    // Lets lanes meet that have come; all whom they name must be there, if `complete`.
    bool meet(bool complete) noexcept {
        bool met = false;
        for (unsigned first = 0; first < threads_; first += 32) {
            std::uint32_t waiting = 0, live = 0;
            for (unsigned thread = first; thread < std::min(first + 32, threads_); ++thread) {
                if (states_[thread] == host_thread_done)
                    continue;
                live |= 1U << (thread - first);
                if (region_of(thread).stop == HostStop::warp && !ready_[thread]) {
                    waiting |= 1U << (thread - first);
                    meeting_.set_op(thread, region_of(thread).op);
                }
            }
            if (waiting == 0)
                continue;
            const std::uint32_t served = meeting_.resolve(first, waiting, complete ? live : 0);
            for (unsigned lane = 0; lane < 32; ++lane)
                if (served >> lane & 1)
                    ready_[first + lane] = true;
            met |= served != 0;
        }
        return met;
    }

    const HostRegionTable* table_ = nullptr;
    const void* args_ = nullptr;
    unsigned rows_ = 0, all_rows_ = 0, threads_ = 0; // of a block, and of all that run as one
    bool alone_ = false;                             // no other blocks run side by side
    HostRegionCall call_{};
    Bytes frame_, kept_, shared_;
    WarpMeeting meeting_;
    std::array<std::uint8_t, most_threads> states_{}, votes_{};
    std::array<bool, most_threads> ready_{}; // it has met whom it waits for
    unsigned votes_cast_ = 0, voters_ = 0;   // at the last barrier
};

thread_local std::array<std::unique_ptr<RegionBlock>, most_side_by_side> worker_blocks;

// Blocks whose loops go along memory in steps take their steps side by side: together they touch
// longer stretches of it. As many as have their own memory near.
unsigned count_side_by_side(const HostLaunch& launch, const HostRegionTable& table) noexcept {
    if (table.goes_along_memory == 0 || table.neighbours != HostNeighbours::apart)
        return 1;
    const std::size_t threads = launch.block[0] * launch.block[1] * launch.block[2];
    const std::size_t each = table.static_shared_bytes + launch.shared_bytes +
                             table.frame_bytes * threads / most_threads + 1;
    return static_cast<unsigned>(std::clamp<std::size_t>(near_bytes / each, 1, most_side_by_side));
}

void run_side_by_side(std::uint64_t first, unsigned count) {
    std::array<std::uint32_t, most_side_by_side> states;
    for (unsigned i = 0; i < count; ++i)
        states[i] = worker_blocks[i]->begin(first + i, 1);
    int status = 0;
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < count; ++i)
            if (states[i] != host_thread_done) {
                states[i] = worker_blocks[i]->go_on(states[i], status);
                more = true;
            }
        if (status != 0)
            leave_kernel(status);
    }
}

} // namespace

extern "C" void quern_host_run_regions(const HostLaunch* launch, const void* args,
                                       std::uint64_t first, std::uint64_t last, void* shared,
                                       const HostRegionTable* table) {
    const auto wide = static_cast<unsigned>(
        std::min<std::uint64_t>(count_side_by_side(*launch, *table), last - first));
    for (unsigned i = 0; i < wide; ++i) {
        auto& block = worker_blocks[i];
        if (!block)
            block.reset(new (std::nothrow) RegionBlock);
        if (!block ||
            !block->prepare(*launch, args, i == 0 ? shared : nullptr, *table, i, wide == 1))
            leave_kernel(CUDA_ERROR_OUT_OF_MEMORY);
    }
    int status = 0;
    if (wide == 1)
        for (std::uint64_t number = first; number < last;) {
            auto& block = *worker_blocks[0];
            const unsigned blocks = block.count_as_one(number, last - number);
            block.run(number, blocks, status);
            number += blocks;
            if (status != 0)
                leave_kernel(status);
        }
    else
        for (std::uint64_t number = first; number < last; number += wide)
            run_side_by_side(number,
                             static_cast<unsigned>(std::min<std::uint64_t>(wide, last - number)));
}

} // namespace quern::host
