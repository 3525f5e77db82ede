// Floating-point pieces that several families share.
#pragma once
#include "compiler/host/ptx/emitter.h"

namespace quern::host::ptx {

// .ftz: subnormal numbers become zeros of their sign.
Value* flush(Emitter& e, Type type, Value* value);
// .sat: into [0, 1]; NaN becomes 0.
Value* saturate(Emitter& e, Type type, Value* value);
Value* constant_real(Emitter& e, Type type, double value);
// The nearest even, toward zero, down, up; "" when the name has none of them.
std::string_view take_rounding(Emitter& e);
// To a narrower type in the named rounding (.rn .rz .rm .rp).
Value* narrow(Emitter& e, Type from, Type to, std::string_view rounding, Value* value);
// cvt where one side is a pair of floats of eight bits: eight_bits.cpp. False: it is another cvt.
bool convert_eight_bits(Emitter& e);

} // namespace quern::host::ptx
