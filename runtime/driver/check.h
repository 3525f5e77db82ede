// check(): a CUresult becomes an exception that tells the deed, the values, and the driver's own
// name and number.
#pragma once
#include "compiler/base/text.h"
#include "runtime/driver/api.h"

namespace quern {

[[noreturn]] void throw_driver_error(const DriverApi& api, CUresult status,
                                     const std::string& deed);

// The deed's text is joined only on failure: check(api, status, "allocate ", n, " bytes").
template <class... Parts>
inline void check(const DriverApi& api, CUresult status, const Parts&... deed) {
    if (status != CUDA_SUCCESS) [[unlikely]]
        throw_driver_error(api, status, join(deed...));
}

} // namespace quern
