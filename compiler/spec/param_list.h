// One parameter list, read with a view of where it stands, so that complaints can show the whole
// line.
#pragma once
#include "compiler/spec/kernel_spec.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

inline constexpr std::size_t max_params = 60;

// Where a list stands: the line that complaints show, and the list's first column in it.
struct ListPlace {
    std::string_view kernel; // "" when there is none yet
    std::string_view line;
    std::size_t offset = 0;
};

struct ListedParam {
    Param param;
    std::size_t name_column = 0; // of its name, in its own list
};

// Words, types and names of each parameter are checked; names are not yet compared with one
// another. Throws SpecError.
[[nodiscard]] std::vector<ListedParam> read_list(std::string_view list, bool output,
                                                 const ListPlace& place);

// Duplicate names, names that are placeholders, too many: over both lists. `columns` are those of
// the names in the line.
void check_together(const std::vector<Param>& params, const std::vector<std::size_t>& columns,
                    const ListPlace& place);

// "did you mean float32 or float64?", or what types there are.
[[nodiscard]] std::string help_for_type(std::string_view type);

} // namespace quern
