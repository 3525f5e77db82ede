// The CUDA sources of kernels/, which NVRTC compiles too (tests/compiler/compile).
#pragma once
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace quern::test {

inline std::string read_kernels(const std::string& name) {
    std::ifstream file(QUERN_TEST_KERNELS "/" + name);
    if (!file)
        throw std::runtime_error("no kernels " + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace quern::test
