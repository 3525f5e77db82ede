// Finds the loops and what they read; see ahead.h.
#include "compiler/host/ahead.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace quern::host {
namespace {

using llvm::Loop;

constexpr std::int64_t line = 64;

// An iteration reads `step` bytes, behind those of the one before; below 0, before them.
struct Stream {
    llvm::LoadInst* first;
    const llvm::SCEV* place;
    std::int64_t step;
};

// Vectors' streams, each once, in the order of the block.
llvm::SmallVector<Stream, 4> streams_of(const Loop& loop, llvm::ScalarEvolution& evolution) {
    llvm::SmallVector<Stream, 4> found;
    for (auto& instruction : *loop.getHeader()) {
        auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        if (!load || !load->isSimple() || !load->getType()->isVectorTy())
            continue;
        const auto* place =
            llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(load->getPointerOperand()));
        if (!place || place->getLoop() != &loop)
            continue;
        const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(place->getStepRecurrence(evolution));
        if (!step || step->getAPInt().getSignificantBits() > 32)
            continue;
        const std::int64_t bytes = step->getAPInt().getSExtValue();
        const bool known = llvm::any_of(found, [&](const Stream& stream) {
            const auto* between =
                llvm::dyn_cast<llvm::SCEVConstant>(evolution.getMinusSCEV(place, stream.place));
            return between && between->getAPInt().abs().sle(std::abs(bytes));
        });
        if (!known)
            found.push_back({load, place, bytes});
    }
    return found;
}

// Behind the load that begins the last of the streams, where all their addresses are known.
void ask(llvm::ArrayRef<Stream> streams, llvm::Value* far, llvm::LoopInfo& loops) {
    auto* place = streams.back().first->getNextNode();
    auto* asking = llvm::SplitBlockAndInsertIfThen(
        far, place, false, llvm::MDBuilder(place->getContext()).createBranchWeights(1, 1),
        static_cast<llvm::DomTreeUpdater*>(nullptr), &loops);
    llvm::IRBuilder<> build(asking);
    for (const Stream& stream : streams) {
        const std::int64_t forward = stream.step > 0 ? 1 : -1;
        for (std::int64_t k = 0; k < std::abs(stream.step); k += line) {
            auto* address = build.CreatePtrAdd(
                stream.first->getPointerOperand(),
                build.getInt64(static_cast<std::uint64_t>(forward * (bytes_ahead + k))));
            build.CreateIntrinsic(
                llvm::Intrinsic::prefetch, {address->getType()},
                {address, build.getInt32(0), build.getInt32(2), build.getInt32(1)});
        }
    }
}

} // namespace

void describe_read_ahead(llvm::Module& module) {
    auto* hook = module.getFunction(read_ahead_hook);
    if (!hook)
        return;
    hook->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly(llvm::ModRefInfo::Mod));
    hook->setDoesNotThrow();
    hook->setWillReturn();
}

llvm::PreservedAnalyses ReadAhead::run(llvm::Function& function,
                                       llvm::FunctionAnalysisManager& analyses) const {
    llvm::SmallVector<llvm::CallInst*, 2> told; // more than once where a body was copied
    for (auto& instruction : llvm::instructions(function))
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            call && call->getCalledFunction() &&
            call->getCalledFunction()->getName() == read_ahead_hook)
            told.push_back(call);
    if (told.empty())
        return llvm::PreservedAnalyses::all();
    auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    auto& tree = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    struct Asking {
        llvm::CallInst* told;
        llvm::SmallVector<Stream, 4> streams;
    };
    llvm::SmallVector<Asking, 4> found;
    for (const auto* loop : loops.getLoopsInPreorder()) {
        const auto call = llvm::find_if(
            told, [&](const auto* each) { return tree.dominates(each, loop->getHeader()); });
        if (loop->getNumBlocks() != 1 || call == told.end())
            continue;
        auto streams = streams_of(*loop, evolution);
        std::int64_t lines = 0;
        for (const Stream& stream : streams)
            lines += (std::abs(stream.step) + line - 1) / line;
        if (lines > 0 && lines <= most_lines)
            found.push_back({*call, std::move(streams)});
    }
    for (const Asking& asking : found) {
        llvm::IRBuilder<> build(asking.told);
        ask(asking.streams, build.CreateIsNotNull(asking.told->getArgOperand(0)), loops);
    }
    for (auto* call : told)
        call->eraseFromParent();
    return llvm::PreservedAnalyses::none();
}

} // namespace quern::host
