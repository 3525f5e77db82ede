// Contractions: axes in groups become matrices for the device's BLAS, laid out without a copy where
// memory allows; what it does not serve is a reduction of products or a ufunc.
#include "runtime/kernel/product.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/compile.h"
#include "runtime/array/views.h"
#include "runtime/blas/gemm.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/given_output.h"
#include "runtime/kernel/reduction.h"
#include "runtime/kernel/ufunc.h"
#include "runtime/kernel/waiting.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

namespace quern {
namespace {

// Below so many multiplications a product on the CPU is a reduction: no library, no hand-over.
constexpr std::int64_t least_library_work = 1000;
// From so many on the caller lets go of what others wait for.
constexpr std::int64_t brief_work = 1 << 18;

struct Axis {
    int label;
    std::int64_t extent, a, b; // steps in bytes; 0 where the operand stays
    bool in_a, in_b;
};

// What is computed: the result's axes, then those that are summed over.
struct Contraction {
    std::vector<Axis> kept, summed;
    DType dtype = DType::float64;
    bool conjugate = false; // of `a`: of real numbers nothing to do
    Dims shape, steps;      // of the result: extents, and bytes from one element to the next
};

std::int64_t volume(std::span<const Axis> axes) {
    std::int64_t count = 1;
    for (const Axis& axis : axes)
        count *= axis.extent;
    return count;
}

// An operand's part of a label; an axis of extent 1 counts as none beside a longer one.
struct Side {
    bool there = false;
    std::int64_t extent = 1, step = 0;
};
Side side_of(const Array& array, std::span<const int> labels, int label) {
    const auto found = std::ranges::find(labels, label);
    if (found == labels.end())
        return {};
    const int axis = static_cast<int>(found - labels.begin());
    return {true, array.shape()[axis], array.strides()[axis]};
}

Contraction resolve(const Array& a, std::span<const int> labels_a, const Array& b,
                    std::span<const int> labels_b, std::span<const int> labels,
                    const ProductCall& call) {
    if (&a.device() != &b.device())
        throw ValueError(join("the operands are on ", a.device().name(), " and ", b.device().name(),
                              "; bring them to one device"));
    Contraction made;
    made.dtype = call.dtype.value_or(result_type(a.dtype(), b.dtype()));
    made.conjugate = call.conjugate && row(made.dtype).kind == Kind::complex;
    const auto add = [&](int label, std::vector<Axis>& into) {
        Side of_a = side_of(a, labels_a, label), of_b = side_of(b, labels_b, label);
        if (of_a.there && of_b.there && of_a.extent != of_b.extent) {
            if (of_a.extent != 1 && of_b.extent != 1)
                throw ValueError(join("shapes ", format_shape(a.shape()), " and ",
                                      format_shape(b.shape()), " not aligned: ", of_a.extent,
                                      " and ", of_b.extent, " are summed or paired together"));
            (of_a.extent == 1 ? of_a : of_b) = {};
        }
        into.push_back({label, std::max(of_a.extent, of_b.extent), of_a.step, of_b.step, of_a.there,
                        of_b.there});
        if (of_a.extent == 0 || of_b.extent == 0)
            into.back().extent = 0;
    };
    for (const int label : labels)
        add(label, made.kept);
    for (const int label : labels_a)
        if (std::ranges::find(labels, label) == labels.end())
            add(label, made.summed);
    for (const int label : labels_b)
        if (std::ranges::find(labels, label) == labels.end() &&
            std::ranges::find(labels_a, label) == labels_a.end())
            add(label, made.summed);
    std::vector<std::int64_t> shape;
    for (const Axis& axis : made.kept)
        shape.push_back(axis.extent);
    made.shape = Dims(std::span<const std::int64_t>(shape));
    made.steps = call.out != nullptr && call.out->ndim() == made.shape.size()
                     ? call.out->strides()
                     : dense_strides(made.shape, bytes_of(made.dtype));
    return made;
}

Array view(const Array& array, std::span<const Axis> axes, std::int64_t Axis::*step) {
    std::vector<std::int64_t> shape, steps;
    for (const Axis& axis : axes) {
        shape.push_back(axis.extent);
        steps.push_back(axis.*step);
    }
    return Array(array.buffer(), array.address(), array.dtype(),
                 Dims(std::span<const std::int64_t>(shape)),
                 Dims(std::span<const std::int64_t>(steps)), false);
}

std::vector<Axis> joined(std::initializer_list<std::span<const Axis>> parts) {
    std::vector<Axis> all;
    for (const std::span<const Axis> part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

// ---- as a ufunc or a reduction ----

// The kernel of a dtype, made on first use and kept.
ReductionKernel& product_kernel(DType dtype, bool conjugate) {
    static auto* const kernels = [] {
        auto* made = new std::array<std::array<ReductionKernel*, dtype_count>, 2>;
        for (const bool conjugated : {false, true})
            for (const DTypeRow& type : dtype_table)
                (*made)[conjugated][static_cast<std::size_t>(type.id)] =
                    new ReductionKernel(product_spec(type.id, conjugated));
        return made;
    }();
    return *(*kernels)[conjugate][static_cast<std::size_t>(dtype)];
}

struct ReductionWork {
    Array first, second;
    std::vector<std::int64_t> axes;
};
// On the CPU axes are walked as the first input lies in memory: the larger one, where either may be
// first.
ReductionWork as_reduction(const Array& a, const Array& b, const Contraction& work) {
    const std::vector<Axis> all = joined({work.kept, work.summed});
    std::vector<std::int64_t> axes(work.summed.size());
    std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(work.kept.size()));
    ReductionWork made{view(a, all, &Axis::a), view(b, all, &Axis::b), std::move(axes)};
    if (a.device().is_cpu() && !work.conjugate && a.nbytes() < b.nbytes())
        std::swap(made.first, made.second);
    return made;
}

void multiply(const Array& a, const Array& b, const Contraction& work, const Array& out,
              void (*on_wait)(bool)) {
    const Array left = view(a, work.kept, &Axis::a), right = view(b, work.kept, &Axis::b);
    const std::array inputs{Argument::of(left), Argument::of(right)};
    UfuncCall call;
    call.inputs = inputs;
    call.outputs[0] = &out;
    call.types.casting = Casting::unsafe; // checked already
    call.types.fixed[2] = work.dtype;     // of the output
    static_cast<void>(call_ufunc(Ufunc::multiply, call, on_wait));
}

void reduce_products(const Array& a, const Array& b, const Contraction& work, const Array& out,
                     void (*on_wait)(bool)) {
    const ReductionWork made = as_reduction(a, b, work);
    const std::array args{Argument::of(made.first), Argument::of(made.second), Argument::of(out)};
    ReductionCall call;
    call.all_axes = false;
    call.axes = made.axes;
    static_cast<void>(product_kernel(work.dtype, work.conjugate)(args, call, on_wait));
}

// ---- by the library ----

// Axes in the order of a batch of matrices.
struct Groups {
    std::vector<Axis> batch, left, right, summed;
};

// The last two axes of `matrices` as BLAS takes them; nullopt: neither rows nor columns are dense.
std::optional<GemmMatrix> as_matrix(const Array& matrices) {
    const auto item = static_cast<std::int64_t>(bytes_of(matrices.dtype()));
    const int last = matrices.ndim() - 1;
    const std::int64_t rows = matrices.shape()[last - 1], columns = matrices.shape()[last];
    const std::int64_t by_row = matrices.strides()[last - 1], by_column = matrices.strides()[last];
    const auto fits = [&](std::int64_t inner, std::int64_t inner_count, std::int64_t outer,
                          std::int64_t outer_count) {
        return (inner == item || inner_count == 1) && outer % item == 0 &&
               (outer >= inner_count * item || outer_count == 1);
    };
    const auto pitch = [&](std::int64_t outer, std::int64_t outer_count, std::int64_t inner_count) {
        return outer_count == 1 ? std::max<std::int64_t>(inner_count, 1) : outer / item;
    };
    if (fits(by_column, columns, by_row, rows))
        return GemmMatrix{matrices.address(), pitch(by_row, rows, columns), false};
    if (fits(by_row, rows, by_column, columns))
        return GemmMatrix{matrices.address(), pitch(by_column, columns, rows), true};
    return std::nullopt;
}

// The array with its axes as (batch..., rows, columns); nullopt where they do not merge.
std::optional<Array> merged(const Array& grouped, std::size_t batch, std::int64_t rows,
                            std::int64_t columns) {
    Dims shape(batch + 2);
    for (std::size_t k = 0; k < batch; ++k)
        shape[static_cast<int>(k)] = grouped.shape()[static_cast<int>(k)];
    shape[static_cast<int>(batch)] = rows;
    shape[static_cast<int>(batch) + 1] = columns;
    return reshape_view(grouped, shape);
}

// An operand as matrices of the product's dtype, copied where BLAS cannot read it as it lies.
struct Matrices {
    Array array;
    GemmMatrix matrix;
    bool copied;
};
Matrices matrices_of(const Array& grouped, std::size_t batch, std::int64_t rows,
                     std::int64_t columns, DType dtype, CUstream stream) {
    const auto item = static_cast<std::int64_t>(bytes_of(dtype));
    if (grouped.dtype() == dtype)
        if (std::optional<Array> lying = merged(grouped, batch, rows, columns)) {
            bool whole = lying->address() % static_cast<std::uint64_t>(item) == 0;
            for (const std::int64_t step : lying->strides())
                whole = whole && step % item == 0;
            if (const auto matrix = as_matrix(*lying); whole && matrix)
                return {std::move(*lying), *matrix, false};
        }
    const Array dense = Array::empty(grouped.device(), dtype, grouped.shape(), stream);
    copy_into(dense, grouped, stream);
    Array lying = *merged(dense, batch, rows, columns);
    const GemmMatrix matrix = *as_matrix(lying);
    return {std::move(lying), matrix, true};
}

// Axes that only one operand has are rows or columns as far as the result's memory makes them one
// axis; those before are repeated.
Groups groups_of(const Contraction& work) {
    Groups made;
    std::vector<std::int64_t> steps; // of the result, by axis of the group
    const auto gather = [&](bool in_a, std::vector<Axis>& group) {
        steps.clear();
        for (std::size_t k = 0; k < work.kept.size(); ++k)
            if (work.kept[k].in_a == in_a && work.kept[k].in_b != in_a) {
                group.push_back(work.kept[k]);
                steps.push_back(work.steps[static_cast<int>(k)]);
            }
        std::size_t first = group.empty() ? 0 : group.size() - 1;
        while (first > 0 && (group[first - 1].extent == 1 ||
                             steps[first - 1] == steps[first] * group[first].extent))
            --first;
        const auto rest = group.begin() + static_cast<std::ptrdiff_t>(first);
        made.batch.insert(made.batch.end(), group.begin(), rest);
        group.erase(group.begin(), rest);
    };
    for (const Axis& axis : work.kept)
        if (axis.in_a && axis.in_b)
            made.batch.push_back(axis);
    gather(true, made.left);
    gather(false, made.right);
    made.summed = work.summed;
    return made;
}

// The dtype that the device's library multiplies in; nullopt where it serves none.
std::optional<DType> library_dtype(const Device& device, DType dtype) {
    if (has_gemm(device, dtype))
        return dtype;
    const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
    return half && has_gemm(device, DType::float32) ? std::optional(DType::float32) : std::nullopt;
}

// A matrix by a vector is the library's on the CPU, of operands that need no conversion; on a GPU a
// reduction reads as fast. What sums nothing is a ufunc's. (CPU, 1000 float64 by 1000: by OpenBLAS
// 0.63 ms, 0.21)
bool by_library(const Array& a, const Array& b, const Contraction& work) {
    if (work.conjugate || work.summed.empty())
        return false;
    const Groups groups = groups_of(work);
    const std::int64_t m = volume(groups.left), n = volume(groups.right), k = volume(groups.summed);
    if ((m < 2 && n < 2) ||
        ((m < 2 || n < 2) && !(a.device().is_cpu() && a.dtype() == work.dtype &&
                               b.dtype() == work.dtype && has_gemm(a.device(), work.dtype))))
        return false;
    for (const Axis& axis : work.summed)
        if (!axis.in_a || !axis.in_b)
            return false;
    if (a.device().is_cpu() && m * n * k < least_library_work)
        return false;
    return library_dtype(a.device(), work.dtype).has_value();
}

std::int64_t batch_count(const Gemm& product) {
    std::int64_t count = 1;
    for (const GemmBatch& axis : product.batch)
        count *= axis.extent;
    return count;
}

void multiply_matrices(const Array& a, const Array& b, const Contraction& work, const Array& out,
                       void (*on_wait)(bool)) {
    Device& device = a.device();
    const CUstream stream = current_stream(device);
    const Groups groups = groups_of(work);
    const std::size_t batch = groups.batch.size();
    Gemm product;
    product.dtype = *library_dtype(device, work.dtype);
    product.m = volume(groups.left);
    product.n = volume(groups.right);
    product.k = volume(groups.summed);
    const auto item = static_cast<std::int64_t>(bytes_of(product.dtype));

    const auto take = [&](const Array& from, const std::vector<Axis>& rows,
                          const std::vector<Axis>& columns, std::int64_t Axis::*step) {
        std::vector<Axis> own = groups.batch; // where the operand stays, one matrix serves
        for (Axis& axis : own)
            if (axis.*step == 0)
                axis.extent = 1;
        return matrices_of(view(from, joined({own, rows, columns}), step), batch, volume(rows),
                           volume(columns), product.dtype, stream);
    };
    const Matrices left = take(a, groups.left, groups.summed, &Axis::a),
                   right = take(b, groups.summed, groups.right, &Axis::b);

    // The result in place where its memory lies as matrices by rows, or by columns.
    std::vector<std::int64_t> order;
    for (const auto* group : {&groups.batch, &groups.left, &groups.right})
        for (const Axis& axis : *group)
            order.push_back(std::ranges::find(work.kept, axis.label, &Axis::label) -
                            work.kept.begin());
    const Array target = transpose(out, order);
    std::optional<Array> lying;
    std::optional<GemmMatrix> matrix;
    if (out.dtype() == product.dtype && !may_share_memory(out, left.array) &&
        !may_share_memory(out, right.array) &&
        (lying = merged(target, batch, product.m, product.n)))
        matrix = as_matrix(*lying);
    std::optional<Array> made;
    if (!matrix) {
        made = Array::empty(device, product.dtype, target.shape(), stream);
        lying = merged(*made, batch, product.m, product.n);
        matrix = as_matrix(*lying);
    }

    product.a = left.matrix;
    product.b = right.matrix;
    product.c = *matrix;
    for (std::size_t k = 0; k < batch; ++k) {
        const int axis = static_cast<int>(k);
        const auto step = [&](const Array& of, std::int64_t moves) {
            return moves == 0 ? 0 : of.strides()[axis] / item;
        };
        product.batch.push_back({groups.batch[k].extent, step(left.array, groups.batch[k].a),
                                 step(right.array, groups.batch[k].b), step(*lying, 1)});
    }
    if (product.c.transposed) { // c' = b' @ a'
        std::swap(product.a, product.b);
        std::swap(product.m, product.n);
        product.a.transposed = !product.a.transposed;
        product.b.transposed = !product.b.transposed;
        product.c.transposed = false;
        for (GemmBatch& axis : product.batch)
            std::swap(axis.a, axis.b);
    }
    {
        const bool at_once = product.m * product.n * product.k * batch_count(product) < brief_work;
        const Waiting waiting(at_once ? nullptr : on_wait); // a CPU may multiply here and now
        gemm(device, stream, product);
    }
    if (made)
        copy_into(target, *made, stream);
    for (const Matrices* side : {&left, &right})
        if (side->copied)
            keep_for_graph(device, stream, side->array);
    if (made)
        keep_for_graph(device, stream, std::move(*made));
}

} // namespace

Array contract(const Array& a, std::span<const int> labels_a, const Array& b,
               std::span<const int> labels_b, std::span<const int> labels, const ProductCall& call,
               void (*on_wait)(bool entering)) {
    const Contraction work = resolve(a, labels_a, b, labels_b, labels, call);
    const CUstream stream = current_stream(a.device());
    if (call.out != nullptr)
        check_given_output(*call.out, a.device(), work.shape, work.dtype);
    Array out =
        call.out != nullptr ? *call.out : Array::empty(a.device(), work.dtype, work.shape, stream);
    if (out.size() == 0)
        return out;
    if (volume(work.summed) == 0) {
        fill(out, Scalar::of(false), stream);
        return out;
    }
    if (by_library(a, b, work)) {
        multiply_matrices(a, b, work, out, on_wait);
        return out;
    }
    // A kernel writes while it reads, and sums in the dtype it stores.
    const bool direct =
        out.dtype() == work.dtype &&
        (call.out == nullptr || !(may_share_memory(out, a) || may_share_memory(out, b)));
    const Array made = direct ? out : Array::empty(a.device(), work.dtype, work.shape, stream);
    if (work.summed.empty() && !work.conjugate)
        multiply(a, b, work, made, on_wait);
    else
        reduce_products(a, b, work, made, on_wait);
    if (!direct) {
        copy_into(out, made, stream);
        keep_for_graph(a.device(), stream, made);
    }
    return out;
}

std::string explain_contract(const Array& a, std::span<const int> labels_a, const Array& b,
                             std::span<const int> labels_b, std::span<const int> labels,
                             const ProductCall& call) {
    const Contraction work = resolve(a, labels_a, b, labels_b, labels, call);
    if (volume(work.kept) == 0)
        return "nothing to do, the result is empty";
    const Groups groups = groups_of(work);
    if (by_library(a, b, work))
        return join(volume(groups.batch), " products (", volume(groups.left), ", ",
                    volume(groups.summed), ") @ (", volume(groups.summed), ", ",
                    volume(groups.right), ") by ", gemm_library(a.device()));
    if (work.summed.empty() && !work.conjugate)
        return "the ufunc multiply";
    const ReductionWork made = as_reduction(a, b, work);
    const std::array args{Argument::of(made.first), Argument::of(made.second)};
    ReductionCall reduction;
    reduction.all_axes = false;
    reduction.axes = made.axes;
    return product_kernel(work.dtype, work.conjugate).explain(args, reduction);
}

} // namespace quern
