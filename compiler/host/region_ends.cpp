// Looks at returns, and at stores behind keep_at; see region_ends.h.
#include "compiler/host/region_ends.h"
#include "compiler/host/passes.h"
#include "compiler/host/regions.h"
#include "compiler/host/row_values.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <map>

namespace quern::host {
namespace {

using llvm::Instruction;
using llvm::Value;

constexpr std::size_t most_ends = 4;

bool add_ends(Value* state, Ends& ends, int depth = 0) {
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(state)) {
        const auto end = static_cast<std::uint8_t>(known->getZExtValue());
        if (!llvm::is_contained(ends, end))
            ends.push_back(end);
        return ends.size() <= most_ends;
    }
    if (depth > 4)
        return false;
    if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(state))
        return add_ends(choice->getTrueValue(), ends, depth + 1) &&
               add_ends(choice->getFalseValue(), ends, depth + 1);
    auto* phi = llvm::dyn_cast<llvm::PHINode>(state);
    return phi && llvm::all_of(phi->incoming_values(), [&](Value* incoming) {
               return add_ends(incoming, ends, depth + 1);
           });
}

bool depends_on_thread(Value* value, bool several_blocks) {
    llvm::SmallPtrSet<Value*, 32> seen = {value};
    llvm::SmallVector<Value*, 32> open = {value};
    while (!open.empty()) {
        auto* next = open.pop_back_val();
        if (auto* argument = llvm::dyn_cast<llvm::Argument>(next)) {
            const unsigned at = argument->getArgNo();
            if ((at >= thread_at && at < block_at + (several_blocks ? 1 : 0)) || at == number_at)
                return true;
        }
        if (auto* instruction = llvm::dyn_cast<Instruction>(next))
            for (auto& operand : instruction->operands())
                if (seen.insert(operand).second)
                    open.push_back(operand);
    }
    return false;
}

std::optional<std::uint32_t> offset_of(Value* pointer, const llvm::Function& body) {
    const auto& data = body.getParent()->getDataLayout();
    llvm::APInt offset(data.getIndexTypeSizeInBits(pointer->getType()), 0);
    if (pointer->stripAndAccumulateConstantOffsets(data, offset, true) != body.getArg(keep_at))
        return std::nullopt;
    return static_cast<std::uint32_t>(offset.getZExtValue());
}

} // namespace

bool has_effects(llvm::Function& body) {
    return llvm::any_of(llvm::instructions(body), [](const Instruction& instruction) {
        return instruction.mayHaveSideEffects();
    });
}

bool counts_through_blocks(llvm::Function& body) {
    auto *thread = body.getArg(thread_at), *block = body.getArg(block_at),
         *size = body.getArg(block_size_at);
    const auto is = [](Value* user, Instruction::BinaryOps code) {
        auto* found = llvm::dyn_cast<llvm::BinaryOperator>(user);
        return found && found->getOpcode() == code ? found : nullptr;
    };
    const auto other = [](llvm::BinaryOperator& sum, Value* one) {
        return sum.getOperand(sum.getOperand(0) == one ? 1 : 0);
    };
    for (auto* user : block->users()) {
        auto* product = is(user, Instruction::Mul);
        if (!product || other(*product, block) != size)
            return false;
        for (auto* next : product->users())
            if (auto* sum = is(next, Instruction::Add); !sum || other(*sum, product) != thread)
                return false;
    }
    return llvm::all_of(thread->users(), [&](llvm::User* user) {
        auto* sum = is(user, Instruction::Add);
        auto* product = sum ? is(other(*sum, thread), Instruction::Mul) : nullptr;
        return product && llvm::is_contained(product->operands(), block) &&
               other(*product, block) == size;
    });
}

