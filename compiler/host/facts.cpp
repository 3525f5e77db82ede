// The widest vectors are looked for in the code itself.
#include "compiler/host/facts.h"
#include "compiler/host/reach.h"
#include "compiler/host/widest.h"
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {
namespace {

std::uint64_t vector_bits(const llvm::Type* type, const llvm::DataLayout& data) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (!vector || vector->getElementType()->isIntegerTy(1)) // masks are no data
        return 0;
    return data.getTypeSizeInBits(const_cast<llvm::FixedVectorType*>(vector)).getFixedValue();
}

std::uint64_t widest_vector(llvm::Function& runner) {
    const auto& data = runner.getParent()->getDataLayout();
    std::uint64_t bits = 0;
    for (auto* function : reached_from(runner))
        for (const auto& instruction : llvm::instructions(*function)) {
            bits = std::max(bits, vector_bits(instruction.getType(), data));
            if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
                bits = std::max(bits, vector_bits(store->getValueOperand()->getType(), data));
        }
    return bits;
}

} // namespace

std::string tell_facts(const Program& program, const Cpu& cpu) {
    const std::uint64_t widest = widest_vector_bits(cpu);
    std::string text;
    for (const auto& kernel : program.kernels) {
        auto* runner = program.module->getFunction("__quern_run_" + kernel.name);
        const char* tier = kernel.in_regions ? "regions" : kernel.waits ? "fibers" : "loops";
        const std::string reason =
            program.level == Level::plain
                ? (program.was_too_slow ? "the best level took too long" : "the program is large")
                : kernel.why_not_cut;
        text += kernel.name + "\t" + tier + "\t" + std::to_string(kernel.regions) + "\t" +
                std::to_string(program.optimised_at) + "\t" +
                std::to_string(runner ? std::min(widest_vector(*runner), widest) : 0) + "\t" +
                reason + "\n";
    }
    return text;
}

} // namespace quern::host
