// What ends or delays a thread, and what the CPU has nothing to do for.
#include "compiler/host/ptx/emitter.h"

namespace quern::host::ptx {
namespace {

void branch(Emitter& e) { e.refuse(); } // emitter.cpp knows the labels

void leave(Emitter& e) {
    e.want_operands(0);
    e.end_thread();
}

void trap(Emitter& e) {
    e.want_operands(0);
    e.call("__quern_trap", e.build.getVoidTy(), {});
}

void sleep(Emitter& e) {
    e.take("u32");
    e.want_operands(1);
    e.read(0, Type{Type::unsigned_integer, 32});
    e.call("__quern_yield", e.build.getVoidTy(), {}, true);
}

void nothing(Emitter& e) {
    e.take_any({"launch_dependents", "wait"});
    e.take("mask");
}

constexpr Instruction rows[] = {
    {"bra", branch, false},      {"exit", leave, false}, {"trap", trap, false},
    {"nanosleep", sleep, false}, {"brkpt", nothing},     {"pmevent", nothing},
    {"griddepcontrol", nothing},
};

} // namespace

Instructions control_instructions() { return rows; }

} // namespace quern::host::ptx
