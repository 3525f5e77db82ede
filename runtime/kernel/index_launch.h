// What every kernel of indexing needs: itself, by its form, and what it says of wrong indices.
#pragma once
#include "runtime/device/faults.h"
#include "runtime/kernel/elementwise.h"
#include "runtime/kernel/indexing.h"

namespace quern {

// Made on first use and kept.
[[nodiscard]] ElementwiseKernel& index_kernel(const IndexForm& form);

// The array itself, or a copy where it has another dtype or shares memory with what is written.
[[nodiscard]] Array apart_from(const Array& source, const Array& written, DType dtype);

// A launch that may find wrong indices in the arrays of `plan`. Give the kernel its ticket, launch
// it on the current stream, settle.
class CheckedLaunch {
  public:
    CheckedLaunch(const IndexPlan& plan, Device& device, const IndexCall& call);
    [[nodiscard]] Argument word() const { return Argument::of(Scalar::of(ticket_.word)); }
    [[nodiscard]] Argument number() const { return Argument::of(Scalar::of(ticket_.call)); }
    // Throws on the CPU, which has run the kernel unless its stream must wait; else the next wait
    // does, which index_check() may ask for here.
    void settle() const;

  private:
    const IndexPlan& plan_;
    Device& device_;
    const IndexCall& call_;
    FaultTicket ticket_;
};

} // namespace quern
