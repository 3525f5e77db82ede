// How wide vectors are on a CPU, for passes and for kernels that hold as many as registers allow.
#pragma once
#include "compiler/host/front_end.h"
#include <llvm/IR/Module.h>

namespace quern::host {

// Since Ice Lake and Zen 4, which brought this, 512 bits cost no clock: LLVM keeps to 256 on the
// plain x86-64-v4 for those before.
inline constexpr const char* widest_feature = "avx512vpopcntdq";

unsigned widest_vector_bits(const Cpu& cpu);

// May a function hold vectors of 512 bits? One whose loops only stream may not (streams.h): they
// are split, which not every instruction can be.
bool takes_512_bits(const llvm::Function& function);

// What a kernel is told that calls this, before anything else is decided: the bytes of a vector.
inline constexpr const char* vector_bytes_hook = "__quern_vector_bytes";
void tell_vector_bytes(llvm::Module& module, const Cpu& cpu);

} // namespace quern::host
