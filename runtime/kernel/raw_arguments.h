// Arguments of a raw kernel as cuLaunchKernel wants them, checked against its parameters.
#pragma once
#include "runtime/kernel/raw.h"

namespace quern {

class RawArguments {
  public:
    // Throws TypeError, ValueError or Error{overflow} with both lists side by side.
    RawArguments(const std::string& name, const RawFunction& function,
                 std::span<const Argument> args, bool strict);
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
