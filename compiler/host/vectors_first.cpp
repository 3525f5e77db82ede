// Marks in the metadata of loops; see vectors_first.h.
#include "compiler/host/vectors_first.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>

namespace quern::host {
namespace {

constexpr const char *no_unrolling = "llvm.loop.unroll.disable", *ours = "quern.loop.kept";

bool asks_for_vectors(llvm::MDNode* facts) {
    const auto* row = llvm::findOptionMDForLoopID(facts, "llvm.loop.vectorize.enable");
    return row && row->getNumOperands() == 2 &&
           llvm::mdconst::extract<llvm::ConstantInt>(row->getOperand(1))->isOne();
}

// `change` returns what is to stand for a loop's facts.
template <class Change> void change_facts(llvm::Function& function, const Change& change) {
    for (auto& block : function)
        if (auto* end = block.getTerminator())
            if (auto* facts = end->getMetadata(llvm::LLVMContext::MD_loop))
                end->setMetadata(llvm::LLVMContext::MD_loop, change(facts));
}

} // namespace

llvm::PreservedAnalyses KeepForVectors::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager&) {
    auto& context = function.getContext();
    const auto named = [&](const char* name) {
        return llvm::MDNode::get(context, llvm::MDString::get(context, name));
    };
    change_facts(function, [&](llvm::MDNode* facts) {
        return asks_for_vectors(facts) && !llvm::findOptionMDForLoopID(facts, no_unrolling)
                   ? llvm::makePostTransformationMetadata(context, facts, {},
                                                          {named(no_unrolling), named(ours)})
                   : facts;
    });
    return llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses ReleaseToUnroll::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager&) {
    change_facts(function, [&](llvm::MDNode* facts) {
        return llvm::findOptionMDForLoopID(facts, ours)
                   ? llvm::makePostTransformationMetadata(function.getContext(), facts,
                                                          {no_unrolling, ours}, {})
                   : facts;
    });
    return llvm::PreservedAnalyses::all();
}

} // namespace quern::host
