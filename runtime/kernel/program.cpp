// Keeps one kernel for each text and name.
#include "runtime/kernel/program.h"

#include "runtime/kernel/raw.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace quern {
namespace {

RawKernel& kernel_of(const ProgramText& program, std::string_view name) {
    static std::mutex mutex;
    static auto* const all = new std::map<std::string, std::unique_ptr<RawKernel>, std::less<>>;
    std::string key(program.piece);
    for (const DType type : program.types)
        key += static_cast<char>(type);
    for (const auto& [macro, value] : program.numbers)
        key.append(reinterpret_cast<const char*>(&value), sizeof value);
    key += name;
    const std::lock_guard lock(mutex);
    if (const auto found = all->find(key); found != all->end())
        return *found->second;
    RawSource source;
    source.code = emit_program(program);
    source.label = "quern_program.cu";
    source.options = {"--fmad=false"};
    auto made = std::make_unique<RawKernel>(
        std::make_shared<RawProgram>(std::move(source), std::string(name)), std::string(name));
    return *all->emplace(std::move(key), std::move(made)).first->second;
}

} // namespace

void launch_program(const ProgramText& program, std::string_view kernel,
                    std::span<const Argument> args, const ProgramLaunch& launch) {
    RawLaunch raw;
    raw.grid = {launch.grid, 1, 1};
    raw.block = {launch.block, 1, 1};
    raw.has_stream = true;
    raw.stream = launch.stream;
    CallHooks hooks;
    hooks.on_wait = launch.on_wait;
    kernel_of(program, kernel)(args, raw, hooks);
}

int moved_vector_bytes(const Device& device) {
    const std::string& name = device.arch().name;
    if (name.find("+avx512vpopcntdq") != std::string::npos) // full speed, see host/widest.h
        return 64;
    return name.starts_with("x86-64-v4") || name.starts_with("x86-64-v3") ? 32 : 0;
}

Argument number(std::int64_t value) { return Argument::of(Scalar::of(value)); }
Argument array_or_null(const Array* array) {
    return array != nullptr ? Argument::of(*array) : Argument();
}

} // namespace quern
