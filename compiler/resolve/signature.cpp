// The vote: given outputs, then input arrays; what nobody decides and what two decide differently
// is said with carets. The order of checks is fixed: number, kind of each argument in order, votes,
// placeholders in order of appearance.
#include "compiler/resolve/signature.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/spec/complaint.h"

#include <algorithm>
#include <optional>

namespace quern {
namespace {

struct Placeholder {
    char letter = 0;
    int voter = -1;                             // index of the parameter that decided
    DType dtype = DType::float32;               // decided by an array
    std::shared_ptr<const StructLayout> layout; // decided by a structure
    std::vector<int> users;                     // parameters, in order
};

class Resolver {
  public:
    Resolver(const KernelSpec& spec, std::span<const ArgType> args) : spec_(spec), args_(args) {
        for (int k = 0; k < count(); ++k)
            if (param(k).placeholder != 0)
                slot(param(k).placeholder).users.push_back(k);
    }

    Signature run() {
        check_number();
        for (int k = 0; k < count(); ++k)
            check_kind(k);
        for (int k = spec_.nin; k < count(); ++k)
            vote(k);
        for (int k = 0; k < spec_.nin; ++k)
            vote(k);
        for (auto& placeholder : placeholders_)
            decide(placeholder);
        return signature();
    }

  private:
    using Kind = ArgType::Kind;

    [[nodiscard]] int count() const { return static_cast<int>(spec_.params.size()); }
    [[nodiscard]] const Param& param(int k) const {
        return spec_.params[static_cast<std::size_t>(k)];
    }
    [[nodiscard]] ArgType arg(int k) const {
        const auto at = static_cast<std::size_t>(k);
        return at < args_.size() ? args_[at] : ArgType{};
    }

    Placeholder& slot(char letter) {
        const auto found = std::ranges::find(placeholders_, letter, &Placeholder::letter);
        if (found != placeholders_.end())
            return *found;
        placeholders_.push_back({.letter = letter, .layout = nullptr, .users = {}});
        return placeholders_.back();
    }

    // --- complaints ---

    [[nodiscard]] std::string complaint(std::string headline, const std::vector<int>& marked,
                                        std::vector<std::string> remarks, std::string help) const {
        const auto lists = join_lists(spec_.in_params, spec_.out_params);
        std::vector<std::size_t> columns;
        for (const int k : marked)
            columns.push_back(column(k, lists));
        return format_complaint(spec_.name, {std::move(headline), lists.line, std::move(columns),
                                             std::move(remarks), std::move(help)});
    }
    [[noreturn]] void refuse(std::string headline, const std::vector<int>& marked,
                             std::vector<std::string> remarks, std::string help) const {
        throw ResolveError(
            complaint(std::move(headline), marked, std::move(remarks), std::move(help)));
    }
    [[nodiscard]] std::size_t column(int k, const JoinedLists& lists) const {
        return param(k).begin + (k >= spec_.nin ? lists.out_offset : 0);
    }
    // "x is float32 (argument 2)"
    [[nodiscard]] std::string describe(int k, std::string_view verb = " is ") const {
        const auto given = arg(k);
        const auto& name = param(k).name;
        switch (given.kind) {
        case Kind::array:
            return join(name, verb, row(given.dtype).name, " (argument ", k + 1, ')');
        case Kind::scalar:
            return join(name, verb, "a scalar (argument ", k + 1, ')');
        case Kind::structure:
            return join(name, verb, "a structure (argument ", k + 1, ')');
        case Kind::missing:
            break;
        }
        return join(name, " is not given");
    }
    // The lists with the type of some parameters replaced: "T a, T x, U y -> T out"
    [[nodiscard]] std::string lists_with(const std::vector<int>& changed,
                                         std::string_view type) const {
        const auto lists = join_lists(spec_.in_params, spec_.out_params);
        std::string line = lists.line;
        for (auto k = changed.rbegin(); k != changed.rend(); ++k)
            line.replace(column(*k, lists), 1, type);
        return line;
    }
    [[nodiscard]] char free_letter() const {
        for (const char letter : std::string_view("UVWABCDEFGHKLMPQRSXYZT"))
            if (std::ranges::none_of(spec_.params, [letter](const Param& p) {
                    return p.placeholder == letter || p.name == std::string_view(&letter, 1);
                }))
                return letter;
        return 0;
    }

    // `give x a type variable: "U x"`
    [[nodiscard]] std::string give_variable(int k) const {
        const auto letter = free_letter();
        const auto& name = param(k).name;
        if (letter == 0)
            return join("give ", name, " a type variable of its own");
        return join("give ", name, " a type variable: \"", letter, ' ', name, '"');
    }

    // --- checks ---

    void check_number() const {
        const auto given = static_cast<int>(args_.size());
        const int nin = spec_.nin, all = count();
        if (given == nin || given == all)
            return;
        const auto headline = join(
            "Wrong number of arguments for '", spec_.name, "': it takes ", nin,
            spec_.nout == 0 ? std::string()
                            : join(", or ", all, " with the output", spec_.nout == 1 ? "" : "s"),
            ", but ", given, given == 1 ? " was given" : " were given");
        const auto lists = join_lists(spec_.in_params, spec_.out_params);
        const int at = std::min(given, all - 1); // the first that is missing, if any is
        std::vector<std::size_t> columns;
        if (given < all)
            columns.push_back(column(at, lists));
        const auto help = given < nin   ? join("the first that is missing is ", param(at).name)
                          : given < all ? join("give all ", spec_.nout, " outputs or none")
                                        : join("leave out the last ",
                                               given - all == 1 ? "one" : join(given - all));
        throw ResolveError(format_complaint(spec_.name, {headline, lists.line, columns, {}, help}));
    }

