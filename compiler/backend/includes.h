// What a program includes, by reading its text: decides which folders a toolchain must search, and
// which files belong in the cache key. Conditions are not evaluated: an #include in a branch not
// taken counts too.
#pragma once
#include "compiler/backend/backend.h"

#include <string>
#include <string_view>
#include <vector>

namespace quern {

// The names of every #include "x" and #include <x>, in order, each once.
[[nodiscard]] std::vector<std::string> included_names(std::string_view text);

// The names that the main source and the headers it reaches include, and that the request does not
// bring along.
[[nodiscard]] std::vector<std::string> foreign_includes(const CompileRequest& request);

// The files that foreign_includes reach through the request's own -I folders, and those that they
// include in turn, with their contents: CacheKey::included. Where the CUDA toolkit's headers are
// needed for the rest, one entry named
// "<cuda headers>" tells which toolkit; its files are not read one by one.
[[nodiscard]] std::vector<SourceFile> read_included(const CompileRequest& request);

// Appends to a toolchain's log what brings the headers that it did not find.
[[nodiscard]] std::string with_header_remedies(std::string log);

} // namespace quern
