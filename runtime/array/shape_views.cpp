// Views with another shape or dtype: broadcasting, reshape without a copy, reinterpretation; and
// overlap.
#include "compiler/base/text.h"
#include "runtime/array/views.h"

namespace quern {

Dims broadcast_shapes(std::span<const Dims> shapes) {
    int ndim = 0;
    for (const Dims& shape : shapes)
        ndim = std::max(ndim, shape.size());
    Dims result(static_cast<std::size_t>(ndim));
    for (int k = 0; k < ndim; ++k)
        result[k] = 1;
    for (const Dims& shape : shapes) {
        const int lead = ndim - shape.size();
        for (int k = 0; k < shape.size(); ++k) {
            std::int64_t& extent = result[lead + k];
            if (shape[k] == 1 || shape[k] == extent)
                continue;
            if (extent != 1) {
                std::string text = "operands could not be broadcast together with shapes";
                for (const Dims& each : shapes)
                    text += " " + format_shape(each);
                throw ValueError(text);
            }
            extent = shape[k];
        }
    }
    return result;
}

Array broadcast_to(const Array& array, const Dims& shape) {
    for (const std::int64_t extent : shape)
        if (extent < 0)
            throw ValueError("all elements of broadcast shape must be non-negative");
    const int lead = shape.size() - array.ndim();
    bool fits = lead >= 0;
    for (int k = 0; fits && k < array.ndim(); ++k)
        fits = array.shape()[k] == 1 || array.shape()[k] == shape[lead + k];
    if (!fits)
        throw ValueError(join("operands could not be broadcast together with shape ",
                              format_shape(array.shape()), " and requested shape ",
                              format_shape(shape)));
    (void)checked_size(shape, bytes_of(array.dtype()));
    Dims strides(static_cast<std::size_t>(shape.size()));
    for (int k = 0; k < array.ndim(); ++k)
        strides[lead + k] = array.shape()[k] == 1 && shape[lead + k] != 1 ? 0 : array.strides()[k];
    return Array(array.buffer(), array.address(), array.dtype(), shape, std::move(strides), false);
}

Dims infer_shape(std::int64_t size, const Dims& shape) {
    const auto refuse = [&] {
        std::string text;
        for (int k = 0; k < shape.size(); ++k)
            text += (k ? "," : "") + (shape[k] < 0 ? "newaxis" : join(shape[k]));
        throw ValueError(join("cannot reshape array of size ", size, " into shape (", text,
                              shape.size() == 1 ? ",)" : ")"));
    };
    if (shape.size() > max_ndim)
        (void)checked_size(shape, 1);
    int unknown = -1;
    std::int64_t known = 1;
    bool too_big = false, holds_nothing = false;
    for (int k = 0; k < shape.size(); ++k) {
        if (shape[k] < 0) {
            if (unknown >= 0)
                throw ValueError("can only specify one unknown dimension");
            unknown = k;
        } else if (shape[k] == 0) {
            holds_nothing = true;
        } else if (!too_big) {
            too_big = __builtin_mul_overflow(known, shape[k], &known);
        }
    }
    if (holds_nothing)
        known = 0;
    if (too_big && !holds_nothing)
        refuse();
    Dims result(shape);
    if (unknown >= 0) {
        if (known == 0 || size % known != 0)
            refuse();
        result[unknown] = size / known;
    } else if (known != size) {
        refuse();
    }
    return result;
}

// Walks both shapes in step: a group of old axes that hold as many elements as a group of new ones
// must be contiguous among themselves; the new axes then divide the group's stride. (The algorithm
// of NumPy's _attempt_nocopy_reshape.)
std::optional<Array> reshape_view(const Array& array, const Dims& requested, Order order) {
    const Dims shape = infer_shape(array.size(), requested);
    const int ndim = shape.size();
    const bool c = order == Order::c;
    const auto view = [&](Dims strides) {
        return Array(array.buffer(), array.address(), array.dtype(), shape, std::move(strides),
                     array.writable());
    };
    if (array.size() == 0 || (c ? array.c_contiguous() : array.f_contiguous()))
        return view(dense_strides(shape, bytes_of(array.dtype()), order));

    Dims old_shape(static_cast<std::size_t>(array.ndim())), old_strides(old_shape);
    int old_ndim = 0;
    for (int k = 0; k < array.ndim(); ++k)
        if (array.shape()[k] != 1) {
            old_shape[old_ndim] = array.shape()[k];
            old_strides[old_ndim++] = array.strides()[k];
        }
    Dims strides(static_cast<std::size_t>(ndim));
    int oi = 0, ni = 0;
    std::int64_t last = static_cast<std::int64_t>(bytes_of(array.dtype()));
    while (ni < ndim && oi < old_ndim) {
        int oj = oi + 1, nj = ni + 1;
        std::int64_t np = shape[ni], op = old_shape[oi];
        while (np != op) {
            if (np < op)
                np *= shape[nj++];
            else
                op *= old_shape[oj++];
        }
        for (int k = oi; k < oj - 1; ++k) {
            const bool merges = c ? old_strides[k] == old_shape[k + 1] * old_strides[k + 1]
                                  : old_strides[k + 1] == old_shape[k] * old_strides[k];
            if (!merges)
                return std::nullopt;
        }
        if (c) {
            strides[nj - 1] = old_strides[oj - 1];
            for (int k = nj - 1; k > ni; --k)
                strides[k - 1] = strides[k] * shape[k];
        } else {
            strides[ni] = old_strides[oi];
            for (int k = ni + 1; k < nj; ++k)
                strides[k] = strides[k - 1] * shape[k - 1];
        }
        ni = nj;
        oi = oj;
    }
    if (ni > 0)
        last = c ? strides[ni - 1] : strides[ni - 1] * shape[ni - 1];
    for (int k = ni; k < ndim; ++k)
        strides[k] = last; // trailing axes of extent 1
    return view(std::move(strides));
}

Array view_dtype(const Array& array, DType dtype) {
    const auto from = static_cast<std::int64_t>(bytes_of(array.dtype()));
    const auto to = static_cast<std::int64_t>(bytes_of(dtype));
    Dims shape = array.shape(), strides = array.strides();
    if (from != to) {
        if (array.ndim() == 0)
            throw ValueError("Changing the dtype of a 0d array is only supported if the itemsize "
                             "is unchanged");
        const int last = array.ndim() - 1;
        if (shape[last] != 1 && array.size() != 0 && strides[last] != from)
            throw ValueError("To change to a dtype of a different size, the last axis must be "
                             "contiguous");
        if (to < from && from % to != 0)
            throw ValueError("When changing to a smaller dtype, its size must be a divisor of the "
                             "size of original dtype");
        if (shape[last] * from % to != 0)
            throw ValueError("When changing to a larger dtype, its size must be a divisor of the "
                             "total size in bytes of the last axis of the array.");
        shape[last] = shape[last] * from / to;
        strides[last] = to;
    }
    return Array(array.buffer(), array.address(), dtype, std::move(shape), std::move(strides),
                 array.writable());
}

Array complex_part(const Array& array, int part) {
    const DType dtype = array.dtype() == DType::complex64 ? DType::float32 : DType::float64;
    const std::uint64_t offset = part == 0 || array.size() == 0 ? 0 : bytes_of(dtype);
    return Array(array.buffer(), array.address() + offset, dtype, array.shape(), array.strides(),
                 array.writable());
}

ByteBounds byte_bounds(const Array& array) noexcept {
    ByteBounds bounds{array.address(), array.address()};
    if (array.size() == 0)
        return bounds;
    for (int k = 0; k < array.ndim(); ++k) {
        const std::int64_t reach = array.strides()[k] * (array.shape()[k] - 1);
        (reach < 0 ? bounds.low : bounds.high) += static_cast<std::uint64_t>(reach);
    }
    bounds.high += bytes_of(array.dtype());
    return bounds;
}

bool may_share_memory(const Array& a, const Array& b) noexcept {
    const ByteBounds x = byte_bounds(a), y = byte_bounds(b);
    if (x.low == x.high || y.low == y.high)
        return false;
    // GPUs share one address space; the CPU's addresses are the process's own.
    if (a.device().is_cpu() != b.device().is_cpu())
        return false;
    return x.low < y.high && y.low < x.high;
}

} // namespace quern
