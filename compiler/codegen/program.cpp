// Writes the head, the types as names and the numbers as macros; the kernels are the prelude's.
#include "compiler/codegen/program.h"

#include "compiler/codegen/writer.h"

namespace quern {

std::string emit_program(const ProgramText& program) {
    Writer out("quern_program.cu");
    std::string names;
    for (const DType type : program.types)
        names += join(names.empty() ? "" : ", ", row(type).name);
    out.line("// quern | ", program.piece, " | ", names);
    for (const auto& [name, value] : program.numbers)
        out.line("#define ", name, " ", value);
    out.line("#include \"quern/elementwise.cuh\"");
    for (std::size_t k = 0; k < program.types.size(); ++k) {
        const DTypeRow& type = row(program.types[k]);
        if (!type.header.empty())
            out.line("#include \"", type.header, "\"");
        out.line("typedef ", type.spelling, " QUERN_T", k, ";");
    }
    out.line("#include \"", program.piece, "\"");
    return out.take();
}

std::array<std::pair<std::string_view, int>, 7> sort_numbers(const SortLayout& layout) {
    return {{
        {"QUERN_SORT_ROAD", static_cast<int>(layout.road)},
        {"QUERN_SORT_THREADS", layout.threads},
        {"QUERN_SORT_PAIRS", layout.pairs},
        {"QUERN_SORT_WIDE", layout.wide},
        {"QUERN_SORT_HELD", layout.held},
        {"QUERN_SORT_BLOCK", layout.block},
        {"QUERN_VECTORS", layout.vectors},
    }};
}

} // namespace quern
