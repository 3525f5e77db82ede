// What the compiler's two entries share; for compile.cpp and compile_raw.cpp alone.
#pragma once
#include "compiler/compile.h"

#include <vector>

namespace quern {

[[nodiscard]] const std::vector<SourceFile>& prelude_headers();

// By the process's cache; `compiled` becomes true when the toolchain ran.
[[nodiscard]] Binary find_or_compile(const Backend& backend, const CompileRequest& request,
                                     bool& compiled);

// In the cache of the binaries; of the CPU's compiler, the only one that asks.
[[nodiscard]] const KeptParts& kept_parts();

} // namespace quern
