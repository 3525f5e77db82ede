// Pieces: parts and target are seen as elements as wide as all of them allow, and a kernel in which
// each element of the target finds the part that it comes from is launched.
#include "runtime/kernel/pieces.h"

#include "compiler/base/carrier.h"
#include "runtime/kernel/kernels_by_form.h"
#include "runtime/kernel/recorder.h"

#include <limits>
#include <vector>

namespace quern {
namespace {

std::int64_t bytes_from(const Array& array, int axis) {
    auto bytes = static_cast<std::int64_t>(bytes_of(array.dtype()));
    for (int d = axis; d < array.ndim(); ++d)
        bytes *= array.shape()[d];
    return bytes;
}

Array as_row(const Array& array, std::int64_t bytes) {
    const Dims count{array.nbytes() / bytes};
    return {array.buffer(), array.address(), *carrier_of(bytes), count, Dims{bytes}};
}

} // namespace

bool join_pieces(std::span<const Array> parts, int axis, const Array& target, CUstream stream) {
    constexpr std::int64_t wide = 4, small = 1 << 22;
    if (target.device().is_cpu() || parts.size() < 2 || parts.size() > most_line_parts ||
        !target.c_contiguous() || target.size() == 0 || current_recorder() != nullptr)
        return false;
    std::uint64_t bits = target.address();
    for (const Array& part : parts) {
        if (part.dtype() != target.dtype() || !part.c_contiguous() || part.size() == 0 ||
            &part.device() != &target.device())
            return false;
        bits |= part.address() | static_cast<std::uint64_t>(bytes_from(part, axis));
    }
    const std::int64_t bytes = widest_carrier(bits);
    const std::int64_t line = bytes_from(target, axis), lines = target.nbytes() / line;
    if ((bytes < wide && target.nbytes() > small) ||
        (lines > 1 && target.nbytes() / bytes > std::numeric_limits<std::uint32_t>::max()))
        return false;
    std::vector<Argument> arguments;
    std::vector<Array> rows; // to which the arguments point
    rows.reserve(parts.size() + 1);
    for (const Array& part : parts)
        arguments.push_back(Argument::of(rows.emplace_back(as_row(part, bytes))));
    std::int64_t end = 0;
    for (const Array& part : parts)
        arguments.push_back(Argument::of(Scalar::of(end += bytes_from(part, axis) / bytes)));
    arguments.push_back(Argument::of(rows.emplace_back(as_row(target, bytes))));
    ElementwiseCall call;
    call.has_stream = true;
    call.stream = stream;
    kernel_by_form<piece_spec>(PieceForm{parts.size(), bytes, lines > 1})(arguments, call);
    return true;
}

} // namespace quern
