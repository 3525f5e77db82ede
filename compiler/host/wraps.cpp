// A loop around the loop, whose iterations are the stretches; see wraps.h.
#include "compiler/host/wraps.h"
#include <algorithm>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Loop;
using llvm::SCEV;
using llvm::Value;

constexpr std::uint64_t least_places = 64;
constexpr std::size_t most_rings = 4;

struct Ring {
    const SCEV* first; // index of the loop's first iteration, before it is wrapped
    std::uint64_t places;
    Value* start = nullptr;
    bool operator==(const Ring& other) const = default;
};

struct Cut {
    Loop* loop;
    llvm::SmallVector<Ring, most_rings> rings;
    Value* count = nullptr; // of iterations
};

bool leads_to_memory(const Instruction& index) {
    return std::any_of(index.user_begin(), index.user_end(), [](const llvm::User* user) {
        if (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(user))
            return leads_to_memory(*llvm::cast<Instruction>(user));
        return llvm::isa<llvm::GetElementPtrInst>(user);
    });
}

// `x % 2^n` of what grows by one with each iteration, as an index.
void find_rings(Cut& cut, llvm::ScalarEvolution& evolution) {
    using namespace llvm::PatternMatch;
    for (auto* block : cut.loop->blocks())
        for (auto& instruction : *block) {
            Value* whole = nullptr;
            const llvm::APInt* mask = nullptr;
            if (!match(&instruction, m_And(m_Value(whole), m_LowBitMask(mask))) ||
                mask->getActiveBits() > 32 || mask->getZExtValue() + 1 < least_places ||
                !leads_to_memory(instruction))
                continue;
            const auto* along = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(whole));
            if (!along || along->getLoop() != cut.loop ||
                !along->getStepRecurrence(evolution)->isOne())
                continue;
            const Ring ring{along->getStart(), mask->getZExtValue() + 1};
            if (llvm::find(cut.rings, ring) == cut.rings.end())
                cut.rings.push_back(ring);
        }
}

bool may_be_vectorised(const Loop& loop) {
    return loop.isInnermost() && loop.isLoopSimplifyForm() &&
           loop.getExitingBlock() == loop.getLoopLatch() && loop.getUniqueExitBlock() &&
           !llvm::getBooleanLoopAttribute(&loop, "llvm.loop.isvectorized") &&
           llvm::getOptionalIntLoopAttribute(&loop, "llvm.loop.vectorize.width") != 1;
}

// What the cut needs to know is computed before the loop.
bool prepare(Cut& cut, llvm::ScalarEvolution& evolution, const llvm::DataLayout& layout) {
    auto* before = cut.loop->getLoopPreheader()->getTerminator();
    const SCEV* last = evolution.getBackedgeTakenCount(cut.loop);
    llvm::SCEVExpander expander(evolution, layout, "stretch");
    const auto can_be_had = [&](const SCEV* value) {
        return expander.isSafeToExpandAt(value, before);
    };
    if (llvm::isa<llvm::SCEVCouldNotCompute>(last) || !can_be_had(last) ||
        evolution.getTypeSizeInBits(last->getType()) > 64 ||
        !llvm::all_of(cut.rings, [&](const Ring& ring) { return can_be_had(ring.first); }))
        return false;
    auto* wide = llvm::Type::getInt64Ty(evolution.getContext());
    cut.count = expander.expandCodeFor(
        evolution.getAddExpr(evolution.getNoopOrZeroExtend(last, wide), evolution.getOne(wide)),
        wide, before);
    for (auto& ring : cut.rings)
        ring.start = expander.expandCodeFor(ring.first, ring.first->getType(), before);
    return true;
}

void make(const Cut& cut) {
    auto& loop = *cut.loop;
    auto *before = loop.getLoopPreheader(), *header = loop.getHeader(),
         *latch = loop.getLoopLatch(), *exit = loop.getUniqueExitBlock();
    auto& context = header->getContext();
    auto* stretch = BasicBlock::Create(context, "stretch", header->getParent(), header);
    auto* stretch_done = BasicBlock::Create(context, "stretch_done", header->getParent(), exit);

    llvm::IRBuilder<> build(stretch);
    for (auto& phi : header->phis()) {
        auto* outer = build.CreatePHI(phi.getType(), 2);
        outer->addIncoming(phi.getIncomingValueForBlock(before), before);
        outer->addIncoming(phi.getIncomingValueForBlock(latch), stretch_done);
        phi.setIncomingValueForBlock(before, outer);
        phi.replaceIncomingBlockWith(before, stretch);
    }
    auto* done = build.CreatePHI(build.getInt64Ty(), 2);
    Value* length = build.CreateSub(cut.count, done);
    for (const auto& ring : cut.rings) {
        auto* here =
            build.CreateAdd(ring.start, build.CreateTruncOrBitCast(done, ring.start->getType()));
        auto* place =
            build.CreateZExtOrTrunc(build.CreateAnd(here, ring.places - 1), build.getInt64Ty());
        auto* left = build.CreateSub(build.getInt64(ring.places), place);
        length = build.CreateBinaryIntrinsic(llvm::Intrinsic::umin, length, left);
    }
    build.CreateBr(header);
    before->getTerminator()->replaceSuccessorWith(header, stretch);

    build.SetInsertPoint(header, header->begin());
    auto* number = build.CreatePHI(build.getInt64Ty(), 2);
    number->addIncoming(build.getInt64(0), stretch);
    auto* branch = llvm::cast<llvm::BranchInst>(latch->getTerminator());
    build.SetInsertPoint(branch);
    auto* next = build.CreateAdd(number, build.getInt64(1), "", true, true);
    number->addIncoming(next, latch);
    auto* condition = branch->getCondition();
    branch->setCondition(build.CreateICmpULT(next, length));
    branch->setSuccessor(0, header);
    branch->setSuccessor(1, stretch_done);
    llvm::RecursivelyDeleteTriviallyDeadInstructions(condition);

    build.SetInsertPoint(stretch_done);
    auto* now = build.CreateAdd(done, length);
    build.CreateCondBr(build.CreateICmpULT(now, cut.count), stretch, exit);
    done->addIncoming(build.getInt64(0), before);
    done->addIncoming(now, stretch_done);
    exit->replacePhiUsesWith(latch, stretch_done);
}

} // namespace

llvm::PreservedAnalyses CutAtWraps::run(llvm::Function& function,
                                        llvm::FunctionAnalysisManager& analyses) {
    llvm::SmallVector<Cut, 4> cuts;
    for (auto* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
        if (!may_be_vectorised(*loop))
            continue;
        auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
        Cut cut{loop, {}};
        find_rings(cut, evolution);
        if (!cut.rings.empty() && cut.rings.size() <= most_rings &&
            prepare(cut, evolution, function.getDataLayout()))
            cuts.push_back(std::move(cut));
    }
    for (const auto& cut : cuts)
        make(cut);
    return cuts.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

} // namespace quern::host
