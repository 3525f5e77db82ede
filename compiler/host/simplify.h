// Brings a kernel's body into the form that the passes over its threads look at.
#pragma once
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace quern::host {

class Simplifier {
  public:
    explicit Simplifier(llvm::TargetMachine& machine);

    void run(llvm::Function& function);   // variables become values, small constant loops vanish
    void clean(llvm::Function& function); // the first half of it
    void see_through_variables(llvm::Function& function); // where pointers come from, no more
    // Every loop with an entry of its own, one way back and exits that only it has.
    void shape_loops(llvm::Function& function);
    bool has_loop(llvm::Function& function);
    void forget(llvm::Function& function); // before it is erased

  private:
    llvm::LoopAnalysisManager loops_;
    llvm::FunctionAnalysisManager functions_;
    llvm::CGSCCAnalysisManager graph_;
    llvm::ModuleAnalysisManager modules_;
    llvm::PassBuilder builder_;
};

// Plain accesses of different threads are independent: a race without a barrier in between has no
// meaning.
void mark_parallel(llvm::Function& body, llvm::MDNode* group);

} // namespace quern::host
