// The headers of C and C++ that a program may include, and what they define.
#include "host_compiler.h"
#include "kernels.h"
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>

namespace quern::test {
namespace {

TEST(StandardHeaders, DefineTheirNumbers) {
    const Program program({read_kernels("standard_headers.cu")});
    std::vector<double> out(14);
    program.launch("numbers", {1}, {1}, out.data());
    const double expected[] = {M_PI,    M_SQRT1_2, FLT_MAX,  FLT_EPSILON, DBL_MIN,  M_PI,
                               M_SQRT2, M_LN2,     INFINITY, INFINITY,    INFINITY, UINT32_MAX};
    for (std::size_t k = 0; k < 12; ++k)
        if (k == 7)
            EXPECT_NEAR(out[k], M_LN2, 1e-9); // the upper digits alone
        else
            EXPECT_EQ(out[k], expected[k]) << k;
    EXPECT_TRUE(std::isnan(out[12]) && std::isnan(out[13]));
}

} // namespace
} // namespace quern::test
