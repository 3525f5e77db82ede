// Each kernel's parameters in words, kept in the object: what callers check their arguments
// against.
#pragma once
#include <clang/AST/Decl.h>
#include <llvm/IR/Module.h>
#include <string>

namespace quern::host {

// Adds the read-only text `__quern_params_<name>`: for each parameter a line
// "type<TAB>name<TAB>parts", the type spelt without typedefs. `parts` is "offset:bytes offset:bytes
// ..." of every scalar in a struct passed by value; "" for everything else, and where a union or a
// bit-field makes it unclear.
void describe_params(const clang::FunctionDecl& decl, clang::ASTContext& ast, llvm::Module& module,
                     const std::string& name);

} // namespace quern::host
