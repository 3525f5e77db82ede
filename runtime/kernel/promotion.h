// On the CPU a program whose threads wait for each other is compiled twice: at once, quickly, and
// while it runs, for speed.
#pragma once
#include "compiler/compile.h"

#include <cuda.h>

#include <memory>
#include <string>

namespace quern {

class Promotion; // waits, when it goes, for a compilation under way

// Where the faster tier is: waiting, being compiled, in use, or given up and why. `kernel` is a
// symbol. Any thread.
[[nodiscard]] std::string tell_progress(const Promotion& promotion, const std::string& kernel);
// "regions: 5 loops over threads, optimised at O3, vectors of up to 512 bits".
[[nodiscard]] std::string tell(const KernelFacts& facts);

// When kernels of `module` have run for a while as fibers, compiles `source` again in a thread of
// its own and puts the result in their place. nullptr where the program says itself how it wants to
// be compiled. The module must outlive what is returned.
[[nodiscard]] std::shared_ptr<Promotion> promote_when_hot(const RawSource& source, const Arch& arch,
                                                          const std::string& name, CUmodule module);

} // namespace quern
