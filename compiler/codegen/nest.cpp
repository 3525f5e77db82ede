// Lists and packs the numbers of a loop nest.
#include "compiler/codegen/nest.h"

#include "compiler/codegen/words.h"

namespace quern {

bool has_stride(const ElementwiseLayout& layout, int operand, int axis) {
    if (axis + 1 < layout.ndim)
        return true;
    const Access access = layout.access[static_cast<std::size_t>(operand)];
    return access == Access::strided || access == Access::tiled || access == Access::gathered;
}

std::vector<NestField> nest_fields(const ElementwiseLayout& layout) {
    using Kind = NestField::Kind;
    std::vector<NestField> fields;
    const auto add = [&](Kind kind, int axis = 0, int operand = 0) {
        fields.push_back(
            {kind, static_cast<std::int16_t>(operand), static_cast<std::int16_t>(axis)});
    };
    const int ndim = layout.ndim, inner = ndim - 1;
    switch (layout.strategy) {
    case Strategy::vector:
        add(Kind::steps);
        add(Kind::extent, inner);
        if (layout.swift)
            add(Kind::share);
        if (layout.peel)
            add(Kind::shift);
        if (ndim > 1)
            add(Kind::row_steps);
        for (int d = 1; d < inner; ++d)
            add(Kind::divisor, d);
        break;
    case Strategy::scattered:
        add(Kind::count);
        for (int d = 1; d < ndim; ++d)
            add(Kind::divisor, d);
        break;
    case Strategy::tile:
    case Strategy::blocked:
        add(Kind::steps);
        if (layout.strategy == Strategy::blocked)
            add(Kind::share);
        add(Kind::extent, inner - 1);
        add(Kind::extent, inner);
        add(Kind::tiles, inner);
        if (ndim > 2)
            add(Kind::tiles, inner - 1);
        for (int d = 1; d < ndim - 2; ++d)
            add(Kind::divisor, d);
        break;
    case Strategy::range:
        add(Kind::count);
        add(Kind::share);
        if (ndim > 1)
            add(Kind::divisor, inner);
        for (int d = 1; d < inner; ++d)
            add(Kind::divisor, d);
        break;
    }
    for (int k = 0; k < layout.operand_count; ++k)
        for (int d = 0; d < ndim; ++d)
            if (has_stride(layout, k, d))
                add(Kind::stride, d, k);
    return fields;
}

static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::size_t pack_nest(const std::vector<NestField>& fields, const ElementwisePlan& plan,
                      void* place) {
    using Kind = NestField::Kind;
    const ElementwiseLayout& layout = plan.layout;
    const int inner = layout.ndim - 1;
    Words words(place, layout.index_bits);
    for (const NestField& field : fields) {
        const auto axis = static_cast<std::size_t>(field.axis);
        switch (field.kind) {
        case Kind::steps:
            words.put(plan.steps);
            break;
        case Kind::count:
            words.put(plan.count);
            break;
        case Kind::share:
            words.put(plan.share);
            break;
        case Kind::shift:
            words.put(plan.shift);
            break;
        case Kind::extent:
            words.put(plan.shape[axis]);
            break;
        case Kind::divisor:
            words.put_divisor(plan.shape[axis]);
            break;
        case Kind::row_steps:
            words.put_divisor(
                ceil_div(plan.shape[static_cast<std::size_t>(inner)] + plan.shift, layout.lanes));
            break;
        case Kind::tiles:
            words.put_divisor(
                ceil_div(plan.shape[axis],
                         (layout.strategy == Strategy::tile ? tile_extent : 1) * layout.lanes));
            break;
        case Kind::stride:
            words.put(plan.stride(field.operand, field.axis));
            break;
        }
    }
    return words.bytes_from(place);
}

} // namespace quern
