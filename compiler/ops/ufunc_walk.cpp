// Writes the loops of one thread over a row, a segment or all updates of the places that it owns.
#include "compiler/ops/ufunc_walk.h"

#include "compiler/base/text.h"

namespace quern {
namespace {

class Walk {
  public:
    explicit Walk(const UfuncWalkForm& form)
        : form_(form), row_(row(form.ufunc)), unary_(inputs_of(row_) == 1),
          result_(form.loop.types[unary_ ? 1 : 2]) {}

    [[nodiscard]] ElementwiseSpec spec() {
        switch (form_.walk) {
        case UfuncWalk::reduce:
            reduce();
            break;
        case UfuncWalk::accumulate:
            accumulate();
            break;
        case UfuncWalk::segments:
            segments();
            break;
        case UfuncWalk::update:
            update();
            break;
        case UfuncWalk::update_runs:
            update_runs();
            break;
        }
        static constexpr std::array<std::string_view, 5> names{"reduce", "accumulate", "reduceat",
                                                               "at", "at_runs"};
        const std::string name =
            join("quern_", row_.name, "_", names[static_cast<std::size_t>(form_.walk)]);
        ElementwiseText text;
        text.in_params = inputs_;
        text.out_params = outputs_;
        text.operation = operation_;
        text.name = name;
        return make_elementwise_spec(text);
    }

  private:
    [[nodiscard]] std::string_view in() const { return row(form_.in).spelling; }
    [[nodiscard]] std::string_view out() const { return row(form_.out).spelling; }
    // What is joined so far: in float for two-byte floats where NumPy regroups too, else as stored.
    [[nodiscard]] std::string_view total_type() const {
        return row_.reduction ? ufunc_compute_type(row_, result_) : row(result_).spelling;
    }
    [[nodiscard]] std::string element(std::string_view text) const {
        return join("quern::convert<", row(result_).spelling, ">(", text, ")");
    }
    // total = total op element
    [[nodiscard]] std::string step(std::string_view text) const {
        return join("{ const ", ufunc_compute_type(row_, form_.loop.types[0]), " a = total; ",
                    ufunc_operand(row_, form_.in, form_.loop.types[1], "b", text),
                    "total = ", row_.expression, "; } ");
    }
    [[nodiscard]] std::string stored() const {
        if (form_.out == result_)
            return "total";
        return join("quern::convert<", out(), ">(static_cast<", row(result_).spelling, ">(total))");
    }
    [[nodiscard]] std::string at_step(std::string_view start) const { // an element of a row
        return join("*reinterpret_cast<const ", in(), "*>(", start, " + j * step)");
    }

    void reduce() {
        inputs_ = join("raw ", row(form_.in).name, " x, int64 length");
        operation_ = "const ptrdiff_t step = x.strides()[x.ndim - 1]; "
                     "const char* start = reinterpret_cast<const char*>(&x[i * length]); ";
        if (form_.masked) {
            inputs_ += ", raw bool mask";
            operation_ +=
                "const ptrdiff_t mask_step = mask.strides()[mask.ndim - 1]; "
                "const char* mask_start = reinterpret_cast<const char*>(&mask[i * length]); ";
        }
        if (form_.has_initial)
            inputs_ += join(", ", row(result_).name, " initial");
        operation_ +=
            join(total_type(), " total = ",
                 form_.has_initial ? "initial"
                                   : element(join("*reinterpret_cast<const ", in(), "*>(start)")),
                 "; for (ptrdiff_t j = ", form_.has_initial ? 0 : 1, "; j < length; ++j) ");
        if (form_.masked)
            operation_ += "if (*reinterpret_cast<const bool*>(mask_start + j * mask_step)) ";
        operation_ += join(step(at_step("start")), "r = ", stored());
        outputs_ = join(row(form_.out).name, " r");
    }