Ends find_ends(llvm::Function& body) {
    Ends ends;
    for (auto& block : body)
        if (auto* leave = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
            if (!add_ends(leave->getReturnValue(), ends))
                return {};
    llvm::sort(ends);
    return ends;
}

std::optional<Fork> find_fork(llvm::Function& body, bool several_blocks) {
    const Ends ends = find_ends(body);
    if (ends.size() != 2)
        return std::nullopt;
    auto *thread_x = body.getArg(thread_at), *number = body.getArg(number_at);
    RowShapes shapes(thread_x, number);
    llvm::SmallVector<llvm::ReturnInst*, 2> returns;
    for (auto& block : body)
        if (auto* leave = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
            returns.push_back(leave);
    std::optional<Fork> by_rows; // where there is no better one
    // True when no other need be looked for.
    const auto consider = [&](Fork fork) {
        if (shapes.shape(fork.condition) == Shape::uniform &&
            !depends_on_thread(fork.condition, several_blocks)) {
            by_rows = fork;
            return true;
        }
        if (!by_rows)
            fork.row = find_fork_facts(body, fork.condition, thread_x, number);
        if (fork.row)
            by_rows = fork;
        return false;
    };
    if (returns.size() == 1)
        if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(returns.front()->getReturnValue())) {
            auto* yes = llvm::dyn_cast<llvm::ConstantInt>(choice->getTrueValue());
            if (!yes || !llvm::isa<llvm::ConstantInt>(choice->getFalseValue()))
                return std::nullopt;
            const bool first = yes->getZExtValue() == ends[0];
            consider({choice->getCondition(), ends[!first], ends[first]});
            return by_rows;
        }
    // A branch whose sides lead to one end each.
    const llvm::DominatorTree tree(body);
    for (auto& block : body) {
        auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
        if (!branch || !branch->isConditional())
            continue;
        std::optional<std::uint8_t> behind[2];
        bool parted = true;
        const auto see = [&](const auto& dominated, Value* state) {
            auto* known = llvm::dyn_cast<llvm::ConstantInt>(state);
            for (const unsigned side : {0U, 1U})
                if (known && dominated(llvm::BasicBlockEdge(&block, branch->getSuccessor(side)))) {
                    const auto end = static_cast<std::uint8_t>(known->getZExtValue());
                    parted &= !behind[side] || *behind[side] == end;
                    behind[side] = end;
                    return;
                }
            parted = false;
        };
        for (auto* leave : returns) {
            if (auto* phi = llvm::dyn_cast<llvm::PHINode>(leave->getReturnValue())) {
                for (auto& use : phi->incoming_values())
                    see([&](const auto& edge) { return tree.dominates(edge, use); }, use.get());
                continue;
            }
            see([&](const auto& edge) { return tree.dominates(edge, leave->getParent()); },
                leave->getReturnValue());
        }
        if (parted && behind[0] && behind[1] && *behind[0] != *behind[1] &&
            consider({branch->getCondition(), *behind[0], *behind[1]}))
            break;
    }
    return by_rows;
}

llvm::SmallVector<Agreed, 4>
take_agreed_stores(llvm::Function& body, llvm::ArrayRef<KeptPlace> places, bool several_blocks) {
    const Ends ends = find_ends(body);
    RowShapes shapes(body.getArg(thread_at), body.getArg(number_at));
    std::map<std::uint32_t, llvm::SmallVector<llvm::StoreInst*, 2>> stores;
    for (auto& instruction : llvm::instructions(body))
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
            if (const auto offset = offset_of(store->getPointerOperand(), body))
                stores[*offset].push_back(store);
    llvm::SmallVector<Agreed, 4> taken;
    for (auto& [offset, same] : stores) {
        auto* value = same.front()->getValueOperand();
        if (same.size() > 1 || shapes.shape(value) != Shape::uniform ||
            depends_on_thread(value, several_blocks))
            continue;
        const auto* end = llvm::find_if(ends, [&, at = offset](std::uint8_t state) {
            return state < places.size() && at >= places[state].offset &&
                   at < places[state].offset + places[state].bytes;
        });
        if (end == ends.end())
            continue;
        taken.push_back({*end, offset, value, same.front()->getAlign()});
        same.front()->eraseFromParent();
    }
    return taken;
}

} // namespace quern::host
