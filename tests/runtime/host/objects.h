// Objects as the host compiler would make them, built by the system's C compiler from a few lines,
// for tests.
#pragma once
#include "runtime/driver/api.h"
#include "runtime/host/host_driver.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern::test {

// The types of host_abi.h in C, and QUERN_KERNEL(name, parameter count, argument bytes, shared
// bytes, max threads, {offset, size}, ...) for a kernel's description.
extern const std::string_view c_prelude;

// Compiles C (with the prelude before it) to an object; fails the test and returns nothing if that
// did not work.
[[nodiscard]] std::vector<std::byte> compile_c(std::string_view source,
                                               const std::string& options = "-fPIC -O2");

// saxpy(float a, const float* x, float* y, int n), fill_index(int* out), count_blocks(int*
// counter), and others.
[[nodiscard]] const std::vector<std::byte>& kernels_object();

class HostTest : public testing::Test { // with the context current, and nothing left behind
  protected:
    void SetUp() override;
    void TearDown() override;
    [[nodiscard]] CUfunction kernel(const char* name); // of kernels_object()

    const DriverApi& api = host_driver().api;
    CUcontext context = nullptr;
    CUmodule loaded = nullptr;
};

} // namespace quern::test
