// Fibers and their scheduler: run every thread until it waits, see who has met whom, go on.
#include "runtime/host/fibers.h"

#include "runtime/host/hooks.h"
#include "runtime/host/module.h"
#include "runtime/host/warp_meeting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include <cuda.h>
#include <sys/mman.h>

namespace quern::host {
namespace {

// Two stacks change places: stores where this one goes on in *from, and goes on at `to`. In line,
// since the processor foresees a return only to where the last call came from.
[[gnu::always_inline]] inline void switch_stack(void** from, void* to) {
    asm volatile("leaq -128(%%rsp), %%rsp\n\t" // past what a leaf function keeps below its stack
                 "pushq %%rbp\n\t"
                 "pushq %%rbx\n\t"
                 "leaq 1f(%%rip), %%rax\n\t"
                 "pushq %%rax\n\t"
                 "movq %%rsp, (%%rdi)\n\t"
                 "movq %%rsi, %%rsp\n\t"
                 "popq %%rax\n\t"
                 "jmpq *%%rax\n"
                 "1:\tpopq %%rbx\n\t"
                 "popq %%rbp\n\t"
                 "leaq 128(%%rsp), %%rsp"
                 : "+D"(from), "+S"(to)
                 :
                 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

constexpr unsigned most_threads = 1024;
constexpr unsigned idle_rounds = 64;    // of nothing but yields, before other blocks get their turn
constexpr unsigned given_rounds = 1024; // of yields, whatever else went on between them
constexpr std::uint32_t guarded_stack_bytes =
    128 * 1024; // stacks this large may overflow: a page stands guard
constexpr std::size_t page_bytes = 4096;
constexpr unsigned barrier_names = 48; // PTX's 16, then one for each tile of several warps

enum class State : std::uint8_t {
    fresh,    // has not begun
    ready,    // goes on at the next turn
    block,    // at a barrier of the block
    warp,     // meets lanes of its warp
    together, // asks who is here
    grid,     // at a barrier of the grid
    named,    // at a named barrier
    yielded,  // goes on when the others have had a turn
    done,
    count
};

constexpr std::size_t slot(State state) { return static_cast<std::size_t>(state); }

enum class Outcome { done, parked, failed };

struct Shape {
    HostLaunch launch;
    const void* args;
    HostThread thread;
    std::uint32_t shared_bytes, stack_bytes;
};

class Mapping { // memory that the system commits as it is touched
  public:
    Mapping() = default;
    ~Mapping() { release(); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    [[nodiscard]] std::byte* start() const noexcept { return start_; }

    // False when what was there is still there.
    bool reserve(std::size_t wanted) {
        if (wanted <= bytes_)
            return false;
        release();
        void* got = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED)
            throw std::bad_alloc();
        start_ = static_cast<std::byte*>(got);
        bytes_ = wanted;
        return true;
    }

  private:
    void release() noexcept {
        if (start_ != nullptr)
            munmap(start_, bytes_);
        start_ = nullptr;
        bytes_ = 0;
    }
    std::byte* start_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace

class FiberBlock {
  public:
    void start(const Shape& shape, std::uint64_t number);
    Outcome run();
    [[nodiscard]] bool waits_for_grid() const noexcept {
        return counts_[slot(State::grid)] == live_;
    }
    void release_grid() noexcept { move_all(State::grid, State::ready); }
    [[nodiscard]] int status() const noexcept { return status_; }

    // What running threads ask.
    int sync_block(int op, int predicate);
    int sync_named(int id, int count);
    void sync_grid();
    [[nodiscard]] bool cooperative() const noexcept { return shape_.launch.cooperative != 0; }
    std::uint64_t sync_warp(int op, std::uint32_t mask, std::uint64_t value, std::uint32_t source);
    std::uint32_t active_mask(const void* site);
    void wait(State state);
    [[noreturn]] void leave();
    [[noreturn]] void abandon(int status);
    [[nodiscard]] void* context() noexcept { return contexts_[current_].data(); }

  private:
    static void enter(FiberBlock* block);

    void set(unsigned thread, State state) noexcept {
        --counts_[slot(states_[thread])];
        ++counts_[slot(state)];
        states_[thread] = state;
    }
    void move_all(State from, State to) noexcept;
    void prepare(unsigned thread);
    bool run_warp(unsigned warp);
    bool resolve_warp(unsigned warp, bool complete_only);
    bool gather_together(unsigned warp);
    bool release_barriers();
    std::uint32_t lanes_in(unsigned warp, State state) const noexcept;
    std::uint32_t live_lanes(unsigned warp) const noexcept;

    Shape shape_{};
    std::array<std::uint32_t, 3> block_index_{};
    unsigned threads_ = 0, live_ = 0, current_ = 0;
    int status_ = 0;
    unsigned votes_ = 0, last_votes_ = 0, last_voters_ = 0; // of the block's barrier
    unsigned idle_ = 0, given_ = 0;
    void* home_ = nullptr; // the scheduler's own stack
    std::array<unsigned, slot(State::count)> counts_{};
    std::array<State, most_threads> states_{};
    std::array<void*, most_threads> places_{};
    std::array<std::uint16_t, most_threads> stacks_of_{}, free_stacks_{};
    unsigned free_count_ = 0;
    WarpMeeting meeting_;
    std::array<const void*, most_threads> sites_{};
    std::array<std::uint8_t, most_threads> names_{};
    std::array<std::uint16_t, barrier_names> named_{}; // arrivals at each named barrier
    struct alignas(16) Context : std::array<unsigned char, 64> {};
    std::unique_ptr<Context[]> contexts_;
    Mapping stacks_, shared_;
    std::size_t stack_step_ = 0;
    std::size_t guarded_bytes_ = 0; // of each stack, with the page that stands guard; 0: none does
};

namespace {
[[gnu::tls_model("initial-exec")]] thread_local FiberBlock* running = nullptr;
} // namespace

thread_local ParkedBlocks* parked_blocks = nullptr;

void FiberBlock::start(const Shape& shape, std::uint64_t number) {
    shape_ = shape;
    const auto& block = shape.launch.block;
    const auto& grid = shape.launch.grid;
    threads_ = live_ = block[0] * block[1] * block[2];
    block_index_ = {static_cast<std::uint32_t>(number % grid[0]),
                    static_cast<std::uint32_t>(number / grid[0] % grid[1]),
                    static_cast<std::uint32_t>(number / grid[0] / grid[1])};
    counts_.fill(0);
    counts_[slot(State::fresh)] = threads_;
    std::fill_n(states_.begin(), threads_, State::fresh);
    named_.fill(0);
    status_ = 0;
    votes_ = idle_ = given_ = 0;
    const bool guard = shape.stack_bytes >= guarded_stack_bytes;
    stack_step_ = (shape.stack_bytes + 2 * page_bytes - 1) / page_bytes * page_bytes;
    if (stacks_.reserve(stack_step_ * most_threads)) {
        guarded_bytes_ = 0;
        if (!guard) // few entries of the address buffer for a thousand stacks
            (void)madvise(stacks_.start(), stack_step_ * most_threads, MADV_HUGEPAGE);
    }
    std::byte* const stacks = stacks_.start();
    if (const std::size_t wanted = guard ? stack_step_ : 0; guarded_bytes_ != wanted) {
        if (guarded_bytes_ != 0) // pages that stood guard lie within other stacks now
            (void)mprotect(stacks, guarded_bytes_ * most_threads, PROT_READ | PROT_WRITE);
        for (unsigned i = 0; guard && i < most_threads; ++i)
            if (mprotect(stacks + i * stack_step_, page_bytes, PROT_NONE) != 0)
                break; // the system's list of mappings is full: go on without
        guarded_bytes_ = wanted;
    }
    // As much as a block may have: programs know shared memory by its addresses (spaces.cpp).
    shared_.reserve(std::max(shape.shared_bytes, shared_bytes_opt_in));
    if (!contexts_)
        contexts_ = std::make_unique<Context[]>(most_threads);
    free_count_ = threads_;
    for (unsigned i = 0; i < threads_; ++i)
        free_stacks_[i] = static_cast<std::uint16_t>(threads_ - 1 - i);
}

// A stack that looks as if `enter` were about to be returned to. Tops are shifted against each
// other, so that hot frames do not all fall into the same cache sets.
void FiberBlock::prepare(unsigned thread) {
    const unsigned number = free_stacks_[--free_count_];
    stacks_of_[thread] = static_cast<std::uint16_t>(number);
    const std::size_t shift = number * 448 % page_bytes;
    auto* top = stacks_.start() + (number + 1) * stack_step_ - shift;
    auto** words = reinterpret_cast<void**>(top) - 4; // the last is aligned as after a call
    std::fill_n(words, 4, nullptr);
    words[2] = reinterpret_cast<void*>(+[] { enter(running); });
    places_[thread] = words + 2;
}

void FiberBlock::enter(FiberBlock* block) {
    const unsigned thread = block->current_;
    const auto& size = block->shape_.launch.block;
    const auto& grid = block->shape_.launch.grid;
    const std::uint32_t x = thread % size[0], y = thread / size[0] % size[1],
                        z = thread / size[0] / size[1];
    block->shape_.thread(block->shape_.args, block->shared_.start(), x, y, z,
                         block->block_index_[0], block->block_index_[1], block->block_index_[2],
                         size[0], size[1], size[2], grid[0], grid[1], grid[2]);
    block->leave();
}

void FiberBlock::leave() {
    set(current_, State::done);
    free_stacks_[free_count_++] = stacks_of_[current_];
    --live_;
    switch_stack(&places_[current_], home_);
    std::abort(); // nobody runs a thread that is done
}

void FiberBlock::abandon(int status) {
    status_ = status;
    switch_stack(&places_[current_], home_);
    std::abort();
}

void FiberBlock::wait(State state) {
    const unsigned self = current_;
    set(self, state);
    switch_stack(&places_[self], home_);
}

void FiberBlock::move_all(State from, State to) noexcept {
    for (unsigned thread = 0; thread < threads_; ++thread)
        if (states_[thread] == from)
            states_[thread] = to;
    counts_[slot(to)] += std::exchange(counts_[slot(from)], 0);
}

int FiberBlock::sync_block(int op, int predicate) {
    votes_ += predicate != 0;
    wait(State::block);
    switch (op) {
    case 1:
        return static_cast<int>(last_votes_);
    case 2:
        return last_votes_ == last_voters_;
    case 3:
        return last_votes_ != 0;
    default:
        return 0;
    }
}

void FiberBlock::sync_grid() {
    if (cooperative())
        return wait(State::grid);
    std::fputs("quern: a grid waits for itself, but its launch was not cooperative\n", stderr);
    abandon(CUDA_ERROR_LAUNCH_FAILED);
}

int FiberBlock::sync_named(int id, int count) {
    if (id == 0 && (count == 0 || static_cast<unsigned>(count) >= live_))
        return sync_block(0, 0);
    const auto name = static_cast<std::uint8_t>(static_cast<unsigned>(id) % barrier_names);
    if (count != 0 && ++named_[name] >= count) {
        named_[name] = 0;
        for (unsigned thread = 0; thread < threads_; ++thread)
            if (states_[thread] == State::named && names_[thread] == name)
                set(thread, State::ready);
        return 0;
    }
    names_[current_] = name;
    wait(State::named);
    return 0;
}

std::uint64_t FiberBlock::sync_warp(int op, std::uint32_t mask, std::uint64_t value,
                                    std::uint32_t source) {
    const unsigned self = current_;
    meeting_.arrive(self, op, mask, value, source);
    wait(State::warp);
    return meeting_.result(self);
}

std::uint32_t FiberBlock::active_mask(const void* site) {
    const unsigned self = current_;
    sites_[self] = site;
    wait(State::together);
    return static_cast<std::uint32_t>(meeting_.result(self));
}

std::uint32_t FiberBlock::lanes_in(unsigned warp, State state) const noexcept {
    std::uint32_t lanes = 0;
    const unsigned first = warp * 32, last = std::min(first + 32, threads_);
    for (unsigned thread = first; thread < last; ++thread)
        lanes |= static_cast<std::uint32_t>(states_[thread] == state) << (thread - first);
    return lanes;
}

std::uint32_t FiberBlock::live_lanes(unsigned warp) const noexcept {
    const unsigned first = warp * 32, count = std::min(32U, threads_ - first);
    return (count == 32 ? ~0U : (1U << count) - 1) & ~lanes_in(warp, State::done);
}

// True when something other than a yield happened. Lanes that met go on when the other warps have
// had their turn: hardware runs warps side by side, and none gets far ahead.
bool FiberBlock::run_warp(unsigned warp) {
    const unsigned first = warp * 32, last = std::min(first + 32, threads_);
    bool moved = false;
    for (unsigned thread = first; thread < last; ++thread) {
        if (states_[thread] > State::ready)
            continue;
        if (states_[thread] == State::fresh) {
            prepare(thread);
            set(thread, State::ready);
        }
        current_ = thread;
        switch_stack(&home_, places_[thread]);
        if (status_ != 0)
            return true;
        moved |= states_[thread] != State::yielded;
    }
    if (counts_[slot(State::warp)] != 0 && resolve_warp(warp, true))
        return true;
    return (counts_[slot(State::together)] != 0 && gather_together(warp)) || moved;
}

bool FiberBlock::resolve_warp(unsigned warp, bool complete_only) {
    const std::uint32_t waiting = lanes_in(warp, State::warp);
    if (waiting == 0)
        return false;
    const std::uint32_t released =
        meeting_.resolve(warp * 32, waiting, complete_only ? live_lanes(warp) : 0);
    for (std::uint32_t rest = released; rest != 0; rest &= rest - 1)
        set(warp * 32 + static_cast<unsigned>(std::countr_zero(rest)), State::ready);
    return released != 0;
}

// Lanes that ask at the same place, when nobody else of the warp can run: they are here together.
bool FiberBlock::gather_together(unsigned warp) {
    const std::uint32_t asking = lanes_in(warp, State::together);
    if (asking == 0)
        return false;
    const unsigned first = warp * 32;
    const void* site = sites_[first + static_cast<unsigned>(std::countr_zero(asking))];
    std::uint32_t group = 0;
    for (std::uint32_t rest = asking; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        group |= static_cast<std::uint32_t>(sites_[first + lane] == site) << lane;
    }
    for (std::uint32_t rest = group; rest != 0; rest &= rest - 1) {
        const unsigned thread = first + static_cast<unsigned>(std::countr_zero(rest));
        meeting_.set_result(thread, group);
        set(thread, State::ready);
    }
    return true;
}

bool FiberBlock::release_barriers() {
    if (counts_[slot(State::block)] == live_) {
        last_votes_ = std::exchange(votes_, 0);
        last_voters_ = live_;
        move_all(State::block, State::ready);
        return true;
    }
    if (counts_[slot(State::named)] == live_) { // a named barrier of all that are left
        move_all(State::named, State::ready);
        named_.fill(0);
        return true;
    }
    return false;
}

Outcome FiberBlock::run() {
    FiberBlock* const outer = std::exchange(running, this);
    const unsigned warps = (threads_ + 31) / 32;
    Outcome outcome = Outcome::parked;
    for (;;) {
        bool moved = false;
        for (unsigned warp = 0; warp < warps && status_ == 0; ++warp)
            moved |= run_warp(warp);
        if (status_ != 0) {
            outcome = Outcome::failed;
            break;
        }
        if (live_ == 0) {
            outcome = Outcome::done;
            break;
        }
        if (moved)
            idle_ = 0;
        if (release_barriers() || moved)
            continue;
        if (counts_[slot(State::yielded)] != 0) {
            move_all(State::yielded, State::ready);
            if (++idle_ > idle_rounds || ++given_ > given_rounds) {
                idle_ = given_ = 0;
                break;
            }
            continue;
        }
        if (waits_for_grid())
            break;
        // Nobody can go on. Lanes that name others which never come meet without them.
        bool met = false;
        for (unsigned warp = 0; warp < warps; ++warp)
            met |= resolve_warp(warp, false);
        if (met)
            continue;
        std::fprintf(stderr,
                     "quern: block (%u, %u, %u): threads wait for each other for ever (%u at "
                     "__syncthreads, %u at named barriers, %u at grid.sync)\n",
                     block_index_[0], block_index_[1], block_index_[2], counts_[slot(State::block)],
                     counts_[slot(State::named)], counts_[slot(State::grid)]);
        status_ = CUDA_ERROR_LAUNCH_TIMEOUT;
        outcome = Outcome::failed;
        break;
    }
    running = outer;
    return outcome;
}

ParkedBlocks::ParkedBlocks() = default;
ParkedBlocks::~ParkedBlocks() = default;

void ParkedBlocks::park(std::uint64_t number, std::unique_ptr<FiberBlock> block) {
    const std::scoped_lock lock(guard_);
    blocks_.emplace(number, std::move(block));
}

std::unique_ptr<FiberBlock> ParkedBlocks::take(std::uint64_t number) noexcept {
    const std::scoped_lock lock(guard_);
    auto found = blocks_.extract(number);
    return found ? std::move(found.mapped()) : nullptr;
}

std::vector<std::uint64_t> ParkedBlocks::next_round() {
    const std::scoped_lock lock(guard_);
    const bool all_at_grid = std::all_of(blocks_.begin(), blocks_.end(), [](const auto& entry) {
        return entry.second->waits_for_grid();
    });
    std::vector<std::uint64_t> numbers;
    for (auto& [number, block] : blocks_) {
        if (all_at_grid)
            block->release_grid();
        if (!block->waits_for_grid())
            numbers.push_back(number);
    }
    return numbers;
}

void abandon_fiber(int status) noexcept {
    if (running != nullptr)
        running->abandon(status);
}

void* fiber_context() noexcept { return running != nullptr ? running->context() : nullptr; }

namespace {

thread_local std::unique_ptr<FiberBlock> spare; // a worker's last block: its stacks are warm

// The status of the block that failed, 0 when none did.
int run_block(const Shape& shape, std::uint64_t number) {
    std::unique_ptr<FiberBlock> block = parked_blocks->take(number);
    if (!block) {
        block = spare ? std::move(spare) : std::make_unique<FiberBlock>();
        block->start(shape, number);
    }
    switch (block->run()) {
    case Outcome::parked:
        parked_blocks->park(number, std::move(block));
        return 0;
    case Outcome::failed: {
        const int status = block->status();
        spare = std::move(block);
        return status;
    }
    default:
        spare = std::move(block);
        return 0;
    }
}

} // namespace

extern "C" {

void quern_host_run_fibers(const HostLaunch* launch, const void* args, std::uint64_t first,
                           std::uint64_t last, void*, HostThread thread,
                           std::uint32_t static_shared_bytes, std::uint32_t stack_bytes) {
    const Shape shape{*launch, args, thread, static_shared_bytes + launch->shared_bytes,
                      stack_bytes};
    for (std::uint64_t number = first; number < last; ++number) {
        int status = CUDA_ERROR_OUT_OF_MEMORY;
        try {
            status = run_block(shape, number);
        } catch (const std::bad_alloc&) {
        }
        if (status != 0)
            leave_kernel(status);
    }
}

int quern_host_sync_block(int op, int predicate) { return running->sync_block(op, predicate); }

std::uint64_t quern_host_sync_warp(int op, std::uint32_t mask, std::uint64_t value,
                                   std::uint32_t source) {
    return running->sync_warp(op, mask, value, source);
}

std::uint32_t quern_host_active_mask() { return running->active_mask(__builtin_return_address(0)); }

void quern_host_sync_grid() { running->sync_grid(); }
int quern_host_sync_grid_allowed() { return running->cooperative(); }
void quern_host_sync_named(int id, int count) { running->sync_named(id, count); }
void quern_host_yield() { running->wait(State::yielded); }
void quern_host_leave_thread() { running->leave(); }
}

} // namespace quern::host
