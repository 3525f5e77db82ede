// See where.h.
#include "compiler/host/where.h"
#include <clang/Basic/CharInfo.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

namespace quern::host {
namespace {

// From where a line of an asm text begins to its first word: over the \t that people end the line
// before with, and into the next literal.
clang::SourceLocation first_word(clang::SourceLocation at, const clang::SourceManager& sources) {
    bool invalid = false;
    const char* const text = sources.getCharacterData(at, &invalid);
    if (invalid)
        return at;
    const char* c = text;
    for (bool inside = true; *c;) {
        if (*c == '"')
            inside = !inside;
        else if (inside && c[0] == '\\' && (c[1] == 't' || c[1] == 'n'))
            ++c;
        else if (!clang::isWhitespace(*c))
            break;
        ++c;
    }
    return at.getLocWithOffset(static_cast<int>(c - text));
}

} // namespace

std::string place_of(const llvm::Instruction& instruction, const clang::SourceManager& sources,
                     unsigned line) {
    auto* node = instruction.getMetadata("srcloc");
    if (!node || !node->getNumOperands())
        return "";
    const auto* code = llvm::mdconst::dyn_extract<llvm::ConstantInt>(
        node->getOperand(std::min(line, node->getNumOperands() - 1)));
    if (!code)
        return "";
    auto at = sources.getExpansionLoc(
        clang::SourceLocation::getFromRawEncoding(static_cast<unsigned>(code->getZExtValue())));
    if (line > 0 && line < node->getNumOperands())
        at = first_word(at, sources);
    const auto where = sources.getPresumedLoc(at);
    if (where.isInvalid())
        return "";
    return std::string(where.getFilename()) + ":" + std::to_string(where.getLine()) + ":" +
           std::to_string(where.getColumn()) + ": ";
}

std::string plain_name(llvm::StringRef symbol) {
    std::string name = llvm::demangle(symbol.str());
    constexpr std::string_view unnamed = "(anonymous namespace)::";
    for (auto at = name.find(unnamed); at != name.npos; at = name.find(unnamed))
        name.erase(at, unnamed.size());
    name.resize(std::min(name.find('('), name.size()));
    name.resize(std::min(name.find('<'), name.size()));
    const auto space = name.rfind(' '); // a template's demangled name begins with its return type
    return space == name.npos ? name : name.substr(space + 1);
}

} // namespace quern::host
