// One device: its properties and its primary context.
#include "runtime/device/device.h"

#include "compiler/base/error.h"
#include "runtime/device/faults.h"
#include "runtime/device/waits.h"
#include "runtime/driver/check.h"

#include <atomic>

namespace quern {
namespace {

std::atomic<int> next_index{0};

DeviceProperties read_properties(const DriverApi& api, CUdevice handle, const std::string& device) {
    DeviceProperties found;
    const auto read = [&](int& into, CUdevice_attribute attribute) {
        check(api, api.cuDeviceGetAttribute(&into, attribute, handle), "read attribute ",
              static_cast<int>(attribute), " of ", device);
    };
    char name[256] = {};
    check(api, api.cuDeviceGetName(name, sizeof name, handle), "read the name of ", device);
    found.name = name;
    check(api, api.cuDeviceTotalMem(&found.total_bytes, handle), "read the memory size of ",
          device);
    read(found.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    read(found.max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    read(found.max_threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    read(found.max_grid[0], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    read(found.max_grid[1], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    read(found.max_grid[2], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    read(found.shared_bytes_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    read(found.shared_bytes_opt_in, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    read(found.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    read(found.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return found;
}

} // namespace

Device::Device(const Driver& driver, int ordinal, std::string name)
    : driver_(driver), ordinal_(ordinal), index_(-1), name_(std::move(name)) {
    check(api(), api().cuDeviceGet(&handle_, ordinal), "find device ", name_);
    properties_ = read_properties(api(), handle_, name_);
    arch_ = is_cpu() ? host_arch() : gpu_arch(properties_.major, properties_.minor);
    check(api(), api().cuDevicePrimaryCtxRetain(&context_, handle_), "open the primary context of ",
          name_);
    index_ = next_index.fetch_add(1); // last: a device that could not be made takes no place
    if (index_ >= max_devices)
        throw Error(ErrorKind::runtime, join("this process has made ", index_,
                                             " devices; quern's tables hold ", max_devices));
}

Device::~Device() {
    if (context_ != nullptr)
        api().cuDevicePrimaryCtxRelease(handle_);
}

void Device::synchronize() const {
    check_may_wait();
    make_current();
    check(api(), api().cuCtxSynchronize(), "wait for ", name_);
    throw_fault(*this);
}

} // namespace quern
