// A vector's function is a question to all lanes and, off the way, the answer for all of them
// or a loop over them; or it is a table.
#include "compiler/host/seldom.h"
#include "compiler/host/tables.h"
#include "compiler/host/widen.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace quern::host {
namespace {

constexpr llvm::StringRef lanes_prefix = "__quern_lanes";
constexpr unsigned most_lanes = 64;

bool comes_in_lanes(const llvm::Function& function) { return has_own_lanes(function.getName()); }

// "__quern_lanes8__quern_seldom_NAME": eight of them.
llvm::Function* scalar_of(const llvm::Function& lanes) {
    const auto name = lanes.getName().drop_front(lanes_prefix.size());
    return lanes.getParent()->getFunction(name.drop_until([](char c) { return c == '_'; }));
}

llvm::Function* lanes_of(llvm::Function& scalar, unsigned lanes) {
    if (!comes_in_lanes(scalar))
        return nullptr;
    const auto wide = [&](llvm::Type* type) { return llvm::FixedVectorType::get(type, lanes); };
    llvm::SmallVector<llvm::Type*, 4> operands;
    for (const auto& argument : scalar.args())
        operands.push_back(wide(argument.getType()));
    auto* type = llvm::FunctionType::get(wide(scalar.getReturnType()), operands, false);
    const std::string name = lanes_prefix.str() + std::to_string(lanes) + scalar.getName().str();
    return llvm::cast<llvm::Function>(
        scalar.getParent()->getOrInsertFunction(name, type).getCallee());
}

// Calls the scalar function lane by lane.
llvm::Value* each_lane(llvm::IRBuilder<>& build, llvm::Function& lanes, llvm::Function& scalar) {
    auto& context = lanes.getContext();
    auto* type = llvm::cast<llvm::FixedVectorType>(lanes.getReturnType());
    auto* before = build.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(context, "lane", &lanes);
    auto* after = llvm::BasicBlock::Create(context, "lanes", &lanes);
    build.CreateBr(loop);
    build.SetInsertPoint(loop);
    auto* lane = build.CreatePHI(build.getInt32Ty(), 2);
    auto* sofar = build.CreatePHI(type, 2);
    llvm::SmallVector<llvm::Value*, 4> operands;
    for (auto& argument : lanes.args())
        operands.push_back(build.CreateExtractElement(&argument, lane));
    auto* call = build.CreateCall(&scalar, operands);
    call->setCallingConv(scalar.getCallingConv());
    auto* result = build.CreateInsertElement(sofar, call, lane);
    auto* next = build.CreateAdd(lane, build.getInt32(1));
    build.CreateCondBr(build.CreateICmpULT(next, build.getInt32(type->getNumElements())), loop,
                       after);
    lane->addIncoming(build.getInt32(0), before);
    lane->addIncoming(next, loop);
    sofar->addIncoming(lanes.getArg(0), before);
    sofar->addIncoming(result, loop);
    build.SetInsertPoint(after);
    return result;
}

void write_question(llvm::Function& lanes, llvm::Function& scalar) {
    auto& context = lanes.getContext();
    auto* start = llvm::BasicBlock::Create(context, "start", &lanes);
    auto* some = llvm::BasicBlock::Create(context, "some", &lanes);
    auto* done = llvm::BasicBlock::Create(context, "done");
    auto* usual = lanes.getArg(0);
    auto* wanted = std::prev(lanes.arg_end());

    llvm::IRBuilder<> build(start);
    build.CreateCondBr(build.CreateOrReduce(wanted), some, done,
                       llvm::MDBuilder(context).createUnlikelyBranchWeights());

    build.SetInsertPoint(some);
    llvm::SmallVector<llvm::Value*, 4> operands;
    for (auto& argument : lanes.args())
        operands.push_back(&argument);
    llvm::Value* answer = widen(build, scalar, operands, lanes_of);
    if (!answer)
        answer = each_lane(build, lanes, scalar);
    auto* last = build.GetInsertBlock();
    build.CreateBr(done);

    done->insertInto(&lanes);
    build.SetInsertPoint(done);
    auto* found = build.CreatePHI(lanes.getReturnType(), 2);
    found->addIncoming(usual, start);
    found->addIncoming(answer, last);
    build.CreateRet(found);
}

void write_lanes(llvm::Function& lanes, llvm::Function& scalar, const Cpu& cpu) {
    lanes.setAttributes(
        llvm::AttributeList::get(lanes.getContext(), scalar.getAttributes().getFnAttrs(), {}, {}));
    if (scalar.getName().contains(table_prefix))
        write_table_lanes(lanes, scalar, cpu);
    else
        write_question(lanes, scalar);
}

} // namespace

bool has_own_lanes(llvm::StringRef name) {
    return name.contains(seldom_prefix) ||
           name.contains(table_prefix); // templates have longer ones
}

SeldomFunctions::SeldomFunctions(llvm::Module& module) {
    for (auto& function : module) {
        if (!comes_in_lanes(function))
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
                                                  llvm::ModuleAnalysisManager& /*analyses*/) const {
    llvm::removeFromUsedLists(module, [](llvm::Constant* value) {
        return value->stripPointerCasts()->getName().starts_with(lanes_prefix);
    });
    for (bool all = false; !all;) { // one may call another
        all = true;
        for (auto& function : llvm::make_early_inc_range(module)) {
            if (!function.getName().starts_with(lanes_prefix) || !function.isDeclaration())
                continue;
            function.removeDeadConstantUsers(); // the lists that were
            if (function.use_empty()) {
                function.eraseFromParent();
                continue;
            }
            write_lanes(function, *scalar_of(function), cpu);
            all = false;
        }
    }
    for (auto& function : module)
        if (comes_in_lanes(function) || function.getName().starts_with(lanes_prefix)) {
            function.setLinkage(llvm::GlobalValue::InternalLinkage);
            function.removeFnAttr(llvm::Attribute::NoInline);
            function.addFnAttr(llvm::Attribute::AlwaysInline);
        }
    return llvm::PreservedAnalyses::none();
}

} // namespace quern::host
