// CacheKey: one digest of every field, and the same fields as short text for people.
#include "compiler/base/text.h"
#include "compiler/cache/cache.h"

namespace quern {
namespace {

void add_files(Hasher& hasher, const std::vector<SourceFile>& files) {
    hasher.add(files.size());
    for (const SourceFile& file : files)
        hasher.add(file.name).add(file.text);
}

void add_texts(Hasher& hasher, const std::vector<std::string>& texts) {
    hasher.add(texts.size());
    for (const std::string& text : texts)
        hasher.add(text);
}

constexpr std::size_t printable_length = 160; // longer values are told by their digest

std::string short_digest(const Hasher& hasher) { return hasher.digest().hex().substr(0, 16); }

std::string label_text(const std::string& text) {
    Hasher hasher;
    hasher.add(text);
    return join(short_digest(hasher), " (", text.size(), " bytes)");
}

std::string label_files(const std::vector<SourceFile>& files) {
    std::string label;
    for (const SourceFile& file : files)
        label += join(label.empty() ? "" : ", ", file.name, " ", label_text(file.text));
    if (label.size() <= printable_length)
        return label;
    Hasher hasher;
    add_files(hasher, files);
    return join(short_digest(hasher), " (", files.size(), " files)");
}

std::string label_list(const std::vector<std::string>& texts) {
    std::string label;
    for (const std::string& text : texts)
        label += join(label.empty() ? "'" : " '", text, "'");
    if (label.size() <= printable_length)
        return label;
    Hasher hasher;
    add_texts(hasher, texts);
    return join(short_digest(hasher), " (", texts.size(), " items)");
}

std::string_view name_of(Target target) { return target == Target::gpu ? "gpu" : "cpu"; }

} // namespace

Digest CacheKey::digest() const {
    Hasher hasher;
    hasher.add(name).add(source);
    add_files(hasher, headers);
    add_files(hasher, included);
    add_texts(hasher, options);
    add_texts(hasher, name_expressions);
    hasher.add(backend).add(static_cast<std::uint64_t>(arch.target)).add(arch.name);
    hasher.add(std::uint64_t{check_mode}).add(std::uint64_t{format});
    return hasher.digest();
}

std::vector<std::pair<std::string, std::string>> CacheKey::fields() const {
    return {
        {"name", name},
        {"source", label_text(source)},
        {"headers", label_files(headers)},
        {"included", label_files(included)},
        {"options", label_list(options)},
        {"name_expressions", label_list(name_expressions)},
        {"backend", backend},
        {"arch", join(name_of(arch.target), " ", arch.name)},
        {"check_mode", check_mode ? "on" : "off"},
        {"format", join(format)},
    };
}

} // namespace quern
