// threadIdx, blockIdx, blockDim, gridDim and __shared__ variables become plain values and
// addresses.
#include "compiler/host/passes.h"
#include "compiler/host/ptx/emitter.h"
#include "compiler/host/reach.h"
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace quern::host {
namespace {

using llvm::Function;
using llvm::GlobalVariable;
using llvm::Value;

// In the order of the thunk's arguments and of the context: three 32-bit numbers each. The context,
// which the host driver keeps per thread, holds these 48 bytes and then the address of the shared
// arena.
constexpr const char* positions[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
constexpr unsigned position_bytes = 48;
constexpr const char* context_hook = "__quern_context";

// Every instruction of `function` that uses `variable`, with the operand replaced by `make()`, made
// once.
template <class Make> bool replace_uses(GlobalVariable& variable, Function& function, Make make) {
    Value* value = nullptr;
    for (auto& use : llvm::make_early_inc_range(variable.uses())) {
        auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
        if (!user || user->getFunction() != &function)
            continue;
        if (!value)
            value = make();
        use.set(value);
    }
    return value != nullptr;
}

llvm::SetVector<Function*> users_of(GlobalVariable& variable) {
    llvm::SetVector<Function*> users;
    for (auto* user : variable.users())
        if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(user))
            users.insert(instruction->getFunction());
    return users;
}

Function* widen_thunk(Function& old, bool waits) {
    auto& context = old.getContext();
    auto* pointer = llvm::PointerType::get(context, 0);
    llvm::SmallVector<llvm::Type*, 16> params(thread_at, pointer);
    params.append(12, llvm::Type::getInt32Ty(context));
    auto* thunk = Function::Create(llvm::FunctionType::get(old.getReturnType(), params, false),
                                   old.getLinkage(), "", old.getParent());
    thunk->copyAttributesFrom(&old);
    thunk->takeName(&old);
    thunk->splice(thunk->begin(), &old);
    old.getArg(0)->replaceAllUsesWith(thunk->getArg(0));
    thunk->setSubprogram(old.getSubprogram());
    old.eraseFromParent();
    thunk->addParamAttr(0, llvm::Attribute::NoAlias);
    if (!waits) // while a thread waits, others write to what it shares with them
        thunk->addParamAttr(1, llvm::Attribute::NoAlias);
    return thunk;
}

struct Layout {
    std::uint64_t bytes = 0;
    std::vector<std::pair<GlobalVariable*, std::uint64_t>> places;

    void add(GlobalVariable& variable, const llvm::DataLayout& data) {
        for (const auto& place : places)
            if (place.first == &variable)
                return;
        bytes = llvm::alignTo(
            bytes, std::max<std::uint64_t>(16, variable.getAlign().valueOrOne().value()));
        places.emplace_back(&variable, bytes);
        bytes += data.getTypeAllocSize(variable.getValueType());
    }
};

class Placer {
  public:
    explicit Placer(Program& program) : program_(program), module_(*program.module) {
        for (const char* name : positions)
            if (auto* variable = module_.getNamedGlobal(name))
                special_.push_back(variable);
            else
                special_.push_back(nullptr);
        base_.push_back(module_.getNamedGlobal(ptx::shared_base_name));
        for (auto& variable : module_.globals())
            if (variable.hasAttribute(shared_attribute) && &variable != base_[0])
                (variable.isDeclaration() ? dynamic_ : static_).push_back(&variable);
        std::vector<llvm::Constant*> all;
        for (auto* list : {&special_, &base_, &dynamic_, &static_})
            for (auto* variable : *list)
                if (variable)
                    all.push_back(variable);
        llvm::convertUsersOfConstantsToInstructions(all);
    }

    void run() {
        llvm::SetVector<Function*> thunks, outside;
        for (auto& kernel : program_.kernels) {
            kernel.thunk = widen_thunk(*kernel.thunk, kernel.waits);
            thunks.insert(kernel.thunk);
        }
        Layout common; // variables that functions outside the kernels use have one place in every
                       // kernel
        for (auto* list : {&special_, &base_, &dynamic_, &static_})
            for (auto* variable : *list)
                for (auto* function : variable ? users_of(*variable) : llvm::SetVector<Function*>())
                    if (!thunks.contains(function)) {
                        outside.insert(function);
                        if (list == &static_)
                            common.add(*variable, module_.getDataLayout());
                    }
        for (auto& kernel : program_.kernels) {
            const bool lend = !outside.empty() && may_reach(*kernel.thunk, outside);
            place_in_kernel(kernel, lend ? common : Layout(), lend);
        }
        // A kernel may have more static variables than the common ones: its functions find the
        // dynamic part through a context that already points past them.
        for (auto* function : outside)
            place_outside(*function, common);
        for (auto* list : {&special_, &base_, &dynamic_, &static_})
            for (auto* variable : *list)
                if (variable && variable->use_empty())
                    variable->eraseFromParent();
    }

  private:
    void place_in_kernel(Kernel& kernel, Layout layout, bool lend) {
        auto& thunk = *kernel.thunk;
        for (auto* variable : static_)
            if (users_of(*variable).contains(&thunk))
                layout.add(*variable, module_.getDataLayout());
        std::uint64_t dynamic_align = 16;
        for (auto* variable : dynamic_)
            if (lend || users_of(*variable).contains(&thunk))
                dynamic_align = std::max(dynamic_align, variable->getAlign().valueOrOne().value());
        const auto dynamic_offset = llvm::alignTo(layout.bytes, dynamic_align);
        kernel.static_shared_bytes = static_cast<std::uint32_t>(dynamic_offset);

        llvm::IRBuilder<> build(&*thunk.getEntryBlock().getFirstInsertionPt());
        auto* shared = thunk.getArg(1);
        const auto at = [&](Value* base, std::uint64_t offset) {
            return build.CreateConstInBoundsGEP1_64(build.getInt8Ty(), base, offset);
        };
        for (const auto& [variable, offset] : layout.places)
            replace_uses(*variable, thunk, [&] { return at(shared, offset); });
        for (auto* variable : dynamic_)
            replace_uses(*variable, thunk, [&] { return at(shared, dynamic_offset); });
        if (base_[0])
            replace_uses(*base_[0], thunk, [&] { return shared; });
        for (unsigned which = 0; which < 4; ++which)
            if (special_[which])
                replace_uses(*special_[which], thunk, [&] {
                    auto* copy = build.CreateAlloca(llvm::ArrayType::get(build.getInt32Ty(), 3));
                    for (unsigned axis = 0; axis < 3; ++axis)
                        build.CreateStore(
                            thunk.getArg(thread_at + 3 * which + axis),
                            build.CreateConstInBoundsGEP1_64(build.getInt32Ty(), copy, axis));
                    return copy;
                });
        if (lend) { // functions that stayed outside look there
            auto* context = build.CreateCall(hook());
            for (unsigned i = 0; i < 12; ++i)
                build.CreateStore(thunk.getArg(thread_at + i), at(context, 4 * i));
            build.CreateStore(shared, at(context, position_bytes));
            build.CreateStore(at(shared, dynamic_offset), at(context, position_bytes + 8));
        }
    }

    void place_outside(Function& function, const Layout& common) {
        llvm::IRBuilder<> build(&*function.getEntryBlock().getFirstInsertionPt());
        auto* context = build.CreateCall(hook());
        const auto at = [&](Value* base, std::uint64_t offset) {
            return build.CreateConstInBoundsGEP1_64(build.getInt8Ty(), base, offset);
        };
        for (unsigned which = 0; which < 4; ++which)
            if (special_[which])
                replace_uses(*special_[which], function, [&] { return at(context, 12 * which); });
        for (const auto& [variable, offset] : common.places)
            replace_uses(*variable, function, [&] {
                return at(build.CreateLoad(build.getPtrTy(), at(context, position_bytes)), offset);
            });
        if (base_[0])
            replace_uses(*base_[0], function, [&] {
                return build.CreateLoad(build.getPtrTy(), at(context, position_bytes));
            });
        for (auto* variable : dynamic_)
            replace_uses(*variable, function, [&] {
                return build.CreateLoad(build.getPtrTy(), at(context, position_bytes + 8));
            });
    }

    llvm::FunctionCallee hook() {
        auto callee = module_.getOrInsertFunction(
            context_hook,
            llvm::FunctionType::get(llvm::PointerType::get(module_.getContext(), 0), {}, false));
        auto* function = llvm::cast<Function>(callee.getCallee());
        function->setDoesNotThrow();
        function->setDoesNotAccessMemory();
        return callee;
    }

    Program& program_;
    llvm::Module& module_;
    std::vector<GlobalVariable*> special_, dynamic_, static_;
    std::vector<GlobalVariable*> base_; // one: the arena's first byte, where shared addresses start
};

} // namespace

void place_threads_and_shared(Program& program) { Placer(program).run(); }

} // namespace quern::host
