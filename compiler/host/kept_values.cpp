// Liveness by the usual iteration; recipes as trees of detached instructions.
#include "compiler/host/kept_values.h"
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr unsigned largest_recipe = 24; // instructions

bool can_compute(Value* value, const Agreement& agreement, const BasicBlock* place,
                 llvm::SetVector<Instruction*>& leaves, unsigned& size) {
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction)
        return llvm::isa<llvm::Constant>(value) || llvm::isa<llvm::Argument>(value);
    if (++size > largest_recipe)
        return false;
    if (is_cheap(*instruction)) {
        const auto before = leaves;
        bool all = true;
        for (auto& operand : instruction->operands())
            all = all && can_compute(operand, agreement, place, leaves, size);
        if (all)
            return true;
        leaves = before;
    }
    if (!agreement.uniform_at(instruction, place))
        return false;
    leaves.insert(instruction);
    return true;
}

} // namespace

bool is_cheap(const Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
        return load->getMetadata(llvm::LLVMContext::MD_invariant_load) != nullptr;
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        return call->doesNotAccessMemory() && call->getType()->isIntegerTy();
    switch (instruction.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
        return llvm::isa<llvm::ConstantInt>(instruction.getOperand(1));
    default:
        break;
    }
    return (llvm::isa<llvm::BinaryOperator>(instruction) &&
            instruction.getType()->isIntOrIntVectorTy()) ||
           llvm::isa<llvm::CastInst>(instruction) || llvm::isa<llvm::ICmpInst>(instruction) ||
           llvm::isa<llvm::SelectInst>(instruction) ||
           llvm::isa<llvm::GetElementPtrInst>(instruction) ||
           llvm::isa<llvm::FreezeInst>(instruction);
}

LiveValues::LiveValues(llvm::Function& body, const Needs& needs) {
    for (bool changed = true; changed;) {
        changed = false;
        for (auto* block : llvm::post_order(&body)) {
            llvm::SetVector<Instruction*> live;
            const auto use = [&](Value* value) {
                if (auto* instruction = llvm::dyn_cast<Instruction>(value))
                    live.insert(instruction);
            };
            for (auto* next : llvm::successors(block)) {
                for (auto* value : in_[next])
                    live.insert(value);
                for (auto& phi : next->phis())
                    use(phi.getIncomingValueForBlock(block));
            }
            if (const auto more = needs.find(block); more != needs.end())
                for (auto* value : more->second)
                    live.insert(value);
            for (auto& instruction : llvm::reverse(*block)) {
                live.remove(&instruction);
                if (!llvm::isa<llvm::PHINode>(instruction))
                    for (auto& operand : instruction.operands())
                        use(operand);
            }
            auto& known = in_[block];
            if (live.size() != known.size()) {
                known = std::move(live);
                changed = true;
            }
        }
    }
}

Recipes::~Recipes() {
    for (auto& [value, recipe] : recipes_)
        recipe.model->deleteValue();
}

bool Recipes::know(Instruction* value, const Agreement& agreement, const BasicBlock* place,
                   llvm::SetVector<Instruction*>& leaves) {
    unsigned size = 0;
    return is_cheap(*value) && can_compute(value, agreement, place, leaves, size);
}

void Recipes::keep(Value* value, const llvm::SetVector<Instruction*>& leaves) {
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction || leaves.contains(instruction))
        return;
    for (auto& operand : instruction->operands()) // also of one that is known, with other leaves
        keep(operand, leaves);
    if (recipes_.contains(instruction))
        return;
    Recipe recipe{instruction->clone(), {}};
    for (auto& operand : instruction->operands())
        recipe.operands.push_back(operand);
    for (unsigned i = 0; i < recipe.operands.size(); ++i)
        recipe.model->setOperand(i, llvm::PoisonValue::get(recipe.operands[i]->getType()));
    recipes_[instruction] = std::move(recipe);
}

Value* Recipes::follow(llvm::IRBuilder<>& build, llvm::Function& region, Value* value,
                       llvm::MapVector<Value*, Value*>& known) const {
    if (auto found = known.find(value); found != known.end())
        return found->second;
    const auto found = recipes_.find(value);
    if (found == recipes_.end()) { // no instruction: those may be gone by now, and are but names
        if (auto* argument = llvm::dyn_cast<llvm::Argument>(value))
            return region.getArg(argument->getArgNo());
        return llvm::cast<llvm::Constant>(value);
    }
    const auto& recipe = found->second;
    llvm::SmallVector<Value*, 4> operands;
    for (auto* operand : recipe.operands)
        operands.push_back(follow(build, region, operand, known));
    auto* made = recipe.model->clone();
    for (unsigned i = 0; i < operands.size(); ++i)
        made->setOperand(i, operands[i]);
    build.Insert(made);
    return known[value] = made;
}

} // namespace quern::host
