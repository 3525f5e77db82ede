// The table of NumPy's ufuncs: each row is a name, the types it computes in and its CUDA
// expression.
#pragma once
#include "compiler/ops/reduction_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern {

// clang-format off
enum class Ufunc : std::uint8_t {
    add, subtract, multiply, divide, floor_divide, remainder, fmod, divmod, power, float_power,
    maximum, minimum, fmax, fmin, logical_and, logical_or, logical_xor, bitwise_and, bitwise_or,
    bitwise_xor, left_shift, right_shift, equal, not_equal, less, less_equal, greater,
    greater_equal, hypot, arctan2, logaddexp, logaddexp2, copysign, nextafter, heaviside, ldexp,
    gcd, lcm, negative, positive, absolute, fabs, sign, invert, bitwise_count, logical_not,
    conjugate, reciprocal, square, sqrt, cbrt, exp, exp2, expm1, log, log2, log10, log1p, sin,
    cos, tan, arcsin, arccos, arctan, sinh, cosh, tanh, arcsinh, arccosh, arctanh, degrees,
    radians, rad2deg, deg2rad, rint, floor, ceil, trunc, isnan, isinf, isfinite, signbit, spacing,
    frexp, modf, clip, where,
};

// Loops: the types that an operation computes in, by NumPy's letters (X is bfloat16), in the order in which they are
// tried. The first that every input can be cast to safely is taken; `!` refuses.
namespace loops {
inline constexpr std::string_view
    numbers2 = R"(??->? bb->b BB->B hh->h HH->H ii->i II->I ll->l LL->L ee->e XX->X ff->f dd->d FF->F DD->D)",
    differences2 = R"(??->! bb->b BB->B hh->h HH->H ii->i II->I ll->l LL->L ee->e XX->X ff->f dd->d FF->F DD->D)",
    quotients = R"(ll->d LL->d ee->e XX->X ff->f dd->d FF->F DD->D)",
    reals2 = R"(bb->b BB->B hh->h HH->H ii->i II->I ll->l LL->L ee->e XX->X ff->f dd->d)",
    pairs2 = R"(bb->bb BB->BB hh->hh HH->HH ii->ii II->II ll->ll LL->LL ee->ee XX->XX ff->ff dd->dd)",
    powers = R"(bb->b BB->B hh->h HH->H ii->i II->I ll->l LL->L ee->e XX->X ff->f dd->d FF->F DD->D)",
    wide2 = R"(dd->d DD->D)",
    tests2 = R"(??->? bb->? BB->? hh->? HH->? ii->? II->? ll->? LL->? ee->? XX->? ff->? dd->? FF->? DD->?)",
    comparisons = R"(??->? bb->? BB->? hh->? HH->? ii->? II->? ll->? LL->? lL->? Ll->? ee->? XX->? ff->? dd->? FF->? DD->?)",
    bits2 = R"(??->? bb->b BB->B hh->h HH->H ii->i II->I ll->l LL->L)",
    integers2 = R"(bb->b BB->B hh->h HH->H ii->i II->I ll->l LL->L)",
    divisors2 = R"(??->! bb->b BB->B hh->h HH->H ii->i II->I ll->l LL->L)",
    floats2 = R"(ee->e XX->X ff->f dd->d)",
    scaled = R"(ei->e Xi->X fi->f el->e fl->f di->d dl->d)",
    signed1 = R"(?->! b->b B->B h->h H->H i->i I->I l->l L->L e->e X->X f->f d->d F->F D->D)",
    plain1 = R"(b->b B->B h->h H->H i->i I->I l->l L->L e->e X->X f->f d->d F->F D->D)",
    magnitudes = R"(?->? b->b B->B h->h H->H i->i I->I l->l L->L e->e X->X f->f d->d F->f D->d)",
    bits1 = R"(?->? b->b B->B h->h H->H i->i I->I l->l L->L)",
    counts1 = R"(b->B B->B h->B H->B i->B I->B l->B L->B)",
    tests1 = R"(?->? b->? B->? h->? H->? i->? I->? l->? L->? e->? X->? f->? d->? F->? D->?)",
    whole1 = R"(?->? b->b B->B h->h H->H i->i I->I l->l L->L e->e X->X f->f d->d)",
    functions1 = R"(e->e X->X f->f d->d F->F D->D)",
    floats1 = R"(e->e X->X f->f d->d)",
    angles1 = R"(e->e f->f d->d)",
    signs1 = R"(e->? X->? f->? d->?)",
    parts1 = R"(e->ei X->Xi f->fi d->di)",
    halves1 = R"(e->ee X->XX f->ff d->dd)",
    numbers3 = R"(???->? bbb->b BBB->B hhh->h HHH->H iii->i III->I lll->l LLL->L eee->e XXX->X fff->f ddd->d FFF->F DDD->D)",
    choices3 = R"(???->? ?bb->b ?BB->B ?hh->h ?HH->H ?ii->i ?II->I ?ll->l ?LL->L ?ee->e ?XX->X ?ff->f ?dd->d ?FF->F ?DD->D)";
} // namespace loops
// clang-format on

