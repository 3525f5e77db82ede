// Special registers: where a thread is, its lane and warp, clocks.
#include "compiler/host/ptx/emitter.h"
#include <llvm/IR/Module.h>

namespace quern::host::ptx {
namespace {

// %tid.x is threadIdx.x: the variable that C++ reads, which a later pass replaces.
Value* position(Emitter& e, const std::string& name) {
    struct Row {
        std::string_view name;
        const char* variable;
    };
    constexpr Row positions[] = {{"%tid.", "threadIdx"},      {"%ctaid.", "blockIdx"},
                                 {"%ntid.", "blockDim"},      {"%nctaid.", "gridDim"},
                                 {"%clusterid.", "blockIdx"}, // a cluster is one block
                                 {"%nclusterid.", "gridDim"}};
    for (const auto& row : positions) {
        if (!name.starts_with(row.name) || name.size() != row.name.size() + 1)
            continue;
        const char axis = name.back();
        if (axis < 'w' || axis > 'z')
            return nullptr;
        if (axis == 'w')
            return e.number(32, 0);
        auto* all = llvm::ArrayType::get(e.build.getInt32Ty(), 3);
        llvm::Value* variable = e.module().getNamedGlobal(row.variable);
        if (!variable)
            variable = new llvm::GlobalVariable(
                e.module(), all, true, llvm::GlobalValue::ExternalLinkage, nullptr, row.variable);
        return e.build.CreateLoad(e.build.getInt32Ty(),
                                  e.build.CreateConstGEP1_32(e.build.getInt32Ty(), variable,
                                                             static_cast<unsigned>(axis - 'x')));
    }
    return nullptr;
}

// The thread's number in its block, x fastest.
Value* linear(Emitter& e) {
    auto* rows = e.build.CreateAdd(
        position(e, "%tid.y"), e.build.CreateMul(position(e, "%ntid.y"), position(e, "%tid.z")));
    return e.build.CreateAdd(position(e, "%tid.x"),
                             e.build.CreateMul(position(e, "%ntid.x"), rows));
}

Value* lane(Emitter& e) { return e.build.CreateAnd(linear(e), 31); }

Value* lane_mask(Emitter& e, std::string_view which) {
    auto* own = e.build.CreateShl(e.number(32, 1), lane(e));
    auto* below = e.build.CreateSub(own, e.number(32, 1));
    if (which == "eq")
        return own;
    if (which == "lt")
        return below;
    if (which == "le")
        return e.build.CreateOr(own, below);
    auto* from_own = e.build.CreateNot(below);
    return which == "ge" ? from_own : which == "gt" ? e.build.CreateXor(from_own, own) : nullptr;
}

Value* cycles(Emitter& e) {
    return e.build.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
}

// Nanoseconds, as clock_gettime tells them.
Value* nanoseconds(Emitter& e) {
    auto* wide = e.build.getInt64Ty();
    auto* type = llvm::ArrayType::get(wide, 2);
    auto* time = e.new_variable(type);
    e.call("clock_gettime", e.build.getInt32Ty(), {e.number(32, 0), time});
    auto* seconds = e.build.CreateLoad(wide, time);
    auto* rest = e.build.CreateLoad(wide, e.build.CreateConstGEP1_32(wide, time, 1));
    return e.build.CreateAdd(e.build.CreateMul(seconds, e.number(64, 1000000000)), rest);
}

} // namespace

Value* read_special(Emitter& e, const std::string& name, unsigned width) {
    if (auto* value = position(e, name))
        return value;
    if (name == "%laneid")
        return lane(e);
    if (name == "%warpid")
        return e.build.CreateLShr(linear(e), 5);
    if (name == "%nwarpid")
        return e.number(32, 64);
    if (name == "%smid") // blocks go to whichever core is free: all are one multiprocessor
        return e.number(32, 0);
    if (name == "%nsmid")
        return e.number(32, 1);
    if (name == "%cluster_ctarank" || name.starts_with("%cluster_ctaid."))
        return e.number(32, 0);
    if (name == "%cluster_nctarank" || name.starts_with("%cluster_nctaid."))
        return e.number(32, 1);
    if (name == "%gridid")
        return e.number(width == 64 ? 64 : 32, 1);
    if (name.starts_with("%lanemask_"))
        return lane_mask(e, std::string_view(name).substr(10));
    if (name == "%clock64" || name == "%clock")
        return cycles(e);
    if (name == "%clock_hi")
        return e.build.CreateLShr(cycles(e), 32);
    if (name == "%globaltimer" || name == "%globaltimer_lo")
        return nanoseconds(e);
    if (name == "%globaltimer_hi")
        return e.build.CreateLShr(nanoseconds(e), 32);
    return nullptr;
}

} // namespace quern::host::ptx
