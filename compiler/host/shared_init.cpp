// A function's __shared__ variable of a class whose default constructor does something: NVRTC warns
// that it does not run and takes the variable as it lies, where Clang refuses. Clang's code
// generator leaves such constructors out, so the question alone is answered here (--wrap, in
// CMakeLists.txt). What is initialised in so many words stays an error to both.
#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>

// clang::SemaCUDA::checkAllowedInitializer(clang::VarDecl*)
#define QUERN_INITIALIZER(PREFIX) PREFIX##_ZN5clang8SemaCUDA23checkAllowedInitializerEPNS_7VarDeclE

extern "C" {
void QUERN_INITIALIZER(__real_)(void*, clang::VarDecl*);
void QUERN_INITIALIZER(__wrap_)(void*, clang::VarDecl*);

void QUERN_INITIALIZER(__wrap_)(void* sema, clang::VarDecl* variable) {
    if (variable->isStaticLocal() && variable->hasAttr<clang::CUDASharedAttr>() &&
        variable->getInit() != nullptr)
        if (const auto* call =
                llvm::dyn_cast<clang::CXXConstructExpr>(variable->getInit()->IgnoreImplicit());
            call && call->getConstructor()->isDefaultConstructor() &&
            call->getParenOrBraceRange().isInvalid() &&
            (call->getNumArgs() == 0 || call->getArg(0)->isDefaultArgument()))
            return;
    QUERN_INITIALIZER(__real_)(sema, variable);
}
}
