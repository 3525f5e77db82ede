// The cold side of check(): the driver's own name and number, its words, and what quern was doing.
#include "runtime/driver/check.h"

#include "compiler/base/error.h"
#include "runtime/driver/error_text.h"

namespace quern {

void throw_driver_error(const DriverApi& api, CUresult status, const std::string& deed) {
    const ErrorText* known = find_error_text(status);
    std::string name = known ? known->name : "unknown driver error";
    std::string text = known ? known->text : "";
    const char* said = nullptr;
    if (api.cuGetErrorName && api.cuGetErrorName(status, &said) == CUDA_SUCCESS && said)
        name = said;
    said = nullptr;
    if (api.cuGetErrorString && api.cuGetErrorString(status, &said) == CUDA_SUCCESS && said)
        text = said;
    const int code = static_cast<int>(status);
    throw DriverError(
        join(name, " (", code, ")", text.empty() ? "" : ": ", text, ", while trying to ", deed),
        code, name);
}

} // namespace quern
