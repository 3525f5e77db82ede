// The table of devices: names become devices, made under a lock on first use, found without one
// afterwards.
#include "runtime/device/devices.h"

#include "compiler/base/error.h"
#include "compiler/base/settings.h"
#include "runtime/driver/check.h"
#include "runtime/host/host_driver.h"

#include <algorithm>
#include <charconv>
#include <new>

namespace quern {

Devices::Devices(FindDriver find_gpu, const Driver* gpu, const Driver* cpu)
    : find_gpu_(find_gpu), gpu_(gpu), cpu_(cpu) {
    if (gpu == nullptr)
        why_ = "no GPU driver is installed";
}

const Driver* Devices::gpu_driver() {
    if (gpu_asked_.load(std::memory_order_acquire))
        return gpu_;
    const std::lock_guard guard(mutex_);
    if (gpu_asked_.load(std::memory_order_relaxed))
        return gpu_;
    if (find_gpu_ != nullptr)
        gpu_ = find_gpu_(&why_);
    // From here on the driver library is initialised, and a fork would leave the child with a
    // broken copy of it.
    gpu_used_ = gpu_ != nullptr;
    gpu_asked_.store(true, std::memory_order_release);
    return gpu_;
}

const Driver& Devices::cpu_driver() { return cpu_ != nullptr ? *cpu_ : host_driver(); }

int Devices::gpu_count() {
    int count = gpu_count_.load(std::memory_order_acquire);
    if (count >= 0)
        return count;
    const Driver* driver = gpu_driver();
    count = 0;
    if (driver != nullptr) {
        check(driver->api, driver->api.cuDeviceGetCount(&count), "count the GPUs");
        if (count == 0)
            why_ = "the driver sees no GPU";
    }
    count = std::min(count, max_gpus);
    gpu_count_.store(count, std::memory_order_release);
    return count;
}

std::vector<std::string> Devices::names() {
    std::vector<std::string> names;
    for (int k = 0; k < gpu_count(); ++k)
        names.push_back(join("cuda:", k));
    names.emplace_back("cpu");
    return names;
}

namespace {
std::atomic<void (*)()> gpu_hook{nullptr};
} // namespace

void set_gpu_hook(void (*hook)()) noexcept { gpu_hook = hook; }

Device& Devices::cpu() {
    if (Device* device = cpu_device_.load(std::memory_order_acquire))
        return *device;
    const Driver& driver = cpu_driver();
    const std::lock_guard guard(mutex_);
    if (Device* device = cpu_device_.load(std::memory_order_acquire))
        return *device;
    auto* device = new Device(driver, 0, "cpu"); // never deleted: it outlives static destruction
    cpu_device_.store(device, std::memory_order_release);
    return *device;
}

Device& Devices::gpu(int ordinal, std::string_view name) {
    if (gpus_are_lost())
        throw_forked();
    const auto slot = static_cast<std::size_t>(ordinal);
    if (ordinal < max_gpus)
        if (Device* device = gpus_[slot].load(std::memory_order_acquire))
            return *device;
    if (ordinal >= gpu_count()) {
        const std::string all = fmt::format("{}", fmt::join(names(), ", "));
        throw ValueError(join("there is no device '", name, "': this machine has ", all,
                              why_.empty() ? "" : " (", why_, why_.empty() ? "" : ")"));
    }
    const std::lock_guard guard(mutex_);
    if (Device* device = gpus_[slot].load(std::memory_order_acquire))
        return *device;
    auto* device = new Device(*gpu_, ordinal, join("cuda:", ordinal));
    gpus_[slot].store(device, std::memory_order_release);
    if (void (*hook)() = gpu_hook.exchange(nullptr))
        hook();
    return *device;
}

Device& Devices::find(std::string_view name) {
    if (name == "cpu")
        return cpu();
    int ordinal = 0;
    if (name == "cuda")
        return gpu(0, name);
    if (name.starts_with("cuda:")) {
        const char* end = name.data() + name.size();
        const auto [stop, status] = std::from_chars(name.data() + 5, end, ordinal);
        if (status == std::errc{} && stop == end && ordinal >= 0)
            return gpu(ordinal, name);
    }
    const std::string all = fmt::format("{}", fmt::join(names(), ", "));
    throw ValueError(join("'", name, "' is no name of a device; there are: ", all));
}

Device& Devices::default_device() {
    const std::string& wanted = settings().device;
    if (!wanted.empty())
        return find(wanted);
    return gpu_count() > 0 ? gpu(0, "cuda:0") : cpu();
}

void Devices::forked() noexcept {
    new (&mutex_)
        std::mutex; // whoever held it does not exist here; what it guards is published whole
    if (gpu_used_.load(std::memory_order_relaxed))
        lost_.store(true, std::memory_order_relaxed);
}

} // namespace quern
