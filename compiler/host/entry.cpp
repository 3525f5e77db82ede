// Kernel discovery and entry thunks, by Clang's own account of the calling convention.
#include "compiler/host/entry.h"
#include "compiler/host/describe.h"
#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/CodeGen/CGFunctionInfo.h>
#include <clang/CodeGen/CodeGenABITypes.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>

namespace quern::host {
namespace {

const clang::FunctionDecl* find_kernel(clang::CodeGenerator& generator,
                                       const llvm::Function& function) {
    const auto* decl = llvm::dyn_cast_or_null<clang::FunctionDecl>(
        generator.GetDeclForMangledName(function.getName()));
    if (!decl)
        return nullptr;
    for (const auto* note : decl->specific_attrs<clang::AnnotateAttr>())
        if (note->getAnnotation() == "__quern_kernel")
            return decl;
    return nullptr;
}

std::uint32_t max_threads(const clang::FunctionDecl& decl, clang::ASTContext& ast) {
    const auto* bounds = decl.getAttr<clang::CUDALaunchBoundsAttr>();
    if (!bounds || bounds->getMaxThreads()->isValueDependent())
        return 1024;
    const auto value = bounds->getMaxThreads()->getIntegerConstantExpr(ast);
    return value && value->getZExtValue() && value->getZExtValue() < 1024
               ? static_cast<std::uint32_t>(value->getZExtValue())
               : 1024;
}

struct ThunkBuilder {
    llvm::IRBuilder<> build;
    llvm::Value* args;
    const llvm::DataLayout& layout;
    std::vector<llvm::Value*> values;

    llvm::Value* at(std::uint64_t offset) {
        return build.CreateConstInBoundsGEP1_64(build.getInt8Ty(), args, offset);
    }

    llvm::Value* load(llvm::Type* type, std::uint64_t offset) {
        const bool boolean = type->isIntegerTy(1);
        auto* read = build.CreateAlignedLoad(boolean ? build.getInt8Ty() : type, at(offset),
                                             llvm::commonAlignment(args_align, offset));
        read->setMetadata(llvm::LLVMContext::MD_invariant_load,
                          llvm::MDNode::get(build.getContext(), {}));
        return boolean ? build.CreateTrunc(read, type) : static_cast<llvm::Value*>(read);
    }

    bool pass(const clang::CodeGen::ABIArgInfo& how, std::uint64_t offset, std::uint64_t bytes,
              std::uint64_t align) {
        using clang::CodeGen::ABIArgInfo;
        if (how.isIgnore())
            return true;
        if (how.isIndirect()) { // by value in memory: the kernel owns a copy of its own
            auto* type = llvm::ArrayType::get(build.getInt8Ty(), bytes);
            auto* copy = build.CreateAlloca(type);
            copy->setAlignment(
                llvm::Align(std::max<std::uint64_t>(align, how.getIndirectAlign().getQuantity())));
            build.CreateMemCpy(copy, copy->getAlign(), at(offset),
                               llvm::commonAlignment(args_align, offset), bytes);
            values.push_back(copy);
            return true;
        }
        if (!how.isDirect() && !how.isExtend())
            return false;
        auto* type = how.getCoerceToType();
        offset += how.getDirectOffset();
        auto* pieces = llvm::dyn_cast<llvm::StructType>(type);
        if (!pieces || !how.isDirect() || !how.getCanBeFlattened()) {
            values.push_back(load(type, offset));
            return true;
        }
        const auto* places = layout.getStructLayout(pieces);
        for (unsigned i = 0; i < pieces->getNumElements(); ++i)
            values.push_back(load(pieces->getElementType(i), offset + places->getElementOffset(i)));
        return true;
    }
};

bool make_entry(clang::CodeGenerator& generator, clang::ASTContext& ast,
                const clang::FunctionDecl& decl, llvm::Function& function, Kernel& kernel) {
    auto& module = *function.getParent();
    auto& context = module.getContext();
    kernel.name = function.getName().str();
    kernel.max_threads = max_threads(decl, ast);

    auto* pointer = llvm::PointerType::get(context, 0);
    auto* thunk = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false),
        llvm::GlobalValue::InternalLinkage, "__quern_thunk_" + kernel.name, module);
    kernel.thunk = thunk;
    for (const auto& attribute : function.getAttributes().getFnAttrs())
        if (attribute.isStringAttribute()) // target CPU and features
            thunk->addFnAttr(attribute);
    thunk->addFnAttr(llvm::Attribute::NoUnwind);

    const auto type = ast.getCanonicalType(decl.getType())->getAs<clang::FunctionProtoType>();
    const auto& how = clang::CodeGen::arrangeFreeFunctionType(
        generator.CGM(),
        clang::CanQual<clang::FunctionProtoType>::CreateUnsafe(clang::QualType(type, 0)));
    ThunkBuilder builder{llvm::IRBuilder<>(llvm::BasicBlock::Create(context, "entry", thunk)),
                         thunk->getArg(0),
                         module.getDataLayout(),
                         {}};
    std::uint64_t offset = 0;
    auto argument = how.arg_begin();
    for (const auto* param : decl.parameters()) {
        const auto bytes =
            static_cast<std::uint64_t>(ast.getTypeSizeInChars(param->getType()).getQuantity());
        const auto align =
            static_cast<std::uint64_t>(ast.getTypeAlignInChars(param->getType()).getQuantity());
        offset = llvm::alignTo(offset, align);
        if (argument == how.arg_end() || !builder.pass(argument++->info, offset, bytes, align))
            return false;
        kernel.params.push_back(
            {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
        offset += bytes;
    }
    kernel.args_bytes = static_cast<std::uint32_t>(offset);
    describe_params(decl, ast, module, kernel.name);

    auto* signature = function.getFunctionType();
    if (signature->getNumParams() != builder.values.size() ||
        !signature->getReturnType()->isVoidTy())
        return false;
    for (unsigned i = 0; i < signature->getNumParams(); ++i)
        if (signature->getParamType(i) != builder.values[i]->getType())
            return false;
    auto* call = builder.build.CreateCall(&function, builder.values);
    call->setCallingConv(function.getCallingConv());
    call->setAttributes(llvm::AttributeList::get(context, {}, {}, [&] {
        llvm::SmallVector<llvm::AttributeSet, 8> sets;
        for (unsigned i = 0; i < signature->getNumParams(); ++i)
            sets.push_back(function.getAttributes().getParamAttrs(i));
        return sets;
    }()));
    if (auto* lines =
            function.getSubprogram()) // a call into a function with lines needs a place itself
        call->setDebugLoc(llvm::DILocation::get(context, lines->getLine(), 0, lines));
    builder.build.CreateRetVoid();
    return true;
}

} // namespace

bool make_entries(clang::CodeGenerator& generator, clang::ASTContext& ast, Program& program,
                  llvm::Module& module, std::string& log) {
    std::vector<std::pair<llvm::Function*, const clang::FunctionDecl*>> found;
    for (auto& function : module)
        if (!function.isDeclaration())
            if (const auto* decl = find_kernel(generator, function))
                found.emplace_back(&function, decl);
    for (auto [function, decl] : found) {
        if (!make_entry(generator, ast, *decl, *function, program.kernels.emplace_back())) {
            log += "error: kernel '" + decl->getNameAsString() +
                   "' has a parameter the CPU backend cannot pass\n";
            return false;
        }
    }
    return true;
}

} // namespace quern::host
