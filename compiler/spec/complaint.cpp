// Complaints as text.
#include "compiler/spec/complaint.h"

#include "compiler/base/text.h"

#include <algorithm>

namespace quern {

std::string format_carets(std::string_view line, std::vector<std::size_t> columns) {
    std::string text = join("    ", line);
    if (columns.empty())
        return text;
    std::ranges::sort(columns);
    std::string carets;
    std::size_t width = 0, at = 0;
    for (const auto column : columns) {
        for (; at < std::min(column, line.size()); ++at)
            width += (static_cast<unsigned char>(line[at]) & 0xC0) !=
                     0x80; // not inside a UTF-8 character
        if (carets.size() > width)
            continue; // the same place twice
        carets.resize(width, ' ');
        carets += '^';
    }
    return join(text, "\n    ", carets);
}

std::string format_complaint(std::string_view kernel, const Complaint& complaint) {
    std::string text = kernel.empty() ? "" : join("kernel '", kernel, "': ");
    text += complaint.headline;
    if (!complaint.line.empty())
        text += join("\n", format_carets(complaint.line, complaint.columns));
    for (const auto& remark : complaint.remarks)
        text += join("\n    ", remark);
    if (!complaint.help.empty())
        text += join("\n    help: ", complaint.help);
    return text;
}

std::string flatten(std::string_view list) {
    std::string line(list);
    std::ranges::replace_if(
        line, [](char c) { return c >= '\t' && c <= '\r'; }, ' ');
    return line;
}

JoinedLists join_lists(std::string_view in_params, std::string_view out_params) {
    JoinedLists lists{join(flatten(in_params), " -> "), 0};
    lists.out_offset = lists.line.size();
    lists.line += flatten(out_params);
    lists.line.erase(lists.line.find_last_not_of(' ') + 1);
    return lists;
}

} // namespace quern
