// The headers of C and C++ that a program may include, and what they define.
#include "host_compiler.h"
#include "kernels.h"
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

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

TEST(StandardHeaders, NamesOfStd) {
    using F = std::numeric_limits<float>;
    using D = std::numeric_limits<double>;
    const Program program({read_kernels("standard_headers.cu")});
    const float x = 1.75f;
    std::vector<double> out(23);
    program.launch("names_of_std", {1}, {1}, out.data(), x);
    const double expected[] = {F::infinity(),
                               F::lowest(),
                               F::epsilon(),
                               F::min(),
                               F::denorm_min(),
                               D::max(),
                               D::denorm_min(),
                               D::epsilon(),
                               std::sqrt(x),
                               x,
                               1024,
                               -2,
                               std::exp(double(x)),
                               2,
                               3,
                               7,
                               37,
                               x + 2.5,
                               1,
                               3,
                               2 + x,
                               21,
                               2};
    for (std::size_t k = 0; k < out.size(); ++k)
        EXPECT_DOUBLE_EQ(out[k], expected[k]) << k;
}

} // namespace
} // namespace quern::test
