// The numbers of a scan's loop nest, listed and filled.
#include "compiler/codegen/scan.h"

#include "compiler/codegen/words.h"

namespace quern {

std::vector<ScanField> scan_fields(const ScanLayout& layout) {
    using Form = ScanField::Form;
    using Kind = ScanField::Kind;
    std::vector<ScanField> fields;
    const auto add = [&](Form form, Kind kind, int axis = 0, int operand = 0) {
        fields.push_back(
            {form, kind, static_cast<std::int16_t>(operand), static_cast<std::int16_t>(axis)});
    };
    const bool columns = layout.strategy == ScanStrategy::columns,
               cpu = layout.target == Target::cpu;
    add(Form::word, Kind::lines);
    add(Form::word, Kind::length);
    if (columns)
        add(Form::word, Kind::across);
    if (cpu) {
        add(Form::word, Kind::share);
        add(Form::word, Kind::units);
        add(Form::word, Kind::chunk);
    } else {
        add(Form::divisor, Kind::packs);
        if (layout.split)
            for (const Kind kind : {Kind::values, Kind::steps, Kind::scanners, Kind::share})
                add(Form::word, kind);
    }
    add(Form::divisor, Kind::tiles);
    if (columns)
        add(Form::divisor, Kind::strips);
    for (int d = 1; d < layout.kept_ndim; ++d)
        add(Form::divisor, Kind::extent, d);
    for (int k = 0; k < layout.operand_count; ++k)
        for (int d = 0; d < layout.ndim(); ++d)
            add(Form::signed_word, Kind::stride, d, k);
    return fields;
}

namespace {

std::int64_t value_of(const ScanField& field, const ScanPlan& plan) {
    using Kind = ScanField::Kind;
    const auto axis = static_cast<std::size_t>(field.axis);
    switch (field.kind) {
    case Kind::lines:
        return plan.lines;
    case Kind::length:
        return plan.length;
    case Kind::across:
        return plan.shape[static_cast<std::size_t>(plan.layout.fastest())];
    case Kind::packs:
        return plan.packs;
    case Kind::tiles:
        return plan.tiles;
    case Kind::strips:
        return plan.strips;
    case Kind::values:
        return plan.values;
    case Kind::steps:
        return plan.steps;
    case Kind::scanners:
        return plan.scanners;
    case Kind::chunk:
        return plan.chunk;
    case Kind::share:
        return plan.share;
    case Kind::units:
        return plan.units;
    case Kind::extent:
        return plan.shape[axis];
    case Kind::stride:
        return plan.stride(field.operand, field.axis);
    }
    return 0;
}

} // namespace

std::size_t pack_scan(const std::vector<ScanField>& fields, const ScanPlan& plan, void* place) {
    Words words(place, plan.layout.index_bits);
    for (const ScanField& field : fields) {
        const std::int64_t value = value_of(field, plan);
        if (field.form == ScanField::Form::divisor)
            words.put_divisor(value);
        else
            words.put(value);
    }
    return words.bytes_from(place);
}

} // namespace quern
