// nvcc as a toolchain, for programs that ask for it: found beside the toolkit's headers or on PATH,
// run as a process of its own in a folder of its own.
#pragma once
#include "compiler/backend/backend.h"

namespace quern {

[[nodiscard]] const Backend& nvcc_backend();

} // namespace quern
