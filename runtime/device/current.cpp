// The device of each thread, the fork rule, and the process's one table of devices.
#include "compiler/base/error.h"
#include "runtime/device/devices.h"
#include "runtime/device/pending.h"
#include "runtime/driver/check.h"

#include <pthread.h>

namespace quern {
namespace {

std::atomic<Devices*> table{nullptr}; // never deleted: it outlives static destruction
std::atomic<std::uint32_t> epoch{
    1}; // rises when a fork or a test changes what a thread may believe
constinit thread_local Device* chosen = nullptr;
constinit thread_local std::uint32_t chosen_epoch = 0;
constinit thread_local Devices* chosen_table = nullptr;

void after_fork_in_child() {
    if (Devices* devices = table.load())
        devices->forked();
    epoch.fetch_add(1);
}

Devices& devices() {
    if (Devices* found = table.load(std::memory_order_acquire))
        return *found;
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork(nullptr, nullptr, after_fork_in_child);
        Devices* expected = nullptr;
        auto* made = new Devices(find_cuda_driver, nullptr, nullptr);
        if (!table.compare_exchange_strong(expected, made))
            delete made;
    });
    return *table.load(std::memory_order_acquire);
}

Device& allowed(Device& device) {
    if (!device.is_cpu() && devices().gpus_are_lost())
        throw_forked();
    return device;
}

Device& settle_current() {
    Devices& all = devices();
    const std::uint32_t now = epoch.load(std::memory_order_acquire);
    if (chosen == nullptr || chosen_table != &all) {
        // A child asks for its parent's default device and is told why it cannot have it.
        chosen = &all.default_device();
        chosen_table = &all;
    }
    Device& device = allowed(*chosen);
    chosen_epoch = now;
    return device;
}

} // namespace

void throw_forked() {
    throw Error(ErrorKind::runtime,
                "this process was forked after quern had started using a GPU, and a CUDA driver "
                "does not survive a fork: use multiprocessing's 'spawn' or 'forkserver' start "
                "method, or import and use quern only in the children");
}

std::vector<std::string> device_names() { return devices().names(); }

Device& find_device(std::string_view name) {
    if (devices().gpus_are_lost() && name.starts_with("cuda"))
        throw_forked();
    return devices().find(name);
}

Device& current_device() {
    if (chosen_epoch == epoch.load(std::memory_order_relaxed)) [[likely]]
        return *chosen;
    return settle_current();
}

void set_current_device(Device& device) noexcept {
    chosen = &device;
    chosen_table = table.load(std::memory_order_acquire);
    chosen_epoch = device.is_cpu() || !chosen_table || !chosen_table->gpus_are_lost()
                       ? epoch.load(std::memory_order_relaxed)
                       : 0; // current_device() will say what is wrong
}

void install_drivers_for_test(const std::vector<const Driver*>& drivers) {
    (void)devices();
    const Driver *gpu = nullptr, *cpu = nullptr;
    for (const Driver* driver : drivers)
        (driver->executes_on_cpu ? cpu : gpu) = driver;
    table.store(new Devices(nullptr, gpu, cpu), std::memory_order_release);
    epoch.fetch_add(1);
}

DeviceGuard::DeviceGuard(Device& device)
    : previous_(chosen_epoch == epoch.load(std::memory_order_relaxed) ? chosen : nullptr) {
    device.make_current();
    set_current_device(device);
}

DeviceGuard::~DeviceGuard() {
    if (previous_ != nullptr) {
        set_current_device(*previous_);
        previous_->api().cuCtxSetCurrent(previous_->context());
    } else {
        chosen = nullptr;
        chosen_epoch = 0;
    }
}

namespace {
thread_local Pending* pending = nullptr;
} // namespace

Pending* pending_work() noexcept { return pending; }
Pending* set_pending_work(Pending* work) noexcept { return std::exchange(pending, work); }

void Device::make_current() const {
    if (pending != nullptr) [[unlikely]]
        pending->settle();
    bind();
}

void Device::bind() const {
    if (!is_cpu() && devices().gpus_are_lost())
        throw_forked();
    CUcontext now = nullptr;
    if (api().cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context_) [[likely]]
        return;
    check(api(), api().cuCtxSetCurrent(context_), "make ", name_, " the current device");
}

ContextScope::ContextScope(const Device& device) noexcept : device_(device) {
    const DriverApi& api = device.api();
    ok_ = device.is_cpu() || !devices().gpus_are_lost();
    if (!ok_)
        return;
    ok_ = api.cuCtxGetCurrent(&previous_) == CUDA_SUCCESS;
    if (!ok_ || previous_ == device.context())
        return;
    ok_ = changed_ = api.cuCtxSetCurrent(device.context()) == CUDA_SUCCESS;
}

ContextScope::~ContextScope() {
    if (changed_)
        device_.api().cuCtxSetCurrent(previous_);
}

} // namespace quern
