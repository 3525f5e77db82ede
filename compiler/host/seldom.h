// Functions that few elements of a loop need: __quern_seldom_NAME(usual, operands..., wanted) of
// the prelude is `usual` where `wanted` is false. A loop of vectors asks once for all lanes of a
// vector, and only where one wants it does the other work: in vectors too, where that is plain
// arithmetic. The tables of tables.h come in vectors the same way. Either may be a template's.
#pragma once
#include "compiler/host/front_end.h"
#include <deque>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/PassManager.h>
#include <string>

namespace quern::host {

inline constexpr llvm::StringRef seldom_prefix = "__quern_seldom_";

// Is of one of the two kinds.
bool has_own_lanes(llvm::StringRef name);

// Tells the vectoriser that these functions of a module come in vectors. Must live as long as the
// library is used.
class SeldomFunctions {
  public:
    explicit SeldomFunctions(llvm::Module& module);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    void add_to(llvm::TargetLibraryInfoImpl& library) const;

  private:
    std::deque<std::string> texts_; // VecDesc looks at these: they must not move
    std::vector<llvm::VecDesc> rows_;
};

// After the vectoriser: writes the bodies of those that it called. All are to be inlined then.
struct WriteSeldomFunctions : llvm::PassInfoMixin<WriteSeldomFunctions> {
    const Cpu& cpu;
    explicit WriteSeldomFunctions(const Cpu& given) : cpu(given) {}
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) const;
    static bool isRequired() { return true; }
};

} // namespace quern::host
