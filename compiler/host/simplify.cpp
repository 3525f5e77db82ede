// The few passes of LLVM's that make a body plain.
#include "compiler/host/simplify.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

namespace quern::host {

Simplifier::Simplifier(llvm::TargetMachine& machine) : builder_(&machine) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(graph_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, graph_, modules_);
}

void Simplifier::run(llvm::Function& function) {
    clean(function);
    if (!has_loop(function))
        return;
    llvm::FunctionPassManager passes; // so that the loop over threads is the inner one
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopFullUnrollPass(2)));
    passes.run(function, functions_);
    clean(function);
}

void Simplifier::clean(llvm::Function& function) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.run(function, functions_);
}

void Simplifier::see_through_variables(llvm::Function& function) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.run(function, functions_);
}

void Simplifier::shape_loops(llvm::Function& function) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::LoopSimplifyPass());
    passes.run(function, functions_);
}

bool Simplifier::has_loop(llvm::Function& function) {
    return !functions_.getResult<llvm::LoopAnalysis>(function).empty();
}

void Simplifier::forget(llvm::Function& function) {
    functions_.clear(function, function.getName());
}

void mark_parallel(llvm::Function& body, llvm::MDNode* group) {
    for (auto& instruction : llvm::instructions(body)) {
        const llvm::Value* pointer = nullptr;
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load && load->isSimple())
            pointer = load->getPointerOperand();
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store && store->isSimple())
            pointer = store->getPointerOperand();
        if (pointer && !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer, 0)))
            instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
    }
}

} // namespace quern::host
