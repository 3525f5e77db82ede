// Counting, scanning and compacting masks.
#include "runtime/kernel/masks.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/kernel/cumulative.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/index_launch.h"
#include "runtime/kernel/waiting.h"
#include "runtime/memory/copy.h"

#include <array>
#include <cstring>
#include <mutex>

namespace quern {
namespace {

// Elements of a thread's run: on a CPU worth a loop, on a GPU what keeps a warp's reads together.
constexpr std::int64_t cpu_chunk = 1024, gpu_chunk = 8;

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

ElementwiseKernel& unravel_kernel(int axes) {
    static std::mutex mutex;
    static auto* const kernels =
        new std::array<std::unique_ptr<ElementwiseKernel>, most_unravelled_axes + 1>;
    const std::lock_guard lock(mutex);
    auto& kernel = (*kernels)[static_cast<std::size_t>(axes)];
    if (!kernel)
        kernel = std::make_unique<ElementwiseKernel>(unravel_spec(axes));
    return *kernel;
}

template <class T> T read_one(const Array& array, std::uint64_t address, void (*on_wait)(bool)) {
    T value{};
    Device& device = array.device();
    const CUstream stream = current_stream(device);
    const Waiting waiting(on_wait);
    if (device.is_cpu()) { // its memory is the host's
        Stream::external(device, stream).synchronize();
        std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    } else {
        copy_to_host(device, &value, address, sizeof value, stream);
    }
    return value;
}

struct Counted {
    Array ends; // of chunks: true elements up to each one's end
    std::int64_t chunk;
};

Counted count_chunks(const Array& mask, void (*on_wait)(bool)) {
    const std::int64_t chunk = mask.device().is_cpu() ? cpu_chunk : gpu_chunk;
    const std::int64_t chunks = (mask.size() + chunk - 1) / chunk;
    const Array counts =
        Array::empty(mask.device(), DType::int64, Dims{chunks}, current_stream(mask.device()));
    const Argument args[] = {Argument::of(mask), Argument::of(Scalar::of(chunk)),
                             Argument::of(Scalar::of(mask.size())), Argument::of(counts)};
    kernel_of(MaskAct::count)(args, {}, on_wait);
    CumulativeCall scan;
    scan.axis = 0;
    scan.out = &counts;
    return {cumulative(ScanOp::sum, counts, scan, on_wait), chunk};
}

std::int64_t total_of(const Counted& counted, void (*on_wait)(bool)) {
    const std::int64_t last = counted.ends.size() - 1;
    return read_one<std::int64_t>(
        counted.ends, counted.ends.address() + static_cast<std::uint64_t>(last * 8), on_wait);
}

void walk(MaskAct act, const Counted& counted, const Array& mask,
          std::initializer_list<Argument> more, void (*on_wait)(bool)) {
    std::vector<Argument> args{Argument::of(counted.ends), Argument::of(mask),
                               Argument::of(Scalar::of(counted.chunk)),
                               Argument::of(Scalar::of(mask.size()))};
    args.insert(args.end(), more);
    ElementwiseCall each;
    each.size = counted.ends.size();
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
    if (array.dtype() == DType::boolean)
        return array;
    const CUstream stream = current_stream(array.device());
    Array mask = empty_like(array, DType::boolean, stream, LikeOrder::c);
    copy_into(mask, array, stream);
    return mask;
}

bool read_truth(const Array& array, void (*on_wait)(bool)) {
    return read_one<std::uint8_t>(array, array.address(), on_wait) != 0;
}

Array flat_nonzero(const Array& array, void (*on_wait)(bool)) {
    const Array mask = as_mask(array);
    if (mask.size() == 0)
        return empty_for(mask, DType::int64, 0);
    const Counted counted = count_chunks(mask, on_wait);
    Array places = empty_for(mask, DType::int64, total_of(counted, on_wait));
    if (places.size() > 0)
        walk(MaskAct::find, counted, mask, {Argument::of(places)}, on_wait);
    return places;
}

std::vector<Array> unravel(const Array& places, const Dims& shape, void (*on_wait)(bool)) {
    const int ndim = shape.size();
    if (ndim == 0)
        return {};
    if (ndim > most_unravelled_axes)
        throw Error(ErrorKind::not_implemented,
                    join("positions in an array of ", ndim, " axes are not supported: at most ",
                         most_unravelled_axes));
    std::vector<Argument> args{Argument::of(places)};
    for (const std::int64_t extent : shape)
        args.push_back(Argument::of(Scalar::of(extent)));
    return unravel_kernel(ndim)(args, {}, on_wait);
}

std::vector<Array> nonzero(const Array& array, void (*on_wait)(bool)) {
    Array places = flat_nonzero(array, on_wait);
    if (array.ndim() == 1)
        return {std::move(places)};
    return unravel(places, array.shape(), on_wait);
}

Array pick(const Array& array, const Array& mask, void (*on_wait)(bool)) {
    if (mask.size() == 0)
        return empty_for(array, array.dtype(), 0);
    const Counted counted = count_chunks(mask, on_wait);
    Array result = empty_for(array, array.dtype(), total_of(counted, on_wait));
    if (result.size() > 0)
        walk(MaskAct::pick, counted, mask, {Argument::of(array), Argument::of(result)}, on_wait);
    return result;
}

void fill_picked(const Array& array, const Array& mask, const Array& values, bool repeated,
                 void (*on_wait)(bool)) {
    require_writable(array);
    std::int64_t total = 0;
    std::optional<Counted> counted;
    if (mask.size() > 0) {
        counted = count_chunks(mask, on_wait);
        if (!repeated || values.size() == 0)
            total = total_of(*counted, on_wait);
    }
    if (repeated && values.size() == 0 && total > 0)
        throw ValueError("Cannot insert from an empty array!");
    if (!repeated && values.size() != total)
        throw ValueError(join("NumPy boolean array indexing assignment cannot assign ",
                              values.size(), " input values to the ", total,
                              " output values where the mask is true"));
    if (mask.size() == 0 || values.size() == 0)
        return;
    walk(MaskAct::fill, *counted, apart_from(mask, array, mask.dtype()),
         {Argument::of(apart_from(values, array, array.dtype())),
          Argument::of(Scalar::of(values.size())), Argument::of(array)},
         on_wait);
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
    const Array seen = apart_from(mask, array, mask.dtype()),
                from = apart_from(values, array, array.dtype());
    const Argument args[] = {Argument::of(seen), Argument::of(from),
                             Argument::of(Scalar::of(from.size())), Argument::of(array)};
    putmask_kernel(true)(args, {}, on_wait);
}

} // namespace quern
