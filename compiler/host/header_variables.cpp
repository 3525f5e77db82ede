// See header_variables.h.
#include "compiler/host/header_variables.h"
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/SourceManager.h>

namespace quern::host {

void emit_header_variables_on_use(clang::ASTContext& ast) {
    auto& asked = ast.CUDADeviceVarODRUsedByHost;
    const llvm::SmallVector<const clang::VarDecl*> all(asked.begin(), asked.end());
    for (const auto* variable : all)
        if (ast.getSourceManager().isInSystemHeader(variable->getLocation()))
            asked.erase(variable);
}

} // namespace quern::host
