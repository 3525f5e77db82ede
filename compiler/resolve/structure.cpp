// Offsets are never left to C++: each gap is written out, and the text asserts its own layout.
#include "compiler/resolve/structure.h"

#include "compiler/base/digest.h"
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/spec/tokens.h"

#include <algorithm>
#include <span>

namespace quern {
namespace {

// An aggregate of bytes: copying a structure stays trivial.
constexpr std::string_view unaligned_text =
    R"(    template <class T> struct quern_unaligned { // a value where C++ could not align it
        unsigned char bytes[sizeof(T)];
        __device__ operator T() const {
            T value;
            for (unsigned k = 0; k < sizeof(T); ++k) ((unsigned char*)&value)[k] = bytes[k];
            return value;
        }
        __device__ quern_unaligned& operator=(const T& value) {
            for (unsigned k = 0; k < sizeof(T); ++k) bytes[k] = ((const unsigned char*)&value)[k];
            return *this;
        }
    };
)";

[[noreturn]] void refuse(std::string_view deed, std::string_view help) {
    throw TypeError(join("structured dtype: ", deed, "\n    help: ", help));
}

std::uint64_t element_bytes(const StructField& field) {
    return field.nested ? field.nested->bytes : bytes_of(field.dtype);
}
std::uint32_t natural_alignment(const StructField& field) {
    return field.nested ? field.nested->alignment
                        : static_cast<std::uint32_t>(bytes_of(field.dtype));
}
std::uint64_t field_bytes(const StructField& field) {
    std::uint64_t bytes = element_bytes(field);
    for (const auto extent : field.extents)
        bytes *= extent;
    return bytes;
}
std::string type_of(const StructField& field) {
    return field.nested ? field.nested->spelling : std::string(row(field.dtype).spelling);
}

void check_fields(std::span<const StructField> fields, std::uint32_t itemsize_bytes) {
    if (fields.empty())
        refuse("it has no fields", "give it one, or pass the bytes as an array of uint8");
    std::uint64_t end = 0;
    std::string_view previous;
    for (const auto& field : fields) {
        if (!is_identifier(field.name) || is_cpp_keyword(field.name) ||
            field.name.starts_with("__") || field.name.starts_with("quern_"))
            refuse(join("field '", field.name, "' cannot be a member of a C++ struct"),
                   "rename it: letters, digits and _, not a word of C++, not beginning with __ or "
                   "quern_");
        if (std::ranges::count(fields, field.name, &StructField::name) > 1)
            refuse(join("two fields are called '", field.name, '\''), "rename one of them");
        if (field_bytes(field) == 0)
            refuse(join("field '", field.name, "' is empty"), "leave it out");
        if (field.offset_bytes < end)
            refuse(join("fields '", previous, "' and '", field.name, "' overlap"),
                   "pass one of the views; a C++ struct holds each byte once");
        end = field.offset_bytes + field_bytes(field);
        if (end > itemsize_bytes)
            refuse(join("field '", field.name, "' ends at byte ", end, " of ", itemsize_bytes),
                   "make the itemsize larger");
        previous = field.name;
    }
}

// The largest alignment that the size allows and a field can use, or that NumPy asks for.
std::uint32_t choose_alignment(std::span<const StructField> fields,
                               const StructFields& description) {
    std::uint32_t wanted =
        std::min<std::uint32_t>(std::max<std::uint32_t>(description.alignment, 1), 16);
    for (const auto& field : fields)
        if (field.offset_bytes % natural_alignment(field) == 0)
            wanted = std::max(wanted, natural_alignment(field));
    std::uint32_t alignment = 1;
    while (alignment * 2 <= wanted && description.itemsize_bytes % (alignment * 2) == 0)
        alignment *= 2;
    return alignment;
}

std::string indent(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
        result += join("    ", text.substr(0, end));
        text.remove_prefix(end);
    }
    return result;
}

struct Body {
    std::string text;
    bool has_unaligned = false;
};

Body emit_members(std::span<const StructField> fields, std::uint32_t alignment,
                  std::uint32_t bytes) {
    Body body;
    std::uint64_t at = 0;
    int pads = 0;
    const auto pad_to = [&](std::uint64_t offset) {
        if (offset > at)
            body.text += join("    unsigned char quern_pad_", pads++, '[', offset - at, "];\n");
    };
    for (const auto& field : fields) {
        pad_to(field.offset_bytes);
        const auto natural = natural_alignment(field);
        const bool aligned = field.offset_bytes % natural == 0 && natural <= alignment;
        if (!aligned && field.nested)
            refuse(join("the structure in field '", field.name, "' lies at byte ",
                        field.offset_bytes, ", but needs a multiple of ", natural),
                   "make the dtypes with align=True");
        body.has_unaligned |= !aligned;
        body.text += aligned ? join("    ", type_of(field))
                             : join("    quern_unaligned<", type_of(field), '>');
        body.text += join(' ', field.name);
        for (const auto extent : field.extents)
            body.text += join('[', extent, ']');
        body.text += ";\n";
        at = field.offset_bytes + field_bytes(field);
    }
    pad_to(bytes);
    return body;
}

} // namespace

std::shared_ptr<const StructLayout> make_struct_layout(const StructFields& description) {
    auto fields = description.fields;
    std::ranges::stable_sort(fields, {}, &StructField::offset_bytes);
    check_fields(fields, description.itemsize_bytes);

    StructLayout layout;
    layout.bytes = description.itemsize_bytes;
    layout.alignment = choose_alignment(fields, description);
    const auto members = emit_members(fields, layout.alignment, layout.bytes);

    // Nested definitions stand inside, each once, so that the text is complete by itself.
    std::string inner;
    std::vector<std::string_view> defined;
    for (const auto& field : fields) {
        if (!field.nested) {
            if (const auto header = row(field.dtype).header; !header.empty())
                layout.headers.emplace_back(header);
            continue;
        }
        layout.headers.insert(layout.headers.end(), field.nested->headers.begin(),
                              field.nested->headers.end());
        if (std::ranges::find(defined, field.nested->spelling) != defined.end())
            continue;
        defined.push_back(field.nested->spelling);
        inner += indent(field.nested->definition);
    }
    std::ranges::sort(layout.headers);
    const auto repeated = std::ranges::unique(layout.headers);
    layout.headers.erase(repeated.begin(), repeated.end());

    if (members.has_unaligned)
        inner += unaligned_text;
    Hasher hasher;
    hasher.add(inner).add(members.text).add(layout.bytes).add(layout.alignment);
    layout.spelling = join("quern_struct_", hasher.digest().hex().substr(0, 16));

    const auto& name = layout.spelling;
    layout.definition =
        join("struct alignas(", layout.alignment, ") ", name, " {\n", inner, members.text,
             "};\nstatic_assert(sizeof(", name, ") == ", layout.bytes, ", \"size\");\n");
    for (const auto& field : fields)
        layout.definition += join("static_assert(offsetof(", name, ", ", field.name,
                                  ") == ", field.offset_bytes, ", \"offset\");\n");
    return std::make_shared<const StructLayout>(std::move(layout));
}

} // namespace quern
