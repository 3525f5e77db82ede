// Work that a thread keeps back for later. Whoever is about to do anything else on a device has it
// done first; Device::make_current, which all such code calls, asks.
#pragma once

namespace quern {

class Pending {
  public:
    virtual ~Pending() = default;
    virtual void settle() = 0;
    virtual void host_reads() = 0; // values are about to be brought to the host; may throw
};

// Of this thread; null: nothing is kept back.
[[nodiscard]] Pending* pending_work() noexcept;
Pending* set_pending_work(Pending* work) noexcept; // returns the one before

} // namespace quern
