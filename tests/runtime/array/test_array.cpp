// New arrays, flags, and the messages of views, which are NumPy's.
#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/host/host_driver.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <array>

namespace quern {
namespace {

class Arrays : public testing::Test {
  protected:
    void SetUp() override { install_drivers_for_test({&fake.driver()}); }
    Array empty(const Dims& shape, DType dtype = DType::float32, Order order = Order::c) {
        return Array::empty(find_device("cuda:0"), dtype, shape, nullptr, order);
    }
    FakeDriver fake;
};

template <class Call> std::string error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

template <class... Axis> std::array<std::int64_t, sizeof...(Axis)> axes(Axis... axis) {
    return {static_cast<std::int64_t>(axis)...};
}

TEST_F(Arrays, DimsHoldManyAxes) {
    Dims dims(std::size_t{9});
    for (int k = 0; k < 9; ++k)
        dims[k] = k;
    const Dims copy = dims; // NOLINT: the copy is the test
    Dims assigned{1, 2};
    assigned = copy;
    EXPECT_EQ(assigned, dims);
    EXPECT_EQ(format_shape(dims), "(0, 1, 2, 3, 4, 5, 6, 7, 8)");
    assigned = Dims{5};
    EXPECT_EQ(assigned, Dims({5}));
    EXPECT_EQ(format_shape(assigned), "(5,)");
    EXPECT_EQ(format_shape(Dims{}), "()");
}

TEST_F(Arrays, EmptyLaysThemOut) {
    const Array c = empty({2, 3, 4}), f = empty({2, 3, 4}, DType::float32, Order::f);
    EXPECT_EQ(c.strides(), Dims({48, 16, 4}));
    EXPECT_EQ(f.strides(), Dims({4, 8, 24}));
    EXPECT_TRUE(c.c_contiguous() && !c.f_contiguous() && f.f_contiguous() && !f.c_contiguous());
    EXPECT_EQ(c.nbytes(), 96);
    const Array scalar = empty({}, DType::complex128);
    EXPECT_EQ(scalar.size(), 1);
    EXPECT_TRUE(scalar.c_contiguous() && scalar.f_contiguous());
    const Array nothing = empty({3, 0, 2});
    EXPECT_EQ(nothing.size(), 0);
    EXPECT_EQ(nothing.address(), 0u);
    EXPECT_TRUE(nothing.c_contiguous() && nothing.f_contiguous());
}

TEST_F(Arrays, ImpossibleShapesAreRefused) {
    EXPECT_EQ(error_of([&] { (void)empty({2, -1}); }), "negative dimensions are not allowed");
    EXPECT_EQ(error_of([&] { (void)empty(Dims(std::size_t{65})); }),
              "maximum supported dimension for an ndarray is 64, found 65");
    const std::int64_t huge = std::int64_t{1} << 62;
    EXPECT_NE(error_of([&] {
                  (void)empty({huge, 8});
              }).find("array is too big"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                  (void)empty({0, huge});
              }).find("array is too big"),
              std::string::npos);
    EXPECT_NE(error_of([&] { (void)empty({huge}); }).find("array is too big"), std::string::npos);
    EXPECT_THROW((void)empty({std::int64_t{1} << 40}), OutOfMemoryError);
}

TEST_F(Arrays, EmptyLikeKeepsTheOrderOfAxes) {
    const Array model =
        transpose(empty({2, 3, 4}), axes(1, 2, 0)); // axes 3, 4, 2 with strides 16, 4, 48
    const auto strides = [&](LikeOrder order) {
        return empty_like(model, DType::float64, nullptr, order).strides();
    };
    EXPECT_EQ(strides(LikeOrder::k), Dims({32, 8, 96}));
    EXPECT_EQ(strides(LikeOrder::c), Dims({64, 16, 8}));
    EXPECT_EQ(strides(LikeOrder::f), Dims({8, 24, 96}));
    EXPECT_EQ(strides(LikeOrder::a), Dims({64, 16, 8}));
    const Array f = empty({2, 3}, DType::int8, Order::f);
    EXPECT_EQ(empty_like(f, DType::int8, nullptr, LikeOrder::a).strides(), Dims({1, 2}));
}

TEST_F(Arrays, FlagsIgnoreAxesOfOne) {
    const Array array = empty({4, 1, 3});
    EXPECT_TRUE(array.c_contiguous());
    const Array odd(array.buffer(), array.address(), DType::float32, {4, 1, 3}, {12, -999, 4});
    EXPECT_TRUE(odd.c_contiguous());
    const Array line(array.buffer(), array.address(), DType::float32, {1, 3}, {7, 4});
    EXPECT_TRUE(line.c_contiguous() && line.f_contiguous());
    const Array one(array.buffer(), array.address(), DType::float32, {1}, {400});
    EXPECT_TRUE(one.c_contiguous() && one.f_contiguous());
}

TEST_F(Arrays, ViewsShareTheBufferAndItsLife) {
    auto& pool = pool_of(find_device("cuda:0"));
    {
        Array view = [&] { return transpose(empty({256, 2})); }();
        EXPECT_EQ(pool.used_bytes(), 2048u);
        const Array part = slice(view, 1, {0, 1, 3});
        view = empty({1});
        EXPECT_EQ(pool.used_bytes(), 2048u + 512u);
        EXPECT_EQ(part.shape(), Dims({2, 3}));
    }
    EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST_F(Arrays, ShapesBroadcast) {
    const auto all = [](std::vector<Dims> shapes) { return broadcast_shapes(shapes); };
    EXPECT_EQ(all({}), Dims{});
    EXPECT_EQ(all({{3, 1}, {4}, {}}), Dims({3, 4}));
    EXPECT_EQ(all({{0}, {1}}), Dims({0}));
    EXPECT_EQ(error_of([&] {
                  (void)all({{3}, {4}});
              }),
              "operands could not be broadcast together with shapes (3,) (4,)");
    EXPECT_THROW((void)all({{0}, {2}}), ValueError);
    const Array row = empty({1, 3});
    EXPECT_EQ(broadcast_to(row, {2, 5, 3}).strides(), Dims({0, 0, 4}));
    EXPECT_EQ(error_of([&] { (void)broadcast_to(empty({3}), {4}); }),
              "operands could not be broadcast together with shape (3,) and requested shape (4,)");
    EXPECT_THROW((void)broadcast_to(empty({2, 3}), {3}), ValueError);
    EXPECT_THROW((void)broadcast_to(empty({3}), {-3}), ValueError);
}

TEST_F(Arrays, ReshapeInfersAndRefuses) {
    EXPECT_EQ(infer_shape(6, {-1, 2}), Dims({3, 2}));
    EXPECT_EQ(infer_shape(0, {-1, 2}), Dims({0, 2}));
    EXPECT_EQ(infer_shape(1, {}), Dims{});
    const auto refusal = [](std::int64_t size, const Dims& shape) {
        return error_of([&] { (void)infer_shape(size, shape); });
    };
    EXPECT_EQ(refusal(6, {4}), "cannot reshape array of size 6 into shape (4,)");
    EXPECT_EQ(refusal(6, {4, -1}), "cannot reshape array of size 6 into shape (4,newaxis)");
    EXPECT_EQ(refusal(6, {}), "cannot reshape array of size 6 into shape ()");
    EXPECT_EQ(refusal(0, {0, -1}), "cannot reshape array of size 0 into shape (0,newaxis)");
    EXPECT_EQ(refusal(6, {-1, -1}), "can only specify one unknown dimension");
    const std::int64_t huge = std::int64_t{1} << 32;
    EXPECT_NE(refusal(0, {huge, huge}), "");
    EXPECT_FALSE(reshape_view(transpose(empty({2, 3})), {6}));
    EXPECT_TRUE(reshape_view(transpose(empty({2, 3})), {6}, Order::f));
    EXPECT_EQ(reshape_view(slice(empty({4, 6}), 0, {0, 2, 2}), {2, 2, 3})->strides(),
              Dims({48, 12, 4}));
}

TEST_F(Arrays, AxesAreChecked) {
    const Array array = empty({2, 3});
    const auto refusal = [&](auto call) { return error_of([&] { (void)call(array); }); };
    using A = const Array&;
    EXPECT_EQ(refusal([](A a) { return transpose(a, axes(0)); }), "axes don't match array");
    EXPECT_EQ(refusal([](A a) { return transpose(a, axes(0, -2)); }), "repeated axis in transpose");
    EXPECT_EQ(refusal([](A a) { return transpose(a, axes(0, 2)); }),
              "axis 2 is out of bounds for array of dimension 2");
    EXPECT_EQ(refusal([](A a) { return swapaxes(a, 0, -3); }),
              "axis -3 is out of bounds for array of dimension 2");
    EXPECT_EQ(refusal([](A a) { return squeeze(a, axes(0)); }),
              "cannot select an axis to squeeze out which has size not equal to one");
    EXPECT_EQ(refusal([](A a) { return squeeze(a, axes(0, 0)); }), "duplicate value in 'axis'");
    EXPECT_EQ(refusal([](A a) { return expand_dims(a, axes(0, 0)); }), "repeated axis");
    EXPECT_EQ(refusal([](A a) { return moveaxis(a, axes(0, 0), axes(0, 1)); }),
              "repeated axis in `source` argument");
    EXPECT_EQ(refusal([](A a) { return moveaxis(a, axes(0), axes(0, 1)); }),
              "`source` and `destination` arguments must have the same number of elements");
    EXPECT_EQ(refusal([](A a) { return diagonal(a, 0, 1, 1); }),
              "axis1 and axis2 cannot be the same");
    EXPECT_EQ(error_of([&] { (void)diagonal(empty({3})); }),
              "diag requires an array of at least two dimensions");
    EXPECT_EQ(diagonal(array, std::numeric_limits<std::int64_t>::min()).size(), 0);
    try {
        (void)normalise_axis(7, 3);
    } catch (const AxisError& error) {
        EXPECT_EQ(error.axis(), 7);
        EXPECT_EQ(error.ndim(), 3);
        EXPECT_EQ(error.kind(), ErrorKind::index);
    }
}

TEST_F(Arrays, IndicesAreChecked) {
    const Array array = empty({3});
    const auto refusal = [](const Array& a, std::vector<IndexItem> items) {
        try {
            (void)basic_index(a, items);
        } catch (const Error& error) {
            EXPECT_TRUE(error.kind() == ErrorKind::index || error.kind() == ErrorKind::value);
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refusal(array, {5}), "index 5 is out of bounds for axis 0 with size 3");
    EXPECT_EQ(refusal(array, {NewAxis{}, -4}), "index -4 is out of bounds for axis 0 with size 3");
    EXPECT_EQ(refusal(empty({3, 2}), {Ellipsis{}, 2}),
              "index 2 is out of bounds for axis 1 with size 2");
    EXPECT_EQ(refusal(array, {1, 2}),
              "too many indices for array: array is 1-dimensional, but 2 were indexed");
    EXPECT_EQ(refusal(array, {Ellipsis{}, Ellipsis{}}),
              "an index can only have a single ellipsis ('...')");
    EXPECT_EQ(refusal(array, {SliceIndex{{}, {}, 0}}), "slice step cannot be zero");
    EXPECT_EQ(refusal(empty(Dims(std::size_t{64})), {NewAxis{}}),
              "number of dimensions must be within [0, 64], indexing result would have 65");
    const std::int64_t low = std::numeric_limits<std::int64_t>::min();
    EXPECT_EQ(normalise_slice(low, {}, low, 3).count, 0);
    EXPECT_EQ(normalise_slice({}, {}, low, 3), (Slice{2, low + 1, 1}));
    EXPECT_EQ(normalise_slice({}, {}, std::numeric_limits<std::int64_t>::max(), 3).count, 1);
}

TEST_F(Arrays, OtherDtypesSeeTheSameBytes) {
    const Array array = empty({2, 4}, DType::float32);
    EXPECT_EQ(view_dtype(array, DType::int32).shape(), Dims({2, 4}));
    const Array wide = view_dtype(array, DType::float64), narrow = view_dtype(array, DType::int8);
    EXPECT_EQ(wide.shape(), Dims({2, 2}));
    EXPECT_EQ(wide.strides(), Dims({16, 8}));
    EXPECT_EQ(narrow.shape(), Dims({2, 16}));
    EXPECT_EQ(narrow.strides(), Dims({16, 1}));
    EXPECT_EQ(error_of([&] { (void)view_dtype(empty({}), DType::int8); }),
              "Changing the dtype of a 0d array is only supported if the itemsize is unchanged");
    EXPECT_EQ(error_of([&] { (void)view_dtype(transpose(array), DType::int8); }),
              "To change to a dtype of a different size, the last axis must be contiguous");
    EXPECT_EQ(error_of([&] {
                  (void)view_dtype(empty({2, 3}), DType::float64);
              }),
              "When changing to a larger dtype, its size must be a divisor of the total size in "
              "bytes of the last axis of the array.");
}

TEST_F(Arrays, OverlapIsSeenByBounds) {
    const Array array = empty({8});
    const Array low = slice(array, 0, {0, 1, 4}), high = slice(array, 0, {4, 1, 4}),
                back = slice(array, 0, {7, -1, 4});
    EXPECT_TRUE(may_share_memory(array, low));
    EXPECT_FALSE(may_share_memory(low, high));
    EXPECT_FALSE(may_share_memory(low, back));
    EXPECT_TRUE(may_share_memory(high, back));
    EXPECT_FALSE(may_share_memory(array, empty({0})));
}

} // namespace
} // namespace quern
