// The rules of advanced indexing without Python and without a kernel: where the axes go, what is
// refused.
#include "compiler/base/error.h"
#include "runtime/array/indexing.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

using Items = std::vector<AdvancedItem>;

class Indexing : public testing::Test {
  protected:
    void SetUp() override { install_drivers_for_test({&fake.driver()}); }
    Array empty(const Dims& shape, DType dtype = DType::float32) {
        return Array::empty(find_device("cuda:0"), dtype, shape, nullptr);
    }
    ArrayIndex places(const Dims& shape, DType dtype = DType::int64) {
        return {empty(shape, dtype)};
    }
    FakeDriver fake;
};

template <class Call> std::string error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::index);
        return error.what();
    }
    return "";
}

TEST_F(Indexing, AxesStandWhereTheirItemsDo) {
    const Array a = empty({5, 6, 7, 8});
    const auto shape = [&](const Items& items) {
        check_index(a.shape(), items);
        return plan_index(a, items).elements.shape();
    };
    const SliceIndex all{};
    EXPECT_EQ(shape({places({2, 3})}), Dims({2, 3, 6, 7, 8}));
    EXPECT_EQ(shape({all, places({2, 3})}), Dims({5, 2, 3, 7, 8}));
    EXPECT_EQ(shape({all, places({2, 1}), places({3})}), Dims({5, 2, 3, 8}));
    EXPECT_EQ(shape({places({2}), all, places({2})}), Dims({2, 6, 8})); // apart: first
    EXPECT_EQ(shape({std::int64_t{0}, all, places({2})}), Dims({2, 6, 8}));
    EXPECT_EQ(shape({all, std::int64_t{0}, places({2})}), Dims({5, 2, 8}));
    EXPECT_EQ(shape({places({2}), NewAxis{}, places({2})}), Dims({2, 1, 7, 8}));
    EXPECT_EQ(shape({NewAxis{}, places({2}), places({2})}), Dims({1, 2, 7, 8}));
    EXPECT_EQ(shape({Ellipsis{}, places({2})}), Dims({5, 6, 7, 2}));
    EXPECT_EQ(shape({places({2}), Ellipsis{}, places({2})}), Dims({2, 6, 7}));
    EXPECT_EQ(shape({TruthIndex{true}}), Dims({1, 5, 6, 7, 8}));
    EXPECT_EQ(shape({TruthIndex{false}, places({1})}), Dims({0, 6, 7, 8}));
    EXPECT_EQ(shape({places({})}), Dims({6, 7, 8}));
}

TEST_F(Indexing, ElementsAreTheOnesForIndicesZero) {
    const Array a = empty({5, 6, 7});
    const IndexPlan plan = plan_index(a, Items{std::int64_t{2}, places({4}), SliceIndex{1, 7, 2}});
    EXPECT_EQ(plan.elements.shape(), Dims({4, 3}));
    EXPECT_EQ(plan.elements.address(), a.address() + 4 * (2 * 42 + 1));
    EXPECT_EQ(plan.elements.strides(), Dims({0, 8}));
    ASSERT_EQ(plan.indexed.size(), 1u);
    EXPECT_EQ(plan.indexed[0].axis, 1);
    EXPECT_EQ(plan.indexed[0].extent, 6);
    EXPECT_EQ(plan.indexed[0].stride, 28);
    EXPECT_EQ(plan.indexed[0].index.strides(), Dims({8, 0}));
    EXPECT_FALSE(plan.takes_rows);
    EXPECT_TRUE(plan_index(a, Items{places({4}), places({4})}).takes_rows);
    EXPECT_TRUE(plan_index(a, Items{places({4}), Ellipsis{}}).takes_rows);
    EXPECT_FALSE(plan_index(a, Items{places({4}), SliceIndex{0, 6, 1}}).takes_rows);
}

TEST_F(Indexing, ComplaintsAreNumPys) {
    const Dims shape{3, 4};
    const Array a = empty(shape);
    const auto check = [&](const Items& items) {
        return error_of([&] { check_index(shape, items); });
    };
    EXPECT_EQ(check({places({1}), places({1}), places({1})}),
              "too many indices for array: array is 2-dimensional, but 3 were indexed");
    EXPECT_EQ(check({places({3, 4, 1}, DType::boolean)}),
              "too many indices for array: array is 2-dimensional, but 3 were indexed");
    EXPECT_EQ(check({Ellipsis{}, places({1}), Ellipsis{}}),
              "an index can only have a single ellipsis ('...')");
    EXPECT_EQ(check({places({1}, DType::float32)}),
              "arrays used as indices must be of integer (or boolean) type");
    EXPECT_EQ(check({SliceIndex{}, places({3}, DType::boolean)}),
              "boolean index did not match indexed array along axis 1; size of axis is 4 but size "
              "of corresponding boolean axis is 3");
    EXPECT_EQ(error_of([&] {
                  (void)plan_index(a, Items{places({2}), places({3})});
              }),
              "shape mismatch: indexing arrays could not be broadcast together with shapes (2,) "
              "(3,) ");
    EXPECT_EQ(error_of([&] {
                  (void)plan_index(a, Items{std::int64_t{-4}, places({3})});
              }),
              "index -4 is out of bounds for axis 0 with size 3");
}

} // namespace
} // namespace quern
