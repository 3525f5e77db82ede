// Cooperative groups on the CPU: threads that do something together, from one thread to the whole
// grid. The interface is the one that CUDA documents; everything here is arithmetic on a thread's
// place around the calls that wait.
#pragma once
#include <cooperative_groups/quern/coalesced.h>
#include <cooperative_groups/quern/grid.h>
#include <cooperative_groups/quern/group.h>
#include <cooperative_groups/quern/invoke.h>
#include <cooperative_groups/quern/large_tile.h>
#include <cooperative_groups/quern/partition.h>
#include <cooperative_groups/quern/tile.h>
#include <stdint.h>
