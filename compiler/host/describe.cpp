// Types as Clang prints them, and structs taken apart into scalars.
#include "compiler/host/describe.h"
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/RecordLayout.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>

namespace quern::host {
namespace {

constexpr std::size_t most_parts = 1024; // a larger struct is compared by its size alone

struct Parts {
    clang::ASTContext& ast;
    std::vector<std::pair<std::int64_t, std::int64_t>> places; // offset, bytes

    bool add(clang::QualType type, std::int64_t offset) {
        type = type.getCanonicalType();
        if (const auto* array = ast.getAsConstantArrayType(type)) {
            const auto element = array->getElementType();
            const auto step = ast.getTypeSizeInChars(element).getQuantity();
            const auto count = static_cast<std::int64_t>(array->getSize().getZExtValue());
            for (std::int64_t k = 0; k < count; ++k)
                if (!add(element, offset + k * step))
                    return false;
            return true;
        }
        const auto* record = type->getAsCXXRecordDecl();
        if (!record) {
            places.emplace_back(offset, ast.getTypeSizeInChars(type).getQuantity());
            return places.size() <= most_parts;
        }
        if (!record->isCompleteDefinition() || record->isUnion() || record->isPolymorphic() ||
            record->getNumVBases() != 0)
            return false;
        const auto& layout = ast.getASTRecordLayout(record);
        for (const auto& base : record->bases())
            if (!add(base.getType(),
                     offset + layout.getBaseClassOffset(base.getType()->getAsCXXRecordDecl())
                                  .getQuantity()))
                return false;
        for (const auto* field : record->fields())
            if (field->isBitField() ||
                !add(field->getType(),
                     offset + static_cast<std::int64_t>(
                                  layout.getFieldOffset(field->getFieldIndex()) / 8)))
                return false;
        return true;
    }
};

// The name in which a handle came, which its type does not tell.
std::string name_of_handle(clang::QualType type) {
    for (const auto* alias = type->getAs<clang::TypedefType>(); alias;
         alias = alias->desugar()->getAs<clang::TypedefType>())
        if (const auto name = alias->getDecl()->getName();
            name == "cudaTextureObject_t" || name == "cudaSurfaceObject_t")
            return name.str();
    return "";
}

} // namespace

void describe_params(const clang::FunctionDecl& decl, clang::ASTContext& ast, llvm::Module& module,
                     const std::string& name) {
    clang::PrintingPolicy policy(ast.getLangOpts());
    policy.adjustForCPlusPlus();
    policy.SuppressTagKeyword = true;
    std::string text;
    for (const auto* param : decl.parameters()) {
        const auto type = param->getType().getCanonicalType().getUnqualifiedType();
        const auto handle = name_of_handle(param->getType());
        text += (handle.empty() ? type.getAsString(policy) : handle) + '\t' +
                param->getNameAsString() + '\t';
        Parts parts{ast, {}};
        if (type->isRecordType() && parts.add(type, 0))
            for (const auto& [offset, bytes] : parts.places)
                text += std::to_string(offset) + ':' + std::to_string(bytes) + ' ';
        text += '\n';
    }
    if (text.empty())
        return;
    auto* data = llvm::ConstantDataArray::getString(module.getContext(), text, false);
    new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::ExternalLinkage,
                             data, "__quern_params_" + name);
}

} // namespace quern::host
