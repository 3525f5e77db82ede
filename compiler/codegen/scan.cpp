// What every scan shares: the head of the text, the struct of its numbers, its kernels.
#include "compiler/codegen/reduction.h"
#include "compiler/codegen/scan_emitter.h"

namespace quern {

ScanEmitter::ScanEmitter(const ReductionSpec& spec, const Signature& signature,
                         const ScanVariant& variant)
    : JoinEmitter(spec, signature, variant.layout.index_bits), variant_(variant),
      layout_(variant.layout) {}

std::string emit_scan(const ReductionSpec& spec, const Signature& signature,
                      const ScanVariant& variant) {
    return ScanEmitter(spec, signature, variant).emit();
}

std::string ScanEmitter::emit() {
    const bool columns = layout_.strategy == ScanStrategy::columns;
    head();
    nest_struct();
    kernel_open();
    if (cpu())
        columns ? cpu_columns() : cpu_rows();
    else if (columns)
        gpu_columns();
    else
        layout_.strategy == ScanStrategy::rows ? gpu_rows() : gpu_short_rows();
    out_.close();
    return out_.take();
}

void ScanEmitter::head() {
    write_head(
        out_, "scan", spec_, signature_, describe(layout_),
        kernel_pieces(spec_, signature_, index_pieces(layout_.index_bits, "quern/scan.cuh")));
    accumulator_type();
    if (layout_.split)
        out_.line("static_assert(sizeof(_type_reduce) == ", variant_.accumulator_bytes,
                  ", \"the room for totals was made for another type\");");
    out_.blank();
}

void ScanEmitter::nest_struct() {
    using Form = ScanField::Form;
    using Kind = ScanField::Kind;
    const auto field_name = [&](const ScanField& field) -> std::string {
        switch (field.kind) {
        case Kind::lines:
            return "lines";
        case Kind::length:
            return "length";
        case Kind::across:
            return "across";
        case Kind::packs:
            return "by_packs";
        case Kind::tiles:
            return "by_tiles";
        case Kind::strips:
            return "by_strips";
        case Kind::values:
            return "values";
        case Kind::steps:
            return "steps";
        case Kind::scanners:
            return "scanners";
        case Kind::chunk:
            return "chunk";
        case Kind::share:
            return "share";
        case Kind::units:
            return "units";
        case Kind::extent:
            return join("by_extent_", field.axis);
        case Kind::stride:
            return join(name_of(field.operand), "_stride_", field.axis);
        }
        return {};
    };
    out_.open("struct ", own("nest_type"));
    for (const ScanField& field : scan_fields(layout_))
        out_.line(field.form == Form::divisor       ? join("quern::Divisor<", index_, ">")
                  : field.form == Form::signed_word ? signed_
                                                    : index_,
                  " ", field_name(field), ";");
    out_.close(";");
    out_.blank();
}

void ScanEmitter::kernel_open() {
    std::string list = kernel_params(spec_, signature_, {}, q_);
    if (layout_.split)
        list += join("void* ", own("room"), ", ");
    // Tiles that wait hide each other: registers for as many at a time as plans count on.
    out_.open("extern \"C\" __global__ void ",
              cpu()           ? ""
              : layout_.split ? join("__launch_bounds__(", scan_block, ", ", scan_blocks, ") ")
                              : join("__launch_bounds__(", scan_block, ") "),
              spec_.name, "(", list, "const ", own("nest_type"), " ", own("nest"), ")");
    join_lambda("join", "_type_reduce");
}

void ScanEmitter::starts(int end, const std::string& further) {
    for (const auto* list : {&inputs_, &outputs_})
        for (const OperandRef& ref : *list) {
            std::string bytes = "0" + offset(ref, 0, end);
            if (!further.empty() && access(ref) == Access::strided)
                bytes += join(" + ", as_signed(further), " * ", stride(ref, layout_.fastest()));
            out_.line(list == &inputs_ ? "const " : "", type(ref), "* const ", start(ref), " = ",
                      at_byte(own("data_" + name(ref)), bytes),
                      !further.empty() && access(ref) == Access::contiguous ? join(" + ", further)
                                                                            : "",
                      ";");
        }
}

void ScanEmitter::map_value() {
    out_.line("const _type_reduce ", own("value"), " = static_cast<_type_reduce>(");
    out_.user(map_label, spec_.map_expr, ");");
}

void ScanEmitter::post_map() { out_.user(post_map_label, spec_.post_map_expr, ";"); }

} // namespace quern
