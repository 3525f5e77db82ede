// See row_spec.h.
#include "compiler/spec/row_spec.h"

#include "compiler/base/text.h"
#include "compiler/spec/body_facts.h"

#include <algorithm>

namespace quern {

void finish_row_spec(std::string_view in_params, std::string_view out_params, RowSpec& spec) {
    read_params(in_params, out_params, spec);
    std::string bodies = spec.before;
    for (const RowWalk& walk : spec.walks) {
        bodies += join("\n;\n", walk.elements, "\n;\n", walk.rows);
        for (const RowJoin& joined : walk.joins)
            for (const std::string* text :
                 {&joined.preamble, &joined.type, &joined.inner_type, &joined.about_type,
                  &joined.identity, &joined.reduce_expr, &joined.names, &joined.map_expr})
                bodies += join("\n;\n", *text);
    }
    spec.facts = find_body_facts({bodies, {}, {}, spec.preamble, spec.options}, spec.params);
    spec.uses_position = std::binary_search(spec.facts.identifiers.begin(),
                                            spec.facts.identifiers.end(), std::string_view("_J"));
}

} // namespace quern
