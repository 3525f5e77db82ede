// See where.h.
#include "compiler/host/where.h"
#include <clang/Basic/SourceManager.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

namespace quern::host {

std::string place_of(const llvm::Instruction& instruction, const clang::SourceManager& sources,
                     unsigned line) {
    auto* node = instruction.getMetadata("srcloc");
    if (!node || !node->getNumOperands())
        return "";
    const auto* code = llvm::mdconst::dyn_extract<llvm::ConstantInt>(
        node->getOperand(std::min(line, node->getNumOperands() - 1)));
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

} // namespace quern::host
