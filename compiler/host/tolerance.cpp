// See tolerance.h. Each row was tried on NVRTC 13. An error may go only where Clang
// goes on with a sound tree: it merely drops the pragma or keeps the statement as written.
#include "compiler/host/tolerance.h"
#include <algorithm>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/Basic/DiagnosticParse.h>
#include <clang/Basic/DiagnosticSema.h>
#include <clang/Lex/Lexer.h>

namespace quern::host {
namespace {

constexpr unsigned tolerated[] = {
    clang::diag::err_pragma_loop_precedes_nonloop, // #pragma unroll before a plain statement
    clang::diag::err_pragma_loop_compatibility,    // two of them before one loop
    clang::diag::err_requires_positive_value,      // #pragma unroll -1
    clang::diag::err_member_extra_qualification,   // struct A { int A::f(); }
    clang::diag::err_c99_array_usage_cxx,          // void f(int a[__restrict__])
    clang::diag::err_goto_into_protected_scope,    // a jump past `int x = 1;`
    clang::diag::err_switch_into_protected_scope,
};

void place_variables(clang::ASTContext& ast, clang::Decl* decl) {
    if (auto* context = llvm::dyn_cast<clang::DeclContext>(decl);
        context && (context->isFileContext() || llvm::isa<clang::LinkageSpecDecl>(decl))) {
        for (auto* inner : context->decls())
            place_variables(ast, inner);
        return;
    }
    auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
    if (variable && variable->hasGlobalStorage() && !variable->hasAttr<clang::CUDADeviceAttr>() &&
        !variable->hasAttr<clang::CUDAConstantAttr>() &&
        !variable->hasAttr<clang::CUDASharedAttr>())
        variable->addAttr(clang::CUDADeviceAttr::CreateImplicit(ast));
}

} // namespace

constexpr const char* delayed = "-fdelayed-template-parsing";

void add_tolerant_words(std::vector<std::string>& words) {
    words.insert(words.end(),
                 {delayed, // what is never instantiated is never looked at
                  "-Wno-c++11-narrowing", "-Wno-error=enum-constexpr-conversion"});
}

void parse_whole_templates(std::vector<std::string>& words) { std::erase(words, delayed); }

void tolerate(clang::DiagnosticsEngine& diagnostics) {
    for (const unsigned number : tolerated)
        diagnostics.setSeverity(number, clang::diag::Severity::Ignored, clang::SourceLocation());
}

void place_variables(clang::ASTContext& ast, clang::DeclGroupRef group) {
    for (auto* decl : group)
        place_variables(ast, decl);
}

void TakenNames::see(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
    if (!info.hasSourceManager() || info.getLocation().isInvalid())
        return;
    const auto& sources = info.getSourceManager();
    if (level >= clang::DiagnosticsEngine::Error) {
        last_ = {};
        llvm::SmallString<64> scratch;
        const auto place = sources.getSpellingLoc(info.getLocation());
        last_.name = clang::Lexer::getSpelling(place, scratch, sources, clang::LangOptions()).str();
        for (unsigned i = 0; i < info.getNumArgs(); ++i)
            if (info.getArgKind(i) == clang::DiagnosticsEngine::ak_nameddecl)
                last_.function |= llvm::isa_and_nonnull<clang::FunctionDecl>(
                    reinterpret_cast<const clang::NamedDecl*>(info.getRawArg(i)));
        return;
    }
    switch (info.getID()) {
    case clang::diag::note_previous_definition:
    case clang::diag::note_previous_declaration:
    case clang::diag::note_previous_implicit_declaration:
        break;
    default:
        return;
    }
    // What is loaded comes from the precompiled image: it is ours.
    const auto known = [&](const TakenName& taken) { return taken.name == last_.name; };
    if (sources.isLoadedSourceLocation(info.getLocation()) &&
        clang::isValidAsciiIdentifier(last_.name) && std::ranges::none_of(names_, known))
        names_.push_back(last_);
}

std::string give_way(const std::vector<TakenName>& names) {
    std::string text = "#line 1 \"<names of the program>\"\n";
    for (const auto& [name, function] : names) {
        if (function)
            text.append(
                    "template <class... A> __device__ __host__ __forceinline__ auto __quern_own_")
                .append(name)
                .append("(A... a) -> decltype(")
                .append(name)
                .append("(a...)) { return ")
                .append(name)
                .append("(a...); }\n");
        text.append("#define ").append(name).append(" __quern_own_").append(name).append("\n");
    }
    return text;
}

} // namespace quern::host
