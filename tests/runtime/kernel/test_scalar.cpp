// Scalars stored into dtypes: NumPy's assignment rules.
#include "compiler/base/error.h"
#include "runtime/kernel/argument.h"

#include <gtest/gtest.h>

#include <cstring>

namespace quern {
namespace {

template <class T> T stored(const Scalar& value, DType dtype) {
    T result;
    store_scalar(value, dtype, &result);
    return result;
}

Scalar numpy(Scalar value) {
    value.is_numpy = true;
    return value;
}

TEST(StoreScalar, FloatsAreCutAndIntegersMustFit) {
    EXPECT_EQ(stored<int>(Scalar::of(2.9), DType::int32), 2);
    EXPECT_EQ(stored<int>(Scalar::of(-2.9), DType::int32), -2);
    EXPECT_EQ(stored<std::uint8_t>(Scalar::of(std::int64_t{255}), DType::uint8), 255);
    EXPECT_THROW(
        static_cast<void>(stored<std::uint8_t>(Scalar::of(std::int64_t{256}), DType::uint8)),
        Error);
    EXPECT_THROW(
        static_cast<void>(stored<std::uint8_t>(Scalar::of(std::int64_t{-1}), DType::uint8)), Error);
    EXPECT_EQ(stored<std::uint8_t>(numpy(Scalar::of(std::int64_t{-1})), DType::uint8), 255);
    EXPECT_EQ(stored<std::uint64_t>(Scalar::of(~std::uint64_t{0}), DType::uint64),
              ~std::uint64_t{0});
    EXPECT_THROW(
        static_cast<void>(stored<std::int64_t>(Scalar::of(~std::uint64_t{0}), DType::int64)),
        Error);
    EXPECT_THROW(static_cast<void>(stored<std::int64_t>(Scalar::of(1e19), DType::int64)), Error);
}

TEST(StoreScalar, BooleansAndComplexes) {
    EXPECT_TRUE(stored<bool>(Scalar::of(std::complex<double>(0, 2)), DType::boolean));
    EXPECT_FALSE(stored<bool>(Scalar::of(0.0), DType::boolean));
    EXPECT_EQ(
        stored<std::complex<float>>(Scalar::of(std::complex<double>(1.5, -2)), DType::complex64),
        std::complex<float>(1.5f, -2));
    EXPECT_THROW(
        static_cast<void>(stored<float>(Scalar::of(std::complex<double>(1, 0)), DType::float32)),
        TypeError);
}

TEST(StoreScalar, HalfRoundsOnceToNearestEven) {
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(1.0), DType::float16), 0x3c00);
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(65504.0), DType::float16), 0x7bff);
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(65519.999), DType::float16), 0x7bff);
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(65520.0), DType::float16), 0x7c00);
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(5.960464477539063e-08), DType::float16), 0x0001);
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(2.980232238769532e-08), DType::float16),
              0x0001); // just above the tie
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(2.98023223876953125e-08), DType::float16),
              0x0000); // the tie itself
    // In float this is a tie; in double it is above it.
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(1.0 + 0x1p-11 + 0x1p-40), DType::float16), 0x3c01);
    EXPECT_EQ(stored<std::uint16_t>(Scalar::of(1.0 + 0x1p-8 + 0x1p-40), DType::bfloat16), 0x3f81);
}

} // namespace
} // namespace quern
