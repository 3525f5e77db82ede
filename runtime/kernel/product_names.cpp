// NumPy's products by name: the labels of their axes, and their complaints; the contraction does
// the rest.
#include "runtime/kernel/product.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/array/views.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace quern {
namespace {

ValueError core_dimension(std::string_view function, const Array& a, const Array& b,
                          std::int64_t k_a, std::int64_t k_b) {
    return ValueError(join(function,
                           ": Input operand 1 has a mismatch in its core dimension 0, "
                           "with gufunc signature (n?,k),(k,m?)->(n?,m?) (size ",
                           k_b, " is different from ", k_a, "): the shapes are ",
                           format_shape(a.shape()), " and ", format_shape(b.shape())));
}

} // namespace

ValueError scalar_in_matmul(int operand) {
    return ValueError(join("matmul: Input operand ", operand,
                           " does not have enough dimensions: scalars multiply with *"));
}

Array matmul(const Array& a, const Array& b, const ProductCall& call, void (*on_wait)(bool)) {
    if (a.ndim() == 0 || b.ndim() == 0)
        throw scalar_in_matmul(a.ndim() == 0 ? 0 : 1);
    constexpr int row_label = -1, column_label = -2, summed = -3;
    const std::int64_t k_a = a.shape()[a.ndim() - 1],
                       k_b = b.shape()[b.ndim() == 1 ? 0 : b.ndim() - 2];
    if (k_a != k_b)
        throw core_dimension("matmul", a, b, k_a, k_b);
    const int batch_a = std::max(a.ndim() - 2, 0), batch_b = std::max(b.ndim() - 2, 0),
              batch = std::max(batch_a, batch_b);
    std::vector<int> labels_a, labels_b, labels;
    for (int d = 0; d < batch; ++d) {
        labels.push_back(d);
        if (d >= batch - batch_a)
            labels_a.push_back(d);
        if (d >= batch - batch_b)
            labels_b.push_back(d);
    }
    static_cast<void>(broadcast_shapes(
        std::array{Dims(a.shape().span().first(static_cast<std::size_t>(batch_a))),
                   Dims(b.shape().span().first(static_cast<std::size_t>(batch_b)))})); // throws
    if (a.ndim() > 1) {
        labels_a.push_back(row_label);
        labels.push_back(row_label);
    }
    labels_a.push_back(summed);
    labels_b.push_back(summed);
    if (b.ndim() > 1) {
        labels_b.push_back(column_label);
        labels.push_back(column_label);
    }
    return contract(a, labels_a, b, labels_b, labels, call, on_wait);
}

Array tensordot(const Array& a, std::span<const std::int64_t> axes_a, const Array& b,
                std::span<const std::int64_t> axes_b, const ProductCall& call,
                void (*on_wait)(bool)) {
    if (axes_a.size() != axes_b.size())
        throw ValueError("shape-mismatch for sum: as many axes of each array are summed over");
    std::vector<bool> summed_a(static_cast<std::size_t>(a.ndim())),
        summed_b(static_cast<std::size_t>(b.ndim()));
    std::vector<int> labels_a(static_cast<std::size_t>(a.ndim())),
        labels_b(static_cast<std::size_t>(b.ndim())), labels;
    std::iota(labels_a.begin(), labels_a.end(), 0);
    std::iota(labels_b.begin(), labels_b.end(), a.ndim());
    for (std::size_t k = 0; k < axes_a.size(); ++k) {
        const int at_a = normalise_axis(axes_a[k], a.ndim()),
                  at_b = normalise_axis(axes_b[k], b.ndim());
        if (a.shape()[at_a] != b.shape()[at_b])
            throw ValueError(join("shape-mismatch for sum: shapes ", format_shape(a.shape()),
                                  " and ", format_shape(b.shape()),
                                  " not aligned: ", a.shape()[at_a], " (dim ", at_a,
                                  ") != ", b.shape()[at_b], " (dim ", at_b, ")"));
        if (summed_a[static_cast<std::size_t>(at_a)] || summed_b[static_cast<std::size_t>(at_b)])
            throw ValueError("repeated axis in tensordot");
        summed_a[static_cast<std::size_t>(at_a)] = summed_b[static_cast<std::size_t>(at_b)] = true;
        labels_b[static_cast<std::size_t>(at_b)] = labels_a[static_cast<std::size_t>(at_a)];
    }
    for (const int label : labels_a)
        if (!summed_a[static_cast<std::size_t>(label)])
            labels.push_back(label);
    for (const int label : labels_b)
        if (label >= a.ndim())
            labels.push_back(label);
    return contract(a, labels_a, b, labels_b, labels, call, on_wait);
}

Array dot(const Array& a, const Array& b, const ProductCall& call, void (*on_wait)(bool)) {
    if (a.ndim() == 0 || b.ndim() == 0)
        return tensordot(a, {}, b, {}, call, on_wait);
    const std::int64_t last = a.ndim() - 1, before = b.ndim() == 1 ? 0 : b.ndim() - 2;
    if (a.shape()[static_cast<int>(last)] != b.shape()[static_cast<int>(before)])
        throw ValueError(join("shapes ", format_shape(a.shape()), " and ", format_shape(b.shape()),
                              " not aligned: ", a.shape()[static_cast<int>(last)], " (dim ", last,
                              ") != ", b.shape()[static_cast<int>(before)], " (dim ", before, ")"));
    return tensordot(a, std::array{last}, b, std::array{before}, call, on_wait);
}

Array vdot(const Array& a, const Array& b, void (*on_wait)(bool)) {
    if (a.shape() != b.shape())
        throw ValueError(join("vdot: shapes ", format_shape(a.shape()), " and ",
                              format_shape(b.shape()), " differ"));
    std::vector<int> labels(static_cast<std::size_t>(a.ndim()));
    std::iota(labels.begin(), labels.end(), 0);
    ProductCall call;
    call.conjugate = true;
    return contract(a, labels, b, labels, {}, call, on_wait);
}

} // namespace quern
