// See stragglers.cpp; between leaders.cpp and spin.cpp on the way that passes.h lists.
#pragma once
#include "compiler/host/program.h"

namespace quern::host {

// What all threads read from shared memory they have read before one of them writes there, as on
// hardware that runs them side by side.
void wait_for_stragglers(Program& program);

} // namespace quern::host
