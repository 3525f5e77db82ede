// __isShared and its kin, isspacep: memory of a block is known by its addresses, what a thread has
// for itself and constants by where the pointer comes from.
#include "compiler/host/passes.h"
#include "compiler/host/ptx/emitter.h"
#include "compiler/host/simplify.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {
namespace {

enum Space { shared, local, constant, global };

// No block has more; the driver keeps as much room for every one (runtime/host/module.h).
constexpr std::uint64_t most_shared_bytes = 227 * 1024;

llvm::Value* without_numbers(llvm::Value* pointer) { // inline PTX has addresses as integers
    while (auto* made = llvm::dyn_cast<llvm::IntToPtrInst>(pointer)) {
        auto* number = llvm::dyn_cast<llvm::PtrToIntInst>(made->getOperand(0));
        if (!number)
            break;
        pointer = number->getPointerOperand();
    }
    return pointer;
}

template <class Test> bool comes_from(llvm::Value* pointer, Test test) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(without_numbers(pointer), objects, nullptr, 0);
    return llvm::all_of(objects, test);
}

bool is_local(const llvm::Value* object) { return llvm::isa<llvm::AllocaInst>(object); }

bool is_constant(const llvm::Value* object) {
    const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object);
    return variable && variable->hasAttribute(constant_attribute);
}

llvm::Value* is_shared(llvm::IRBuilder<>& build, llvm::Value* pointer) {
    auto* module = build.GetInsertBlock()->getModule();
    auto* base = ptx::shared_base(*module);
    auto* number = build.getInt64Ty();
    auto* place =
        build.CreateSub(build.CreatePtrToInt(pointer, number), build.CreatePtrToInt(base, number));
    return build.CreateICmpULT(place, build.getInt64(most_shared_bytes));
}

llvm::Value* answer(llvm::CallInst& call) {
    llvm::IRBuilder<> build(&call);
    auto* pointer = call.getArgOperand(0);
    const auto space = llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue();
    if (space == local)
        return build.getInt1(comes_from(pointer, is_local));
    if (space == constant)
        return build.getInt1(comes_from(pointer, is_constant));
    if (space == shared)
        return is_shared(build, pointer);
    if (comes_from(pointer, is_local) || comes_from(pointer, is_constant))
        return build.getFalse();
    return build.CreateNot(is_shared(build, pointer));
}

} // namespace

void answer_spaces(Program& program, llvm::TargetMachine& machine) {
    auto* question = program.module->getFunction(ptx::space_question);
    if (!question)
        return;
    llvm::SmallPtrSet<llvm::Function*, 8> askers;
    for (auto* user : question->users())
        askers.insert(llvm::cast<llvm::Instruction>(user)->getFunction());
    Simplifier simplifier(machine);
    for (auto* function : askers)
        simplifier.see_through_variables(*function);
    for (auto* user : llvm::make_early_inc_range(question->users())) {
        auto& call = *llvm::cast<llvm::CallInst>(user);
        call.replaceAllUsesWith(answer(call));
        call.eraseFromParent();
    }
    question->eraseFromParent();
}

} // namespace quern::host
