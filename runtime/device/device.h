// Devices: properties, the primary context (retained, never created), the current device of each
// thread.
#pragma once
#include "compiler/base/arch.h"
#include "runtime/driver/api.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct DeviceProperties {
    std::string name;        // "NVIDIA H200", "AMD EPYC (2 threads)"
    int multiprocessors = 1; // of the CPU: worker threads
    int max_threads_per_block = 1024;
    int max_threads_per_multiprocessor = 2048;
    int max_grid[3] = {0x7fffffff, 65535, 65535};
    int shared_bytes_per_block = 48 * 1024;
    int shared_bytes_opt_in = 48 * 1024; // for a function that asks for it
    int major = 0, minor = 0;            // compute capability; of the CPU: 0.0
    std::size_t total_bytes = 0;
};

// One per device, made on first use, alive until the process ends.
class Device {
  public:
    Device(const Driver& driver, int ordinal, std::string name); // "cuda:1", "cpu"
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const DriverApi& api() const noexcept { return driver_.api; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
    [[nodiscard]] int index() const noexcept {
        return index_;
    } // dense, unique in this process: for tables
    [[nodiscard]] bool is_cpu() const noexcept { return driver_.executes_on_cpu; }
    [[nodiscard]] const Arch& arch() const noexcept { return arch_; }
    [[nodiscard]] const DeviceProperties& properties() const noexcept { return properties_; }
    [[nodiscard]] CUcontext context() const noexcept { return context_; }

    // This thread's driver context becomes ours; cheap when it already is. Asks the driver each
    // time, since other libraries of the process change it too.
    void make_current() const;
    void bind() const;        // the same, but what the thread keeps back it keeps
    void synchronize() const; // waits for all work of the device; the caller holds no GIL

  private:
    const Driver& driver_;
    int ordinal_, index_;
    std::string name_;
    CUdevice handle_ = 0;
    CUcontext context_ = nullptr;
    Arch arch_;
    DeviceProperties properties_;
};

inline constexpr int max_devices =
    512; // Device::index() stays below: tables by device need no lock

// Lists what exists without touching a context. `find_device` takes "cpu", "cuda", "cuda:1"; throws
// ValueError with the names there are.
[[nodiscard]] std::vector<std::string> device_names();
[[nodiscard]] Device& find_device(std::string_view name);

// Of this thread; starts as QUERN_DEVICE, else the first GPU, else the CPU. A process that forked
// after first use gets Error{runtime} saying what to do.
[[nodiscard]] Device& current_device();
void set_current_device(Device& device) noexcept;

// The context is the device's while it lives, then what it was before: for releases, which happen
// at any time, also while another library has its own context current. Never throws; ok() says
// whether it worked.
class [[nodiscard]] ContextScope {
  public:
    explicit ContextScope(const Device& device) noexcept;
    ~ContextScope();
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;
    [[nodiscard]] bool ok() const noexcept { return ok_; }

  private:
    const Device& device_;
    CUcontext previous_ = nullptr;
    bool ok_, changed_ = false;
};

// Called once, when the first GPU is made: for what may be loaded in the background from then on.
void set_gpu_hook(void (*hook)()) noexcept;

// Forgets all devices and takes these drivers instead (at most one that executes on the CPU and one
// that does not). Former devices are leaked, so what belongs to them stays usable as long as their
// driver is alive. Tests only.
void install_drivers_for_test(const std::vector<const Driver*>& drivers);

class [[nodiscard]] DeviceGuard { // the previous device comes back when it goes
  public:
    explicit DeviceGuard(Device& device);
    ~DeviceGuard();
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

  private:
    Device* previous_; // nullptr: the thread had chosen none yet
};

} // namespace quern
