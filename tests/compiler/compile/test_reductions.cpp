// Every reduction of the table compiles for GPUs that are not here and for this CPU, by rows and by
// columns, in one kernel and in two.
#include "compiler/base/error.h"
#include "compiler/compile.h"
#include "tests/private_cache.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

struct Case {
    std::vector<std::int64_t> shape;
    std::uint64_t reduced;
};

ReductionVariant variant_of(const ReductionSpec& spec, const Signature& signature, Target target,
                            const Case& made, bool atomic) {
    std::vector<std::vector<std::int64_t>> shapes, strides;
    std::vector<Operand> operands;
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        if (!signature.params[k].is_array)
            continue;
        const std::uint32_t item = row(signature.params[k].dtype).bytes;
        std::vector<std::int64_t> shape = made.shape, steps(shape.size());
        std::int64_t stride = item;
        for (std::size_t d = shape.size(); d-- > 0;) {
            if (spec.params[k].output && (made.reduced >> d & 1) != 0)
                shape[d] = 1;
            steps[d] = stride;
            stride *= shape[d];
        }
        shapes.push_back(shape);
        strides.push_back(steps);
        operands.push_back({nullptr, nullptr, static_cast<int>(shape.size()), item, 0x1000,
                            spec.params[k].output});
    }
    for (std::size_t k = 0; k < operands.size(); ++k) {
        operands[k].shape = shapes[k].data();
        operands[k].strides = strides[k].data();
    }
    ReductionRequest request;
    request.shape = made.shape;
    request.reduced = made.reduced;
    request.operands = operands;
    request.target = target;
    request.processors = target == Target::cpu ? 2 : 132;
    request.accumulator_bytes = spec.accumulator_bytes;
    request.uses_place = spec.uses_position;
    request.most_steps = spec.inner_steps;
    request.may_join_atomically = atomic;
    ReductionPlan plan;
    EXPECT_TRUE(plan_reduction(request, plan));
    return {plan.layout, {}};
}

// Has the ufunc whose reduction this is a loop of the dtype?
bool of_loop(Reduction op, DType dtype) {
    for (const UfuncRow& ufunc : ufunc_table)
        for (const UfuncLoop& loop : loops_of(ufunc))
            if (ufunc.reduction == op && !loop.refused && loop.types[2] == dtype)
                return true;
    return false;
}

void compile_table(const Arch& arch, std::initializer_list<DType> dtypes) {
    const std::vector<Case> cases{{{1 << 24}, 1}, {{1000, 1001}, 2}, {{5000, 1 << 12}, 1}};
    for (const ReductionRow& op : reduction_table) {
        for (const DType in : dtypes) {
            if (op.id == Reduction::ptp && in == DType::boolean)
                continue;
            if (op.types == ReductionTypes::loop && !of_loop(op.id, in))
                continue;
            const bool gpu = arch.target == Target::gpu;
            const ReductionTyping types =
                type_reduction(op.id, in, std::nullopt, true,
                               !gpu                       ? Meeting::lanes
                               : op.id == Reduction::prod ? Meeting::packs
                                                          : Meeting::rising);
            const ReductionSpec spec = reduction_spec(op.id, types, false, false);
            std::vector<ArgType> args(static_cast<std::size_t>(spec.nin));
            args[0] = {ArgType::Kind::array, in, 1, nullptr};
            for (std::size_t k = 1; k < args.size(); ++k)
                args[k] = {ArgType::Kind::scalar, DType::float64, 0, nullptr};
            const Signature signature = resolve(spec, args);
            for (const Case& made : cases)
                for (const bool atomic : {false, true}) {
                    const ReductionVariant variant = variant_of(
                        spec, signature, arch.target, made, atomic && !spec.atomic_join.empty());
                    if (variant.layout.atomic != atomic)
                        continue;
                    try {
                        EXPECT_FALSE(
                            compile_reduction(spec, signature, variant, arch).binary.image.empty());
                    } catch (const Error& error) {
                        ADD_FAILURE() << op.name << " of " << row(in).name << ", "
                                      << describe(variant.layout) << "\n"
                                      << error.what();
                    }
                }
        }
    }
}

TEST(Reductions, CompileForGpus) {
    Arch arch;
    arch.target = Target::gpu;
    arch.name = "sm_90";
    compile_table(arch, {DType::uint8, DType::bfloat16, DType::complex64});
}

} // namespace
} // namespace quern
