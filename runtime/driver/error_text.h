// Names and meanings of CUresult codes, for providers that have no driver to ask and for codes a
// driver does not know.
#pragma once
#include <cuda.h>

namespace quern {

struct ErrorText {
    int code;
    const char* name; // "CUDA_ERROR_INVALID_VALUE"
    const char* text; // "invalid argument"
};

// nullptr for a number that no release of cuda.h lists.
[[nodiscard]] const ErrorText* find_error_text(CUresult status) noexcept;

} // namespace quern
