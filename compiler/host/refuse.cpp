// Walks the call graph from each kernel and reports the first thing on the way that the CPU backend
// cannot run.
#include "compiler/host/refuse.h"
#include "compiler/host/reach.h"
#include <clang/Basic/SourceManager.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace quern::host {
namespace {

std::string place(const llvm::Instruction& instruction, const clang::SourceManager& sources) {
    auto* node = instruction.getMetadata("srcloc");
    if (!node || !node->getNumOperands())
        return "";
    const auto* code = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(0));
    if (!code)
        return "";
    const auto where = sources.getPresumedLoc(sources.getExpansionLoc(
        clang::SourceLocation::getFromRawEncoding(static_cast<unsigned>(code->getZExtValue()))));
    if (where.isInvalid())
        return "";
    return std::string(where.getFilename()) + ":" + std::to_string(where.getLine()) + ":" +
           std::to_string(where.getColumn()) + ": ";
}

std::string plain_name(llvm::StringRef symbol) {
    std::string name = llvm::demangle(symbol.str());
    name.resize(std::min(name.find('('), name.size()));
    name.resize(std::min(name.find('<'), name.size()));
    const auto space = name.rfind(' '); // a template's demangled name begins with its return type
    return space == name.npos ? name : name.substr(space + 1);
}

std::string complaint(const llvm::Instruction& instruction, const clang::SourceManager& sources) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call)
        return "";
    if (const auto* text = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand())) {
        if (text->getAsmString().empty())
            return "";
        return place(instruction, sources) +
               "error: inline assembly runs on NVIDIA GPUs only; the CPU backend cannot compile it";
    }
    const auto* callee = call->getCalledFunction();
    if (!callee || !callee->hasFnAttribute("dontcall-error"))
        return "";
    return place(instruction, sources) + "error: this uses " + plain_name(callee->getName()) +
           "; " + callee->getFnAttribute("dontcall-error").getValueAsString().str();
}

} // namespace

bool find_refusals(llvm::Module&, const Program& program, const clang::SourceManager& sources,
                   std::string& log) {
    for (const auto& kernel : program.kernels) {
        for (auto* function : reached_from(*kernel.thunk))
            for (auto& instruction : llvm::instructions(*function))
                if (const auto text = complaint(instruction, sources); !text.empty()) {
                    log += text + "\n    in a function that kernel '" + plain_name(kernel.name) +
                           "' reaches\n";
                    return true;
                }
    }
    return false;
}

} // namespace quern::host
