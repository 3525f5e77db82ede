// Walks the call graph from each kernel and reports the first thing on the way that the CPU backend
// cannot run.
#include "compiler/host/refuse.h"
#include "compiler/host/reach.h"
#include "compiler/host/where.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {
namespace {

std::string complaint(const llvm::Instruction& instruction, const clang::SourceManager& sources) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call)
        return "";
    const auto* callee = call->getCalledFunction();
    if (!callee || !callee->hasFnAttribute("dontcall-error"))
        return "";
    return place_of(instruction, sources) + "error: this uses " + plain_name(callee->getName()) +
           "; " + callee->getFnAttribute("dontcall-error").getValueAsString().str();
}

} // namespace

bool find_refusals(llvm::Module&, const Program& program, const clang::SourceManager& sources,
                   std::string& log) {
    for (const auto& kernel : program.kernels)
        for (auto* function : reached_from(*kernel.thunk))
            for (auto& instruction : llvm::instructions(*function))
                if (const auto text = complaint(instruction, sources); !text.empty()) {
                    log += text + "\n    in a function that kernel '" + plain_name(kernel.name) +
                           "' reaches\n";
                    return true;
                }
    return false;
}

} // namespace quern::host