enum class Identity : std::uint8_t { none, zero, one, minus_one, minus_infinity, yes, no };

struct UfuncRow {
    Ufunc id;
    std::string_view name, loops;
    // Of a, b and c as the loop has them, two-byte floats in float and with narrow.cuh's functions
    // for ufunc.cuh's; with two results a statement that sets r and s.
    std::string_view expression;
    Identity identity;
    // Its elements may be joined in any grouping; none: one by one, in order.
    std::optional<Reduction> reduction;
    std::string_view doc;
    bool narrow = false; // two-byte floats as they are
    // Of floats on GPUs, by swift.cuh, for kernels that have several such.
    std::string_view swift = {};
    std::string_view swift_inverse = {}; // where a is a number and 1
    bool branches = true;                // `expression` has them on GPUs: a reason for such forms
    std::string_view of_small = {};      // of two-byte floats as they are, with the same bits
    // Of floats on GPUs: `quick` has no branches, and clears `quern_usual` where `mend` is to make
    // the result, r, of what it left there, or where that is empty `expression`. In quern::narrow
    // it is for two-byte floats alone.
    std::string_view quick = {}, mend = {};
};

// clang-format off
inline constexpr std::array ufunc_table = [] { using namespace loops; return std::array{
    UfuncRow{Ufunc::add,           "add",          numbers2,     "a + b",                                  Identity::zero,     Reduction::sum,
             "The sum of the arguments.", false, {}, {}, true, "quern::small::add(a, b)"},
    UfuncRow{Ufunc::subtract,      "subtract",     differences2, "a - b",                                  Identity::none,     std::nullopt,
             "The first argument less the second.", false, {}, {}, true, "quern::small::subtract(a, b)"},
    UfuncRow{Ufunc::multiply,      "multiply",     numbers2,     "a * b",                                  Identity::one,      Reduction::prod,
             "The product of the arguments.", false, {}, {}, true, "quern::small::multiply(a, b)"},
    UfuncRow{Ufunc::divide,        "divide",       quotients,    "quern::ufunc::divide(a, b)",             Identity::none,     std::nullopt,
             "The quotient; of integers in float64.", false, "quern::swift::divide(a, b, quern_usual)",
             "quern::swift::reciprocal(b, quern_usual)"},
    UfuncRow{Ufunc::floor_divide,  "floor_divide", reals2,       "quern::ufunc::floor_divide(a, b)",       Identity::none,     std::nullopt,
             "The largest integer that is not above the quotient; 0 for an integer by 0.", false, {}, {}, true, {},
             "quern::division::quick_floored(a, b, quern_usual)"},
    UfuncRow{Ufunc::remainder,     "remainder",    reals2,       "quern::ufunc::remainder(a, b)",          Identity::none,     std::nullopt,
             "What floor_divide leaves, with the divisor's sign.", false, {}, {}, true, {},
             "quern::division::quick_remainder(a, b, quern_usual)"},
    UfuncRow{Ufunc::fmod,          "fmod",         reals2,       "quern::ufunc::fmod(a, b)",               Identity::none,     std::nullopt,
             "What division towards zero leaves, with the dividend's sign.", false, {}, {}, true, {},
             "quern::division::quick_rest(a, b, quern_usual)"},
    UfuncRow{Ufunc::divmod,        "divmod",       pairs2,       "quern::ufunc::divmod(a, b, r, s)",       Identity::none,     std::nullopt,
             "floor_divide and remainder in one.", false, {}, {}, true, {},
             "quern::division::quick_divmod(a, b, r, s, quern_usual)"},
    UfuncRow{Ufunc::power,         "power",        powers,       "quern::ufunc::power(a, b)",              Identity::none,     std::nullopt,
             "The first argument to the power of the second.", false, {}, {}, true, {},
             "quern::near::quick_power(a, b, quern_usual)", "quern::near::mended_power(r, a, b)"},
    UfuncRow{Ufunc::float_power,   "float_power",  wide2,        "quern::ufunc::power(a, b)",              Identity::none,     std::nullopt,
             "power in float64 or complex128.", false, {}, {}, true, {},
             "quern::near::quick_power(a, b, quern_usual)", "quern::near::mended_power(r, a, b)"},
    UfuncRow{Ufunc::maximum,       "maximum",      numbers2,     "quern::ufunc::maximum(a, b)",            Identity::none,     Reduction::max,
             "The larger argument; NaN where there is one."},
    UfuncRow{Ufunc::minimum,       "minimum",      numbers2,     "quern::ufunc::minimum(a, b)",            Identity::none,     Reduction::min,
             "The smaller argument; NaN where there is one."},
    UfuncRow{Ufunc::fmax,          "fmax",         numbers2,     "quern::ufunc::fmax(a, b)",               Identity::none,     Reduction::fmax,
             "The larger argument; the other one where one is NaN."},
    UfuncRow{Ufunc::fmin,          "fmin",         numbers2,     "quern::ufunc::fmin(a, b)",               Identity::none,     Reduction::fmin,
             "The smaller argument; the other one where one is NaN."},
    UfuncRow{Ufunc::logical_and,   "logical_and",  tests2,       "quern::convert<bool>(a) & quern::convert<bool>(b)",  Identity::yes,      Reduction::all,
             "Are both arguments true?"},
    UfuncRow{Ufunc::logical_or,    "logical_or",   tests2,       "quern::convert<bool>(a) | quern::convert<bool>(b)",  Identity::no,       Reduction::any,
             "Is one of the arguments true?"},
    UfuncRow{Ufunc::logical_xor,   "logical_xor",  tests2,       "quern::convert<bool>(a) != quern::convert<bool>(b)", Identity::no,       Reduction::logical_xor,
             "Is just one of the arguments true?"},
    UfuncRow{Ufunc::bitwise_and,   "bitwise_and",  bits2,        "a & b",                                  Identity::minus_one,Reduction::bitwise_and,
             "The bits that are set in both arguments."},
    UfuncRow{Ufunc::bitwise_or,    "bitwise_or",   bits2,        "a | b",                                  Identity::zero,     Reduction::bitwise_or,
             "The bits that are set in one of the arguments."},
    UfuncRow{Ufunc::bitwise_xor,   "bitwise_xor",  bits2,        "a ^ b",                                  Identity::zero,     Reduction::bitwise_xor,
             "The bits that are set in just one of the arguments."},
    UfuncRow{Ufunc::left_shift,    "left_shift",   integers2,    "quern::ufunc::left_shift(a, b)",         Identity::none,     std::nullopt,
             "The bits moved up by the second argument; 0 beyond the width."},
    UfuncRow{Ufunc::right_shift,   "right_shift",  integers2,    "quern::ufunc::right_shift(a, b)",        Identity::none,     std::nullopt,
             "The bits moved down by the second argument; the sign beyond the width."},
    UfuncRow{Ufunc::equal,         "equal",        comparisons,  "quern::ufunc::equal(a, b)",              Identity::none,     std::nullopt,
             "Are the arguments equal?"},
    UfuncRow{Ufunc::not_equal,     "not_equal",    comparisons,  "!quern::ufunc::equal(a, b)",             Identity::none,     std::nullopt,
             "Do the arguments differ?"},
    UfuncRow{Ufunc::less,          "less",         comparisons,  "quern::ufunc::less(a, b)",               Identity::none,     std::nullopt,
             "Is the first argument below the second?"},
    UfuncRow{Ufunc::less_equal,    "less_equal",   comparisons,  "quern::ufunc::less_equal(a, b)",         Identity::none,     std::nullopt,
             "Is the first argument not above the second?"},
    UfuncRow{Ufunc::greater,       "greater",      comparisons,  "quern::ufunc::less(b, a)",               Identity::none,     std::nullopt,
             "Is the first argument above the second?"},
    UfuncRow{Ufunc::greater_equal, "greater_equal",comparisons,  "quern::ufunc::less_equal(b, a)",         Identity::none,     std::nullopt,
             "Is the first argument not below the second?"},
    UfuncRow{Ufunc::hypot,         "hypot",        floats2,      "quern::ufunc::hypot(a, b)",              Identity::zero,     Reduction::hypot,
             "The hypotenuse of a right-angled triangle.", false, {}, {}, true, {},
             "quern::narrow::quick_hypot(a, b, quern_usual)"},
    UfuncRow{Ufunc::arctan2,       "arctan2",      floats2,      "quern::ufunc::arctan2(a, b)",            Identity::none,     std::nullopt,
             "The angle of the point (x2, x1), in radians."},
    UfuncRow{Ufunc::logaddexp,     "logaddexp",    floats2,      "quern::ufunc::logaddexp(a, b)",          Identity::minus_infinity,Reduction::logaddexp,
             "log(exp(x1) + exp(x2)).", false, {}, {}, true, {},
             "quern::ufunc::quick_logaddexp(a, b, quern_usual)"},
    UfuncRow{Ufunc::logaddexp2,    "logaddexp2",   floats2,      "quern::ufunc::logaddexp2(a, b)",         Identity::minus_infinity,Reduction::logaddexp2,
             "log2(2**x1 + 2**x2).", false, {}, {}, true, {},
             "quern::ufunc::quick_logaddexp2(a, b, quern_usual)"},
    UfuncRow{Ufunc::copysign,      "copysign",     floats2,      "copysign(a, b)",                         Identity::none,     std::nullopt,
             "The first argument with the sign of the second."},
    UfuncRow{Ufunc::nextafter,     "nextafter",    floats2,      "quern::ufunc::nextafter(a, b)",          Identity::none,     std::nullopt,
             "The next number after the first argument towards the second.", true},
    UfuncRow{Ufunc::heaviside,     "heaviside",    floats2,      "quern::ufunc::heaviside(a, b)",          Identity::none,     std::nullopt,
             "0 below zero, 1 above it, the second argument at it."},
    UfuncRow{Ufunc::ldexp,         "ldexp",        scaled,       "quern::ufunc::ldexp(a, b)",              Identity::none,     std::nullopt,
             "The first argument times 2 to the power of the second."},
    UfuncRow{Ufunc::gcd,           "gcd",          divisors2,    "quern::ufunc::gcd(a, b)",                Identity::zero,     Reduction::gcd,
             "The greatest common divisor of the magnitudes."},
    UfuncRow{Ufunc::lcm,           "lcm",          divisors2,    "quern::ufunc::lcm(a, b)",                Identity::none,     Reduction::lcm,
             "The least common multiple of the magnitudes."},
    UfuncRow{Ufunc::negative,      "negative",     signed1,      "-a",                                     Identity::none,     std::nullopt,
             "The argument with the other sign."},
    UfuncRow{Ufunc::positive,      "positive",     signed1,      "a",                                      Identity::none,     std::nullopt,
             "The argument itself, copied."},
    UfuncRow{Ufunc::absolute,      "absolute",     magnitudes,   "quern::ufunc::absolute(a)",              Identity::none,     std::nullopt,
             "The magnitude."},
    UfuncRow{Ufunc::fabs,          "fabs",         floats1,      "fabs(a)",                                Identity::none,     std::nullopt,
             "The magnitude, as a float."},
    UfuncRow{Ufunc::sign,          "sign",         signed1,      "quern::ufunc::sign(a)",                  Identity::none,     std::nullopt,
             "-1, 0 or 1; z / abs(z) of complex numbers."},
    UfuncRow{Ufunc::invert,        "invert",       bits1,        "quern::ufunc::invert(a)",                Identity::none,     std::nullopt,
             "Every bit turned; not, of bool."},
    UfuncRow{Ufunc::bitwise_count, "bitwise_count",counts1,      "quern::ufunc::bitwise_count(a)",         Identity::none,     std::nullopt,
             "The number of bits that are set in the magnitude."},
    UfuncRow{Ufunc::logical_not,   "logical_not",  tests1,       "!quern::convert<bool>(a)",               Identity::none,     std::nullopt,
             "Is the argument false?"},
    UfuncRow{Ufunc::conjugate,     "conjugate",    plain1,       "quern::ufunc::conjugate(a)",             Identity::none,     std::nullopt,
             "The complex conjugate."},
    UfuncRow{Ufunc::reciprocal,    "reciprocal",   plain1,       "quern::ufunc::reciprocal(a)",            Identity::none,     std::nullopt,
             "One over the argument.", false, "quern::swift::reciprocal(a, quern_usual)"},
    UfuncRow{Ufunc::square,        "square",       plain1,       "a * a",                                  Identity::none,     std::nullopt,
             "The argument times itself.", false, {}, {}, true, "quern::small::multiply(a, a)"},
    UfuncRow{Ufunc::sqrt,          "sqrt",         functions1,   "sqrt(a)",                                Identity::none,     std::nullopt,
             "The square root, correctly rounded.", false, "quern::swift::sqrt(a, quern_usual)"},
    UfuncRow{Ufunc::cbrt,          "cbrt",         floats1,      "quern::ufunc::cbrt(a)",                  Identity::none,     std::nullopt,
             "The cube root."},
    UfuncRow{Ufunc::exp,           "exp",          functions1,   "quern::ufunc::exp(a)",                   Identity::none,     std::nullopt,
             "e to the power of the argument."},
    UfuncRow{Ufunc::exp2,          "exp2",         functions1,   "quern::ufunc::exp2(a)",                  Identity::none,     std::nullopt,
             "2 to the power of the argument."},
    UfuncRow{Ufunc::expm1,         "expm1",        functions1,   "quern::ufunc::expm1(a)",                 Identity::none,     std::nullopt,
             "exp(x) - 1, exact near 0."},
    UfuncRow{Ufunc::log,           "log",          functions1,   "quern::ufunc::log(a)",                   Identity::none,     std::nullopt,
             "The natural logarithm.", false, "quern::swift::log(a, quern_usual)", {}, false, {},
             "quern::narrow::quick_log(a, quern_usual)"},
    UfuncRow{Ufunc::log2,          "log2",         functions1,   "quern::ufunc::log2(a)",                  Identity::none,     std::nullopt,
             "The logarithm to base 2.", false, {}, {}, true, {},
             "quern::narrow::quick_log2(a, quern_usual)"},
    UfuncRow{Ufunc::log10,         "log10",        functions1,   "quern::ufunc::log10(a)",                 Identity::none,     std::nullopt,
             "The logarithm to base 10.", false, {}, {}, true, {},
             "quern::narrow::quick_log10(a, quern_usual)"},
    UfuncRow{Ufunc::log1p,         "log1p",        functions1,   "quern::ufunc::log1p(a)",                 Identity::none,     std::nullopt,
             "log(1 + x), exact near 0.", false, {}, {}, true, {},
             "quern::ufunc::quick_log1p(a, quern_usual)"},
    UfuncRow{Ufunc::sin,           "sin",          functions1,   "quern::ufunc::sin(a)",                   Identity::none,     std::nullopt,
             "The sine of an angle in radians.", false, {}, {}, true, {},
             "quern::narrow::quick_sin(a, quern_usual)"},
    UfuncRow{Ufunc::cos,           "cos",          functions1,   "quern::ufunc::cos(a)",                   Identity::none,     std::nullopt,
             "The cosine of an angle in radians.", false, {}, {}, true, {},
             "quern::narrow::quick_cos(a, quern_usual)"},
    UfuncRow{Ufunc::tan,           "tan",          functions1,   "quern::ufunc::tan(a)",                   Identity::none,     std::nullopt,
             "The tangent of an angle in radians.", false, {}, {}, true, {},
             "quern::ufunc::quick_tan(a, quern_usual)"},
    UfuncRow{Ufunc::arcsin,        "arcsin",       functions1,   "quern::ufunc::asin(a)",                  Identity::none,     std::nullopt,
             "The angle whose sine the argument is, in radians."},
    UfuncRow{Ufunc::arccos,        "arccos",       functions1,   "quern::ufunc::acos(a)",                  Identity::none,     std::nullopt,
             "The angle whose cosine the argument is, in radians."},
    UfuncRow{Ufunc::arctan,        "arctan",       functions1,   "quern::ufunc::atan(a)",                  Identity::none,     std::nullopt,
             "The angle whose tangent the argument is, in radians.", false, {}, {}, false},
    UfuncRow{Ufunc::sinh,          "sinh",         functions1,   "quern::ufunc::sinh(a)",                  Identity::none,     std::nullopt,
             "The hyperbolic sine."},
    UfuncRow{Ufunc::cosh,          "cosh",         functions1,   "quern::ufunc::cosh(a)",                  Identity::none,     std::nullopt,
             "The hyperbolic cosine."},
    UfuncRow{Ufunc::tanh,          "tanh",         functions1,   "quern::ufunc::tanh(a)",                  Identity::none,     std::nullopt,
             "The hyperbolic tangent."},
    UfuncRow{Ufunc::arcsinh,       "arcsinh",      functions1,   "quern::ufunc::asinh(a)",                 Identity::none,     std::nullopt,
             "The inverse of sinh.", false, {}, {}, true, {},
             "quern::ufunc::quick_asinh(a, quern_usual)"},
    UfuncRow{Ufunc::arccosh,       "arccosh",      functions1,   "quern::ufunc::acosh(a)",                 Identity::none,     std::nullopt,
             "The inverse of cosh.", false, {}, {}, true, {},
             "quern::ufunc::quick_acosh(a, quern_usual)"},
    UfuncRow{Ufunc::arctanh,       "arctanh",      functions1,   "quern::ufunc::atanh(a)",                 Identity::none,     std::nullopt,
             "The inverse of tanh.", false, {}, {}, true, {},
             "quern::ufunc::quick_atanh(a, quern_usual)"},
    UfuncRow{Ufunc::degrees,       "degrees",      angles1,      "quern::ufunc::degrees(a)",               Identity::none,     std::nullopt,
             "Radians as degrees."},
    UfuncRow{Ufunc::radians,       "radians",      angles1,      "quern::ufunc::radians(a)",               Identity::none,     std::nullopt,
             "Degrees as radians."},
    UfuncRow{Ufunc::rad2deg,       "rad2deg",      floats1,      "quern::ufunc::degrees(a)",               Identity::none,     std::nullopt,
             "Radians as degrees."},
    UfuncRow{Ufunc::deg2rad,       "deg2rad",      floats1,      "quern::ufunc::radians(a)",               Identity::none,     std::nullopt,
             "Degrees as radians."},
    UfuncRow{Ufunc::rint,          "rint",         functions1,   "quern::ufunc::rint(a)",                  Identity::none,     std::nullopt,
             "The nearest integer, the even one of two."},
    UfuncRow{Ufunc::floor,         "floor",        whole1,       "quern::ufunc::floor(a)",                 Identity::none,     std::nullopt,
             "The largest integer that is not above."},
    UfuncRow{Ufunc::ceil,          "ceil",         whole1,       "quern::ufunc::ceil(a)",                  Identity::none,     std::nullopt,
             "The smallest integer that is not below."},
    UfuncRow{Ufunc::trunc,         "trunc",        whole1,       "quern::ufunc::trunc(a)",                 Identity::none,     std::nullopt,
             "The integer part."},
    UfuncRow{Ufunc::isnan,         "isnan",        tests1,       "quern::ufunc::is_nan(a)",                 Identity::none,     std::nullopt,
             "Is the argument NaN?"},
    UfuncRow{Ufunc::isinf,         "isinf",        tests1,       "quern::ufunc::is_infinite(a)",           Identity::none,     std::nullopt,
             "Is the argument infinite?"},
    UfuncRow{Ufunc::isfinite,      "isfinite",     tests1,       "quern::ufunc::is_finite(a)",             Identity::none,     std::nullopt,
             "Is the argument neither infinite nor NaN?"},
    UfuncRow{Ufunc::signbit,       "signbit",      signs1,       "signbit(a)",                             Identity::none,     std::nullopt,
             "Is the sign set? True for -0.0."},
    UfuncRow{Ufunc::spacing,       "spacing",      floats1,      "quern::ufunc::spacing(a)",               Identity::none,     std::nullopt,
             "The distance to the next number away from zero.", true},
    UfuncRow{Ufunc::frexp,         "frexp",        parts1,       "quern::ufunc::frexp(a, r, s)",           Identity::none,     std::nullopt,
             "Mantissa from 0.5 to 1 and exponent of 2."},
    UfuncRow{Ufunc::modf,          "modf",         halves1,      "quern::ufunc::modf(a, r, s)",            Identity::none,     std::nullopt,
             "Fractional and integral part, both with the argument's sign."},
    UfuncRow{Ufunc::clip,          "clip",         numbers3,     "quern::ufunc::minimum(quern::ufunc::maximum(a, b), c)", Identity::none, std::nullopt,
             "The first argument, not below the second nor above the third."},
    UfuncRow{Ufunc::where,         "where",        choices3,     "a ? b : c",                              Identity::none,     std::nullopt,
             "The second argument where the first is true, else the third.", true},
}; }();
// clang-format on

