// Finds the loops by what an iteration does; see streams.h.
#include "compiler/host/streams.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace quern::host {
namespace {

using llvm::Instruction;
using llvm::Loop;

enum class Kind : std::uint8_t {
    still,  // writes nothing beyond the kernel's own memory
    stream, // does, and little else
    busy,
};

// Arithmetic that a loop's time may hang on; sums of addresses are not it.
bool is_work(const Instruction& instruction) {
    switch (instruction.getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::SExt:
    case Instruction::ZExt:
    case Instruction::Trunc:
        return false;
    default:
        return llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                         llvm::UnaryOperator>(instruction);
    }
}

bool is_light(const llvm::CallBase& call) {
    switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::copysign:
        return true;
    default:
        return call.isDebugOrPseudoInst() || call.isLifetimeStartOrEnd() ||
               llvm::isa<llvm::AssumeInst>(call);
    }
}

// No vectoriser takes a loop with such a call in it.
bool stands_in_the_way(const llvm::CallBase& call, const llvm::TargetLibraryInfo& library) {
    const auto* callee = call.getCalledFunction();
    return !callee ||
           (!callee->isIntrinsic() && !library.isFunctionVectorizable(callee->getName()));
}

// Variables, shared memory and what threads keep, not what a program's pointers lead to.
bool is_own_memory(const llvm::Value* address) {
    const auto* object = llvm::getUnderlyingObject(address);
    const auto* pointer = llvm::dyn_cast<llvm::LoadInst>(object);
    if (!pointer)
        return llvm::isa<llvm::AllocaInst, llvm::Argument>(object);
    const auto* from =
        llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(pointer->getPointerOperand()));
    return from &&
           from->getParent()->getAttributes().hasParamAttr(from->getArgNo(), own_memory_mark);
}

// Whether elements lie apart, by as many bytes as are only known at run time: a sum, as elementwise
// kernels write it (codegen/cpu_loops.cpp). Of a stride alone LLVM guesses that it is 1, and has
// vectors for that.
bool is_scattered(const Loop& loop, Instruction& access, llvm::ScalarEvolution& evolution) {
    const auto* place = llvm::dyn_cast<llvm::SCEVAddRecExpr>(
        evolution.getSCEV(llvm::getLoadStorePointerOperand(&access)));
    return place && place->getLoop() == &loop &&
           llvm::isa<llvm::SCEVAddExpr>(place->getStepRecurrence(evolution));
}

// Divisions of a vector take as long as one.
bool is_division(const Instruction& instruction) {
    return instruction.getOpcode() == Instruction::FDiv || instruction.isIntDivRem() ||
           instruction.getOpcode() == Instruction::FRem;
}

// Elements come from or go to places apart, and little is done on the way. The vectoriser would
// have vectors of addresses, each taken out again.
bool is_scatter(const Loop& loop, llvm::ScalarEvolution& evolution) {
    int work = 0, scattered = 0;
    for (auto* block : loop.blocks())
        for (auto& instruction : *block) {
            if (llvm::isa<llvm::CallBase>(instruction) || is_division(instruction))
                return false;
            work += is_work(instruction); // an address's product too
            if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction))
                scattered += is_scattered(loop, instruction, evolution);
        }
    return scattered > 0 && work <= 1 + 3 * scattered;
}

Kind kind_of(const Loop& loop, const llvm::TargetLibraryInfo& library) {
    constexpr int most = 4; // operations for each access to memory
    constexpr int few = 6;  // accesses: where there are more, the caches serve them
    constexpr unsigned line_bits = 512;
    int accesses = 0, work = 0;
    bool writes = false, floats = false;
    for (const auto* block : loop.blocks())
        for (const auto& instruction : *block) {
            if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
                if (stands_in_the_way(*call, library))
                    return Kind::still;
                if (!is_light(*call))
                    return Kind::busy;
                ++work;
            } else if (instruction.isAtomic()) {
                return Kind::busy;
            } else if (const auto* address = llvm::getLoadStorePointerOperand(&instruction)) {
                const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
                const llvm::Value* moved = store ? store->getValueOperand() : &instruction;
                if (moved->getType()->getPrimitiveSizeInBits() >= line_bits)
                    return Kind::busy; // has its vectors
                accesses += !loop.isLoopInvariant(address);
                writes |= llvm::isa<llvm::StoreInst>(instruction) && !is_own_memory(address);
            } else {
                work += is_work(instruction);
                floats |= instruction.getType()->isFloatingPointTy();
            }
        }
    if (accesses > few || (work > most * accesses && (accesses > 0 || floats)))
        return Kind::busy;
    return writes ? Kind::stream : Kind::still;
}

} // namespace

llvm::PreservedAnalyses NarrowStreams::run(llvm::Module& module,
                                           llvm::ModuleAnalysisManager& analyses) {
    auto& functions =
        analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (auto& function : module) {
        if (!function.hasFnAttribute(vector_width))
            continue;
        llvm::SmallVector<Loop*, 8> streams;
        bool busy = false;
        const auto& library = functions.getResult<llvm::TargetLibraryAnalysis>(function);
        for (auto* loop : functions.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
            if (loop->isInnermost()) {
                const Kind kind = kind_of(*loop, library);
                busy |= kind == Kind::busy;
                if (kind == Kind::stream)
                    streams.push_back(loop);
                if (is_scatter(*loop, functions.getResult<llvm::ScalarEvolutionAnalysis>(function)))
                    llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
            }
        if (busy || streams.empty())
            continue;
        for (auto* loop : streams)
            llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", 2);
        function.addFnAttr(vector_width, streaming_bits);
        functions.clear(function, function.getName()); // what they know of the CPU's vectors
    }
    return llvm::PreservedAnalyses::all();
}

} // namespace quern::host
