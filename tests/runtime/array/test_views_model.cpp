// Views against a model that lists the byte offset of every element: random shapes and operations,
// fixed seed.
#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/host/host_driver.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace quern {
namespace {

using Index = std::vector<std::int64_t>;

// Elements in C order; each is the offset of its first byte.
struct Model {
    Index shape;
    std::vector<std::uint64_t> elements;

    [[nodiscard]] std::uint64_t at(const Index& index) const {
        std::int64_t flat = 0;
        for (std::size_t k = 0; k < shape.size(); ++k)
            flat = flat * shape[k] + index[k];
        return elements[static_cast<std::size_t>(flat)];
    }
};

template <class Visit> void each_index(const Index& shape, Visit visit) {
    if (std::ranges::count(shape, 0) != 0)
        return;
    Index index(shape.size(), 0);
    for (;;) {
        visit(index);
        std::size_t k = shape.size();
        while (k > 0 && ++index[k - 1] == shape[k - 1])
            index[--k] = 0;
        if (k == 0)
            return;
    }
}

// A model of `shape` whose element at `index` is the old one at `from(index)`.
template <class From> Model remap(const Model& old, Index shape, From from) {
    Model fresh{std::move(shape), {}};
    each_index(fresh.shape,
               [&](const Index& index) { fresh.elements.push_back(old.at(from(index))); });
    return fresh;
}

Index extents(const Dims& dims) { return {dims.begin(), dims.end()}; }
Dims dims(const Index& index) { return Dims(std::span<const std::int64_t>(index)); }

Model model_of(const Array& array) {
    Model model{extents(array.shape()), {}};
    each_index(model.shape, [&](const Index& index) {
        std::uint64_t address = array.address();
        for (std::size_t k = 0; k < index.size(); ++k)
            address += static_cast<std::uint64_t>(index[k] * array.strides()[static_cast<int>(k)]);
        model.elements.push_back(address);
    });
    return model;
}

void expect_same(const Array& array, const Model& model) {
    ASSERT_EQ(extents(array.shape()), model.shape);
    ASSERT_EQ(model_of(array).elements, model.elements);
    // Contiguity, said another way: the elements in C (or F) order lie side by side.
    const auto item = bytes_of(array.dtype());
    const auto side_by_side = [&](const std::vector<std::uint64_t>& elements) {
        for (std::size_t k = 1; k < elements.size(); ++k)
            if (elements[k] != elements[k - 1] + item)
                return false;
        return true;
    };
    Index reversed(model.shape.rbegin(), model.shape.rend());
    const Model f = remap(model, reversed, [](Index i) { return std::ranges::reverse(i), i; });
    EXPECT_EQ(array.c_contiguous(), side_by_side(model.elements));
    EXPECT_EQ(array.f_contiguous(), side_by_side(f.elements));
    const ByteBounds bounds = byte_bounds(array);
    if (!model.elements.empty()) {
        EXPECT_EQ(bounds.low, *std::ranges::min_element(model.elements));
        EXPECT_EQ(bounds.high, *std::ranges::max_element(model.elements) + item);
    }
}

class ViewsModel : public testing::Test {
  protected:
    void SetUp() override { install_drivers_for_test({&fake.driver()}); }
    int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); }
    bool coin() { return pick(2) == 0; }

    Array fresh_array() {
        Index shape;
        for (int k = pick(5); k > 0; --k)
            shape.push_back(pick(12) == 0 ? 0 : 1 + pick(4));
        static constexpr DType dtypes[] = {DType::int8, DType::float32, DType::complex128};
        return Array::empty(find_device("cuda:0"), dtypes[pick(3)], dims(shape), nullptr,
                            coin() ? Order::c : Order::f);
    }

    FakeDriver fake;
    std::mt19937 random{20260801};
};

// One random view of `array`, with what the model says it must be.
struct Step {
    Array array;
    Model model;
};

