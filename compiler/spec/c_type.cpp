// Reads types by their tokens: qualifiers dropped, stars counted, names looked up in one table.
#include "compiler/spec/c_type.h"

#include "compiler/spec/tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace quern {
namespace {

using Form = CType::Kind;

struct NameRow {
    std::string_view name;
    Form kind;
    std::uint32_t bytes;
};

// Sizes on CUDA's platforms with 64 bits.
constexpr NameRow names[] = {
    {"bool", Form::boolean, 1},
    {"char", Form::character, 1},
    {"float", Form::floating, 4},
    {"double", Form::floating, 8},
    {"half", Form::floating, 2},
    {"__half", Form::floating, 2},
    {"__half_raw", Form::floating, 2},
    {"__nv_half", Form::floating, 2},
    {"nv_half", Form::floating, 2},
    {"float16", Form::floating, 2},
    {"__nv_bfloat16", Form::bfloat16, 2},
    {"__nv_bfloat16_raw", Form::bfloat16, 2},
    {"nv_bfloat16", Form::bfloat16, 2},
    {"bfloat16", Form::bfloat16, 2},
    {"int8_t", Form::signed_integer, 1},
    {"int16_t", Form::signed_integer, 2},
    {"int32_t", Form::signed_integer, 4},
    {"int64_t", Form::signed_integer, 8},
    {"uint8_t", Form::unsigned_integer, 1},
    {"uint16_t", Form::unsigned_integer, 2},
    {"uint32_t", Form::unsigned_integer, 4},
    {"uint64_t", Form::unsigned_integer, 8},
    {"size_t", Form::unsigned_integer, 8},
    {"ptrdiff_t", Form::signed_integer, 8},
    {"intptr_t", Form::signed_integer, 8},
    {"uintptr_t", Form::unsigned_integer, 8},
    {"uchar", Form::unsigned_integer, 1},
    {"ushort", Form::unsigned_integer, 2},
    {"uint", Form::unsigned_integer, 4},
    {"ulong", Form::unsigned_integer, 8},
    {"cudaTextureObject_t", Form::texture, 8},
    {"cudaSurfaceObject_t", Form::surface, 8},
    {"CUdeviceptr", Form::unsigned_integer, 8},
};

struct PartsRow {
    std::string_view name;
    Form kind, part;
    std::uint32_t part_bytes, count;
};
constexpr PartsRow special_names[] = {
    {"cuComplex", Form::complex, Form::floating, 4, 2},
    {"cuFloatComplex", Form::complex, Form::floating, 4, 2},
    {"cuDoubleComplex", Form::complex, Form::floating, 8, 2},
    {"half2", Form::vector, Form::floating, 2, 2},
    {"__half2", Form::vector, Form::floating, 2, 2},
    {"__nv_bfloat162", Form::vector, Form::bfloat16, 2, 2},
    {"nv_bfloat162", Form::vector, Form::bfloat16, 2, 2},
    {"dim3", Form::vector, Form::unsigned_integer, 4, 3},
};
constexpr NameRow vector_parts[] = {
    {"char", Form::signed_integer, 1},     {"uchar", Form::unsigned_integer, 1},
    {"short", Form::signed_integer, 2},    {"ushort", Form::unsigned_integer, 2},
    {"int", Form::signed_integer, 4},      {"uint", Form::unsigned_integer, 4},
    {"long", Form::signed_integer, 8},     {"ulong", Form::unsigned_integer, 8},
    {"longlong", Form::signed_integer, 8}, {"ulonglong", Form::unsigned_integer, 8},
    {"float", Form::floating, 4},          {"double", Form::floating, 8},
};

CType of_parts(Form kind, Form part, std::uint32_t part_bytes, std::uint32_t count) {
    return {false, kind, part_bytes * count, part, part_bytes};
}

CType find_name(std::string_view name) {
    for (const NameRow& row : names)
        if (row.name == name)
            return {false, row.kind, row.bytes, Form::unknown, 0};
    for (const PartsRow& row : special_names)
        if (row.name == name)
            return of_parts(row.kind, row.part, row.part_bytes, row.count);
    if (!name.empty() && name.back() >= '1' && name.back() <= '4')
        for (const NameRow& row : vector_parts)
            if (row.name == name.substr(0, name.size() - 1))
                return of_parts(Form::vector, row.kind, row.bytes,
                                static_cast<std::uint32_t>(name.back() - '0'));
    return {};
}

constexpr std::string_view dropped[] = {
    "const", "volatile", "restrict", "__restrict__", "__restrict",        "struct",
    "class", "typename", "enum",     "__const__",    "__grid_constant__", "register"};

bool is_dropped(std::string_view word) {
    return std::ranges::find(dropped, word) != std::end(dropped);
}

// unsigned, long, int and their like in any order; nullopt when another word is among them.
std::optional<CType> read_integer(const std::vector<std::string>& words) {
    int longs = 0, shorts = 0, chars = 0, ints = 0, wide = 0;
    bool is_unsigned = false, is_signed = false;
    for (const std::string& word : words) {
        if (word == "long")
            ++longs;
        else if (word == "short")
            ++shorts;
        else if (word == "char")
            ++chars;
        else if (word == "int")
            ++ints;
        else if (word == "__int128")
            ++wide;
        else if (word == "unsigned")
            is_unsigned = true;
        else if (word == "signed")
            is_signed = true;
        else
            return std::nullopt;
    }
    if (words.empty())
        return std::nullopt;
    const std::uint32_t bytes = wide ? 16 : chars ? 1 : shorts ? 2 : longs ? 8 : 4;
    const Form kind = is_unsigned           ? Form::unsigned_integer
                      : chars && !is_signed ? Form::character
                                            : Form::signed_integer;
    return CType{false, kind, bytes, Form::unknown, 0};
}

class Reader {
  public:
    explicit Reader(const TypeAliases& known) : aliases(known) {}

