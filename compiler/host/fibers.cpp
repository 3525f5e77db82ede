// A kernel whose threads wait, as the first tier runs it: every thread a fiber of the host driver,
// which needs the kernel's entry for one thread and the size of a stack.
#include "compiler/base/host_abi.h"
#include "compiler/host/own_atomics.h"
#include "compiler/host/passes.h"
#include "compiler/host/reach.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace quern::host {
namespace {

constexpr std::uint64_t hook_bytes = 16 << 10; // what libm, printf and the hooks may take
constexpr std::uint64_t unknown_bytes =
    256 << 10; // recursion, calls by address, alloca of run-time size
constexpr std::uint64_t largest_bytes = 8 << 20;

// How deep the stack gets, from above: every value of a function may need a slot.
class StackDepth {
  public:
    explicit StackDepth(const llvm::DataLayout& data) : data_(data) {}
    bool known = true;

    std::uint64_t of(llvm::Function& function) {
        if (function.isDeclaration())
            return 0;
        const auto [entry, fresh] = depths_.try_emplace(&function, std::nullopt);
        if (!fresh) {
            known &= entry->second.has_value(); // still open: it calls itself
            return entry->second.value_or(0);
        }
        std::uint64_t own = 128, below = 0;
        for (auto& instruction : llvm::instructions(function)) {
            own += 8;
            if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
                const auto bytes = variable->getAllocationSize(data_);
                known &= bytes.has_value();
                own += bytes ? bytes->getFixedValue() + 16 : 0;
            }
            if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
                if (auto* callee = call->getCalledFunction())
                    below = std::max(below, of(*callee));
                else
                    known &= !call->isIndirectCall();
            }
        }
        depths_[&function] = own + below;
        return own + below;
    }

  private:
    const llvm::DataLayout& data_;
    llvm::DenseMap<llvm::Function*, std::optional<std::uint64_t>> depths_;
};

std::uint32_t stack_bytes(llvm::Function& thread, const llvm::DataLayout& data) {
    StackDepth depth(data);
    std::uint64_t bytes = depth.of(thread) + hook_bytes;
    if (!depth.known)
        bytes += unknown_bytes;
    return static_cast<std::uint32_t>(std::min(bytes, largest_bytes));
}

} // namespace

void make_fiber_runner(llvm::Module& module, Kernel& kernel) {
    auto& context = module.getContext();
    llvm::IRBuilder<> build(context);
    auto* pointer = build.getPtrTy();
    auto* wide = build.getInt64Ty();
    auto* word = build.getInt32Ty();
    auto* runner = llvm::Function::Create(
        llvm::FunctionType::get(build.getVoidTy(), {pointer, pointer, wide, wide, pointer}, false),
        llvm::GlobalValue::ExternalLinkage, "__quern_run_" + kernel.name, module);
    runner->addFnAttr(llvm::Attribute::NoUnwind);
    build.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", runner));
    auto hook = module.getOrInsertFunction(
        "__quern_run_fibers",
        llvm::FunctionType::get(build.getVoidTy(),
                                {pointer, pointer, wide, wide, pointer, pointer, word, word},
                                false));
    llvm::SmallVector<llvm::Value*, 8> values;
    for (auto& argument : runner->args())
        values.push_back(&argument);
    kernel.thunk->setLinkage(llvm::GlobalValue::InternalLinkage);
    kernel.thunk->addParamAttr(1, llvm::Attribute::get(context, arena_mark));
    values.append({kernel.thunk, build.getInt32(kernel.static_shared_bytes),
                   build.getInt32(stack_bytes(*kernel.thunk, module.getDataLayout()))});
    build.CreateCall(hook, values);
    build.CreateRetVoid();
}

} // namespace quern::host