TEST_F(ViewsModel, RandomChainsOfViews) {
    int views = 0, copies_needed = 0;
    for (int round = 0; round < 3000; ++round) {
        Array array = fresh_array();
        Model model = model_of(array);
        for (int depth = 0; depth < 5; ++depth) {
            const int ndim = array.ndim();
            switch (pick(8)) {
            case 0: { // transpose
                Index axes(static_cast<std::size_t>(ndim));
                for (int k = 0; k < ndim; ++k)
                    axes[static_cast<std::size_t>(k)] = k;
                std::ranges::shuffle(axes, random);
                Index shape;
                for (const auto axis : axes)
                    shape.push_back(model.shape[static_cast<std::size_t>(axis)]);
                model = remap(model, shape, [&](const Index& i) {
                    Index from(i.size());
                    for (std::size_t k = 0; k < i.size(); ++k)
                        from[static_cast<std::size_t>(axes[k])] = i[k];
                    return from;
                });
                for (auto& axis : axes)
                    if (coin())
                        axis -= ndim;
                array = transpose(array, axes);
                break;
            }
            case 1:
            case 2: { // basic indexing
                std::vector<IndexItem> items;
                Index shape;
                struct Part {
                    bool fresh, single;
                    std::int64_t start, step;
                };
                std::vector<Part> parts;
                const int dotted = coin() ? pick(ndim + 1) : -1,
                          until = dotted < 0 ? pick(ndim + 1) : ndim;
                bool possible = true;
                int axis = 0;
                const auto whole = [&] {
                    parts.push_back({false, false, 0, 1});
                    shape.push_back(model.shape[static_cast<std::size_t>(axis++)]);
                };
                while (axis < until) {
                    const std::int64_t n = model.shape[static_cast<std::size_t>(axis)];
                    if (axis == dotted && std::ranges::none_of(items, [](const IndexItem& item) {
                            return std::holds_alternative<Ellipsis>(item);
                        })) {
                        items.emplace_back(Ellipsis{});
                        for (int skip = pick(ndim - axis + 1); skip > 0; --skip)
                            whole();
                        // What the dots stand for must be what the other items leave: index every
                        // axis after them.
                        continue;
                    }
                    if (pick(5) == 0 && ndim + static_cast<int>(items.size()) < 8) {
                        items.emplace_back(NewAxis{});
                        parts.push_back({true, false, 0, 1});
                        shape.push_back(1);
                        continue;
                    }
                    if (pick(3) == 0) {
                        possible = possible && n > 0;
                        const std::int64_t at = n > 0 ? pick(static_cast<int>(n)) : 0;
                        items.emplace_back(coin() ? at : at - n);
                        parts.push_back({false, true, at, 0});
                    } else {
                        // A list of positions by walking, not by formula.
                        std::optional<std::int64_t> start, stop, step;
                        if (coin())
                            start = pick(13) - 6;
                        if (coin())
                            stop = pick(13) - 6;
                        if (coin())
                            step = coin() ? 1 + pick(3) : -1 - pick(3);
                        items.emplace_back(SliceIndex{start, stop, step});
                        const std::int64_t by = step.value_or(1);
                        const auto clip = [&](std::int64_t v) {
                            if (v < 0)
                                v += n;
                            return by > 0 ? std::clamp<std::int64_t>(v, 0, n)
                                          : std::clamp<std::int64_t>(v, -1, n - 1);
                        };
                        const std::int64_t from = start ? clip(*start) : (by > 0 ? 0 : n - 1);
                        const std::int64_t to = stop ? clip(*stop) : (by > 0 ? n : -1);
                        std::int64_t count = 0;
                        for (std::int64_t at = from; by > 0 ? at < to : at > to; at += by)
                            ++count;
                        parts.push_back({false, false, from, by});
                        shape.push_back(count);
                    }
                    ++axis;
                }
                if (!possible) {
                    EXPECT_THROW((void)basic_index(array, items), Error);
                    break;
                }
                while (axis < ndim)
                    whole();
                model = remap(model, shape, [&](const Index& i) {
                    Index from;
                    std::size_t k = 0;
                    for (const Part& part : parts) {
                        if (part.fresh)
                            ++k;
                        else
                            from.push_back(part.single ? part.start
                                                       : part.start + part.step * i[k++]);
                    }
                    return from;
                });
                array = basic_index(array, items);
                break;
            }
            case 3: { // reshape to a random factorisation
                Index shape;
                std::int64_t left = array.size();
                while (left > 1 && shape.size() < 6) {
                    std::int64_t factor = 1 + pick(6);
                    if (left % factor != 0)
                        factor = left;
                    shape.push_back(factor);
                    left /= factor;
                }
                if (left != 1 && array.size() != 0)
                    shape.push_back(left);
                if (array.size() == 0)
                    shape = {3, 0};
                if (coin())
                    shape.insert(shape.begin() + pick(static_cast<int>(shape.size()) + 1), 1);
                Index asked = shape;
                if (!asked.empty() && array.size() != 0 && coin())
                    asked[static_cast<std::size_t>(pick(static_cast<int>(asked.size())))] = -1;
                const bool c = coin();
                Model expected{shape, model.elements};
                if (!c) { // F order: reverse both
                    Index backwards(model.shape.rbegin(), model.shape.rend());
                    Model flat =
                        remap(model, backwards, [](Index i) { return std::ranges::reverse(i), i; });
                    flat.shape.assign(shape.rbegin(), shape.rend());
                    expected =
                        remap(flat, shape, [](Index i) { return std::ranges::reverse(i), i; });
                }
                const auto view = reshape_view(array, dims(asked), c ? Order::c : Order::f);
                if (!view) {
                    ++copies_needed;
                    EXPECT_FALSE(c ? array.c_contiguous() : array.f_contiguous());
                    break;
                }
                array = *view;
                model = expected;
                break;
            }
            case 4: { // broadcast
                Index shape = model.shape;
                for (auto& extent : shape)
                    if (extent == 1 && coin())
                        extent = pick(4);
                if (coin() && ndim < 6)
                    shape.insert(shape.begin(), 1 + pick(3));
                const Index old_shape = model.shape;
                model = remap(model, shape, [&](const Index& i) {
                    Index from(i.end() - static_cast<std::ptrdiff_t>(old_shape.size()), i.end());
                    for (std::size_t k = 0; k < from.size(); ++k)
                        if (old_shape[k] == 1)
                            from[k] = 0;
                    return from;
                });
                array = broadcast_to(array, dims(shape));
                EXPECT_FALSE(array.writable());
                break;
            }
            case 5: { // diagonal
                if (ndim < 2)
                    break;
                const int a = pick(ndim), b = (a + 1 + pick(ndim - 1)) % ndim, offset = pick(9) - 4;
                const std::int64_t rows = model.shape[static_cast<std::size_t>(a)],
                                   columns = model.shape[static_cast<std::size_t>(b)];
                std::int64_t count = 0, row = std::max(0, -offset), column = std::max(0, offset);
                while (row + count < rows && column + count < columns)
                    ++count;
                Index shape;
                for (int k = 0; k < ndim; ++k)
                    if (k != a && k != b)
                        shape.push_back(model.shape[static_cast<std::size_t>(k)]);
                shape.push_back(count);
                model = remap(model, shape, [&](const Index& i) {
                    Index from;
                    std::size_t at = 0;
                    for (int k = 0; k < ndim; ++k)
                        from.push_back(k == a   ? row + i.back()
                                       : k == b ? column + i.back()
                                                : i[at++]);
                    return from;
                });
                array = diagonal(array, offset, coin() ? a : a - ndim, b);
                break;
            }
            case 6: { // squeeze and expand
                Index shape;
                for (const auto extent : model.shape)
                    if (extent != 1)
                        shape.push_back(extent);
                model.shape = shape;
                array = squeeze(array);
                const int at = pick(array.ndim() + 1);
                const std::int64_t axis = at;
                array = expand_dims(array, {&axis, 1});
                model.shape.insert(model.shape.begin() + at, 1);
                break;
            }
            default: { // swap and move
                if (ndim < 2)
                    break;
                const int a = pick(ndim), b = pick(ndim);
                Index shape = model.shape;
                const auto moved = shape[static_cast<std::size_t>(a)];
                shape.erase(shape.begin() + a);
                shape.insert(shape.begin() + b, moved);
                model = remap(model, shape, [&](Index i) {
                    const auto value = i[static_cast<std::size_t>(b)];
                    i.erase(i.begin() + b);
                    i.insert(i.begin() + a, value);
                    return i;
                });
                const std::int64_t from = a - ndim, to = b;
                array = moveaxis(array, {&from, 1}, {&to, 1});
                EXPECT_EQ(model_of(swapaxes(swapaxes(array, a, b), a, b)).elements, model.elements);
            }
            }
            ++views;
            ASSERT_NO_FATAL_FAILURE(expect_same(array, model)) << "round " << round;
        }
    }
    EXPECT_GT(views, 10000);
    EXPECT_GT(copies_needed, 50);
}