    const TypeAliases& aliases;
    int stars = 0;
    bool odd = false;
    std::vector<std::string> words; // of the base type, without scopes
    std::string argument;           // of a template: the text between its brackets

    void read(std::string_view text, int depth) {
        const TokenList list = tokenize(text);
        odd |= list.odd || depth > 16;
        if (odd)
            return;
        int angles = 0, round = 0, square = 0;
        for (const Token& token : list.tokens) {
            const std::string_view word = token.text;
            if (angles > 0 || word == "<") { // what stands in a template's brackets
                angles += word == "<" ? 1 : word == ">" ? -1 : word == ">>" ? -2 : 0;
                if (angles > 0 && !(angles == 1 && word == "<"))
                    argument.append(argument.empty() ? "" : " ").append(word);
                continue;
            }
            if (square > 0 || word == "[") {
                square += word == "[" ? 1 : word == "]" ? -1 : 0;
                if (square == 0 && round == 0 && !seen_pointer_to_array_)
                    ++stars; // float x[] is a pointer
                continue;
            }
            if (word == "(") { // "(*)" of a pointer to an array, or a function's parameters
                odd |= round_seen_++ > 0;
                ++round;
                seen_pointer_to_array_ = true;
            } else if (word == ")") {
                --round;
            } else if (word == "*") {
                ++stars;
            } else if (word == "&" || word == "&&" || word == "...") {
                odd = true;
            } else if (word == "::") {
                words.clear();
            } else if (token.kind == Token::Kind::identifier) {
                add_word(word, depth);
            } else {
                odd = true;
            }
        }
    }

  private:
    void add_word(std::string_view word, int depth) {
        if (is_dropped(word))
            return;
        const auto alias = aliases.find(word);
        if (alias == aliases.end() || std::ranges::find(open_, word) != open_.end()) {
            words.emplace_back(word);
            return;
        }
        if (alias->second.empty()) {
            odd = true;
            return;
        }
        open_.emplace_back(word); // a name inside its own meaning is the name itself
        read(alias->second, depth + 1);
        open_.pop_back();
    }

    int round_seen_ = 0;
    bool seen_pointer_to_array_ = false;
    std::vector<std::string> open_;
};

CType read_base(const Reader& reader, const TypeAliases& aliases) {
    if (const std::optional<CType> integer = read_integer(reader.words))
        return *integer;
    if (reader.words.size() != 1)
        return {};
    const std::string& name = reader.words[0];
    if (reader.argument.empty())
        return find_name(name);
    if (name != "complex")
        return {};
    const CType part = read_c_type(reader.argument, aliases);
    if (part.pointer || part.kind != Form::floating)
        return {};
    return of_parts(Form::complex, part.kind, part.bytes, 2);
}

// Whether numbers of `dtype`'s kind and of `bytes` each are numbers of this kind.
bool is_number_of(Form kind, std::uint32_t bytes, DType dtype) {
    const DTypeRow& row = quern::row(dtype);
    const bool complex = row.kind == quern::Kind::complex;
    const std::uint32_t part = complex ? row.bytes / 2u : row.bytes;
    const bool floating = complex || row.kind == quern::Kind::floating;
    switch (kind) {
    case Form::unknown:
    case Form::character: // bytes of anything
    case Form::complex:
    case Form::vector:
        return true;
    case Form::boolean:
        return part == 1;
    case Form::signed_integer:
    case Form::texture: // handles are integers
    case Form::surface:
    case Form::unsigned_integer: // 16-bit floats are often kept as integers
        return part == bytes && (!floating || bytes == 2);
    case Form::floating:
        return part == bytes && (bytes == 2 ? dtype != DType::bfloat16 : floating);
    case Form::bfloat16:
        return part == bytes && dtype != DType::float16;
    }
    return true;
}

} // namespace

CType read_c_type(std::string_view text, const TypeAliases& aliases) {
    Reader reader(aliases);
    reader.read(text, 0);
    CType type;
    if (!reader.odd && reader.stars <= 1)
        type = read_base(reader, aliases);
    type.pointer = reader.stars > 0;
    return type;
}

bool points_at(const CType& pointer, DType dtype) noexcept {
    if (pointer.bytes == 0)
        return true;
    if (pointer.kind != Form::complex && pointer.kind != Form::vector)
        return is_number_of(pointer.kind, pointer.bytes, dtype);
    if (is_number_of(pointer.part, pointer.part_bytes, dtype))
        return true;
    // uchar4 over uint32: whole elements, taken apart by the kernel
    return pointer.kind == Form::vector && bytes_of(dtype) == pointer.bytes;
}

} // namespace quern
