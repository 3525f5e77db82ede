// A vector's function is a question to all lanes and, off the way, a loop over them.
#include "compiler/host/seldom.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace quern::host {
namespace {

constexpr llvm::StringRef lanes_prefix = "__quern_lanes";
constexpr unsigned most_lanes = 64;

bool is_seldom(const llvm::Function& function) {
    return function.getName().starts_with(seldom_prefix);
}

// "__quern_lanes8__quern_seldom_NAME": eight of them.
llvm::Function* scalar_of(const llvm::Function& lanes) {
    const auto name = lanes.getName().drop_front(lanes_prefix.size());
    return lanes.getParent()->getFunction(name.drop_until([](char c) { return c == '_'; }));
}

void write_lanes(llvm::Function& lanes, llvm::Function& scalar) {
    auto& context = lanes.getContext();
    lanes.setAttributes(
        llvm::AttributeList::get(context, scalar.getAttributes().getFnAttrs(), {}, {}));
    auto* type = llvm::cast<llvm::FixedVectorType>(lanes.getReturnType());
    auto* start = llvm::BasicBlock::Create(context, "start", &lanes);
    auto* some = llvm::BasicBlock::Create(context, "some", &lanes);
    auto* done = llvm::BasicBlock::Create(context, "done", &lanes);
    auto* usual = lanes.getArg(0);
    auto* wanted = std::prev(lanes.arg_end());

    llvm::IRBuilder<> build(start);
    build.CreateCondBr(build.CreateOrReduce(wanted), some, done,
                       llvm::MDBuilder(context).createUnlikelyBranchWeights());

    build.SetInsertPoint(some);
    auto* lane = build.CreatePHI(build.getInt32Ty(), 2);
    auto* sofar = build.CreatePHI(type, 2);
    llvm::SmallVector<llvm::Value*, 4> operands;
    for (auto& argument : lanes.args())
        operands.push_back(build.CreateExtractElement(&argument, lane));
    auto* call = build.CreateCall(&scalar, operands);
    call->setCallingConv(scalar.getCallingConv());
    auto* result = build.CreateInsertElement(sofar, call, lane);
    auto* next = build.CreateAdd(lane, build.getInt32(1));
    build.CreateCondBr(build.CreateICmpULT(next, build.getInt32(type->getNumElements())), some,
                       done);
    lane->addIncoming(build.getInt32(0), start);
    lane->addIncoming(next, some);
    sofar->addIncoming(usual, start);
    sofar->addIncoming(result, some);

    build.SetInsertPoint(done);
    auto* found = build.CreatePHI(type, 2);
    found->addIncoming(usual, start);
    found->addIncoming(result, some);
    build.CreateRet(found);
}

} // namespace

SeldomFunctions::SeldomFunctions(llvm::Module& module) {
    for (auto& function : module) {
        if (!is_seldom(function))
            continue;
        function.setLinkage(llvm::GlobalValue::ExternalLinkage); // or operands might be taken out
        const std::string& name = texts_.emplace_back(function.getName().str());
        for (unsigned lanes = 2; lanes <= most_lanes; lanes *= 2) {
            const std::string& vector =
                texts_.emplace_back(lanes_prefix.str() + std::to_string(lanes) + name);
            const std::string& abi = texts_.emplace_back("_ZGV_LLVM_N" + std::to_string(lanes) +
                                                         std::string(function.arg_size(), 'v'));
            rows_.emplace_back(name, vector, llvm::ElementCount::getFixed(lanes), false, abi);
        }
    }
}

void SeldomFunctions::add_to(llvm::TargetLibraryInfoImpl& library) const {
    library.addVectorizableFunctions(rows_);
}

llvm::PreservedAnalyses WriteSeldomFunctions::run(llvm::Module& module,
                                                  llvm::ModuleAnalysisManager& /*analyses*/) {
    llvm::removeFromUsedLists(module, [](llvm::Constant* value) {
        return value->stripPointerCasts()->getName().starts_with(lanes_prefix);
    });
    for (auto& function : llvm::make_early_inc_range(module)) {
        if (function.getName().starts_with(lanes_prefix)) {
            if (function.use_empty())
                function.eraseFromParent();
            else
                write_lanes(function, *scalar_of(function));
        }
    }
    for (auto& function : module)
        if (is_seldom(function) || function.getName().starts_with(lanes_prefix)) {
            function.setLinkage(llvm::GlobalValue::InternalLinkage);
            function.removeFnAttr(llvm::Attribute::NoInline);
            function.addFnAttr(llvm::Attribute::AlwaysInline);
        }
    return llvm::PreservedAnalyses::none();
}

} // namespace quern::host
