// What a cast loses: a complex number that becomes a real one drops its imaginary part, of which
// NumPy warns.
#pragma once
#include "compiler/base/dtype.h"

namespace quern {

// The binding's part, set once: warns on the calling thread, and throws where warnings are errors.
using CastNotice = void (*)();
void set_cast_notice(CastNotice notice) noexcept;

[[nodiscard]] bool drops_imaginary(DType from, DType to) noexcept;

// Calls the notice if elements of `from` lose their imaginary parts as elements of `to`. Before
// anything is written.
void note_cast(DType from, DType to);

} // namespace quern
