// Checks a call's arrays: one device, one broadcast shape, outputs that fit; makes the outputs that
// are missing.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/kernel/call.h"

#include <algorithm>

namespace quern {
namespace {

std::string shape_text(const std::int64_t* extents, int ndim) {
    std::string text = "(";
    for (int d = 0; d < ndim; ++d)
        text += join(d ? ", " : "", extents[d]);
    return text + (ndim == 1 ? ",)" : ")");
}

bool is_operand(const KernelSpec& spec, std::span<const Argument> args, std::size_t k) {
    return args[k].kind == ArgType::Kind::array && !spec.params[k].raw;
}

[[noreturn]] void complain_of_shapes(const KernelSpec& spec, std::span<const Argument> args) {
    std::string shapes;
    std::vector<int> marked;
    for (std::size_t k = 0; k < args.size(); ++k)
        if (is_operand(spec, args, k)) {
            shapes += join(" ", shape_text(args[k].array->shape().data(), args[k].array->ndim()));
            marked.push_back(static_cast<int>(k));
        }
    complain(spec, ErrorKind::value,
             join("operands could not be broadcast together with shapes", shapes), marked,
             "extents must be equal or 1, counted from the last axis");
}

} // namespace

void complain(const KernelSpec& spec, ErrorKind kind, const std::string& what,
              const std::vector<int>& marked, const std::string& help) {
    throw Error(kind, join("kernel '", spec.name, "': ", what, "\n",
                           params_with_carets(spec, marked), "\n    help: ", help));
}

bool CallShape::is_empty() const noexcept {
    return std::any_of(extents, extents + ndim, [](std::int64_t extent) { return extent == 0; });
}
bool CallShape::is_of(const Array& array) const noexcept {
    return array.ndim() == ndim && std::equal(extents, extents + ndim, array.shape().begin());
}
std::string CallShape::text() const { return shape_text(extents, ndim); }

bool CallShape::broadcast(const Array& array) noexcept {
    const int grown = std::max(ndim, array.ndim());
    std::array<std::int64_t, max_plan_ndim> merged;
    for (int d = 1; d <= grown; ++d) { // from the last axis; a shorter shape is padded with ones
        const std::int64_t a = d <= ndim ? extents[ndim - d] : 1;
        const std::int64_t b = d <= array.ndim() ? array.shape()[array.ndim() - d] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        merged[static_cast<std::size_t>(grown - d)] = a == 1 ? b : a;
    }
    std::copy(merged.begin(), merged.begin() + grown, store.begin());
    set(store.data(), grown);
    return true;
}

Device& device_of_call(const KernelSpec& spec, std::span<const Argument> args) {
    int first = -1;
    for (int k = 0; k < static_cast<int>(args.size()); ++k) {
        if (args[k].kind != ArgType::Kind::array)
            continue;
        const Array& array = *args[k].array;
        if (first < 0)
            first = k;
        if (&array.device() != &args[first].array->device())
            complain(spec, ErrorKind::value,
                     join("'", spec.params[first].name, "' is on device ",
                          args[first].array->device().name(), " and '", spec.params[k].name,
                          "' is on device ", array.device().name()),
                     {first, k}, "move one of them with quern.asarray(x, device=...)");
        if (spec.params[k].output && !array.writable())
            complain(spec, ErrorKind::value,
                     join("output array '", spec.params[k].name, "' is read-only"), {k},
                     "pass a copy, or an array that is not a broadcast or read-only view");
    }
    return first < 0 ? current_device() : args[first].array->device();
}

void decide_shape(const KernelSpec& spec, std::span<const Argument> args, std::int64_t size,
                  CallShape& shape) {
    bool any = false;
    for (std::size_t k = 0; k < args.size(); ++k) {
        if (!is_operand(spec, args, k))
            continue;
        const Array& array = *args[k].array;
        if (!any)
            shape.set(array.shape().data(), array.ndim());
        else if (!shape.is_of(array) && !shape.broadcast(array))
            complain_of_shapes(spec, args);
        any = true;
    }
    if (any && size >= 0)
        throw ValueError(join(
            "Specified 'size' can be used only if all of the ndarray are 'raw'. Those of kernel '",
            spec.name, "' are not: leave size= out"));
    if (any)
        return;
    if (size < 0)
        throw ValueError(join("Loop size is undecided. Kernel '", spec.name,
                              "' has no argument but raw arrays and scalars: pass size="));
    shape.store[0] = size;
    shape.set(shape.store.data(), 1);
}

std::vector<Array> make_outputs(const KernelSpec& spec, const Signature& signature,
                                std::span<const Argument> args, std::int64_t size,
                                const CallShape& shape, Device& device, CUstream stream,
                                ParamArrays& arrays) {
    const std::size_t given = args.size(), count = spec.params.size();
    const auto missing = [&](std::size_t k) {
        return k >= given || args[k].kind == ArgType::Kind::missing;
    };
    for (std::size_t k = 0; k < count; ++k)
        arrays[k] = missing(k) ? nullptr : args[k].array;
    std::vector<Array> made;
    for (auto k = static_cast<std::size_t>(spec.nin); k < count; ++k) {
        const Param& param = spec.params[k];
        if (missing(k)) {
            if (param.raw && size < 0)
                throw ValueError(join("kernel '", spec.name, "': Output array size is Undecided: '",
                                      param.name, "' is raw; pass the array, or size="));
            if (made.empty())
                made.reserve(count - k);
            made.push_back(Array::empty(
                device, signature.params[k].dtype,
                Dims(std::span(shape.extents, static_cast<std::size_t>(shape.ndim))), stream));
            arrays[k] = &made.back();
        } else if (!param.raw && !shape.is_of(*arrays[k])) {
            complain(spec, ErrorKind::value,
                     join("Out shape is mismatched: '", param.name, "' is ",
                          shape_text(arrays[k]->shape().data(), arrays[k]->ndim()),
                          ", the arguments broadcast to ", shape.text()),
                     {static_cast<int>(k)}, "give an output of exactly the broadcast shape");
        }
    }
    return made;
}

} // namespace quern
