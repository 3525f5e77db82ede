// What an object made by the host compiler and the host driver agree on. One version number, in
// every cache key.
//
// A kernel `saxpy` compiles to two symbols:
//   __quern_run_saxpy    a HostKernel: runs blocks [first_block, last_block) of a launch, every
//   thread of each
//   __quern_info_saxpy   a HostKernelInfo in read-only data
//   __quern_params_saxpy its parameters in words, for callers that check (compiler/host/describe.h)
// and every __device__, __constant__ or __managed__ variable of the program is a plain global
// symbol of its C++ linkage name. Blocks are numbered x fastest, then y, then z.
#pragma once
#include <cstdint>

namespace quern {

inline constexpr std::uint32_t host_abi_version = 6;

struct HostLaunch {
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t shared_bytes; // dynamic shared memory of each block
    std::uint32_t cooperative;  // 1: the grid may wait for itself
};

// `args` is one packed buffer, 16-byte aligned, each parameter at its HostParam offset; `shared` is
// this worker's arena of (static + dynamic) shared bytes, 64-byte aligned. Blocks are independent:
// any thread may run any range.
using HostKernel = void (*)(const HostLaunch* launch, const void* args, std::uint64_t first_block,
                            std::uint64_t last_block, void* shared);

// One thread of a block, as a kernel whose threads wait for each other hands it to the host driver.
using HostThread = void (*)(const void* args, void* shared, std::uint32_t thread_x,
                            std::uint32_t thread_y, std::uint32_t thread_z, std::uint32_t block_x,
                            std::uint32_t block_y, std::uint32_t block_z,
                            std::uint32_t block_size_x, std::uint32_t block_size_y,
                            std::uint32_t block_size_z, std::uint32_t grid_size_x,
                            std::uint32_t grid_size_y, std::uint32_t grid_size_z);

// HostKernelInfo::flags
inline constexpr std::uint32_t host_kernel_waits = 1; // its threads wait for each other

struct HostParam {
    std::uint32_t offset_bytes, size_bytes;
};

struct HostKernelInfo {
    std::uint32_t abi_version;
    std::uint32_t param_count;
    std::uint32_t args_bytes;          // of the packed buffer
    std::uint32_t static_shared_bytes; // __shared__ variables of one block
    std::uint32_t max_threads;         // per block: 1024, or what __launch_bounds__ says
    std::uint32_t flags;               // host_kernel_*
    HostParam params[1];               // param_count of them
};

// A kernel cut at the places where its threads are held: a region runs from one such place to the
// next, for a stretch of the block's threads. What a thread keeps in between lies in the frame, an
// array of 1024 for each value; what all threads agree on lies once, after the frame of its place.
struct HostRegionCall {
    void* shared;
    void* frame;
    const void* kept;       // what was agreed on where the region begins, and
    void* keep;             // where the regions that end there write it
    std::uint8_t* states;   // by thread: the region it runs next
    std::uint8_t* votes;    // by thread, for the barrier it has come to
    std::uint32_t* masks;   // by thread, for the lanes it wants to meet: whom,
    std::uint64_t* values;  // what it brings, later what it gets,
    std::uint32_t* sources; // and whose value it wants to read
    std::uint32_t block[3], block_size[3], grid_size[3];
    std::uint32_t vote; // what came of the last barrier's votes, as its op asked
    std::uint32_t first_row,
        last_row;           // the stretch: of rows [first_row, last_row), counted through
    std::uint32_t from, to; // y and z, the threads whose x is in [from, to)
    std::uint32_t alone;    // 1: the stretch is all there is, and may run ahead through rounds
};
// Returns the region that all threads of the stretch run next, or host_see_states where that is not
// known beforehand and stands in the states.
using HostRegion = std::uint32_t (*)(const HostRegionCall* call, const void* args);

enum class HostStop : std::uint32_t {
    none,
    block,
    warp
};                                                    // whom a thread waits for before its region
inline constexpr std::uint8_t host_thread_done = 255; // its state after the last region
inline constexpr std::uint8_t host_see_states = 254;
inline constexpr std::uint32_t host_most_regions = 200;
inline constexpr std::uint32_t host_most_threads = 1024; // of blocks that run as one, and
inline constexpr std::uint32_t host_longest_row = 65536; // of those whose threads keep nothing

// How blocks side by side along x may run as one.
enum class HostNeighbours : std::uint32_t {
    apart,     // not at all
    more_rows, // each as rows of its own
    one_row,   // those of one row as one row, since threads know their number in the grid alone
    any_row,   // as long a row as one likes: threads keep nothing
};

struct HostRegionEntry {
    HostRegion run;
    HostStop stop;
    std::uint32_t op; // of the barrier or the warp operation
    std::uint32_t kept_offset, kept_bytes;
};

struct HostRegionTable {
    std::uint32_t count, frame_bytes, kept_bytes;
    std::uint32_t static_shared_bytes;
    std::uint32_t goes_along_memory; // 1: loops over data are held in step
    HostNeighbours neighbours;
    HostRegionEntry regions[1]; // count of them; the first is the kernel's beginning
};

} // namespace quern
