// The numbers of a row kernel's nest, listed and filled.
#include "compiler/codegen/rows.h"

#include "compiler/codegen/words.h"

namespace quern {

std::vector<RowField> row_fields(const RowLayout& layout) {
    using Kind = RowField::Kind;
    std::vector<RowField> fields;
    const auto add = [&](Kind kind, int axis = 0, int operand = 0) {
        fields.push_back(
            {kind, static_cast<std::int16_t>(operand), static_cast<std::int16_t>(axis)});
    };
    add(Kind::rows);
    add(Kind::length);
    add(Kind::packs);
    if (layout.panels)
        add(Kind::rounds), add(Kind::last_columns);
    else if (layout.block_bits() < 0)
        add(Kind::group_bits);
    if (layout.parks)
        add(Kind::parked);
    for (int d = 1; d < layout.kept_ndim; ++d)
        add(Kind::extent, d);
    for (int k = 0; k < layout.operand_count; ++k)
        for (int d = 0; d < layout.ndim(); ++d)
            add(Kind::stride, d, k);
    return fields;
}

std::size_t pack_rows(const std::vector<RowField>& fields, const RowPlan& plan, void* place) {
    using Kind = RowField::Kind;
    Words words(place, plan.layout.index_bits);
    for (const RowField& field : fields) {
        switch (field.kind) {
        case Kind::rows:
            words.put(plan.rows);
            break;
        case Kind::length:
            words.put(plan.length);
            break;
        case Kind::packs:
            words.put(plan.packs);
            break;
        case Kind::group_bits:
            words.put(plan.group_bits);
            break;
        case Kind::parked:
            words.put(plan.parked);
            break;
        case Kind::rounds:
            words.put(plan.rounds);
            break;
        case Kind::last_columns:
            words.put(plan.last_columns);
            break;
        case Kind::extent:
            words.put_divisor(plan.shape[static_cast<std::size_t>(field.axis)]);
            break;
        case Kind::stride:
            words.put(plan.stride(field.operand, field.axis));
            break;
        }
    }
    return words.bytes_from(place);
}

} // namespace quern
