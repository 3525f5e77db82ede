// Loops that go through more memory than the caches hold ask for it before they are there.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// A kernel says once, by a call, whether it does: a number that is not 0, known when it runs. Its
// vectorised loops that read memory in order then ask for lines `bytes_ahead` bytes on, into the
// second cache; what a core fetches by itself comes later. (Zen 4, sum of 2^24 doubles: 33 GB/s,
// asked for 42; with what is in the second cache already it costs a tenth, so it is a question.)
inline constexpr const char* read_ahead_hook = "__quern_read_ahead";
inline constexpr unsigned bytes_ahead = 1024;

struct ReadAhead : llvm::PassInfoMixin<ReadAhead> {
    static llvm::PreservedAnalyses run(llvm::Function& function,
                                       llvm::FunctionAnalysisManager& analyses);
    static bool isRequired() { return true; } // nobody defines the hook
};

// The hook moves nothing and reads nothing, and may not be left out.
void describe_read_ahead(llvm::Module& module);

} // namespace quern::host
