// What loads, stores and atomic operations share: where, and in which order.
#pragma once
#include "compiler/host/ptx/emitter.h"

namespace quern::host::ptx {

struct Place {
    bool shared = false;
    llvm::AtomicOrdering order = llvm::AtomicOrdering::NotAtomic;
};

Place take_place(Emitter& e); // state space, order and scope
void ignore_hints(Emitter& e);
Value* address_of(Emitter& e, const Place& place, const Operand& operand);

} // namespace quern::host::ptx