    void accumulate() {
        inputs_ = join("raw ", row(form_.in).name, " x, int64 length");
        outputs_ = join("raw ", row(form_.out).name, " y");
        operation_ = join(
            "const ptrdiff_t step = x.strides()[x.ndim - 1], put = y.strides()[y.ndim - 1]; "
            "const char* start = reinterpret_cast<const char*>(&x[i * length]); "
            "char* target = reinterpret_cast<char*>(&y[i * length]); ",
            total_type(), " total = ", element(join("*reinterpret_cast<const ", in(), "*>(start)")),
            "; *reinterpret_cast<", out(), "*>(target) = ", stored(),
            "; for (ptrdiff_t j = 1; j < length; ++j) { ", step(at_step("start")),
            "*reinterpret_cast<", out(), "*>(target + j * put) = ", stored(), "; }");
    }

    void segments() {
        const Kind kind = row(result_).kind;
        const bool is_integer = kind != Kind::floating && kind != Kind::complex;
        inputs_ =
            join("raw ", row(form_.in).name, " x, int64 length, raw int64 starts, int64 count");
        outputs_ = join(row(form_.out).name, " r");
        operation_ = join(
            "const ptrdiff_t line = i < count ? 0 : i / count, segment = i - line * count, "
            "begin = starts[segment], end = segment + 1 < count ? starts[segment + 1] : length, "
            "step = x.strides()[x.ndim - 1]; "
            "const char* start = reinterpret_cast<const char*>(&x[line * length]); ",
            total_type(), " total = ",
            element(join("*reinterpret_cast<const ", in(), "*>(start + begin * step)")),
            "; ptrdiff_t next = begin + 1; ",
            row_.reduction && (!is_integer || bytes_of(result_) == 4) ? in_parts(is_integer)
                                                                      : std::string(),
            "if (step == sizeof(", in(), ")) for (; next < end; ++next) ",
            step(join("reinterpret_cast<const ", in(), "*>(start)[next]")),
            "for (ptrdiff_t j = next; j < end; ++j) ", step(at_step("start")), "r = ", stored());
    }
    // Of a segment whose elements lie side by side one vector of totals, and four as long as that
    // many elements are left, none of which waits for the others. Compilers do the four by
    // themselves with integers, whose order is free, but go one by one through what is left over
    // of those of four bytes: a vector of totals takes that first.
    [[nodiscard]] std::string in_parts(bool is_integer) const {
        const std::string beside = join("reinterpret_cast<const ", in(), "*>(start)[next + l]");
        const std::string operand =
            join("const ", ufunc_compute_type(row_, form_.loop.types[0]), " ");
        const auto joined = [&](std::string_view with) {
            return join(operand, "a = total; ", operand, "b = ", with,
                        "; total = ", row_.expression, "; ");
        };
        const auto totals = [&](std::string_view name, std::string_view lanes) {
            const std::string each = join("for (int l = 0; l < ", lanes, "; ++l) ");
            return join(total_type(), " ", name, "[", lanes, "]; ", each, name,
                        "[l] = ", element(beside), "; next += ", lanes, "; ");
        };
        const auto rest = [&](std::string_view left, std::string_view name,
                              std::string_view lanes) {
            return join("for (; ", left, " >= ", lanes, "; next += ", lanes,
                        ") for (int l = 0; l < ", lanes, "; ++l) { ", total_type(),
                        "& total = ", name, "[l]; ", step(beside), "} ");
        };
        const std::string four =
            join("if (end - next >= wide) { ", totals("many", "wide"),
                 rest("end - next", "many", "wide"),
                 "for (int k = 0; k < wide; k += lanes) for (int l = 0; l < lanes; ++l) { ",
                 total_type(), "& total = parts[l]; ", joined("many[k + l]"), "} } ");
        return join("const int lanes = ", is_integer ? "32" : "64",
                    " / sizeof total, wide = 4 * lanes; if (step == sizeof(", in(),
                    ") && end - next >= lanes) { ", totals("parts", "lanes"),
                    is_integer ? rest("(end - next) % wide", "parts", "lanes")
                               : four + rest("end - next", "parts", "lanes"),
                    "for (int half = lanes / 2; half > 0; half /= 2) "
                    "for (int l = 0; l < half; ++l) { ",
                    total_type(), "& total = parts[l]; ", joined("parts[l + half]"), "} ",
                    joined("parts[0]"), "} ");
    }

