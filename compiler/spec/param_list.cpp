// `[raw] [_non_const] TYPE NAME`, comma separated; each complaint points at the word that is wrong.
#include "compiler/spec/param_list.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/spec/complaint.h"
#include "compiler/spec/tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace quern {
namespace {

struct Word {
    std::string_view text;
    std::size_t column = 0;
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::vector<Word> split_words(std::string_view list, std::size_t begin, std::size_t end) {
    std::vector<Word> words;
    for (std::size_t at = begin; at < end;) {
        if (is_space(list[at])) {
            ++at;
            continue;
        }
        const std::size_t start = at;
        while (at < end && !is_space(list[at]))
            ++at;
        words.push_back({list.substr(start, at - start), start});
    }
    return words;
}

class ListReader {
  public:
    ListReader(std::string_view list, bool output, const ListPlace& place)
        : list_(list), output_(output), place_(place) {}

    std::vector<ListedParam> read() const {
        std::vector<ListedParam> params;
        if (std::ranges::all_of(list_, is_space))
            return params;
        for (std::size_t begin = 0; begin <= list_.size();) {
            const auto end = std::min(list_.find(',', begin), list_.size());
            params.push_back(read_param(begin, end));
            begin = end + 1;
        }
        return params;
    }

  private:
    [[noreturn]] void refuse(std::string headline, std::size_t column, std::string help) const {
        throw SpecError(format_complaint(place_.kernel, {std::move(headline),
                                                         std::string(place_.line),
                                                         {place_.offset + column},
                                                         {},
                                                         std::move(help)}));
    }

    ListedParam read_param(std::size_t begin, std::size_t end) const {
        const auto words = split_words(list_, begin, end);
        if (words.empty())
            refuse("Syntax error: an empty parameter", begin,
                   "leave out the comma, or write TYPE NAME");
        if (words.size() < 2)
            refuse(join("Syntax error: ", words[0].text), words[0].column,
                   help_for_one_word(words[0].text));
        const Word &type = words[words.size() - 2], &name = words.back();

        ListedParam found;
        Param& param = found.param;
        param.output = output_;
        for (const auto& word : std::span(words).first(words.size() - 2))
            read_keyword(word, param);
        read_type(type, param);
        check_name(name);
        param.name = name.text;
        param.begin = static_cast<std::uint32_t>(type.column);
        param.end = static_cast<std::uint32_t>(name.column + name.text.size());
        found.name_column = name.column;
        return found;
    }

    static std::string help_for_one_word(std::string_view word) {
        if (word.size() == 1 || find_dtype(word))
            return join("give it a name: \"", word, " x\"");
        if (is_identifier(word))
            return join("give it a type: \"T ", word, "\"");
        return "a parameter is \"[raw] TYPE NAME\"";
    }

    void read_keyword(const Word& word, Param& param) const {
        if (word.text == "raw") {
            param.raw = true;
        } else if (word.text == "_non_const") {
            if (output_)
                refuse("_non_const is for inputs", word.column,
                       "outputs can be written as they are; leave the word out");
            param.non_const = true;
        } else {
            refuse(join("Unknown keyword \"", word.text, '"'), word.column,
                   help_for_keyword(word.text));
        }
    }

    std::string help_for_keyword(std::string_view word) const {
        if (word == "const")
            return output_ ? "outputs are written to; leave the word out"
                           : "inputs are const by themselves; leave the word out";
        if (word == "unsigned" || word == "signed" || word == "long")
            return "types are NumPy's, one word each: uint32, int64, ...";
        return "a parameter is \"[raw] TYPE NAME\"; parameters are separated by commas";
    }

    void read_type(const Word& type, Param& param) const {
        if (type.text == "raw" || type.text == "_non_const")
            refuse(join("Syntax error: \"", type.text, "\" stands where the type should"),
                   type.column, "a parameter is \"[raw] TYPE NAME\"");
        if (type.text.size() == 1) {
            const char letter = type.text.front();
            if (!is_ascii_letter(letter)) {
                const auto dtype = find_dtype(type.text);
                refuse(join("a type of one character must be a letter, not \"", type.text, '"'),
                       type.column,
                       dtype ? join("write it out: ", row(*dtype).name) : "T is the usual one");
            }
            if (letter == 'i' || letter == 'n')
                refuse(join('\'', letter, "' cannot be a placeholder: it is the name of ",
                            letter == 'i' ? "the loop's index" : "the loop's size"),
                       type.column, "choose another letter, T for example");
            param.placeholder = letter;
            return;
        }
        const auto dtype = find_dtype(type.text);
        if (!dtype)
            refuse(join("unknown type \"", type.text, '"'), type.column, help_for_type(type.text));
        param.dtype = *dtype;
    }

