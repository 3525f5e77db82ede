// What a binary is made for: an NVIDIA architecture (sm_90) or this machine's CPU. Part of every
// cache key.
#pragma once
#include <compare>
#include <string>

namespace quern {

enum class Target : unsigned char { gpu, cpu };

struct Arch {
    Target target = Target::gpu;
    std::string name; // "sm_90", "sm_100a"; for the CPU the LLVM CPU name and features,
                      // "x86-64-v4+avx512bf16"

    friend bool operator==(const Arch&, const Arch&) = default;
    friend auto operator<=>(const Arch&, const Arch&) = default;
};

[[nodiscard]] inline Arch gpu_arch(int major, int minor) {
    return {Target::gpu, "sm_" + std::to_string(major) + std::to_string(minor)};
}

// This machine's CPU: the highest x86-64 level it has and the features past it that kernels use.
// Reads CPUID only.
[[nodiscard]] Arch host_arch();

} // namespace quern
