// The CUDA sources of kernels/, which NVRTC compiles too (tests/compiler/compile), as programs of
// both tiers.
#pragma once
#include "driver_program.h"
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace quern::test {

inline std::string read_kernels(const std::string& name) {
    std::ifstream file(QUERN_TEST_KERNELS "/" + name);
    if (!file)
        throw std::runtime_error("no kernels " + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A program of each tier, made when it is asked for.
inline const DriverProgram& program_of(const std::string& kernels, const std::string& tier) {
    static std::map<std::pair<std::string, std::string>, std::unique_ptr<DriverProgram>> made;
    auto& program = made[{kernels, tier}];
    if (!program)
        program = std::make_unique<DriverProgram>(
            Source{read_kernels(kernels), {"--quern-waiting=" + tier}});
    return *program;
}

// Both tiers: threads as fibers, and kernels cut in regions (those that can be).
class Tiers : public testing::TestWithParam<const char*> {
  protected:
    const DriverProgram& program(const std::string& kernels) const {
        return program_of(kernels, GetParam());
    }
};

} // namespace quern::test
