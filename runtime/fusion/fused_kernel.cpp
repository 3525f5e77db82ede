// See fused_kernel.h.
#include "runtime/fusion/fused_kernel.h"

#include "compiler/base/text.h"
#include "compiler/fusion/merge.h"
#include "runtime/fusion/known.h"

#include <algorithm>
#include <string_view>

namespace quern {
namespace {

// Everything that a part's kernel depends on.
std::string key_of(const FusionGraph& graph, std::string_view name, int kind) {
    std::string key(name);
    const auto add = [&](int number) {
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    add(kind);
    for (const GraphValue& value : graph.values)
        add(static_cast<int>(value.dtype) << 4 | value.per_row << 3 | value.given << 2 |
            value.scalar << 1 | value.wanted);
    for (const GraphStep& step : graph.steps) {
        const KernelSpec& spec = step.kernel();
        key += join('\0', spec.in_params, '\0', spec.out_params, '\0', spec.preamble, '\0');
        if (step.reduction != nullptr)
            key += join(step.reduction->map_expr, '\0', step.reduction->reduce_expr, '\0',
                        step.reduction->post_map_expr, '\0', step.reduction->identity, '\0',
                        step.reduction->reduce_type, '\0', step.reduction->inner_type, '\0');
        else
            key += join(step.spec->operation, '\0');
        add(step.per_row);
        for (const auto* list : {&step.inputs, &step.before, &step.outputs})
            for (const int value : *list)
                add(value);
        for (const auto& [letter, spelling] : step.signature->placeholders)
            key += join(letter, spelling);
    }
    return key;
}

FusedKernel make_part(const GraphPart& part, const std::string& name) {
    FusedKernel made;
    if (part.kind == PartKind::walks) {
        MergedRows merged = merge_rows(part.graph, name);
        made.rows = std::make_unique<RowKernel>(std::move(merged.spec));
        made.values = std::move(merged.values);
    } else if (part.kind == PartKind::reduction) {
        MergedReduction merged = merge_reduction(part.graph, name);
        made.reduction = std::make_unique<ReductionKernel>(std::move(merged.spec));
        made.values = std::move(merged.values);
    } else {
        MergedKernel merged = merge(part.graph, name);
        made.elementwise = std::make_unique<ElementwiseKernel>(std::move(merged.spec));
        made.values = std::move(merged.values);
    }
    return made;
}

} // namespace

const KernelSpec& FusedKernel::spec() const {
    return elementwise ? static_cast<const KernelSpec&>(elementwise->spec())
           : reduction ? static_cast<const KernelSpec&>(reduction->spec())
                       : rows->spec();
}

std::string FusedKernel::launched_code() const {
    return elementwise ? elementwise->launched_code()
           : reduction ? reduction->launched_code()
                       : rows->launched_code();
}

bool FusedKernel::operator()(std::span<const Argument> args, const FusedCall& given,
                             CUstream stream, void (*on_wait)(bool entering)) {
    if (rows)
        return (*rows)(args, {given.reduced_axes, stream, given.ways}, on_wait);
    if (reduction) {
        ReductionCall call;
        call.all_axes = false;
        call.axes = given.reduced_axes;
        call.has_stream = true;
        call.stream = stream;
        static_cast<void>((*reduction)(args, call, on_wait));
        return true;
    }
    ElementwiseCall call;
    call.has_stream = true;
    call.stream = stream;
    if (std::ranges::none_of(args, [](const Argument& arg) { return arg.array != nullptr; }))
        call.size = given.elements; // nothing is stored, but a body may do more
    static_cast<void>((*elementwise)(args, call, on_wait));
    return true;
}

FusedKernel& kernel_of(const GraphPart& part, const std::string& name) {
    return known<FusedKernel>(key_of(part.graph, name, static_cast<int>(part.kind)),
                              [&] { return make_part(part, name); });
}

} // namespace quern
