// Arguments of a raw kernel as cuLaunchKernel wants them, checked against its parameters.
#pragma once
#include "compiler/base/error.h"
#include "runtime/kernel/raw.h"

namespace quern {

// raw_params.cpp
[[nodiscard]] std::vector<RawParam>
find_params(const LoadedProgram& loaded, const RawFunction& function, const RawSource& source);

// What a call passes to a kernel, for complaints.
struct RawCall {
    const std::string& name;
    const RawFunction& function;
    std::span<const Argument> args;
    void (*warn)(const std::string& text) = nullptr;

    // raw_complaint.cpp: throws; the deed, both lists side by side with argument `k` marked, the
    // cure.
    [[noreturn]] void complain(ErrorKind kind, std::size_t k, const std::string& what,
                               const std::string& help) const;
    [[nodiscard]] std::string text(std::size_t k, const std::string& what,
                                   const std::string& help) const;
    // Python numbers behind the last parameter, which nobody reads; anything else there is a
    // mistake.
    [[nodiscard]] bool has_idle_numbers() const noexcept;
};

[[nodiscard]] std::string describe(const RawParam& param);
[[nodiscard]] std::string describe(const Argument& argument);

// CuPy's width of an argument, for what the parameter does not decide.
[[nodiscard]] std::uint32_t own_bytes(const Argument& argument) noexcept;

class RawArguments {
  public:
    // Throws TypeError, ValueError or Error{overflow}.
    RawArguments(const RawCall& call, bool strict);
    RawArguments(const RawArguments&) = delete;
    RawArguments& operator=(const RawArguments&) = delete;
    [[nodiscard]] void** data() noexcept { return pointers_; }

  private:
    static constexpr std::size_t inline_count = 32, inline_bytes = 16 * inline_count;
    std::array<void*, inline_count> inline_pointers_;
    alignas(16) std::array<std::byte, inline_bytes> inline_store_;
    void** pointers_ = inline_pointers_.data();
    std::byte* store_ = inline_store_.data();
    std::vector<void*> more_pointers_;
    std::vector<std::byte> more_store_;
};

} // namespace quern
