// The whole promotion table and all casts against NumPy's, by a table that make_promotion.py wrote.
#include "compiler/resolve/promote.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

#include "promotion_expected.inc" // python make_promotion.py > promotion_expected.inc

DType at(std::size_t k) { return static_cast<DType>(k); }

TEST(Promote, AllPairs) {
    for (std::size_t a = 0; a < dtype_count; ++a)
        for (std::size_t b = 0; b < dtype_count; ++b)
            EXPECT_EQ(static_cast<int>(result_type(at(a), at(b))), expected_promotion[a][b])
                << row(at(a)).name << " and " << row(at(b)).name;
}

TEST(Promote, WeakScalars) {
    for (std::size_t kind = 0; kind < 4; ++kind)
        for (std::size_t a = 0; a < dtype_count; ++a)
            EXPECT_EQ(static_cast<int>(result_type(at(a), static_cast<WeakScalar>(kind))),
                      expected_weak[kind][a])
                << row(at(a)).name << " and weak kind " << kind;
    EXPECT_EQ(default_dtype(WeakScalar::boolean), DType::boolean);
    EXPECT_EQ(default_dtype(WeakScalar::integer), DType::int64);
    EXPECT_EQ(default_dtype(WeakScalar::floating), DType::float64);
    EXPECT_EQ(default_dtype(WeakScalar::complex), DType::complex128);
}

TEST(Promote, Examples) { // by hand, so that a wrong generator shows
    EXPECT_EQ(result_type(DType::int64, DType::uint64), DType::float64);
    EXPECT_EQ(result_type(DType::uint8, DType::int8), DType::int16);
    EXPECT_EQ(result_type(DType::float16, DType::bfloat16), DType::float32);
    EXPECT_EQ(result_type(DType::bfloat16, DType::int8), DType::bfloat16);
    EXPECT_EQ(result_type(DType::float32, DType::int32), DType::float64);
    EXPECT_EQ(result_type(DType::float32, WeakScalar::integer), DType::float32);
    EXPECT_EQ(result_type(DType::uint8, WeakScalar::floating), DType::float64);
    EXPECT_EQ(result_type(DType::float16, WeakScalar::complex), DType::complex64);
}

TEST(Promote, Casts) {
    const char* const* tables[] = {expected_no, expected_equiv, expected_safe, expected_same_kind,
                                   expected_unsafe};
    for (std::size_t casting = 0; casting < 5; ++casting)
        for (std::size_t a = 0; a < dtype_count; ++a)
            for (std::size_t b = 0; b < dtype_count; ++b)
                EXPECT_EQ(can_cast(at(a), at(b), static_cast<Casting>(casting)),
                          tables[casting][a][b] == '1')
                    << row(at(a)).name << " to " << row(at(b)).name << ", casting " << casting;
}

TEST(Promote, CastingNames) {
    EXPECT_EQ(find_casting("no"), Casting::no);
    EXPECT_EQ(find_casting("equiv"), Casting::equiv);
    EXPECT_EQ(find_casting("safe"), Casting::safe);
    EXPECT_EQ(find_casting("same_kind"), Casting::same_kind);
    EXPECT_EQ(find_casting("unsafe"), Casting::unsafe);
    EXPECT_EQ(find_casting("Safe"), std::nullopt);
}

} // namespace
} // namespace quern
