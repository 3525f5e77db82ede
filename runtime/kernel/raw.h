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
#include <utility>
#include <vector>

namespace quern {

// What the cold road asks of the caller: to let others run while it waits, and where the call
// stands.
struct CallHooks {
    void (*on_wait)(bool entering) = nullptr;
    std::string (*call_site)() = nullptr;            // "script.py:12"
    void (*warn)(const std::string& text) = nullptr; // may throw
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
    [[nodiscard]] std::pair<CUfunction, std::string> // handle and symbol
    find_function(const LoadedProgram& loaded, const std::string& name) const;
    // A __device__, __constant__ or __managed__ variable, by symbol or name expression.
    struct Global {
        std::uint64_t address = 0;
        std::size_t bytes = 0;
    };
    [[nodiscard]] Global find_global(const LoadedProgram& loaded, const std::string& name) const;

  private:
    [[nodiscard]] std::string symbol_of(const LoadedProgram& loaded, const std::string& name) const;

    RawSource source_;
    std::string name_;
    std::mutex mutex_;
    std::atomic<LoadedProgram*> first_{nullptr};
};

// What a kernel's binary, its symbol and its text tell of one parameter.
struct RawParam {
    std::uint32_t bytes = 0;   // 0: not known
    std::uint16_t accepts = 0; // arrays: a bit for each dtype
    DeclaredParam declared;
};

// A kernel on one device. Lives as long as the kernel.
struct RawFunction {
    Device* device = nullptr;
    CUfunction handle = nullptr;
    std::string symbol;
    bool knows_params = false; // else neither the driver nor the text tells how many there are
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

// The kernel's attributes under CuPy's names.
struct RawAttribute {
    const char* name;
    CUfunction_attribute which;
    bool settable;
    const char* doc;
};
extern const std::array<RawAttribute, 10> raw_attributes;

class RawKernel {
  public:
    RawKernel(std::shared_ptr<RawProgram> program, std::string name);
    ~RawKernel();
    RawKernel(const RawKernel&) = delete;
    RawKernel& operator=(const RawKernel&) = delete;

    [[nodiscard]] RawProgram& program() const noexcept { return *program_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const RawFunction& on(Device& device, const CallHooks& hooks = {});
    // What the driver says of the kernel. Throws DriverError.
    [[nodiscard]] int attribute(const RawFunction& function, CUfunction_attribute which) const;
    void set_attribute(const RawFunction& function, CUfunction_attribute which, int value) const;
    // Everything about the kernel on one device, for people.
    [[nodiscard]] std::string explain(Device& device, const CallHooks& hooks = {});

    // Launches on the device of the arrays (the current one without any). An argument of kind
    // `missing` is a null pointer. Thread safe. Throws TypeError, ValueError or OverflowError
    // before anything is launched.
    void operator()(std::span<const Argument> args, RawLaunch launch, const CallHooks& hooks = {});

  private:
    std::shared_ptr<RawProgram> program_;
    std::string name_;
    std::mutex mutex_;
    std::atomic<RawFunction*> first_{nullptr};
};

} // namespace quern
