// Counting, scanning and compacting masks.
#include "runtime/kernel/masks.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/kernel/cumulative.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/index_launch.h"
#include "runtime/kernel/kernels_by_form.h"
#include "runtime/kernel/mask_tiles.h"
#include "runtime/kernel/plan_options.h"
#include "runtime/kernel/reduce.h"
#include "runtime/kernel/waiting.h"

#include <array>

namespace quern {
namespace {

constexpr std::int64_t chunk_elements = 1024; // of a mask, on a CPU: worth a loop

ElementwiseKernel& kernel_of(MaskAct act) {
    static auto* const kernels = new std::array<ElementwiseKernel, 4>{
        ElementwiseKernel(mask_spec(MaskAct::count)), ElementwiseKernel(mask_spec(MaskAct::find)),
        ElementwiseKernel(mask_spec(MaskAct::pick)), ElementwiseKernel(mask_spec(MaskAct::fill))};
    return (*kernels)[static_cast<std::size_t>(act)];
}

ElementwiseKernel& putmask_kernel(bool repeated) {
    static auto* const kernels = new std::array<ElementwiseKernel, 2>{
        ElementwiseKernel(putmask_spec(false)), ElementwiseKernel(putmask_spec(true))};
    return (*kernels)[repeated];
}

std::vector<Argument> unravel_args(const Array& places, const Dims& shape) {
    if (shape.size() > most_unravelled_axes)
        throw Error(ErrorKind::not_implemented,
                    join("positions in an array of ", shape.size(),
                         " axes are not supported: at most ", most_unravelled_axes));
    std::vector<Argument> args{Argument::of(places)};
    for (const std::int64_t extent : shape)
        args.push_back(Argument::of(Scalar::of(extent)));
    return args;
}

bool by_tiles(const Array& mask) { return plan_target(mask.device()) == Target::gpu; }

Array in_c_order(const Array& array, DType dtype) {
    if (array.dtype() == dtype && array.c_contiguous())
        return array;
    const CUstream stream = current_stream(array.device());
    Array made = empty_like(array, dtype, stream, LikeOrder::c);
    copy_into(made, array, stream);
    return made;
}

std::int64_t count_true(const Array& mask, void (*on_wait)(bool)) {
    const Array total = *reduce(Reduction::count_nonzero, mask, {}, on_wait);
    return read_back<std::int64_t>(total.device(), total.address(), on_wait);
}

// True elements up to the end of each chunk.
Array count_chunks(const Array& mask, void (*on_wait)(bool)) {
    const std::int64_t chunks = (mask.size() + chunk_elements - 1) / chunk_elements;
    const Array counts =
        Array::empty(mask.device(), DType::int64, Dims{chunks}, current_stream(mask.device()));
    const Argument args[] = {Argument::of(mask), Argument::of(Scalar::of(chunk_elements)),
                             Argument::of(Scalar::of(mask.size())), Argument::of(counts)};
    kernel_of(MaskAct::count)(args, {}, on_wait);
    CumulativeCall scan;
    scan.axis = 0;
    scan.out = &counts;
    return cumulative(ScanOp::sum, counts, scan, on_wait);
}

std::int64_t total_of(const Array& ends, void (*on_wait)(bool)) {
    const auto last = static_cast<std::uint64_t>(ends.size() - 1) * sizeof(std::int64_t);
    return read_back<std::int64_t>(ends.device(), ends.address() + last, on_wait);
}

void walk(MaskAct act, const Array& ends, const Array& mask, std::initializer_list<Argument> more,
          void (*on_wait)(bool)) {
    std::vector<Argument> args{Argument::of(ends), Argument::of(mask),
                               Argument::of(Scalar::of(chunk_elements)),
                               Argument::of(Scalar::of(mask.size()))};
    args.insert(args.end(), more);
    ElementwiseCall each;
    each.size = ends.size();
    kernel_of(act)(args, each, on_wait);
}

Array empty_for(const Array& model, DType dtype, std::int64_t size) {
    return Array::empty(model.device(), dtype, Dims{size}, current_stream(model.device()));
}

void require_writable(const Array& array) {
    if (!array.writable())
        throw ValueError("assignment destination is read-only");
}

} // namespace

Array as_mask(const Array& array) {
    return array.dtype() == DType::boolean ? array : in_c_order(array, DType::boolean);
}

bool read_truth(const Array& array, void (*on_wait)(bool)) {
    return read_back<std::uint8_t>(array.device(), array.address(), on_wait) != 0;
}

Array flat_nonzero(const Array& array, void (*on_wait)(bool)) {
    const Array mask = as_mask(array);
    if (mask.size() == 0)
        return empty_for(mask, DType::int64, 0);
    if (by_tiles(mask)) {
        Array places = empty_for(mask, DType::int64, count_true(mask, on_wait));
        if (places.size() > 0)
            find_by_tiles(in_c_order(mask, DType::boolean), places, on_wait);
        return places;
    }
    const Array ends = count_chunks(mask, on_wait);
    Array places = empty_for(mask, DType::int64, total_of(ends, on_wait));
    if (places.size() > 0)
        walk(MaskAct::find, ends, mask, {Argument::of(places)}, on_wait);
    return places;
}

std::vector<Array> unravel(const Array& places, const Dims& shape, void (*on_wait)(bool)) {
    if (shape.size() == 0)
        return {};
    return kernel_by_form<unravel_spec>(shape.size())(unravel_args(places, shape), {}, on_wait);
}

std::vector<Array> nonzero(const Array& array, void (*on_wait)(bool)) {
    Array places = flat_nonzero(array, on_wait);
    if (array.ndim() == 1)
        return {std::move(places)};
    return unravel(places, array.shape(), on_wait);
}

Array argwhere(const Array& array, void (*on_wait)(bool)) {
    const Array places = flat_nonzero(array, on_wait);
    const std::int64_t axes = array.ndim(), count = places.size(), item = bytes_of(DType::int64);
    if (axes == 1)
        return Array(places.buffer(), places.address(), DType::int64, Dims{count, 1},
                     Dims{item, item});
    Array made = Array::empty(array.device(), DType::int64, Dims{count, axes},
                              current_stream(array.device()));
    if (made.size() == 0)
        return made;
    std::vector<Argument> args = unravel_args(places, array.shape());
    std::vector<Array> columns;
    columns.reserve(static_cast<std::size_t>(axes)); // arguments point to them
    for (std::int64_t k = 0; k < axes; ++k) {
        columns.emplace_back(made.buffer(), made.address() + static_cast<std::uint64_t>(k * item),
                             DType::int64, Dims{count}, Dims{axes * item});
        args.push_back(Argument::of(columns.back()));
    }
    kernel_by_form<unravel_spec>(array.ndim())(args, {}, on_wait);
    return made;
}

Array pick(const Array& array, const Array& mask, void (*on_wait)(bool)) {
    if (mask.size() == 0)
        return empty_for(array, array.dtype(), 0);
    if (by_tiles(mask)) {
        if (!array.c_contiguous())
            return take_flat(array, flat_nonzero(mask, on_wait), {.on_wait = on_wait});
        Array result = empty_for(array, array.dtype(), count_true(mask, on_wait));
        if (result.size() > 0)
            pick_by_tiles(array, in_c_order(mask, DType::boolean), result, on_wait);
        return result;
    }
    const Array ends = count_chunks(mask, on_wait);
    Array result = empty_for(array, array.dtype(), total_of(ends, on_wait));
    if (result.size() > 0)
        walk(MaskAct::pick, ends, mask, {Argument::of(array), Argument::of(result)}, on_wait);
    return result;
}

void fill_picked(const Array& array, const Array& mask, const Array& values, bool repeated,
                 void (*on_wait)(bool)) {
    require_writable(array);
    std::int64_t total = 0;
    std::optional<Array> ends;
    if (mask.size() > 0 && by_tiles(mask)) {
        if (!repeated || values.size() == 0)
            total = count_true(mask, on_wait);
    } else if (mask.size() > 0) {
        ends = count_chunks(mask, on_wait);
        if (!repeated || values.size() == 0)
            total = total_of(*ends, on_wait);
    }
    if (repeated && values.size() == 0 && total > 0)
        throw ValueError("Cannot insert from an empty array!");
    if (!repeated && values.size() != total)
        throw ValueError(join("NumPy boolean array indexing assignment cannot assign ",
                              values.size(), " input values to the ", total,
                              " output values where the mask is true"));
    if (mask.size() == 0 || values.size() == 0)
        return;
    const Array seen = apart_from(mask, array, mask.dtype()),
                from = apart_from(values, array, array.dtype());
    if (ends)
        walk(MaskAct::fill, *ends, seen,
             {Argument::of(from), Argument::of(Scalar::of(from.size())), Argument::of(array)},
             on_wait);
    else if (array.c_contiguous()) {
        const std::array<Array, 2> used{in_c_order(seen, DType::boolean),
                                        in_c_order(from, array.dtype())};
        fill_by_tiles(array, used[0], used[1], on_wait);
        keep_for_graph(array.device(), current_stream(array.device()), used);
    } else
        put_flat(array, flat_nonzero(seen, on_wait), from, {.on_wait = on_wait});
}

void put_where(const Array& array, const Array& mask, const Argument& value,
               void (*on_wait)(bool)) {
    require_writable(array);
    const Array seen = broadcast_to(apart_from(mask, array, mask.dtype()), array.shape());
    std::optional<Array> values;
    if (value.kind == ArgType::Kind::array)
        values = broadcast_to(apart_from(*value.array, array, array.dtype()), array.shape());
    const Argument args[] = {Argument::of(seen), values ? Argument::of(*values) : value,
                             Argument::of(array)};
    putmask_kernel(false)(args, {}, on_wait);
}

void putmask(const Array& array, const Array& mask, const Array& values, void (*on_wait)(bool)) {
    require_writable(array);
    if (array.size() == 0 || values.size() == 0)
        return;
    if (values.shape() == array.shape()) // each has its own
        return put_where(array, mask, Argument::of(values), on_wait);
    const Array seen = apart_from(mask, array, mask.dtype()),
                from = apart_from(values, array, array.dtype());
    const Argument args[] = {Argument::of(seen), Argument::of(from),
                             Argument::of(Scalar::of(from.size())), Argument::of(array)};
    putmask_kernel(true)(args, {}, on_wait);
}

} // namespace quern
