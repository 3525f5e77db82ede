// Blocks of a kernel that comes in regions: all threads run one region, then all run the next. The
// fast way for threads that wait for each other.
#pragma once
#include "compiler/base/host_abi.h"

namespace quern::host {

// The hook that such a kernel calls.
extern "C" void quern_host_run_regions(const HostLaunch* launch, const void* args,
                                       std::uint64_t first, std::uint64_t last, void* shared,
                                       const HostRegionTable* table);

} // namespace quern::host