TEST_F(ViewsModel, SlicesAgainstAWalk) {
    for (int round = 0; round < 20000; ++round) {
        const std::int64_t n = pick(8);
        std::optional<std::int64_t> start, stop, step;
        if (coin())
            start = pick(25) - 12;
        if (coin())
            stop = pick(25) - 12;
        if (coin())
            step = coin() ? 1 + pick(12) : -1 - pick(12);
        const Slice part = normalise_slice(start, stop, step, n);
        const std::int64_t by = step.value_or(1);
        const auto clip = [&](std::int64_t v) {
            if (v < 0)
                v += n;
            return by > 0 ? std::min(std::max<std::int64_t>(v, 0), n)
                          : std::min(std::max<std::int64_t>(v, -1), n - 1);
        };
        const std::int64_t from = start ? clip(*start) : (by > 0 ? 0 : n - 1);
        const std::int64_t to = stop ? clip(*stop) : (by > 0 ? n : -1);
        Index walked;
        for (std::int64_t at = from; by > 0 ? at < to : at > to; at += by)
            walked.push_back(at);
        Index got;
        for (std::int64_t k = 0; k < part.count; ++k)
            got.push_back(part.start + k * part.step);
        ASSERT_EQ(got, walked);
    }
}

} // namespace
} // namespace quern
