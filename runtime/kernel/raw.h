// A program of the user's own: compiled and loaded once for each device it is used on; its kernels,
// launched with the grid and the arguments that the user says; its variables.
#pragma once
#include "compiler/compile.h"
#include "runtime/driver/handles.h"
#include "runtime/kernel/argument.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace quern {

// What the cold road asks of the caller: to let others run while it waits, and where the call
// stands.
struct CallHooks {
    void (*on_wait)(bool entering) = nullptr;
    std::string (*call_site)() = nullptr; // "script.py:12"
};

class Promotion;

// A program on one device. Lives as long as the program.
struct LoadedProgram {
    Device* device = nullptr;
    CompiledRaw compiled;
    ModuleHandle module;
    std::shared_ptr<Promotion> promotion; // where the device has tiers
    std::unique_ptr<LoadedProgram> next;
};

class RawProgram {
  public:
    // `name` is for messages: a kernel's, or "module".
    RawProgram(RawSource source, std::string name);
    ~RawProgram();
    RawProgram(const RawProgram&) = delete;
    RawProgram& operator=(const RawProgram&) = delete;

    [[nodiscard]] const RawSource& source() const noexcept { return source_; }
    // Finds or compiles and loads. Thread safe.
    [[nodiscard]] const LoadedProgram& on(Device& device, const CallHooks& hooks = {});
    // The kernel of this name: a symbol, a name expression, or a C++ name that only one kernel has.
    // Throws DriverError (CUDA_ERROR_NOT_FOUND) that lists the names there are.
    [[nodiscard]] CUfunction find_function(const LoadedProgram& loaded,
                                           const std::string& name) const;

  private:
    RawSource source_;
    std::string name_;
    std::mutex mutex_;
    std::atomic<LoadedProgram*> first_{nullptr};
};

struct RawParam {
    std::uint32_t bytes = 0;
};

// A kernel on one device. Lives as long as the kernel.
struct RawFunction {
    Device* device = nullptr;
    CUfunction handle = nullptr;
    bool knows_params = false; // else the driver is too old to tell
    std::vector<RawParam> params;
    std::unique_ptr<RawFunction> next;
};

struct RawLaunch {
    std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
    unsigned shared_bytes = 0; // dynamic
    bool has_stream = false;   // else the current stream of the arrays' device
    CUstream stream = nullptr;
    bool strict = true;
    bool cooperative = false;
};

class RawKernel {
  public:
    RawKernel(std::shared_ptr<RawProgram> program, std::string name);
    ~RawKernel();
    RawKernel(const RawKernel&) = delete;
    RawKernel& operator=(const RawKernel&) = delete;

    [[nodiscard]] RawProgram& program() const noexcept { return *program_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] RawFunction& on(Device& device, const CallHooks& hooks = {});

    // Launches on the device of the arrays (the current one without any). An argument of kind
    // `missing` is a null pointer. Thread safe. Throws TypeError, ValueError or OverflowError
    // before anything is launched.
    void operator()(std::span<const Argument> args, const RawLaunch& launch,
                    const CallHooks& hooks = {});

  private:
    std::shared_ptr<RawProgram> program_;
    std::string name_;
    std::mutex mutex_;
    std::atomic<RawFunction*> first_{nullptr};
};

} // namespace quern
