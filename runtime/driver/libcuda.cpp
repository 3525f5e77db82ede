// The first provider: NVIDIA's libcuda, found by the one library search and bound symbol by symbol
// from symbols.def. Nothing happens before the first call, so a process may fork as it likes until
// then.
#include "runtime/driver/api.h"
#include "runtime/driver/error_text.h"

#include "compiler/base/library.h"
#include "compiler/base/text.h"

#include <string_view>

namespace quern {
namespace {

constexpr int oldest_driver = 11040; // CUDA 11.4: stream-ordered memory, graph flags, device UUIDs

// A name that headers newer than the driver ask for, and its older spelling of the same prototype.
constexpr struct {
    std::string_view asked;
    const char* older;
} same_prototype[] = {
    {"cuEventElapsedTime_v2", "cuEventElapsedTime"},
    {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"},
};

void* find_symbol(const Library& library, const char* name) {
    if (void* found = library.symbol(name))
        return found;
    for (const auto& row : same_prototype)
        if (row.asked == name)
            return library.symbol(row.older);
    return nullptr;
}

// One loop over the list, written by the preprocessor; "" or the required names that the library
// lacks.
std::string bind(DriverApi& api, const Library& library) {
    std::string missing;
    const auto fill = [&](auto& entry, const char* name, bool required) {
        entry =
            reinterpret_cast<std::remove_reference_t<decltype(entry)>>(find_symbol(library, name));
        if (entry == nullptr && required)
            missing += join(missing.empty() ? "" : ", ", name);
    };
#define QUERN_TEXT(x) #x
#define QUERN_NAME(fn) QUERN_TEXT(fn) // the name after cuda.h's macros: cuMemAlloc_v2
#define QUERN_CU(fn) fill(api.fn, QUERN_NAME(fn), true);
#define QUERN_CU_OPTIONAL(fn) fill(api.fn, QUERN_NAME(fn), false);
#include "runtime/driver/symbols.def"
#undef QUERN_CU
#undef QUERN_NAME
#undef QUERN_TEXT
    return missing;
}

std::string version_text(int version) { return join(version / 1000, ".", version % 1000 / 10); }

std::string explain(CUresult status) {
    const ErrorText* known = find_error_text(status);
    const int code = static_cast<int>(status);
    return known ? join(known->name, " (", code, "): ", known->text) : join("driver error ", code);
}

// "" when the driver can be used, else the reason why not, in words for the user.
std::string start(Driver& driver) {
    driver.name = "libcuda";
    const Library library = load_library("cuda");
    if (!library)
        return "no NVIDIA driver: libcuda.so.1 was not found";
    const auto ask_version =
        reinterpret_cast<CUresult (*)(int*)>(library.symbol("cuDriverGetVersion"));
    int version = 0;
    if (ask_version == nullptr)
        return join(library.path(), " is not NVIDIA's driver: it has no cuDriverGetVersion");
    if (const CUresult status = ask_version(&version);
        status != CUDA_SUCCESS) // toolkits ship a stub
        return join(library.path(), " is not usable: ", explain(status));
    if (version < oldest_driver)
        return join("the NVIDIA driver is too old: it serves CUDA ", version_text(version),
                    ", quern needs ", version_text(oldest_driver), " or newer");
    if (const std::string missing = bind(driver.api, library); !missing.empty())
        return join("the NVIDIA driver (CUDA ", version_text(version), ", ", library.path(),
                    ") lacks ", missing, ": a newer driver has them");
    if (const CUresult status = driver.api.cuInit(0); status != CUDA_SUCCESS)
        return join("the NVIDIA driver (CUDA ", version_text(version),
                    ") did not start: ", explain(status));
    int devices = 0;
    if (const CUresult status = driver.api.cuDeviceGetCount(&devices); status != CUDA_SUCCESS)
        return join("the NVIDIA driver cannot list its devices: ", explain(status));
    if (devices == 0)
        return "the NVIDIA driver sees no GPU (is CUDA_VISIBLE_DEVICES set?)";
    return {};
}

struct Attempt {
    Driver driver;
    std::string problem = start(driver);
};

} // namespace

const Driver* find_cuda_driver(std::string* why) {
    static const Attempt* const once =
        new Attempt; // never destroyed: handles may close after static destructors
    if (once->problem.empty())
        return &once->driver;
    if (why != nullptr)
        *why = once->problem;
    return nullptr;
}

} // namespace quern
