// Pulls device functions into kernels: only a kernel in one piece can be vectorised over its
// threads.
#include "compiler/host/passes.h"
#include "compiler/host/waits.h"
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/SROA.h>

namespace quern::host {
namespace {

// Past this many copied instructions a function stays a function.
constexpr std::size_t growth_limit = 40000;

bool worth_inlining(const llvm::Function& function) {
    return !function.hasFnAttribute(llvm::Attribute::NoInline) &&
           function.getInstructionCount() * function.getNumUses() < growth_limit;
}

// A function in which threads wait must be part of its kernel, whatever it says, or the kernel
// cannot be cut there.
llvm::SetVector<llvm::Function*> waiting_functions(llvm::Module& module) {
    llvm::SetVector<llvm::Function*> found;
    for (auto& function : module)
        if (is_wait(function))
            found.insert(&function);
    for (std::size_t i = 0; i < found.size(); ++i)
        for (auto* user : found[i]->users())
            if (auto* call = llvm::dyn_cast<llvm::CallBase>(user))
                found.insert(call->getFunction());
    return found;
}

void erase_list(llvm::Module& module, const char* name) {
    if (auto* list = module.getNamedGlobal(name))
        list->eraseFromParent();
}

} // namespace

void inline_device_functions(Program& program) {
    auto& module = *program.module;
    for (const char* list : {"llvm.global.annotations", "llvm.used", "llvm.compiler.used"})
        erase_list(module, list);
    const bool waits = std::any_of(program.kernels.begin(), program.kernels.end(),
                                   [](const Kernel& kernel) { return kernel.waits; });
    if (waits)
        for (auto* function : waiting_functions(module))
            if (!function->isDeclaration())
                function->removeFnAttr(llvm::Attribute::NoInline);
    for (auto& function : module) {
        if (function.isDeclaration())
            continue;
        function.setComdat(nullptr);
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
        function.addFnAttr(llvm::Attribute::NoUnwind);
        function.removeFnAttr(llvm::Attribute::UWTable);
        if (worth_inlining(function))
            function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    for (auto& variable : module.globals())
        if (variable.hasComdat()) {
            variable.setComdat(nullptr);
            if (!variable.hasLocalLinkage())
                variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
        }
    for (auto& kernel : program.kernels) {
        kernel.thunk->removeFnAttr(llvm::Attribute::AlwaysInline);
        kernel.thunk->setLinkage(llvm::GlobalValue::ExternalLinkage); // until threads.cpp uses it
        for (auto& instruction : kernel.thunk->getEntryBlock())
            if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
                if (auto* callee = call->getCalledFunction(); callee && !callee->isIntrinsic()) {
                    callee->removeFnAttr(llvm::Attribute::NoInline);
                    callee->addFnAttr(llvm::Attribute::AlwaysInline);
                }
    }
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graph;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
    llvm::ModulePassManager passes;
    // Clang keeps every name in memory; here that is mended once, and not in every copy.
    passes.addPass(llvm::GlobalDCEPass());
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::PreserveCFG)));
    passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/true));
    passes.addPass(llvm::GlobalDCEPass());
    passes.run(module, modules);
}

} // namespace quern::host
