// Lists of one arena: best fit, splitting, merging. Nothing here calls the driver, and freeing
// allocates nothing.
#include "runtime/memory/arena.h"

namespace quern {

Arena::~Arena() {
    while (spare != nullptr) {
        PoolBuffer* block = spare;
        spare = block->next;
        delete block;
    }
}

Arena::Spare Arena::make_spare() {
    auto block = std::make_unique<PoolBuffer>(*this);
    FreeSet maker;
    block->node = maker.extract(maker.insert(block.get()).first);
    return block;
}

// Splitting needs an object for the rest; memory for it is asked for without the lock.
std::unique_lock<SpinLock> Arena::lock_with_spare() {
    std::unique_lock<SpinLock> guard(lock);
    while (spare == nullptr) {
        guard.unlock();
        Spare made = make_spare();
        guard.lock();
        retire(made.release());
    }
    return guard;
}

PoolBuffer* Arena::take(std::size_t size) {
    const auto guard = lock_with_spare();
    if (size < small_limit)
        if (PoolBuffer* block = take_quick(size)) {
            count_used(size);
            return block;
        }
    return take_best(size);
}

PoolBuffer* Arena::take_merged(std::size_t size) {
    const auto guard = lock_with_spare();
    merge_quick();
    return take_best(size);
}

PoolBuffer* Arena::add_segment(std::uint64_t address, std::size_t bytes, std::size_t size,
                               Spare whole, Spare rest) noexcept {
    const std::lock_guard guard(lock);
    retire(rest.release());
    PoolBuffer* block = whole.release();
    block->place(address, bytes);
    block->small = size < small_limit;
    put_merged(block);
    return take_best(size);
}

PoolBuffer* Arena::pull(FreeSet& set, FreeSet::const_iterator at) noexcept {
    PoolBuffer* block = *at;
    block->node = set.extract(at);
    block->state =
        PoolBuffer::State::live; // under the lock: a neighbour that is freed must not merge with it
    return block;
}

// Wants a spare object for the rest of a split.
PoolBuffer* Arena::take_best(std::size_t size) noexcept {
    const bool small = size < small_limit;
    FreeSet& set = set_for(small);
    const auto found = set.lower_bound(size);
    if (found == set.end())
        return nullptr;
    PoolBuffer* block = pull(set, found);
    const std::size_t rest_bytes = block->block_bytes - size;
    if (small ? rest_bytes > 0 : rest_bytes > small_limit) {
        PoolBuffer* rest = spare;
        spare = rest->next;
        rest->place(block->address() + size, rest_bytes);
        rest->small = small;
        rest->before = block;
        rest->after = block->after;
        if (rest->after != nullptr)
            rest->after->before = rest;
        block->after = rest;
        block->block_bytes = size;
        put_merged(rest);
    }
    count_used(size);
    return block;
}

void Arena::put_free(PoolBuffer* block) noexcept {
    if (block->small)
        put_quick(block);
    else
        put_merged(block);
}

void Arena::absorb(PoolBuffer* block, PoolBuffer* neighbour) noexcept {
    FreeSet& set = set_for(neighbour->small);
    pull(set, set.find(neighbour));
    if (neighbour == block->before) {
        block->place(neighbour->address(), block->block_bytes + neighbour->block_bytes);
        block->before = neighbour->before;
        if (block->before != nullptr)
            block->before->after = block;
    } else {
        block->block_bytes += neighbour->block_bytes;
        block->after = neighbour->after;
        if (block->after != nullptr)
            block->after->before = block;
    }
    retire(neighbour);
}

void Arena::put_merged(PoolBuffer* block) noexcept {
    using State = PoolBuffer::State;
    if (block->before != nullptr && block->before->state == State::free)
        absorb(block, block->before);
    if (block->after != nullptr && block->after->state == State::free)
        absorb(block, block->after);
    block->state = State::free;
    block->freed_at = ++clock;
    set_for(block->small).insert(std::move(block->node));
}

void Arena::merge_quick() noexcept {
    if (quick_count == 0)
        return;
    for (PoolBuffer*& head : quick)
        while (head != nullptr) {
            PoolBuffer* block = head;
            head = block->next;
            put_merged(block);
        }
    quick_count = 0;
}

BlockQueue Arena::detach_whole_segments() noexcept {
    const std::lock_guard guard(lock);
    merge_quick();
    BlockQueue detached;
    for (FreeSet* set : {&small_free, &large_free})
        for (auto it = set->begin(); it != set->end();) {
            const auto here = it++;
            if ((*here)->is_whole_segment())
                detached.push(pull(*set, here));
        }
    return detached;
}

void Arena::retire(PoolBuffer* block) noexcept {
    block->state = PoolBuffer::State::spare;
    block->before = block->after = nullptr;
    block->place(0, 0);
    block->next = spare;
    spare = block;
}

} // namespace quern
