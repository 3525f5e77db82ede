// The numbers of a reduction's loop nest, declared and filled from one list.
#include "compiler/codegen/reduction.h"

#include <cstring>

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
    } else {
        add(Kind::group_bits);
        if (rows)
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

namespace {

template <class Word> std::size_t pack(const std::vector<ReductionField>& fields,
                                       const ReductionPlan& plan, void* place) {
    using Kind = ReductionField::Kind;
    const ReductionLayout& layout = plan.layout;
    std::byte* at = static_cast<std::byte*>(place);
    const auto put = [&](std::int64_t value) {
        const Word word = static_cast<Word>(value);
        std::memcpy(at, &word, sizeof word);
        at += sizeof word;
    };
    const auto put_divisor = [&](std::int64_t value) {
        const DivisorNumbers numbers =
            make_divisor(static_cast<std::uint64_t>(value), sizeof(Word) == 8);
        put(static_cast<std::int64_t>(numbers.divisor));
        put(static_cast<std::int64_t>(numbers.multiplier));
        put(static_cast<std::int64_t>(numbers.shift));
    };
    const int fastest =
        layout.strategy == ReductionStrategy::rows ? layout.ndim() - 1 : layout.kept_ndim - 1;
    for (const ReductionField& field : fields) {
        switch (field.kind) {
        case Kind::outputs:
            put(plan.outputs);
            break;
        case Kind::steps:
            put(plan.steps);
            break;
        case Kind::chunk:
            put(plan.chunk);
            break;
        case Kind::shift:
            put(plan.shift);
            break;
        case Kind::share:
            put(plan.share);
            break;
        case Kind::group_bits:
            put(plan.group_bits);
            break;
        case Kind::length:
            put(plan.shape[static_cast<std::size_t>(fastest)]);
            break;
        case Kind::units:
            put(plan.tiles * plan.splits);
            break;
        case Kind::fan:
            put(plan.fan);
            break;
        case Kind::splits:
            put_divisor(plan.splits);
            break;
        case Kind::packs:
            put_divisor(plan.packs);
            break;
        case Kind::tiles_along:
            put_divisor(plan.tiles_along);
            break;
        case Kind::extent:
            put_divisor(plan.shape[static_cast<std::size_t>(field.axis)]);
            break;
        case Kind::stride:
            put(plan.stride(field.operand, field.axis));
            break;
        case Kind::place:
            put(plan.place[static_cast<std::size_t>(field.axis)]);
            break;
        case Kind::first_place:
            put(plan.first_place);
            break;
        case Kind::start:
            put(plan.start[static_cast<std::size_t>(field.operand)]);
            break;
        }
    }
    return static_cast<std::size_t>(at - static_cast<std::byte*>(place));
}

} // namespace

std::size_t pack_reduction(const std::vector<ReductionField>& fields, const ReductionPlan& plan,
                           void* place) {
    return plan.layout.wide ? pack<std::uint64_t>(fields, plan, place)
                            : pack<std::uint32_t>(fields, plan, place);
}

} // namespace quern
