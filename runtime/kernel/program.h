// Launches of the kernels that the prelude holds whole: found or compiled by their program's types
// and numbers.
#pragma once
#include "compiler/compile.h"
#include "runtime/kernel/argument.h"

#include <span>
#include <string_view>

namespace quern {

struct ProgramLaunch {
    Device& device;
    CUstream stream = nullptr;
    std::uint32_t grid = 1, block = 1;
    void (*on_wait)(bool entering) = nullptr;
};

// Arguments of kind `missing` are null pointers; every number is a `long long` or a `double`.
// Thread safe.
void launch_program(const ProgramText& program, std::string_view kernel,
                    std::span<const Argument> args, const ProgramLaunch& launch);

// Of a CPU with AVX2 or more, whose instructions a piece may then name: of its vectors. Else 0.
[[nodiscard]] int moved_vector_bytes(const Device& device);

[[nodiscard]] Argument number(std::int64_t value);
[[nodiscard]] Argument array_or_null(const Array* array);

} // namespace quern
