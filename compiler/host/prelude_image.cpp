// See prelude_image.h.
#include "compiler/host/prelude_image.h"
#include "compiler/host/precompiled.h"
#include <algorithm>

namespace quern::host {
namespace {

constexpr const char* standard = "c++17"; // what kernels are compiled as, unless their author asks

// What they include, each complete by itself. Not those that say what the others mean (of short
// floats and of complex numbers), nor those that the text tells by macros what they are.
constexpr std::string_view pieces_within[] = {
    "quern/elementwise.cuh",   "quern/names.cuh",          "quern/carray.cuh",
    "quern/index.cuh",         "quern/convert.cuh",        "quern/atomic.cuh",
    "quern/ufunc.cuh",         "quern/ufunc_plain.cuh",    "quern/bessel.cuh",
    "quern/narrow.cuh",        "quern/reduce.cuh",         "quern/reduce_ops.cuh",
    "quern/reduce_places.cuh", "quern/reduce_moments.cuh", "quern/reduce_scaled.cuh",
    "quern/scan.cuh",          "quern/rows.cuh",           "quern/swift.cuh"};

std::string text_within() {
    std::string text;
    for (const auto piece : pieces_within)
        text.append("#include \"").append(piece).append("\"\n");
    return text;
}

bool is_within(std::string_view written) {
    return written.size() > 2 && written[0] == '"' &&
           std::ranges::find(pieces_within, written.substr(1, written.size() - 2)) !=
               std::end(pieces_within);
}

// Of names and texts, in whatever order.
std::uint64_t hash_of_all(std::span<const SourceFile> pieces) {
    std::uint64_t sum = 0;
    for (const auto& piece : pieces)
        sum += hash_of(piece.name) * 0x9e3779b97f4a7c15u ^ hash_of(piece.text);
    return sum;
}

std::shared_ptr<const LeadingImage> open_shipped() {
    for (const auto& shipped : shipped_images())
        if (shipped.name == prelude_image_name) {
            auto image = std::make_shared<LeadingImage>();
            if (decode_record(shipped.bytes, image->record) && image->record.files.size() == 1) {
                image->text = text_within();
                return image;
            }
        }
    return nullptr;
}

const std::shared_ptr<const LeadingImage>& shipped_image() {
    static const auto* const once = new auto(open_shipped()); // threads may outlive the statics
    return *once;
}

} // namespace

bool are_the_prelude(std::span<const SourceFile> headers) {
    const auto& image = shipped_image();
    return image && hash_of_all(headers) == image->record.files[0].hash;
}

std::shared_ptr<const LeadingImage> find_prelude_image(const FrontEndInput& input,
                                                       const Leading& leading) {
    const bool fits = std::ranges::all_of(leading.includes, is_within) &&
                      are_the_prelude(input.headers) && image_name(input) == standard;
    return fits ? shipped_image() : nullptr;
}

std::string make_prelude_image(std::span<const SourceFile> pieces, std::string& log) {
    const auto precompiled = find_precompiled(standard, log);
    Options options;
    options.standard = standard;
    const FrontEndInput input{.main = {},
                              .headers = pieces,
                              .name_expressions = {},
                              .toolkit_folders = {},
                              .options = &options,
                              .cpu = nullptr};
    ImageRecord record;
    if (precompiled.empty() || !build_leading_image(input, text_within(), precompiled, record, log))
        return {};
    record.files = {{"quern", hash_of_all(pieces)}}; // one stands for all of the prelude
    return encode_record(record);
}

} // namespace quern::host
