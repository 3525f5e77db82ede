// What the text of the bodies tells without a compiler. Sure or silent: where the text is not
// understood, every fact takes its costly value.
#pragma once
#include "compiler/spec/kernel_spec.h"

#include <span>
#include <string>
#include <string_view>

namespace quern {

struct BodyTexts {
    std::string_view operation, loop_prep, after_loop, preamble;
    std::span<const std::string> options; // -D and -include may hide what a name stands for
};

[[nodiscard]] BodyFacts find_body_facts(const BodyTexts& texts, std::span<const Param> params);

// Does a text of C++ call functions that take far longer than a load?
[[nodiscard]] bool is_costly(std::string_view text);

} // namespace quern
