// See write_image.h.
#include "compiler/host/write_image.h"
#include "compiler/host/header_variables.h"
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Sema/Sema.h>
#include <clang/Serialization/ASTWriter.h>

namespace quern::host {
namespace {

// Clang would look again at every function of the headers for diagnostics deferred to the end of
// the program, and so read all of them back from the image: 8 ms a kernel. Ours have none, but the
// list is private: an explicit instantiation may name it all the same.
using Deferred = llvm::SmallSetVector<clang::Decl*, 4>;
Deferred& deferred_checks(clang::Sema& sema);
template <Deferred clang::Sema::*Member> struct DeferredAccess {
    friend Deferred& deferred_checks(clang::Sema& sema) { return sema.*Member; }
};
template struct DeferredAccess<&clang::Sema::DeclsToCheckForDeferredDiags>;

class ImageWriter final : public clang::PCHGenerator {
  public:
    using PCHGenerator::PCHGenerator;
    void InitializeSema(clang::Sema& sema) override {
        sema_ = &sema;
        PCHGenerator::InitializeSema(sema);
    }
    void HandleTranslationUnit(clang::ASTContext& ast) override {
        if (!sema_->DeviceDeferredDiags.empty()) // an image would lose them
            return;
        deferred_checks(*sema_).clear();
        emit_header_variables_on_use(ast);
        // What is parsed by now has a token at its end that may not be writable; what comes from
        // the image beneath is there already, and would be read with the wrong table of names.
        sema_->LateParsedTemplateMap.remove_if([](const auto& row) {
            return !row.first->isLateTemplateParsed() || row.second->D->isFromASTFile();
        });
        PCHGenerator::HandleTranslationUnit(ast);
    }

  private:
    clang::Sema* sema_ = nullptr;
};

class PrecompileAction final : public clang::ASTFrontendAction {
  public:
    std::shared_ptr<clang::PCHBuffer> buffer = std::make_shared<clang::PCHBuffer>();

  private:
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& instance,
                                                          llvm::StringRef) override {
        using Extensions = llvm::ArrayRef<std::shared_ptr<clang::ModuleFileExtension>>;
        return std::make_unique<ImageWriter>(instance.getPreprocessor(), instance.getModuleCache(),
                                             "", "", buffer,
#if LLVM_VERSION_MAJOR >= 21
                                             instance.getCodeGenOpts(),
#endif
                                             Extensions(), false, false);
    }
    clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
    bool hasASTFileSupport() const override { return false; }
};

} // namespace

bool write_image(clang::CompilerInstance& instance, std::string& image) {
    PrecompileAction action;
    if (!instance.ExecuteAction(action) || !action.buffer->IsComplete)
        return false;
    image.assign(action.buffer->Data.begin(), action.buffer->Data.end());
    return true;
}

} // namespace quern::host
