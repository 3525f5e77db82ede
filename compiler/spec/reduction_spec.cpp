// Texts in, a checked ReductionSpec out.
#include "compiler/spec/reduction_spec.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/spec/body_facts.h"
#include "compiler/spec/tokens.h"

#include <algorithm>

namespace quern {
namespace {

void check_expression(const ReductionSpec& spec, std::string_view what, std::string_view text,
                      std::string_view example) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        throw SpecError(join("kernel '", spec.name, "': ", what, " is empty\n    help: ", example));
}

} // namespace

ReductionSpec make_reduction_spec(const ReductionText& text) {
    ReductionSpec spec;
    spec.name = text.name;
    read_params(text.in_params, text.out_params, spec);
    if (spec.nout == 0)
        throw SpecError(join("kernel '", spec.name,
                             "' has no output\n    help: a reduction needs one to write its result "
                             "to, ReductionKernel(\"T x\", \"T y\", \"x\", \"a + b\", \"y = a\", "
                             "\"0\") for example"));
    spec.map_expr = text.map_expr;
    spec.reduce_expr = text.reduce_expr;
    spec.post_map_expr = text.post_map_expr;
    spec.identity = text.identity;
    spec.reduce_type = text.reduce_type;
    spec.preamble = text.preamble;
    spec.reduce_dims = text.reduce_dims;
    spec.options = text.options;
    spec.origin = text.origin;
    check_expression(spec, "map_expr", text.map_expr, "an expression of the inputs, \"x * x\"");
    check_expression(spec, "reduce_expr", text.reduce_expr, "an expression of a and b, \"a + b\"");
    check_expression(spec, "post_map_expr", text.post_map_expr,
                     "an assignment to the outputs from a, \"y = a\"");
    const std::string bodies =
        join(spec.map_expr, "\n;\n", spec.reduce_expr, "\n;\n", spec.post_map_expr, "\n;\n",
             spec.identity, "\n;\n", spec.reduce_type, "\n;\n");
    spec.facts = find_body_facts({bodies, {}, {}, spec.preamble, spec.options}, spec.params);
    const auto has = [&](std::string_view word) {
        return std::binary_search(spec.facts.identifiers.begin(), spec.facts.identifiers.end(),
                                  word);
    };
    spec.uses_in_ind = has("_in_ind");
    spec.uses_out_ind = has("_out_ind");
    spec.uses_position = has("_J") || spec.uses_in_ind;
    spec.uses_row = has("_i") || spec.uses_in_ind || spec.uses_out_ind;
    return spec;
}

} // namespace quern
