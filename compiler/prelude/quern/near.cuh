// Functions of floats within 2 units in the last place, for the CPU where its vector library is off by more or has none,
// and for GPUs where CUDA's are off by more. Without branches, so that loops of them become vectors.
// Polynomials are near-minimax fits over the reduced ranges, made for this file.
#pragma once
#include "quern/approximate.cuh"

namespace quern {
namespace near {

template <class T> struct Bits;
template <> struct Bits<double> {
    typedef long long Int;
    static const int mantissa = 52, bias = 1023;
    static __device__ Int of(double x) { return __double_as_longlong(x); }
    static __device__ double value(Int bits) { return __longlong_as_double(bits); }
};
template <> struct Bits<float> {
    typedef int Int;
    static const int mantissa = 23, bias = 127;
    static __device__ Int of(float x) { return __float_as_int(x); }
    static __device__ float value(Int bits) { return __int_as_float(bits); }
};
// 2 to a power whose exponent is a normal number's.
template <class T> __device__ inline T two_to(typename Bits<T>::Int power) {
    return Bits<T>::value((power + Bits<T>::bias) << Bits<T>::mantissa);
}
template <class T, int n> __device__ inline T polynomial(T x, const T (&coefficients)[n]) {
    T sum = coefficients[n - 1];
#pragma unroll
    for (int k = n - 2; k >= 0; --k) sum = ::fma(sum, x, coefficients[k]);
    return sum;
}
// 1 / x, rounded; GPUs have no division, and one of 22 bits is soon mended.
#ifdef __QUERN_HOST__
__device__ inline float inverse(float x) { return 1.0f / x; }
#else
__device__ inline float inverse(float x) {
    const float near = __fdividef(1.0f, x);
    return ::fma(near, ::fma(-x, near, 1.0f), near);
}
#endif
// Of numbers that are neither very large nor very small, at most 1 unit off: the root, of 0 too, and a quotient. GPUs have
// neither, and one of 20 bits is soon mended.
#ifdef __QUERN_HOST__
template <class T> __device__ inline T root(T x) { return ::sqrt(x); }
template <class T> __device__ inline T quotient(T a, T b) { return a / b; }
template <class T> __device__ inline T rough_inverse(T x) { return T(1) / x; }
#else
__device__ inline double rough_inverse(double x) { // 38 bits
    const double r = approximate::inverse(x);
    return ::fma(r, ::fma(-x, r, 1.0), r);
}
__device__ inline float rough_inverse(float x) { return approximate::inverse(x); }
template <class T> __device__ inline T quotient(T a, T b) {
    const T inverse = rough_inverse(b), near = a * inverse;
    return ::fma(::fma(-near, b, a), inverse, near);
}
__device__ inline double rough_inverse_root(double x) { // 38 bits
    const double r = approximate::inverse_root(x);
    return ::fma(r, ::fma(-0.5 * x * r, r, 0.5), r);
}
__device__ inline float rough_inverse_root(float x) { return approximate::inverse_root(x); }
template <class T> __device__ inline T root(T x) {
    const T inverse = rough_inverse_root(x), near = x * inverse;
    return x == T(0) ? x : ::fma(::fma(-near, near, x), T(0.5) * inverse, near);
}
#endif
// The whole number nearest to a small x, as the number and as an integer: added to this the fraction falls off.
template <class T> struct Whole {
    typename Bits<T>::Int integer;
    T value;
    __device__ explicit Whole(T x) {
        const T shift = T(3ll << (Bits<T>::mantissa - 1)), moved = x + shift;
        integer = Bits<T>::of(moved) - Bits<T>::of(shift);
        value = moved - shift;
    }
};

// The body of a function of one element, as packs of them have it: what is quick, or where that clears `usual` what is not.
#define QUERN_QUICK_OR(quick, general) \
    {                                  \
        bool usual = true;             \
        const auto found = quick;      \
        if (usual) return found;       \
        return general;                \
    }

// seldom_NAME(usual, x, wanted): `usual`, or the scalar expression in x where it is wanted. On the CPU loops stay in
// vectors: the host compiler calls it where a lane of a vector asks for it.
#ifdef __QUERN_HOST__
#define QUERN_SELDOM_CALL(name, T, operands, given, expression)                                                            \
    extern "C" __device__ __attribute__((const, noinline)) inline T __quern_seldom_##name##_##T operands {                  \
        return wanted ? expression : usual;                                                                                \
    }                                                                                                                      \
    __device__ inline T seldom_##name operands { return __quern_seldom_##name##_##T given; }
#else
#define QUERN_SELDOM_CALL(name, T, operands, given, expression)                                                            \
    __device__ inline T seldom_##name operands { return wanted ? expression : usual; }
#endif
#define QUERN_SELDOM(name, T, expression)                                                                                  \
    QUERN_SELDOM_CALL(name, T, (T usual, T x, bool wanted), (usual, x, wanted), expression)
#define QUERN_SELDOM_OF_TWO(name, T, expression)                                                                           \
    QUERN_SELDOM_CALL(name, T, (T usual, T x, T y, bool wanted), (usual, x, y, wanted), expression)

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
__device__ inline double exp_tail(double r) {
    const double c[] = {
        0.5000000000000012, 0.16666666666666693, 0.041666666666521385, 0.008333333333310195, 0.0013888888945674499,
        0.00019841269911509855, 2.4801491171068795e-05, 2.755722116686771e-06, 2.763088447927781e-07,
        2.5116411694860176e-08};
    return polynomial(r, c);
}
__device__ inline float exp_tail(float r) {
    const float c[] = {
        0.5f, 0.1666651964187622f, 0.04166620969772339f, 0.008368822745978832f, 0.0013950332067906857f};
    return polynomial(r, c);
}
template <class T> struct ExpRange;
template <> struct ExpRange<double> {
    static constexpr double low = -746, high = 712, most = 710, turns = 1.4426950408889634, ln2 = 0.6931471803691238,
                            rest = 1.9082149292705877e-10;
};
template <> struct ExpRange<float> {
    static constexpr float low = -104, high = 91, most = 89, turns = 1.44269504f, ln2 = 0.693359375f,
                           rest = -2.12194440e-4f;
};
// x = power * ln(2) + r
template <class T> struct ExpParts {
    T r, lost, head; // lost: what rounding took from r; head: e^r - 1
    typename Bits<T>::Int power;
    __device__ explicit ExpParts(T x) {
        const T low = x < ExpRange<T>::low ? ExpRange<T>::low : x, kept = low > ExpRange<T>::high ? ExpRange<T>::high : low;
        const Whole<T> whole(kept * ExpRange<T>::turns);
        power = whole.integer;
        const T start = ::fma(-whole.value, ExpRange<T>::ln2, kept);
        r = ::fma(-whole.value, ExpRange<T>::rest, start);
        lost = ::fma(-whole.value, ExpRange<T>::rest, start - r);
        head = ::fma(r * r, exp_tail(r), r);
    }
};
// y * 2^power, in two steps, of which the first one is exact.
template <class T> __device__ inline T scaled(T y, typename Bits<T>::Int power) {
    const typename Bits<T>::Int half = power >> 1;
    return y * two_to<T>(half) * two_to<T>(power - half);
}
template <class T> __device__ inline T exp(T x) {
    const ExpParts<T> parts(x);
    return scaled(T(1) + parts.head, parts.power);
}
template <class T> __device__ inline T expm1_of(const ExpParts<T>& parts) { // of x from -50 to where e^x is infinite
    const T head = parts.r + ::fma(parts.r * parts.r, exp_tail(parts.r), parts.lost);
    const T half = two_to<T>(parts.power - 1), sum = ::fma(half, head, half - T(0.5)) * T(2);
    return parts.power == 0 ? head : sum;
}
template <class T> __device__ inline T expm1(T x) {
    const T low = x < T(-50) ? T(-50) : x; // -1 from there on
    return ::copysign(expm1_of(ExpParts<T>(low > ExpRange<T>::most ? ExpRange<T>::most : low)), x);
}
template <class T> __device__ inline T cosh(T x) {
    const ExpParts<T> parts(::fabs(x));
    const T half = scaled(T(1) + parts.head, parts.power - 1); // of e^|x|
    return half + T(0.25) / half;
}
// Of x >= 0, where e^x is a number: of sums both sides, by those of r, so that near 0 nothing cancels.
struct HyperbolicParts {
    double r, odd, even, by_sine, by_cosine; // sinh(r) = r + odd, cosh(r) = 1 + even
    __device__ explicit HyperbolicParts(double x) {
        const ExpParts<double> parts(x);
        const double c[] = {
            0.16666666666666677, 0.008333333333321351, 0.00019841269886915726, 2.7557243340276155e-06, 2.5109363382188532e-08};
        const double d[] = {
            0.5000000000000013, 0.04166666666651086, 0.001388888894824368, 2.480148863058109e-05, 2.763176318667368e-07};
        r = parts.r;
        const double z = r * r, up = two_to<double>(parts.power - 1);
        const double down = two_to<double>(-1 - (parts.power > 500 ? 500 : parts.power));
        odd = ::fma(z * r, polynomial(z, c), parts.lost);
        even = z * polynomial(z, d);
        by_sine = up + down;
        by_cosine = up - down;
    }
    __device__ double sine() const { return ::fma(by_sine, r, by_cosine) + ::fma(by_cosine, even, by_sine * odd); }
    __device__ double cosine() const { return by_sine + ::fma(by_sine, even, by_cosine * (r + odd)); }
};
template <class T> struct Infinite;
template <> struct Infinite<double> { static __device__ double value() { return __longlong_as_double(0x7ff0000000000000ll); } };
template <> struct Infinite<float> { static __device__ float value() { return __int_as_float(0x7f800000); } };
QUERN_SELDOM(sinh, double, ::sinh(x))
__device__ inline double sinh(double x) {
    const double size = ::fabs(x);
    const double usual = ::copysign(HyperbolicParts(size).sine(), x), far = x * Infinite<double>::value(); // also of NaN
    return seldom_sinh(size < 709.0 ? usual : far, x, (size >= 709.0) & (size < 711.0));
}
__device__ inline float sinh_near_0(float x) { // up to 1
    const float kept = x < 1.0f ? x : 0.0f, z = kept * kept;
    const float c[] = {0.166666666f, 0.00833333968f, 0.00019838102f, 2.80628026e-6f};
    return ::fma(z * kept, polynomial(z, c), kept);
}
__device__ inline float sinh(float x) { // near 0 by its own series, else (e^|x| - e^-|x|) / 2
    const float size = ::fabs(x);
    const ExpParts<float> parts(size);
    const float half = ::fma(2.0f, parts.head, 2.0f) * two_to<float>(parts.power - 2);
    return ::copysign(size < 1.0f ? sinh_near_0(size) : half - 0.25f * rough_inverse(half), x);
}
template <class T> __device__ inline T tanh(T x) { // (e^2x - 1) / (e^2x + 1)
    const T size = ::fabs(x), kept = size > T(20) ? T(20) : size; // 1 from there on
    const ExpParts<T> parts(kept + kept);
    const T tail = ::fma(parts.r * parts.r, exp_tail(parts.r), parts.lost), head = parts.r + tail;
    const T power = two_to<T>(parts.power), first = power - T(1), above = ::fma(power, head, first), below = above + T(2);
    const T above_rest = ::fma(power, head, first - above) + power * (tail - (head - parts.r));
    const T below_rest = above - (below - T(2)) + above_rest, inverse = T(1) / below, near = above * inverse;
    const T left = ::fma(-near, below, above) + (above_rest - near * below_rest);
    return ::copysign(::fma(left, inverse, near), x);
}
__device__ inline float tanh(float x) { // near 0 by its own series, else 1 - 1 / ((e^2x + 1) / 2)
    const float size = ::fabs(x), kept = size > 10.0f ? 10.0f : size, z = kept * kept; // 1 from there on
    const float c[] = {-0.33333299f, 0.13331959f, -0.053786680f, 0.020805376f, -0.0059058578f};
    const float d[] = {1.0f, 0.6666607856750488f, 0.3333296775817871f, 0.1339011639356613f, 0.0446410626173019f};
    // 2x = power * ln(2) + 2r; the last bits of what is moved are those of 2^power.
    const float shift = 12583039.0f, moved = ::fma(kept, 2.0f * ExpRange<float>::turns, shift), whole = moved - shift;
    const float r = ::fma(-whole, 0.5f * ExpRange<float>::rest, ::fma(-whole, 0.5f * ExpRange<float>::ln2, kept));
    const float power = __int_as_float(__float_as_int(moved) << 23), head = ::fma(r * r, polynomial(r, d), r); // (e^2r - 1) / 2
    const float far = 1.0f - 1.0f / ::fma(power, head, ::fma(power, 0.5f, 0.5f));
    return ::copysign(size < 0.6f ? ::fma(z * kept, polynomial(z, c), kept) : far, x);
}
__device__ inline double exp2_of_rest(double f) { // for |f| <= 1/2
    const double c[] = {
        0.24022650695910072, 0.05550410866482164, 0.009618129107628524, 0.0013333558146402223, 0.00015403530393277393,
        1.5252733846633862e-05, 1.3215486888709559e-06, 1.0178054739655802e-07, 7.054866907147061e-09,
        4.456192665783162e-10, 2.5771800455690595e-11};
    return 1.0 + ::fma(f, 0.6931471805599453, f * f * polynomial(f, c));
}
__device__ inline double any_exp2(double x) {
    const double low = x < -1080 ? -1080 : x, kept = low > 1030 ? 1030 : low;
    const Whole<double> whole(kept);
    return scaled(exp2_of_rest(kept - whole.value), whole.integer);
}
QUERN_SELDOM(exp2, double, any_exp2(x))
__device__ inline double exp2(double x) { // normal, which most are: the power is added to the exponent
    typedef Bits<double> B;
    const Whole<double> whole(x);
    const double found = exp2_of_rest(x - whole.value);
    return seldom_exp2(B::value(B::of(found) + (whole.integer << B::mantissa)), x, !(::fabs(x) < 1021.0));
}
__device__ inline float exp2(float x) {
    const float low = x < -160.0f ? -160.0f : x, kept = low > 130.0f ? 130.0f : low;
    const Whole<float> whole(kept);
    const float f = kept - whole.value;
    const float c[] = {
        0.24022647738456726f, 0.05550362169742584f, 0.009618526324629784f, 0.0013390161329880357f, 0.00015321170212700963f};
    return scaled(1.0f + ::fma(f, 0.69314718f, f * f * polynomial(f, c)), whole.integer);
}

template <class T> __device__ inline T log_ends(T x, T value) { // of 0, infinity, NaN and negative numbers
    const T infinity = Infinite<T>::value(), positive = x < infinity ? value : x;
    const T other = x == T(0) ? -infinity : infinity - infinity;
    return x > T(0) ? positive : other;
}

// x^y from |x|^y: the sign, and what has no logarithm.
template <class T> __device__ inline T power_of(T found, T x, T y) {
    typedef Bits<T> B;
    const T size = ::fabs(x), infinity = Infinite<T>::value();
    const T rest = ::fabs(::fma(T(-2), ::trunc(T(0.5) * y), y)); // of even numbers 0, of odd ones 1, of infinity NaN
    const bool odd = rest == T(1), broken = (rest > T(0)) & !odd;
    const bool plain = (B::of(size) > 0) & (B::of(size) < B::of(infinity)), none = plain & (x < T(0)) & broken;
    const T end = (size > T(1)) == (y > T(0)) ? infinity : T(0), any = plain ? found : end;
    const T positive = size == T(1) ? T(1) : any, real = odd ? ::copysign(positive, x) : positive;
    const T number = none ? infinity - infinity : real, either = ((x != x) | (y != y)) ? x + y : number;
    return ((x == T(1)) | (y == T(0))) ? T(1) : either;
}
// (asin(s) / s - 1) / s^2 as a function of s^2 up to 1/4.
__device__ inline double asin_tail(double z) {
    const double c[] = {
        0.16666666666666666, 0.0750000000000013, 0.04464285714252125, 0.030381944478285475, 0.022372157316074184,
        0.01735282003763195, 0.013963718539268938, 0.011567182512339744, 0.009616031696488107, 0.009351598911043087,
        0.002925738293658576, 0.019840130493205547, -0.01964019275065212, 0.02985788966405651};
    return polynomial(z, c);
}
__device__ inline float asin_tail(float z) {
    const float c[] = {
        0.1666666567325592f, 0.07500103116035461f, 0.04459662735462189f, 0.03113189898431301f, 0.017005881294608116f,
        0.033920928835868835f};
    return polynomial(z, c);
}
template <class T> struct Quarter; // of a turn, and what it lacks
template <> struct Quarter<double> { static constexpr double value = 1.5707963267948966, rest = 6.123233995736766e-17; };
template <> struct Quarter<float> { static constexpr float value = 1.57079637f, rest = -4.37113883e-8f; };
template <class T> __device__ inline T asin(T x) {
    const T size = ::fabs(x);
    const bool wide = size > T(0.5);
    const T z = wide ? T(0.5) - T(0.5) * size : size * size, rooted = root(z), s = wide ? rooted : size;
    const T tail = s * z * asin_tail(z);
    const T eighth = T(0.5) * Quarter<T>::value, far = eighth - ((T(2) * tail - Quarter<T>::rest) - (eighth - T(2) * s));
    return ::copysign(wide ? far : s + tail, x);
}
template <class T> __device__ inline T acos(T x) {
    const T size = ::fabs(x);
    const bool wide = size > T(0.5);
    const T z = wide ? T(0.5) - T(0.5) * size : size * size, rooted = root(z), s = wide ? rooted : x;
    const T tail = s * z * asin_tail(z);
    const T middle = Quarter<T>::value - (s + (tail - Quarter<T>::rest)), above = T(2) * (s + tail);
    const T below = T(2) * (Quarter<T>::value - (s + (tail - Quarter<T>::rest)));
    const T end = x > T(0) ? above : below;
    return wide ? end : middle;
}

// (atan(q) / q - 1) / q^2 as a function of q^2 up to 1.
__device__ inline double atan_tail(double z) {
    const double c[] = {
        -0.3333333333333333, 0.19999999999999668, -0.1428571428566724, 0.11111111108283231, -0.09090908999067462,
        0.07692305854802073, -0.06666642051548079, 0.05882119292650376, -0.0526152173828001, 0.04753197385411968,
        -0.043118065507108415, 0.03882116400287516, -0.03393987924014323, 0.02786424246399049, -0.020597936307120625,
        0.013090614159086886, -0.006810074258321743, 0.002742551481319592, -0.0007937380612121184,
        0.00014588120223781975, -1.2728870667400528e-05};
    return polynomial(z, c);
}
__device__ inline float atan_tail(float z) {
    const float c[] = {
        -0.3333333134651184f, 0.1999979019165039f, -0.14279615879058838f, 0.1104203313589096f, -0.0868903398513794f,
        0.06318197399377823f, -0.0366700179874897f, 0.01399631705135107f, -0.002508525038137555f};
    return polynomial(z, c);
}
#ifndef __QUERN_HOST__
__device__ inline double atan(double x) {
    const double size = ::fabs(x), kept = size > 0x1p100 ? 0x1p100 : size; // far enough for a quarter of a turn
    const bool steep = size > 1.0;
    const double inverse = quotient(1.0, kept), q = steep ? inverse : size, z = q * q;
    const double flat = ::fma(q * z, atan_tail(z), q);
    return ::copysign(steep ? Quarter<double>::value - (flat - Quarter<double>::rest) : flat, x);
}
#endif
// close / far, 0 <= close <= far: a quotient in the middle of the range, by a power of two that leaves it as it is.
#ifdef __QUERN_HOST__
template <class T> __device__ inline T ratio_of(T close, T far) { return close / far; }
#else
template <class T> __device__ inline T ratio_of(T close, T far) {
    const T up = far < T(0x1p-100) ? T(0x1p100) : T(1), scale = far > T(0x1p100) ? T(0x1p-100) : up;
    const T found = quotient(close * scale, far * scale);
    return far < Infinite<T>::value() ? found : T(0);
}
#endif
template <class T> __device__ inline T atan2(T y, T x) {
    const T up = ::fabs(y), along = ::fabs(x);
    const bool steep = up > along;
    const T far = steep ? up : along, close = steep ? along : up;
    const T same = far == T(0) ? T(0) : T(1); // both 0, or both infinite
    const T ratio = ratio_of(close, far), q = close == far ? same : ratio;
    const T z = q * q, flat = ::fma(q * z, atan_tail(z), q);
    const T turned = Quarter<T>::value - (flat - Quarter<T>::rest), first = steep ? turned : flat;
    const T behind = T(2) * Quarter<T>::value - (first - T(2) * Quarter<T>::rest);
    const bool back = Bits<T>::of(x) < 0;
    const T angle = ::copysign(back ? behind : first, y);
    return x != x || y != y ? x + y : angle;
}

// By the bits: the exponent of a number that is not 0, and its fraction in [1/2, 1).
template <class T> __device__ inline void frexp(T x, T& fraction, int& power) {
    typedef Bits<T> B;
    typedef typename B::Int Int;
    const Int ones = (Int(1) << (8 * sizeof(T) - 1 - B::mantissa)) - 1;
    const bool tiny = ::fabs(x) < two_to<T>(1 - B::bias);
    const Int bits = B::of(tiny ? x * two_to<T>(B::mantissa + 2) : x), exponent = (bits >> B::mantissa) & ones;
    const bool plain = exponent != ones && x != T(0);
    fraction = plain ? B::value((bits & ~(ones << B::mantissa)) | (Int(B::bias - 1) << B::mantissa)) : x;
    power = plain ? static_cast<int>(exponent) - (B::bias - 1) - (tiny ? B::mantissa + 2 : 0) : 0;
}
// Only the last step rounds: the power is approached from the side of large numbers.
template <class T> __device__ inline T ldexp(T x, int by) {
    typedef Bits<T> B;
    T fraction;
    int power;
    frexp(x, fraction, power);
    const int most = B::bias + 8, least = -B::bias - B::mantissa - 4, span = most - least; // beyond: infinite, or 0
    const int raised = by < least - span ? least - span : by, kept = raised > most + span ? most + span : raised;
    const int sum = kept + power, whole = sum > most ? most : sum < least ? least : sum;
    const int last = whole > 0 ? 64 : -64;
    return fraction * two_to<T>(whole - last) * two_to<T>(last);
}

// Neighbours are neighbours as integers.
template <class T> __device__ inline T nextafter(T a, T b) {
    typedef Bits<T> B;
    const bool away = (a < b) == (a > T(0));
    const T next = B::value(away ? B::of(a) + 1 : B::of(a) - 1), start = ::copysign(B::value(1), b);
    const T moved = a == b ? b : a == T(0) ? start : next;
    return ((a != a) | (b != b)) ? a + b : moved;
}
template <class T> __device__ inline T spacing(T a) { // NaN of infinities
    return a == T(0) ? Bits<T>::value(1) : Bits<T>::value(Bits<T>::of(a - a) == 0 ? Bits<T>::of(a) + 1 : Bits<T>::of(a)) - a;
}

} // namespace near
} // namespace quern
