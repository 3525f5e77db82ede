// Interleaving: parts and target are seen as elements of one width, and a kernel of lines is
// launched.
#include "runtime/kernel/interleave.h"

#include "compiler/base/carrier.h"
#include "runtime/array/views.h"
#include "runtime/kernel/kernels_by_form.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace quern {
namespace {

// The bytes of each line, `many` elements that lie together, as one element of `as`.
std::optional<Array> as_words(const Array& array, const Dims& lines, std::int64_t many, DType as) {
    std::vector<std::int64_t> shape(lines.begin(), lines.end());
    shape.push_back(many);
    const auto view = reshape_view(array, Dims(shape));
    const auto item = static_cast<std::int64_t>(bytes_of(array.dtype()));
    if (!view || (many > 1 && view->strides()[lines.size()] != item))
        return std::nullopt;
    const auto aligned = [&](std::int64_t place) {
        return place % static_cast<std::int64_t>(bytes_of(as)) == 0;
    };
    if (!aligned(static_cast<std::int64_t>(view->address())) ||
        !std::ranges::all_of(view->strides().begin(), view->strides().end() - 1, aligned))
        return std::nullopt;
    return reshape_view(view_dtype(*view, as), lines);
}

} // namespace

bool interleave(std::span<const Array> parts, int axis, const Array& target, CUstream stream) {
    if (parts.size() < 2 || parts.size() > most_line_parts || !target.c_contiguous() ||
        target.size() == 0)
        return false;
    const Array& first = parts.front();
    const Dims lines(first.shape().span().first(static_cast<std::size_t>(axis)));
    std::int64_t many = 1;
    for (int d = axis; d < first.ndim(); ++d)
        many *= first.shape()[d];
    const std::int64_t bytes = many * static_cast<std::int64_t>(bytes_of(target.dtype()));
    const auto word = bytes <= 8 ? carrier_of(bytes) : std::nullopt;
    if (axis == 0 || !word || !std::ranges::all_of(parts, [&](const Array& part) {
            return part.dtype() == target.dtype() && part.shape() == first.shape() &&
                   &part.device() == &target.device();
        }))
        return false;
    const auto line = line_type(parts.size(), bytes);
    const auto count = static_cast<std::int64_t>(parts.size());
    const Dims flat{target.size() / many};
    const auto whole =
        line ? as_words(target, lines, many * count, *line) : as_words(target, flat, many, *word);
    std::vector<Array> words;
    for (const Array& part : parts)
        if (const auto seen = as_words(part, lines, many, *word))
            words.push_back(*seen);
    if (!whole || words.size() != parts.size())
        return false;
    std::vector<Argument> arguments;
    for (const Array& part : words)
        arguments.push_back(Argument::of(part));
    arguments.push_back(Argument::of(*whole));
    ElementwiseCall call;
    call.has_stream = true;
    call.stream = stream;
    const bool on_cpu = target.device().is_cpu();
    kernel_by_form<line_spec>(LineForm{.way = line     ? LineWay::words
                                              : on_cpu ? LineWay::stored
                                                       : LineWay::found,
                                       .parts = parts.size(),
                                       .bytes = bytes})(arguments, call);
    return true;
}

} // namespace quern
