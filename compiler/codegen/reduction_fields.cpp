// The numbers of a reduction's loop nest, declared and filled from one list.
#include "compiler/codegen/reduction.h"

#include "compiler/codegen/words.h"

namespace quern {

std::vector<ReductionField> reduction_fields(const ReductionLayout& layout) {
    using Kind = ReductionField::Kind;
    std::vector<ReductionField> fields;
    const auto add = [&](Kind kind, int axis = 0, int operand = 0) {
        fields.push_back(
            {kind, static_cast<std::int16_t>(operand), static_cast<std::int16_t>(axis)});
    };
    const bool rows = layout.strategy == ReductionStrategy::rows,
               cpu = layout.target == Target::cpu;
    add(Kind::outputs);
    add(Kind::steps);
    add(Kind::length);
    if (cpu) {
        add(Kind::share);
        add(Kind::units);
        add(Kind::ahead);
    } else {
        add(Kind::group_bits);
        if (rows || layout.wraps)
            add(Kind::packs);
        if (layout.masked && !layout.drifts)
            add(Kind::shift);
    }
    if (layout.split) {
        add(Kind::chunk);
        add(Kind::splits);
        if (!cpu)
            add(Kind::fan);
    }
    if (!rows)
        add(Kind::tiles_along);
    if (!rows && cpu) {
        add(Kind::span);
        add(Kind::together);
    }
    if (layout.runs)
        add(Kind::run);
    if (layout.wraps && cpu) {
        add(Kind::full);
        add(Kind::rest);
    }
    for (int d = 0; d < layout.ndim(); ++d)
        if (d != 0 && d != layout.kept_ndim)
            add(Kind::extent, d);
    if (layout.scattered) {
        add(Kind::first_place);
        for (int d = layout.kept_ndim; d < layout.ndim(); ++d)
            add(Kind::place, d);
    }
    for (int k = 0; k < layout.operand_count; ++k) {
        add(Kind::start, 0, k);
        for (int d = 0; d < layout.ndim(); ++d)
            add(Kind::stride, d, k);
    }
    return fields;
}

std::size_t pack_reduction(const std::vector<ReductionField>& fields, const ReductionPlan& plan,
                           void* place) {
    using Kind = ReductionField::Kind;
    Words words(place, plan.layout.index_bits);
    for (const ReductionField& field : fields) {
        switch (field.kind) {
        case Kind::outputs:
            words.put(plan.outputs);
            break;
        case Kind::steps:
            words.put(plan.steps);
            break;
        case Kind::chunk:
            words.put(plan.chunk);
            break;
        case Kind::shift:
            words.put(plan.shift);
            break;
        case Kind::share:
            words.put(plan.share);
            break;
        case Kind::group_bits:
            words.put(plan.group_bits);
            break;
        case Kind::length:
            words.put(plan.length);
            break;
        case Kind::run:
            words.put(plan.run);
            break;
        case Kind::full:
            words.put(plan.reduced / plan.run);
            break;
        case Kind::rest:
            words.put(plan.reduced % plan.run * (plan.length / plan.run));
            break;
        case Kind::span:
            words.put(plan.span);
            break;
        case Kind::together:
            words.put(plan.together);
            break;
        case Kind::units:
            words.put(plan.tiles * plan.splits);
            break;
        case Kind::ahead:
            words.put(std::int64_t{plan.ahead});
            break;
        case Kind::fan:
            words.put(plan.fan);
            break;
        case Kind::splits:
            words.put_divisor(plan.splits);
            break;
        case Kind::packs:
            words.put_divisor(plan.packs);
            break;
        case Kind::tiles_along:
            words.put_divisor(plan.tiles_along);
            break;
        case Kind::extent:
            words.put_divisor(plan.shape[static_cast<std::size_t>(field.axis)]);
            break;
        case Kind::stride:
            words.put(plan.stride(field.operand, field.axis));
            break;
        case Kind::place:
            words.put(plan.place[static_cast<std::size_t>(field.axis)]);
            break;
        case Kind::first_place:
            words.put(plan.first_place);
            break;
        case Kind::start:
            words.put(plan.start[static_cast<std::size_t>(field.operand)]);
            break;
        }
    }
    return words.bytes_from(place);
}

} // namespace quern
