// What a compiler tells of a kernel beside its code. The host compiler hands it over as a line for
// each kernel, words parted by tabs: name, tier, regions, level, vector bits, reason.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct KernelFacts {
    std::string name;              // symbol
    std::string tier;              // "loops", "fibers", "regions"
    std::uint32_t regions = 0;     // loops over threads, of which each runs one piece
    std::uint32_t level = 0;       // LLVM's: 1 is quick, without vectorisers
    std::uint32_t vector_bits = 0; // the widest vectors in its code; 0: none
    std::string reason;            // why it is not in a better tier, or at a better level
};

[[nodiscard]] std::vector<KernelFacts> read_kernel_facts(std::string_view lines);

} // namespace quern
