// Writes the bodies of indexing: a sum of places along axes, and the walk over a mask.
#include "compiler/ops/index_kernel.h"

#include "compiler/base/text.h"

#include <array>

namespace quern {
namespace {

std::string_view name_of(IndexMode mode) {
    static constexpr std::array<std::string_view, 3> names{"index_raise", "index_wrap",
                                                           "index_clip"};
    return names[static_cast<std::size_t>(mode)];
}

// What the act does with `target`, an element that other threads may change too.
std::string statement_of(IndexAct act, const std::string& target, std::string_view value) {
    switch (act) {
    case IndexAct::get:
        return join("y = ", target);
    case IndexAct::set:
        return join(target, " = ", value);
    case IndexAct::add:
        return join("atomicAdd(&", target, ", ", value, ")");
    case IndexAct::max:
        return join("atomicMax(&", target, ", ", value, ")");
    case IndexAct::min:
        return join("atomicMin(&", target, ", ", value, ")");
    case IndexAct::locate:
        break;
    }
    return join("y = fault.skip ? -1 : reinterpret_cast<ptrdiff_t>(&", target, ") - ", located_base,
                "ll");
}

std::string kernel_name(const IndexForm& form) {
    static constexpr std::array<std::string_view, 6> names{"quern_take",        "quern_put",
                                                           "quern_scatter_add", "quern_scatter_max",
                                                           "quern_scatter_min", "quern_places"};
    return join(names[static_cast<std::size_t>(form.act)], form.flat ? "_flat" : "");
}

ElementwiseSpec make(const std::string& name, const std::string& inputs, const std::string& outputs,
                     const std::string& operation, bool checked) {
    ElementwiseText text;
    text.name = name;
    text.in_params = inputs;
    text.out_params = outputs;
    text.operation = operation;
    if (checked) {
        text.loop_prep = "quern::IndexFault fault";
        text.after_loop = "fault.report(word, call)";
    }
    return make_elementwise_spec(text);
}

} // namespace

ElementwiseSpec index_spec(const IndexForm& form) {
    const bool reads = form.act == IndexAct::get || form.act == IndexAct::locate;
    const std::string_view type = form.act == IndexAct::locate ? "uint8" : "T";
    std::string inputs = reads ? join(form.flat ? "raw " : "", type, " x, ") : std::string();
    std::string at = form.indices.empty() ? "0" : "";
    for (std::size_t k = 0; k < form.indices.size(); ++k) {
        inputs += join(row(form.indices[k]).name, " i", k, ", int64 n", k, ", ");
        if (!form.flat)
            inputs += join("int64 s", k, ", ");
        const std::string checked =
            join("quern::", name_of(form.mode), "(i", k, ", n", k, ", ", k, ", fault)");
        at += k ? " + " : "";
        at += form.flat     ? checked
              : form.narrow ? join("static_cast<ptrdiff_t>(static_cast<unsigned int>(", checked,
                                   ")) * static_cast<int>(s", k, ")")
                            : join(checked, " * s", k);
    }
    if (!reads)
        inputs += form.flat ? "raw T value, int64 count, " : "T value, ";
    inputs += "int64 word, int64 call";
    const std::string_view base = reads ? "x" : "y";
    const std::string_view place = form.act == IndexAct::get ? std::string_view(at) : "at";
    const std::string target = form.flat ? join(base, "[", place, "]")
                                         : join("(*quern::at_byte(", base, ", ", place, "))");
    const std::string outputs = reads ? join(form.act == IndexAct::locate ? "int64" : "T", " y")
                                      : join(form.flat ? "raw " : "", "T y");
    std::string operation =
        statement_of(form.act, target, form.flat ? "value[i % count]" : "value");
    if (form.act != IndexAct::get) // nothing is to be written at a wrong index
        operation = join("fault.skip = false; const ptrdiff_t at = ", at, "; ",
                         reads ? "" : "if (!fault.skip) ", operation);
    ElementwiseSpec spec = make(kernel_name(form), inputs, outputs, operation, true);
    (reads ? spec.params.front() : spec.params.back()).place = true;
    return spec;
}

ElementwiseSpec putmask_spec(bool repeated) {
    return repeated
               ? make("quern_putmask_repeated", "bool mask, raw T values, int64 count", "T y",
                      "if (mask) y = values[i % count]", false)
               : make("quern_putmask", "bool mask, T value", "T y", "if (mask) y = value", false);
}

ElementwiseSpec mask_spec(MaskAct act) {
    const std::string_view walk =
        "const ptrdiff_t first = i * chunk, last = first + chunk < size ? first + chunk : size; ";
    if (act == MaskAct::count)
        return make("quern_mask_count", "raw bool mask, int64 chunk, int64 size", "int64 counts",
                    join(walk, "int total = 0; "
                               "for (ptrdiff_t j = first; j < last; ++j) total += mask[j]; "
                               "counts = total"),
                    false);
    const std::string_view inputs = "raw int64 ends, raw bool mask, int64 chunk, int64 size";
    // `whole` is for `count` elements from `begin` on that are all true: a chunk, or pieces of one
    // of which nearly all are true, or nearly none.
    const auto each = [&](std::string_view statement, std::string_view whole,
                          std::string_view before = "", std::string_view unless = "",
                          std::string_view after = "") {
        const std::string all = join(unless, ") { for (int k = 0; k < count; ++k) ", whole,
                                     " at += count; ", after, "}");
        return join(
            walk,
            "ptrdiff_t at = i == 0 ? 0 : ends[i - 1], begin = first; "
            "const ptrdiff_t end = ends[i], set = end - at, unset = last - first - set; ",
            before, "{ const int count = static_cast<int>(last - first); if (unset == 0", all,
            "} if (32 * (set < unset ? set : unset) < last - first) "
            "for (const int count = 16; begin + count <= last && at < end; "
            "begin += count) { unsigned char found = 0; for (int k = 0; k < count; ++k) "
            "found = static_cast<unsigned char>(found + mask[begin + k]); "
            "if (found == count",
            all,
            " else if (found != 0) "
            "for (ptrdiff_t j = begin; j < begin + count && at < end; ++j) ",
            statement, " } for (ptrdiff_t j = begin; j < last && at < end; ++j) ", statement);
    };
    switch (act) {
    case MaskAct::find: // written past a place is only what the next true element overwrites
        return make("quern_mask_find", std::string(inputs), "raw int64 places",
                    each("{ places[at] = j; at += mask[j]; }", "places[at + k] = begin + k;"),
                    false);
    case MaskAct::pick:
        return make("quern_mask_pick", join(inputs, ", raw T x"), "raw T y",
                    each("{ y[at] = x[j]; at += mask[j]; }", "y[at + k] = x[begin + k];"), false);
    default:
        return make("quern_mask_fill", join(inputs, ", raw T x, int64 length"), "raw T y",
                    each("if (mask[j]) { y[j] = x[from]; ++at; if (++from == length) from = 0; }",
                         "y[begin + k] = x[from + k];", "ptrdiff_t from = at % length; ",
                         " && from + count <= length",
                         "from += count; if (from == length) from = 0; "),
                    false);
    }
}

ElementwiseSpec unravel_spec(int axes) {
    std::string inputs = "int64 place", outputs, operation = "ptrdiff_t rest = place; ";
    for (int k = 0; k < axes; ++k) {
        inputs += join(", int64 n", k);
        outputs += join(k ? ", " : "", "int64 i", k);
    }
    for (int k = axes - 1; k > 0; --k)
        operation += join("i", k, " = rest % n", k, "; rest /= n", k, "; ");
    return make("quern_unravel", inputs, outputs, join(operation, "i0 = rest"), false);
}

} // namespace quern
