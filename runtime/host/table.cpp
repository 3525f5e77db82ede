// The table itself, and what a fork does to the state behind it.
#include "runtime/host/host_driver.h"
#include "runtime/host/state.h"

#include <pthread.h>

namespace quern {
namespace {

void before_fork() {
    host::state().streams.before_fork();
    host::state().memory.before_fork();
}
void after_fork_in_parent() {
    host::state().memory.after_fork_in_parent();
    host::state().streams.after_fork_in_parent();
}
void after_fork_in_child() { // one thread left: no lock is held, no worker exists
    host::state().memory.after_fork_in_child();
    host::state().streams.after_fork_in_child();
    host::state().team.after_fork_in_child();
    host::state().modules.after_fork_in_child();
    host::state().functions.after_fork_in_child();
    host::state().arrays.after_fork_in_child();
    host::state().textures.after_fork_in_child();
    host::state().graphs.after_fork_in_child();
    host::state().graph_execs.after_fork_in_child();
}

const Driver* make_driver() {
    auto* driver = new Driver;
    driver->name = "host";
    driver->executes_on_cpu = true;
#define QUERN_CU(fn) driver->api.fn = &host::fn;
#include "runtime/driver/symbols.def"
#undef QUERN_CU
    (void)host::state();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return driver;
}

} // namespace

const Driver& host_driver() {
    static const Driver* const once = make_driver();
    return *once;
}

} // namespace quern