inline constexpr std::size_t ufunc_count = ufunc_table.size();

constexpr bool ufunc_rows_match_ids() {
    for (std::size_t k = 0; k < ufunc_count; ++k)
        if (static_cast<std::size_t>(ufunc_table[k].id) != k)
            return false;
    return true;
}
static_assert(ufunc_rows_match_ids(), "a ufunc stands in the wrong row");

[[nodiscard]] constexpr const UfuncRow& row(Ufunc ufunc) {
    return ufunc_table[static_cast<std::size_t>(ufunc)];
}
// By the first loop: "bb->b" has two inputs and one output.
[[nodiscard]] constexpr int inputs_of(const UfuncRow& row) {
    return static_cast<int>(row.loops.find("->"));
}
[[nodiscard]] constexpr int outputs_of(const UfuncRow& row) {
    return row.loops.substr(row.loops.rfind("->") + 2).size() > 1 ? 2 : 1;
}

// Other names of the same ufuncs.
struct UfuncAlias {
    std::string_view name;
    Ufunc id;
};
// clang-format off
inline constexpr std::array ufunc_aliases{
    UfuncAlias{"true_divide", Ufunc::divide}, UfuncAlias{"mod", Ufunc::remainder}, UfuncAlias{"pow", Ufunc::power},
    UfuncAlias{"abs", Ufunc::absolute}, UfuncAlias{"conj", Ufunc::conjugate},
    UfuncAlias{"bitwise_not", Ufunc::invert}, UfuncAlias{"bitwise_invert", Ufunc::invert},
    UfuncAlias{"bitwise_left_shift", Ufunc::left_shift}, UfuncAlias{"bitwise_right_shift", Ufunc::right_shift},
    UfuncAlias{"asin", Ufunc::arcsin}, UfuncAlias{"acos", Ufunc::arccos}, UfuncAlias{"atan", Ufunc::arctan},
    UfuncAlias{"atan2", Ufunc::arctan2}, UfuncAlias{"asinh", Ufunc::arcsinh}, UfuncAlias{"acosh", Ufunc::arccosh},
    UfuncAlias{"atanh", Ufunc::arctanh},
};
// clang-format on

} // namespace quern
