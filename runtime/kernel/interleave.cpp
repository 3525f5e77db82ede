// Interleaving: the elements of a line are one word where there is a type as wide as that, so that
// loads and stores are whole; else they are stored one by one.
#include "runtime/kernel/interleave.h"

#include "compiler/base/text.h"
#include "runtime/array/views.h"
#include "runtime/kernel/elementwise.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quern {
namespace {

constexpr std::size_t most_parts = 8;

// A part's bytes for a line, and the type that carries them: the bits are moved, never read.
std::optional<DType> carrier(std::int64_t bytes) {
    switch (bytes) {
    case 1:
        return DType::uint8;
    case 2:
        return DType::uint16;
    case 4:
        return DType::uint32;
    case 8:
        return DType::uint64;
    case 16:
        return DType::complex128;
    default:
        return std::nullopt;
    }
}

std::string letter(std::size_t k) { return std::string(1, static_cast<char>('a' + k)); }

// The letters from `first` on as one integer of `count` times `bits` bits, the first lowest.
std::string word_of(std::size_t first, std::size_t count, std::int64_t bits) {
    std::string sum;
    for (std::size_t k = 0; k < count; ++k)
        sum += join(k ? " | " : "", "static_cast<unsigned long long>(", letter(first + k), ") << ",
                    static_cast<std::int64_t>(k) * bits);
    return sum;
}

// Two and four parts have a word of their own where it has 16 bytes at most.
std::optional<DType> line_type(std::size_t parts, std::int64_t bytes) {
    const auto line = static_cast<std::int64_t>(parts) * bytes;
    return (parts == 2 || parts == 4) && line <= 16 ? carrier(line) : std::nullopt;
}

ElementwiseSpec interleave_spec(std::size_t parts, std::int64_t bytes) {
    const std::string_view part = row(*carrier(bytes)).name;
    std::string in, operation;
    for (std::size_t k = 0; k < parts; ++k)
        in += join(k ? ", " : "", part, " ", letter(k));
    std::string out = join("raw ", part, " line");
    if (const auto line = line_type(parts, bytes); !line) {
        for (std::size_t k = 0; k < parts; ++k)
            operation += join(k ? "; " : "", "line[", parts, " * i + ", k, "] = ", letter(k));
    } else {
        out = join(row(*line).name, " line");
        const std::size_t half = parts / 2;
        operation =
            *line != DType::complex128
                ? join("line = ", word_of(0, parts, 8 * bytes))
                : join("line = complex<double>(__longlong_as_double(", word_of(0, half, 8 * bytes),
                       "), __longlong_as_double(", word_of(half, half, 8 * bytes), "))");
    }
    return make_elementwise_spec(
        {.in_params = in, .out_params = out, .operation = operation, .name = "quern_interleave"});
}

ElementwiseKernel& kernel_of(std::size_t parts, std::int64_t bytes) {
    static std::mutex mutex;
    static auto* const kernels =
        new std::map<std::pair<std::size_t, std::int64_t>, std::unique_ptr<ElementwiseKernel>>;
    const std::lock_guard lock(mutex);
    auto& kernel = (*kernels)[{parts, bytes}];
    if (!kernel)
        kernel = std::make_unique<ElementwiseKernel>(interleave_spec(parts, bytes));
    return *kernel;
}

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
    if (parts.size() < 2 || parts.size() > most_parts || !target.c_contiguous() ||
        target.size() == 0)
        return false;
    const Array& first = parts.front();
    const Dims lines(first.shape().span().first(static_cast<std::size_t>(axis)));
    std::int64_t many = 1;
    for (int d = axis; d < first.ndim(); ++d)
        many *= first.shape()[d];
    const std::int64_t bytes = many * static_cast<std::int64_t>(bytes_of(target.dtype()));
    const auto word = bytes <= 8 ? carrier(bytes) : std::nullopt;
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
    kernel_of(parts.size(), bytes)(arguments, call);
    return true;
}

} // namespace quern