    void check_name(const Word& name) const {
        static constexpr std::array<std::string_view, 5> builtins{
            "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"};
        const auto text = name.text;
        if (text == "i")
            refuse("Can not use 'i' as a parameter name: it is the loop's index", name.column,
                   "choose another name");
        if (!is_identifier(text))
            refuse(join('"', text, "\" is not a name"), name.column,
                   text.find_first_of("*&[") == std::string_view::npos
                       ? "names are letters, digits and _, and do not begin with a digit"
                       : "arrays need no mark; \"raw T x\" gives the whole array as x[k]");
        const auto reserve = [&](std::string_view reason) {
            refuse(join('\'', text, "' is reserved: ", reason), name.column, "choose another name");
        };
        if (text == "n")
            reserve("it is the loop's size");
        if (text.starts_with("_ind"))
            reserve("_ind is the loop's indexer");
        if (text.starts_with("__"))
            reserve("names beginning with __ belong to the compiler");
        if (text.starts_with("quern_"))
            reserve("names beginning with quern_ belong to generated code");
        if (is_cpp_keyword(text))
            reserve("it is a word of C++");
        if (std::ranges::find(builtins, text) != builtins.end())
            reserve("it is a variable of CUDA");
    }

    std::string_view list_;
    bool output_;
    ListPlace place_;
};

// Optimal string alignment: a swap of neighbours is one mistake, as typing makes them.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j)
        cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] =
                std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[a.size()][b.size()];
}

} // namespace

std::vector<ListedParam> read_list(std::string_view list, bool output, const ListPlace& place) {
    return ListReader(list, output, place).read();
}

void check_together(const std::vector<Param>& params, const std::vector<std::size_t>& columns,
                    const ListPlace& place) {
    const auto refuse = [&](std::string headline, std::vector<std::size_t> marked,
                            std::string help) {
        throw SpecError(format_complaint(place.kernel, {std::move(headline),
                                                        std::string(place.line),
                                                        std::move(marked),
                                                        {},
                                                        std::move(help)}));
    };
    if (params.size() > max_params)
        refuse(join(params.size(), " parameters are more than the ", max_params,
                    " that a kernel can take"),
               {columns[max_params]}, "pack some of them into one array");
    for (std::size_t k = 0; k < params.size(); ++k) {
        for (std::size_t j = 0; j < k; ++j)
            if (params[j].name == params[k].name)
                refuse(join("two parameters are called '", params[k].name, '\''),
                       {columns[j], columns[k]}, "give one of them another name");
        for (std::size_t j = 0; j < params.size(); ++j)
            if (params[j].placeholder != 0 &&
                params[k].name == std::string_view(&params[j].placeholder, 1))
                refuse(join('\'', params[k].name, "' is both a placeholder and a parameter"),
                       {columns[k]}, "give the parameter another name");
    }
}

std::string help_for_type(std::string_view type) {
    struct Habit {
        std::string_view c, numpy;
    };
    static constexpr std::array<Habit, 8> habits{{{"char", "int8"},
                                                  {"uchar", "uint8"},
                                                  {"size_t", "uint64"},
                                                  {"ptrdiff_t", "int64"},
                                                  {"int8_t", "int8"},
                                                  {"uint8_t", "uint8"},
                                                  {"__half", "float16"},
                                                  {"boolean", "bool"}}};
    for (const auto& habit : habits)
        if (type == habit.c)
            return join("NumPy calls it ", habit.numpy);
    if (const auto mark = type.find_first_of("*&["); mark != std::string_view::npos && mark > 0)
        return join("arrays need no mark: write \"raw ", type.substr(0, mark),
                    "\" for a whole array");
    if (type.ends_with("_t") && find_dtype(type.substr(0, type.size() - 2)))
        return join("NumPy calls it ", type.substr(0, type.size() - 2));

    struct Near {
        std::size_t distance;
        std::string_view name;
    };
    std::vector<Near> near;
    const std::size_t limit = std::max<std::size_t>(1, type.size() / 3);
    for (const auto& entry : dtype_table)
        if (const auto steps = distance(type, entry.name); steps <= limit)
            near.push_back({steps, entry.name});
    std::ranges::stable_sort(near, {}, &Near::distance);
    if (near.empty()) {
        std::string names;
        for (const auto& entry : dtype_table)
            names += join(entry.name, ", ");
        return join("types are ", names, "or one letter for a placeholder");
    }
    // Of equally near ones name all, of farther ones none.
    const auto last =
        std::ranges::find_if(near, [&](const Near& n) { return n.distance > near[0].distance; });
    near.erase(last, near.end());
    std::string names(near[0].name);
    for (std::size_t k = 1; k < near.size(); ++k)
        names += join(k + 1 == near.size() ? " or " : ", ", near[k].name);
    return join("did you mean ", names, '?');
}

} // namespace quern
