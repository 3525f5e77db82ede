// Pools across fork: the lists are quiet while the process is copied, so that a child can go on
// using the CPU's pool.
#include "runtime/memory/pool_state.h"

#include <mutex>
#include <new>
#include <pthread.h>

namespace quern {

constinit std::mutex making_pool;

namespace {

constinit std::mutex registry;
constinit PoolState* first_state = nullptr;

template <class Visit> void each_state(Visit visit) {
    for (PoolState* state = first_state; state != nullptr; state = state->next_state)
        visit(*state);
}

void before_fork() {
    making_pool.lock();
    registry.lock();
    each_state([](PoolState& state) {
        state.arenas.lock();
        state.each_arena([](Arena& arena) { arena.lock.lock(); });
    });
}

void unlock_all() {
    each_state([](PoolState& state) {
        state.each_arena([](Arena& arena) { arena.lock.unlock(); });
        state.arenas.unlock();
    });
    registry.unlock();
    making_pool.unlock();
}

void after_fork_in_child() {
    unlock_all();
    // A thread that was asking the driver for memory does not exist here; what it asked for is
    // lost, no more.
    each_state([](PoolState& state) { new (&state.growth) std::mutex; });
}

} // namespace

void register_for_fork(PoolState& state) {
    static const int registered = pthread_atfork(before_fork, unlock_all, after_fork_in_child);
    (void)registered;
    const std::lock_guard guard(registry);
    state.next_state = first_state;
    first_state = &state;
}

void forget_for_fork(PoolState& state) noexcept {
    const std::lock_guard guard(registry);
    PoolState** at = &first_state;
    while (*at != nullptr && *at != &state)
        at = &(*at)->next_state;
    if (*at != nullptr)
        *at = state.next_state;
}

} // namespace quern