    // target = op(target, b), with b the text of an element of what is given.
    [[nodiscard]] std::string update_step(std::string_view b) const {
        return join(ufunc_operand(row_, form_.out, form_.loop.types[0], "a", "target"),
                    unary_ ? std::string()
                           : ufunc_operand(row_, form_.in, form_.loop.types[1], "b", b),
                    total_type(), " total = ", row_.expression, "; target = ", stored(), "; ");
    }
    void update_params(std::string_view places) {
        inputs_ = places;
        if (!unary_)
            inputs_ += join("raw ", row(form_.in).name, " values, ");
        inputs_ += "int64 count, int64 width";
        outputs_ = join("raw ", row(form_.out).name, " y");
    }

    // Neighbouring columns belong to one thread, which makes all of their updates, in order.
    void update() {
        update_params("raw int64 at, ");
        const auto each = [&](std::string_view columns) {
            return join("for (ptrdiff_t k = 0; k < count; ++k) { const ptrdiff_t place = at[k]; "
                        "if (place >= 0) ", // -1: an index out of bounds
                        columns, "{ ", out(), "& target = y[place * width + column]; ",
                        update_step("values[k * width + column]"), "} } ");
        };
        operation_ =
            join("const ptrdiff_t first = i * ", update_columns, ", last = first + ",
                 update_columns, " < width ? first + ", update_columns,
                 " : width; if (width == 1) { const ptrdiff_t column = 0; ", each(""), "} else ",
                 each("for (ptrdiff_t column = first; column < last; ++column) "));
    }

    // A place belongs to the thread of its first update, which makes all of them, in order: no two
    // threads write the same place, and the result is that of a loop. Several are read at a time.
    void update_runs() {
        update_params("raw int64 at, raw int64 order, ");
        const std::string batch = "for (int slot = 0; slot < 8; ++slot) ";
        operation_ = join(
            "const ptrdiff_t column = i % width, first = i / width, place = at[first]; "
            "if (place >= 0 && (first == 0 || at[first - 1] != place)) { ",
            out(), "& result = y[place * width + column]; ", out(), " target = result; ",
            "bool own[8] = {}; own[7] = true; ", "for (ptrdiff_t k = first; own[7]; k += 8) { ",
            batch, "own[slot] = k + slot < count && at[k + slot] == place; ",
            unary_ ? std::string()
                   : join(in(), " held[8]; ", batch,
                          "if (own[slot]) held[slot] = values[order[k + slot] * width + column]; "),
            batch, "if (own[slot]) { ", update_step("held[slot]"), "} } result = target; }");
    }

    const UfuncWalkForm& form_;
    const UfuncRow& row_;
    bool unary_;
    DType result_;
    std::string inputs_, outputs_, operation_;
};

} // namespace

ElementwiseSpec ufunc_walk_spec(const UfuncWalkForm& form) { return Walk(form).spec(); }

UfuncScanText ufunc_scan_text(Ufunc ufunc, const UfuncLoop& loop, DType in) {
    const UfuncRow& wanted = row(ufunc);
    const DType type = loop.types[2];
    UfuncScanText text;
    text.in_params = join(row(in).name, " x");
    text.out_params = join(row(type).name, " y");
    text.map_expr = join("quern::convert<", row(type).spelling, ">(x)");
    text.post_map_expr = "y = a";
    text.reduce_type = ufunc_compute_type(wanted, type);
    return text;
}

} // namespace quern
