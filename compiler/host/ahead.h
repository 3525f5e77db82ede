// Loops that go through more memory than the caches hold ask for it before they are there.
#pragma once
#include <llvm/IR/PassManager.h>

namespace quern::host {

// A kernel says once, by a call, whether it does: a number that is not 0, known when it runs. Its
// vectorised loops that read memory in order then ask for lines `bytes_ahead` bytes on, into the
// second cache; what a core fetches by itself comes later. (Zen 4, sum of 2^24 doubles: 33 GB/s,
// asked for 42; with what is in the second cache already it costs a tenth, so it is a question.)
inline constexpr const char* read_ahead_hook = "__quern_read_ahead";
inline constexpr unsigned bytes_ahead = 2048;
// Lines of 64 bytes that an iteration may ask for. Cores before AVX-512 fetch loops of many better
// by themselves (Zen 3: sums of doubles, 16 lines: 16 GB/s, asked for 13; their maxima, 4 lines:
// 13, asked for 15).
inline constexpr int most_lines_ahead = 32, most_lines_ahead_before_avx512 = 8;

struct ReadAhead : llvm::PassInfoMixin<ReadAhead> {
    int most_lines = most_lines_ahead;
    llvm::PreservedAnalyses run(llvm::Function& function,
                                llvm::FunctionAnalysisManager& analyses) const;
    static bool isRequired() { return true; } // nobody defines the hook
};

// The hook moves nothing and reads nothing, and may not be left out.
void describe_read_ahead(llvm::Module& module);

} // namespace quern::host
