// What became of each kernel, for people who ask why it is as fast as it is.
#pragma once
#include "compiler/host/front_end.h"
#include "compiler/host/program.h"

namespace quern::host {

// A line for each kernel, as compiler/base/kernel_facts.h reads them. After all passes, before the
// object.
[[nodiscard]] std::string tell_facts(const Program& program, const Cpu& cpu);

} // namespace quern::host
