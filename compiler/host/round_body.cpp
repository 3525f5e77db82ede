// Copies with more arguments; see round_body.h.
#include "compiler/host/round_body.h"
#include "compiler/host/regions.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <map>

namespace quern::host {
namespace {

using llvm::Function;
using llvm::Value;

struct KeptLoad {
    llvm::LoadInst* load;
    std::uint32_t offset;
};

// Loads of what was kept; nothing when it is used in any other way.
std::optional<llvm::SmallVector<KeptLoad, 4>> kept_loads(Function& body) {
    const auto& data = body.getParent()->getDataLayout();
    llvm::SmallVector<KeptLoad, 4> loads;
    llvm::SmallVector<std::pair<Value*, std::uint64_t>, 8> open = {{body.getArg(kept_at), 0}};
    while (!open.empty()) {
        const auto [place, offset] = open.pop_back_val();
        for (auto* user : place->users()) {
            if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
                loads.push_back({load, static_cast<std::uint32_t>(offset)});
                continue;
            }
            auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
            llvm::APInt by(64, 0);
            if (!step || !step->accumulateConstantOffset(data, by))
                return std::nullopt;
            open.emplace_back(step, offset + by.getZExtValue());
        }
    }
    return loads;
}

Value* local(const llvm::ValueToValueMapTy& map, Value* value) {
    const auto found = map.find(value);
    return found != map.end() ? static_cast<Value*>(found->second) : value;
}

// The copy that goes where its last argument says, and whose sums are known not to wrap.
Function* make_sure(Function& body, const Fork& fork) {
    llvm::ValueToValueMapTy map;
    auto* copy = llvm::CloneFunction(&body, map);
    copy->setName(body.getName() + ".sure");
    for (auto* sum : fork.row->sums) {
        auto* same = llvm::cast<llvm::BinaryOperator>(local(map, sum));
        if (!llvm::isa<llvm::OverflowingBinaryOperator>(same))
            continue;
        same->setHasNoSignedWrap();
        if (stays_unsigned(*sum))
            same->setHasNoUnsignedWrap();
    }
    local(map, fork.condition)
        ->replaceAllUsesWith(copy->getArg(static_cast<unsigned>(copy->arg_size() - 1)));
    return copy;
}

} // namespace

std::optional<Round> make_round(Function& old, llvm::ArrayRef<Agreed> agreed, bool has_idle,
                                std::uint8_t number, bool several_blocks) {
    const auto fork = find_fork(old, several_blocks);
    if (!fork)
        return std::nullopt;
    Round round;
    round.fork = *fork;
    round.number = number;
    round.agreed.append(agreed.begin(), agreed.end());
    const auto loads = kept_loads(old);
    round.goes_on = number != 0 && (fork->then == number || fork->otherwise == number) && loads &&
                    (fork->row || !has_idle) && llvm::all_of(*loads, [&](const KeptLoad& load) {
                        return llvm::any_of(agreed, [&](const Agreed& next) {
                            return next.end == number && next.offset == load.offset &&
                                   next.value->getType() == load.load->getType();
                        });
                    });
    if (!round.goes_on)
        return fork->row && !has_effects(old) ? std::optional(round) : std::nullopt;

    llvm::SmallVector<llvm::Type*, 24> types(old.getFunctionType()->params());
    std::map<std::uint32_t, unsigned> argument_of;
    for (const auto& [load, offset] : *loads)
        if (argument_of.try_emplace(offset, static_cast<unsigned>(types.size())).second) {
            types.push_back(load->getType());
            round.kept.push_back({offset, load->getType(), load->getAlign()});
        }
    types.push_back(llvm::Type::getInt1Ty(old.getContext()));
    auto* body = Function::Create(llvm::FunctionType::get(old.getReturnType(), types, false),
                                  llvm::GlobalValue::InternalLinkage, old.getName() + ".round",
                                  old.getParent());
    llvm::ValueToValueMapTy map;
    for (auto& argument : old.args())
        map[&argument] = body->getArg(argument.getArgNo());
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    llvm::CloneFunctionInto(body, &old, map, llvm::CloneFunctionChangeType::LocalChangesOnly,
                            returns);
    round.body = body;
    for (const auto& [load, offset] : *loads) {
        auto* copy = llvm::cast<llvm::LoadInst>(local(map, load));
        auto* argument = body->getArg(argument_of[offset]);
        copy->replaceAllUsesWith(argument);
        copy->eraseFromParent();
        map[load] = argument;
    }
    round.fork.condition = local(map, fork->condition);
    for (auto& next : round.agreed)
        next.value = local(map, next.value);
    if (fork->row) {
        round.fork.row->fork = round.fork.condition;
        for (auto*& sum : round.fork.row->sums)
            sum = llvm::cast<llvm::BinaryOperator>(local(map, sum));
        round.sure = make_sure(*body, round.fork);
    }
    return round;
}

} // namespace quern::host
