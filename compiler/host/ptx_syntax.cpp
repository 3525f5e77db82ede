// Lets assembly that is PTX through a front end that expects x86's, so that a header may hold what
// no kernel reaches: the text and its letters stay in the IR as they were written, where passes
// translate them or refuse the kernels that reach them. The linker leads two of Clang's own
// questions here (--wrap, in CMakeLists.txt).
#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/TargetInfo.h>

namespace {

using clang::GCCAsmStmt;
using Constraint = clang::TargetInfo::ConstraintInfo;

// NVCC takes "%laneid" beside "%0" as it stands where GCC wants "%%laneid".
std::string with_escapes(llvm::StringRef text) {
    std::string escaped;
    for (std::size_t i = 0; i < text.size(); ++i) {
        escaped += text[i];
        if (text[i] != '%' || i + 1 == text.size())
            continue;
        const char next = text[i + 1];
        const char after = i + 2 < text.size() ? text[i + 2] : '\0';
        if (next == '%') // already escaped
            escaped += text[++i];
        else if (clang::isLetter(next) && !clang::isDigit(after) && after != '[')
            escaped += '%';
    }
    return escaped;
}

void escape_registers(GCCAsmStmt& statement, const clang::ASTContext& ast) {
#if LLVM_VERSION_MAJOR >= 21
    const auto* literal = llvm::dyn_cast<clang::StringLiteral>(statement.getAsmStringExpr());
    if (!literal)
        return;
#else
    const auto* literal = statement.getAsmString();
#endif
    const std::string text = with_escapes(literal->getString());
    if (text == literal->getString())
        return;
    // The places of the first token serve for all: complaints are about the statement.
    const auto place = literal->getBeginLoc();
    auto* escaped = clang::StringLiteral::Create(
        ast, text, clang::StringLiteralKind::Ordinary, false,
        ast.getStringLiteralArrayType(ast.CharTy, static_cast<unsigned>(text.size())), &place, 1);
#if LLVM_VERSION_MAJOR >= 21
    statement.setAsmStringExpr(escaped);
#else
    statement.setAsmString(escaped);
#endif
}

} // namespace

// clang::targets::X86TargetInfo::validateAsmConstraint(const char*&, ConstraintInfo&) const
#define QUERN_VALIDATE(PREFIX)                                                                     \
    PREFIX##_ZNK5clang7targets13X86TargetInfo21validateAsmConstraintERPKcRNS_10TargetInfo14ConstraintInfoE
// clang::targets::X86TargetInfo::convertConstraint(const char*&) const
#define QUERN_CONVERT(PREFIX)                                                                      \
    PREFIX##_ZNK5clang7targets13X86TargetInfo17convertConstraintB5cxx11ERPKc
// clang::GCCAsmStmt::AnalyzeAsmString(SmallVectorImpl<AsmStringPiece>&, const ASTContext&,
// unsigned&) const
#define QUERN_ANALYSE(PREFIX)                                                                      \
    PREFIX##_ZNK5clang10GCCAsmStmt16AnalyzeAsmStringERN4llvm15SmallVectorImplINS0_14AsmStringPieceEEERKNS_10ASTContextERj

using Pieces = llvm::SmallVectorImpl<clang::GCCAsmStmt::AsmStringPiece>;

extern "C" {
bool QUERN_VALIDATE(__real_)(const clang::TargetInfo*, const char*&, Constraint&);
bool QUERN_VALIDATE(__wrap_)(const clang::TargetInfo*, const char*&, Constraint&);
std::string QUERN_CONVERT(__real_)(const clang::TargetInfo*, const char*&);
std::string QUERN_CONVERT(__wrap_)(const clang::TargetInfo*, const char*&);
unsigned QUERN_ANALYSE(__real_)(const GCCAsmStmt*, Pieces&, const clang::ASTContext&, unsigned&);
unsigned QUERN_ANALYSE(__wrap_)(const GCCAsmStmt*, Pieces&, const clang::ASTContext&, unsigned&);

// "h" is not a letter of x86, "f" one that no output may have; the others are registers or
// constants to both.
bool QUERN_VALIDATE(__wrap_)(const clang::TargetInfo* target, const char*& letter,
                             Constraint& info) {
    if (*letter != 'h' && *letter != 'f')
        return QUERN_VALIDATE(__real_)(target, letter, info);
    info.setAllowsRegister();
    return true;
}

// "d" is a double, not the register dx.
std::string QUERN_CONVERT(__wrap_)(const clang::TargetInfo* target, const char*& letter) {
    return *letter == 'd' ? "d" : QUERN_CONVERT(__real_)(target, letter);
}

unsigned QUERN_ANALYSE(__wrap_)(const GCCAsmStmt* statement, Pieces& pieces,
                                const clang::ASTContext& ast, unsigned& offset) {
    escape_registers(const_cast<GCCAsmStmt&>(*statement), ast);
    const unsigned complaint = QUERN_ANALYSE(__real_)(statement, pieces, ast, offset);
    if (complaint)
        offset = 0; // the text may be longer than what stands in the file
    return complaint;
}
}
