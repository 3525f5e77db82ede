// Names, the user's expressions and addresses in kernels that join elements along axes.
#include "compiler/codegen/fold_emitter.h"

#include "compiler/codegen/reduction.h"

namespace quern {

FoldEmitter::FoldEmitter(const KernelSpec& spec, const Signature& signature, int index_bits)
    : kernel_(spec), signature_(signature), out_(spec.name + ".cu"), q_(own_prefix(spec)),
      index_(index_type(index_bits)), signed_(signed_index_type(index_bits)) {
    int operand = 0;
    for (std::size_t k = 0; k < spec.params.size(); ++k)
        if (signature.params[k].is_array && !spec.params[k].raw)
            (spec.params[k].output ? outputs_ : inputs_).push_back({k, operand++});
}

const std::string& FoldEmitter::name_of(int operand) const {
    for (const auto* list : {&inputs_, &outputs_})
        for (const OperandRef& ref : *list)
            if (ref.number == operand)
                return name(ref);
    return kernel_.name;
}

void JoinEmitter::accumulator_type() {
    const std::string type =
        !spec_.reduce_type.empty()
            ? spec_.reduce_type
            : type_in_kernel(spec_, signature_, static_cast<std::size_t>(spec_.nin));
    out_.line("typedef ", type, " _type_reduce;");
}

void JoinEmitter::join_lambda(std::string_view name, const std::string& type) {
    out_.open("const auto ", own(name), " = [&](", type, " a, ", type, " b) -> ", type);
    out_.line("return (");
    out_.user(reduce_label, spec_.reduce_expr, ");");
    out_.close(";");
}

void FoldEmitter::split_axes(const std::string& position, int begin, int end,
                             std::string_view tag) {
    if (begin == end)
        return;
    const std::string rest = own(join("rest", tag));
    if (end - begin > 1)
        out_.line(index_, " ", rest, " = ", position, ";");
    for (int d = end - 1; d > begin; --d) {
        const std::string by = nest(join("by_extent_", d)), above = own(join("above_", d));
        out_.line("const ", index_, " ", above, " = ", by, ".divide(", rest, ");");
        out_.line("const ", index_, " ", own(join("at_", d)), " = ", rest, " - ", above, " * ", by,
                  ".divisor;");
        out_.line(rest, " = ", above, ";");
    }
    out_.line("const ", index_, " ", own(join("at_", begin)), " = ",
              end - begin > 1 ? rest : position, ";");
}

std::string FoldEmitter::offset(const OperandRef& ref, int begin, int end) const {
    std::string sum;
    for (int d = begin; d < end; ++d)
        sum += join(" + ", as_signed(own(join("at_", d))), " * ", stride(ref, d));
    return sum;
}

std::string FoldEmitter::at_byte(const std::string& pointer, const std::string& bytes) const {
    return join("quern::at_byte(", pointer, ", ", bytes, ")");
}

} // namespace quern
