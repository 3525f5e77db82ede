// The C++ runtime's own demangler, and brackets counted.
#include "compiler/base/demangle.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace quern {

std::string demangle(const std::string& symbol) {
    if (!symbol.starts_with("_Z"))
        return symbol;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && name ? name.get() : symbol;
}

DemangledFunction split_function(std::string_view demangled) {
    DemangledFunction split;
    const std::size_t last = demangled.rfind(')');
    std::size_t open = last;
    for (int depth = 0; open != std::string_view::npos && open-- > 0;) {
        depth += demangled[open] == ')' ? 1 : demangled[open] == '(' ? -1 : 0;
        if (depth < 0)
            break;
        if (open == 0)
            return {std::string(demangled), {}};
    }
    std::string_view name = demangled;
    if (last != std::string_view::npos) {
        split.params = demangled.substr(open + 1, last - open - 1);
        name = demangled.substr(0, open);
    }
    int depth = 0; // a template's name begins with its return type
    for (std::size_t k = 0; k < name.size(); ++k) {
        depth += name[k] == '<' || name[k] == '(' ? 1 : name[k] == '>' || name[k] == ')' ? -1 : 0;
        if (name[k] == ' ' && depth == 0) {
            name.remove_prefix(k + 1);
            break;
        }
    }
    split.name = name;
    return split;
}

} // namespace quern
