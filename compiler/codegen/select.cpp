// Writes the head, the table of methods as one function, and kernels that call the prelude.
#include "compiler/codegen/select.h"

#include "compiler/codegen/writer.h"

namespace quern {
namespace {

// What every kernel of a selection receives of its call.
constexpr std::string_view call_params = "const long long rows, const long long length, "
                                         "const double* q, const long long places, ";
constexpr std::string_view call_args = "rows, length, q, places, ";

void places(Writer& out) {
    out.line("// Where quantile q of n sorted values lies: between the ranks low and high.");
    out.open("__device__ quern::Place quern::place_of(int method, double n, double q)");
    out.line("double v = 0.0, low = 0.0, part = 0.0;");
    out.open("switch (method)");
    for (const QuantileRow& method : quantile_table)
        out.line("case ", static_cast<int>(method.id), ": v = ", method.place,
                 "; low = floor(v); part = ", method.part, "; break; // ", method.name);
    out.close();
    out.line("return quern::Place(low, part, n);");
    out.close();
}

// Of the prelude's structs for rows that blocks of a CPU share: edges of a row's brackets, each as
// wide as the widest key, and counts of a part, each with one number more.
constexpr std::int64_t most_edges = 4 * select_brackets + 1, brackets_bytes = 8 * (most_edges + 2),
                       part_bytes = 8 * (most_edges + 1);

void shared_by_cpu_blocks(Writer& out, std::string_view type, std::string_view made) {
    constexpr std::string_view begin = "extern \"C\" __global__ void quern_select_";
    out.line("static_assert(sizeof(quern::Brackets<", type, ">) <= ", brackets_bytes,
             " && sizeof(quern::PartFound) == ", part_bytes, ", \"the room made for them\");");
    out.open(begin, "brackets(const ", type, "* data, const long long length, const double* q, ",
             "const long long places, const int method, const int skip_nan, unsigned char* "
             "searches, ",
             type, "* room, long long* ranks, const long long sampled)");
    out.line("quern::select_brackets(data, length, q, places, method, skip_nan != 0, searches, "
             "room, ranks, sampled);");
    out.close();
    out.blank();
    out.open(begin, "gather(const ", type, "* data, const long long length, const long long ",
             "splits, const long long chunk, const unsigned char* searches, quern::PartFound* "
             "parts, ",
             type, "* room)");
    out.line("quern::select_gather(data, length, splits, chunk, searches, parts, room);");
    out.close();
    out.blank();
    out.open(begin, "finish(const ", type, "* data, ", call_params, made,
             "* out, const int method, const int skip_nan, const unsigned char* searches, const "
             "quern::PartFound* parts, const long long splits, const long long chunk, ",
             type, "* room, long long* ranks)");
    out.line("quern::select_finish(data, ", call_args,
             "out, method, skip_nan != 0, searches, parts, splits, chunk, room, ranks);");
    out.close();
}

} // namespace

std::string emit_select(DType value, DType result, const SelectLayout& layout) {
    const std::string_view type = row(value).spelling, made = row(result).spelling;
    Writer out("quern_select.cu");
    out.line("// quern | select | ", row(value).name, " -> ", row(result).name);
    out.line("#define QUERN_SELECT_THREADS ", layout.threads ? 1 : 0);
    if (!layout.threads) {
        out.line("#define QUERN_PARTITION_PAIRS 0");
        out.line("#define QUERN_VECTORS ", int{layout.vectors});
    }
    out.line("#define QUERN_SELECT_MEAN ", static_cast<int>(QuantileMethod::median));
    out.line("#include \"quern/elementwise.cuh\"");
    for (const DType dtype : {value, result})
        if (!row(dtype).header.empty())
            out.line("#include \"", row(dtype).header, "\"");
    out.line("#include \"quern/convert.cuh\"");
    const bool held =
        layout.road == SelectRoad::brief_rows || layout.road == SelectRoad::short_rows;
    out.line("#include \"quern/select_",
             held             ? "short"
             : layout.threads ? "digits"
                              : "cpu",
             ".cuh\"");
    out.blank();
    places(out);
    out.blank();
    const std::string bounds =
        join("extern \"C\" __global__ void ",
             layout.threads ? join("__launch_bounds__(", select_block, ") ") : "");
    const std::string types = join("<", type, ", ", made, ", "),
                      digits = join(int{layout.digit_bits}, ", ", int{layout.targets});
    switch (layout.road) {
    case SelectRoad::brief_rows:
    case SelectRoad::short_rows:
        out.open(bounds, "quern_select_short(const ", type, "* data, ", call_params, made,
                 "* out, const int method, const int skip_nan)");
        if (layout.road == SelectRoad::short_rows && layout.threads)
            out.line("quern::select_sorted(data, ", call_args, "out, method, skip_nan != 0);");
        else
            out.line(layout.threads ? "quern::select_brief" : "quern::select_short", types,
                     int{layout.held}, ">(data, ", call_args, "out, method, skip_nan != 0);");
        out.close();
        break;
    case SelectRoad::whole_rows:
        out.open(bounds, "quern_select_rows(const ", type, "* data, ", call_params, made,
                 "* out, const int method, const int skip_nan",
                 layout.threads
                     ? ""
                     : join(", ", type, "* room, long long* ranks, const long long sampled"),
                 ")");
        if (layout.threads)
            out.line("quern::select_rows", types, digits, ">(data, ", call_args,
                     "out, method, skip_nan != 0);");
        else
            out.line("quern::select_rows(data, ", call_args,
                     "out, method, skip_nan != 0, room, ranks, sampled);");
        out.close();
        break;
    case SelectRoad::split_rows:
        if (!layout.threads) {
            shared_by_cpu_blocks(out, type, made);
            break;
        }
        out.open(bounds, "quern_select_count(const ", type,
                 "* data, const long long length, const long long splits, const long long chunk, "
                 "unsigned char* searches, unsigned char* tables, const int left)");
        out.line("quern::select_count<", type, ", ", digits,
                 ">(data, length, splits, chunk, searches, tables, left);");
        out.close();
        out.blank();
        out.open(bounds, "quern_select_choose(", call_params, "const long long first, ", made,
                 "* out, const int method, const int skip_nan, unsigned char* searches, unsigned "
                 "char* tables, const int left)");
        out.line("quern::select_choose", types, digits, ">(", call_args,
                 "first, out, method, skip_nan != 0, searches, tables, left);");
        out.close();
        break;
    }
    return out.take();
}

// A GPU's as quern::RankSearch has it, whatever the width of keys; select_digits.cuh holds it to
// this.
std::int64_t select_search_bytes(const SelectLayout& layout) {
    return layout.threads ? 16 + std::int64_t{layout.targets} * 32 : brackets_bytes;
}
std::int64_t select_table_bytes(const SelectLayout& layout, std::int64_t splits) {
    return layout.threads ? (std::int64_t{layout.targets} << layout.digit_bits) * 8
                          : splits * part_bytes;
}

} // namespace quern
