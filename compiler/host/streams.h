// Loops that go through memory with little to do on the way.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// Functions whose loops are such take vectors of `streaming_bits` instead of wider ones, and two at
// a time: wider accesses reach memory in less of an order, and what they save is not what counts.
// (Zen 4, z = x + y of 2^24 floats: 8.7 ms; 13 ms in four vectors of 512 bits.)
inline constexpr const char *vector_width = "prefer-vector-width", *streaming_bits = "256";

// An argument of this attribute leads to a kernel's own memory, which stays in the caches.
inline constexpr const char* own_memory_mark = "quern-own-memory";

struct NarrowStreams : llvm::PassInfoMixin<NarrowStreams> {
    static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

} // namespace quern::host
