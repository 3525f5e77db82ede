// What kernels find wrong while they run and nobody waits: a word of the device that a launch sets,
// read where quern waits for the device.
#pragma once
#include "runtime/device/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quern {

// When an index that is out of bounds raises: never, where the host waits next, or before the call
// returns. It never reads or writes outside of an array.
enum class IndexCheck : std::uint8_t { off, later, now };
[[nodiscard]] IndexCheck index_check() noexcept;
void set_index_check(IndexCheck check) noexcept;

// One launch that may find an index out of bounds: the axis and extent of each index array.
struct FaultSite {
    struct Axis {
        std::int64_t axis, extent;
    };
    std::vector<Axis> axes;
    const char* name = "";           // "take"; a literal
    const char* complaint = nullptr; // a literal: a ValueError of this text instead
};

// Where a launch leaves a fault, and the number that tells it from others. Numbers are never 0.
struct FaultTicket {
    std::int64_t word = 0, call = 0;
};
// The last thousand or so of a device's sites are remembered. Thread safe.
[[nodiscard]] FaultTicket note_site(Device& device, const FaultSite& site);

// Throws for the first call that left a fault, naming it and where it was made. Cheap when there is
// none: call it after every wait.
void throw_fault(const Device& device);
// The same, but for this call it clears the word and answers true.
[[nodiscard]] bool take_fault_of(const Device& device, std::int64_t call);

// Of the bindings: what made the call that runs on this thread. `forget` takes back what `note`
// gave; both run inside calls. `tell` says it as text and forgets it, from anywhere.
struct OriginHooks {
    struct Origin {
        void* code = nullptr;
        std::int64_t place = 0;
    };
    Origin (*note)() = nullptr;
    void (*forget)(const Origin&) = nullptr;
    std::string (*tell)(const Origin&) = nullptr;
};
void set_origin_hooks(const OriginHooks& hooks) noexcept;

} // namespace quern
