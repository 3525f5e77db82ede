// How a complaint about parameter lists looks: the list, carets under the places, remarks, a cure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct Complaint {
    std::string headline;             // "T is both float32 and float64"
    std::string line;                 // the list or lists
    std::vector<std::size_t> columns; // byte positions in `line`; none: no line of carets
    std::vector<std::string> remarks; // one line each
    std::string help;                 // may be empty
};

// "kernel 'saxpy': headline", then the rest, each line indented by four spaces; without the front
// if `kernel` is "".
[[nodiscard]] std::string format_complaint(std::string_view kernel, const Complaint& complaint);

// `line` and the carets below it, indented by four; columns count characters, not bytes.
[[nodiscard]] std::string format_carets(std::string_view line, std::vector<std::size_t> columns);

// A list on one line: every newline, tab and the like becomes a space, so that positions stay.
[[nodiscard]] std::string flatten(std::string_view list);

// "T a, T x -> T out"; positions in the first list stay, those in the second are shifted by
// `out_offset`.
struct JoinedLists {
    std::string line;
    std::size_t out_offset = 0;
};
[[nodiscard]] JoinedLists join_lists(std::string_view in_params, std::string_view out_params);

} // namespace quern
