// Marks in the metadata of loops; see vectors_first.h.
#include "compiler/host/vectors_first.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>

namespace quern::host {
namespace {

constexpr const char *no_unrolling = "llvm.loop.unroll.disable", *ours = "quern.loop.kept";

llvm::MDNode* find_fact(const llvm::MDNode& facts, llvm::StringRef name) {
    for (const auto& fact : llvm::drop_begin(facts.operands()))
        if (auto* row = llvm::dyn_cast<llvm::MDNode>(fact); row && row->getNumOperands() > 0)
            if (const auto* text = llvm::dyn_cast<llvm::MDString>(row->getOperand(0));
                text && text->getString() == name)
                return row;
    return nullptr;
}

bool asks_for_vectors(const llvm::MDNode& facts) {
    const auto* row = find_fact(facts, "llvm.loop.vectorize.enable");
    return row && row->getNumOperands() == 2 &&
           llvm::mdconst::extract<llvm::ConstantInt>(row->getOperand(1))->isOne();
}

// A loop's facts are a node that names itself first.
llvm::MDNode* self_named(llvm::LLVMContext& context,
                         llvm::SmallVectorImpl<llvm::Metadata*>& facts) {
    facts.insert(facts.begin(), nullptr);
    auto* made = llvm::MDNode::getDistinct(context, facts);
    made->replaceOperandWith(0, made);
    return made;
}

template <class Change> bool change_facts(llvm::Function& function, const Change& change) {
    auto& context = function.getContext();
    bool any = false;
    for (auto& block : function)
        if (auto* end = block.getTerminator())
            if (const auto* facts = end->getMetadata(llvm::LLVMContext::MD_loop)) {
                llvm::SmallVector<llvm::Metadata*, 8> rest(llvm::drop_begin(facts->operands()));
                if (!change(*facts, rest))
                    continue;
                end->setMetadata(llvm::LLVMContext::MD_loop, self_named(context, rest));
                any = true;
            }
    return any;
}

} // namespace

llvm::PreservedAnalyses KeepForVectors::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager&) {
    auto& context = function.getContext();
    const auto named = [&](const char* name) {
        return llvm::MDNode::get(context, llvm::MDString::get(context, name));
    };
    change_facts(function, [&](const llvm::MDNode& facts, auto& rest) {
        if (!asks_for_vectors(facts) || find_fact(facts, no_unrolling) || find_fact(facts, ours))
            return false;
        rest.push_back(named(no_unrolling));
        rest.push_back(named(ours));
        return true;
    });
    return llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses ReleaseToUnroll::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager&) {
    change_facts(function, [&](const llvm::MDNode& facts, auto& rest) {
        const auto* const mark = find_fact(facts, ours);
        if (!mark)
            return false;
        const auto* const kept = find_fact(facts, no_unrolling);
        llvm::erase_if(rest, [&](const llvm::Metadata* row) { return row == mark || row == kept; });
        return true;
    });
    return llvm::PreservedAnalyses::all();
}

} // namespace quern::host