    void check_kind(int k) const {
        const auto& p = param(k);
        const auto given = arg(k);
        if (given.kind == Kind::missing) {
            if (p.output)
                return;
            refuse(join("input ", p.name, " is not given"), {k}, {}, "inputs are always needed");
        }
        if (given.kind == Kind::array)
            return;
        const std::string_view what = given.kind == Kind::scalar ? "a scalar" : "a structure";
        if (p.output)
            refuse(join("output ", p.name, " must be an array, argument ", k + 1, " is ", what),
                   {k}, {}, "give an array, or leave the outputs out to get new ones");
        if (p.raw)
            refuse(
                join("raw parameter ", p.name, " must be an array, argument ", k + 1, " is ", what),
                {k}, {}, "give an array, or leave out the word raw");
        if (given.kind == Kind::structure && p.placeholder == 0)
            refuse(join("Type is mismatched: ", p.name, " must be ", row(p.dtype).name,
                        ", argument ", k + 1, " is a structure"),
                   {k}, {}, give_variable(k));
    }

    // --- the vote ---

    void vote(int k) {
        const auto& p = param(k);
        const auto given = arg(k);
        if (given.kind != Kind::array)
            return;
        if (p.placeholder == 0) {
            if (given.dtype == p.dtype)
                return;
            const auto wanted = row(p.dtype).name, found = row(given.dtype).name;
            refuse(join("Type is mismatched: ", p.name, " must be ", wanted, ", argument ", k + 1,
                        " is ", found),
                   {k}, {},
                   p.output ? join("give an array of ", wanted, ", or leave the outputs out")
                            : join("cast it, ", p.name, ".astype(\"", wanted, "\"), or ",
                                   give_variable(k)));
        }
        auto& placeholder = slot(p.placeholder);
        if (placeholder.voter < 0) {
            placeholder.voter = k;
            placeholder.dtype = given.dtype;
        } else if (placeholder.dtype != given.dtype) {
            disagree(placeholder, k);
        }
    }

    [[noreturn]] void disagree(const Placeholder& placeholder, int k) const {
        const auto letter = free_letter();
        const auto cure =
            letter == 0 ? std::string("cast one of them")
                        : join("cast one of them, or give ", param(k).name, " its own variable: \"",
                               lists_with({k}, std::string_view(&letter, 1)), '"');
        refuse(join(placeholder.letter, " is both ", row(placeholder.dtype).name, " and ",
                    row(arg(k).dtype).name, " (Type is mismatched.)"),
               {placeholder.voter, k}, {join(describe(placeholder.voter), ", ", describe(k))},
               cure);
    }

    // After all arrays have voted: structures, then those that nothing decides.
    void decide(Placeholder& placeholder) const {
        for (const int k : placeholder.users) {
            const auto given = arg(k);
            if (given.kind != Kind::structure)
                continue;
            if (placeholder.voter < 0) {
                placeholder.voter = k;
                placeholder.layout = given.layout;
            } else if (!placeholder.layout ||
                       placeholder.layout->spelling != given.layout->spelling) {
                const auto first = placeholder.voter;
                refuse(join("Type is mismatched: ", placeholder.letter,
                            placeholder.layout ? " is two different structures"
                                               : " is both an array's type and a structure"),
                       {first, k}, {join(describe(first), ", ", describe(k))}, give_variable(k));
            }
        }
        if (placeholder.voter < 0)
            undecided(placeholder);
        if (!placeholder.layout)
            return;
        for (const int k : placeholder.users) {
            if (arg(k).kind == Kind::structure)
                continue;
            refuse(join("Type is mismatched: ", placeholder.letter, " is a structure, which ",
                        param(k).name, " cannot be"),
                   {placeholder.voter, k}, {join(describe(placeholder.voter), ", ", describe(k))},
                   join("give ", param(k).name,
                        " a type of its own; arrays of structures do not exist here"));
        }
    }

    [[noreturn]] void undecided(const Placeholder& placeholder) const {
        std::string who;
        auto example = DType::float32;
        bool output = false, scalar = false;
        for (const int k : placeholder.users) {
            who += join(who.empty() ? "" : ", ", describe(k));
            output |= param(k).output;
            if (arg(k).kind == Kind::scalar && !scalar)
                example = arg(k).dtype, scalar = true;
        }
        if (scalar)
            who += "; scalars do not decide types";
        const auto cure = join(output ? "give the output, or write" : "write", " the type: \"",
                               lists_with(placeholder.users, row(example).name), '"');
        throw UndecidedTypeError(complaint(join("nothing decides ", placeholder.letter),
                                           placeholder.users, {who}, cure));
    }

    // --- the result ---

    Signature signature() {
        Signature result;
        for (int k = 0; k < count(); ++k) {
            const auto& p = param(k);
            const auto kind = arg(k).kind;
            ResolvedParam resolved{p.dtype, kind == Kind::array || p.output, nullptr};
            if (p.placeholder != 0) {
                const auto& placeholder = slot(p.placeholder);
                resolved.dtype = placeholder.dtype;
                resolved.layout = placeholder.layout;
            }
            result.params.push_back(std::move(resolved));
        }
        for (const auto& placeholder : placeholders_)
            result.placeholders.emplace_back(placeholder.letter,
                                             placeholder.layout
                                                 ? placeholder.layout->spelling
                                                 : std::string(row(placeholder.dtype).spelling));
        return result;
    }

    const KernelSpec& spec_;
    std::span<const ArgType> args_;
    std::vector<Placeholder> placeholders_; // in order of first appearance
};

} // namespace

Signature resolve(const KernelSpec& spec, std::span<const ArgType> args) {
    return Resolver(spec, args).run();
}

} // namespace quern
