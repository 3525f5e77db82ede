// Indented text with #line directives: what the emitters write into.
#pragma once
#include "compiler/base/text.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace quern {

class Writer {
  public:
    explicit Writer(std::string file) : file_(std::move(file)) {}

    template <class... Parts> void line(const Parts&... parts) {
        text_.append(static_cast<std::size_t>(depth_) * 4, ' ');
        text_ += join(parts...);
        text_ += '\n';
    }
    template <class... Parts> void open(const Parts&... parts) { // "for (...) {"
        if constexpr (sizeof...(Parts) == 0)
            line("{");
        else
            line(parts..., " {");
        ++depth_;
    }
    void open_unrolled(std::string_view variable, int count) {
        line("#pragma unroll");
        open("for (int ", variable, " = 0; ", variable, " < ", count, "; ++", variable, ")");
    }
    void close(std::string_view tail = "") {
        --depth_;
        line("}", tail);
    }
    void blank() { text_ += '\n'; }
    // The user's own text, verbatim from column 1, so that compilers name its lines and columns.
    void user(std::string_view label, std::string_view text, std::string_view terminator) {
        if (text.empty())
            return;
        text_ += join("#line 1 \"", label, "\"\n", text, "\n");
        text_ +=
            join("#line ", std::count(text_.begin(), text_.end(), '\n') + 2, " \"", file_, "\"\n");
        if (!terminator.empty())
            line(terminator);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    std::string file_, text_;
    int depth_ = 0;
};

} // namespace quern
