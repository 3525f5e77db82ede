// The table of devices, one object for the process: which drivers there are, and each device once
// it was asked for.
#pragma once
#include "runtime/device/device.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace quern {

[[noreturn]] void throw_forked();

class Devices {
  public:
    // Drivers as the table's two kinds; `find_gpu` is asked once, when a GPU is first of interest.
    using FindDriver = const Driver* (*)(std::string* why);
    Devices(FindDriver find_gpu, const Driver* gpu, const Driver* cpu);

    [[nodiscard]] std::vector<std::string> names();
    [[nodiscard]] Device& find(std::string_view name);
    [[nodiscard]] Device& default_device();

    // Called in the child of a fork. From then on GPUs that the parent had started to use are
    // refused.
    void forked() noexcept;
    [[nodiscard]] bool gpus_are_lost() const noexcept {
        return lost_.load(std::memory_order_relaxed);
    }

  private:
    static constexpr int max_gpus = 64;

    [[nodiscard]] const Driver* gpu_driver(); // nullptr: none; `why_` then says why
    [[nodiscard]] const Driver& cpu_driver();
    [[nodiscard]] int gpu_count();
    [[nodiscard]] Device& gpu(int ordinal, std::string_view name);
    [[nodiscard]] Device& cpu();

    FindDriver find_gpu_;
    const Driver *gpu_, *cpu_;
    std::mutex
        mutex_; // held while a driver is found or a device made; a forked child gets a fresh one
    std::atomic<bool> gpu_asked_{false};
    std::string why_;
    std::atomic<int> gpu_count_{-1};
    std::atomic<bool> gpu_used_{false}, lost_{false};
    std::array<std::atomic<Device*>, max_gpus> gpus_{};
    std::atomic<Device*> cpu_device_{nullptr};
};

} // namespace quern
