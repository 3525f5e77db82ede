// complex<float> and complex<double>: two numbers side by side in memory, with NumPy's operations and branch cuts.
#pragma once
#define QUERN_HAS_COMPLEX 1

#include "quern/complex_parts.cuh"

template <class T> struct complex;

namespace quern {
template <class A, class B> struct Wider { typedef A type; }; // complex<float> with an int stays float
template <> struct Wider<float, double> { typedef double type; };
template <class T> struct IsNumber { static const bool value = false; };
#define QUERN_NUMBER(type) template <> struct IsNumber<type> { static const bool value = true; };
QUERN_NUMBER(bool) QUERN_NUMBER(char) QUERN_NUMBER(signed char) QUERN_NUMBER(unsigned char) QUERN_NUMBER(short)
QUERN_NUMBER(unsigned short) QUERN_NUMBER(int) QUERN_NUMBER(unsigned int) QUERN_NUMBER(long)
QUERN_NUMBER(unsigned long) QUERN_NUMBER(long long) QUERN_NUMBER(unsigned long long) QUERN_NUMBER(float)
QUERN_NUMBER(double)
#undef QUERN_NUMBER
template <bool number, class A, class B> struct WithNumber {};
template <class A, class B> struct WithNumber<true, A, B> { typedef complex<typename Wider<A, B>::type> type; };
} // namespace quern

template <class T> struct alignas(2 * sizeof(T)) complex {
    typedef T value_type;

    complex() = default;
    __device__ complex(T real, T imag = T()) : real_(real), imag_(imag) {}
    template <class U> __device__ complex(const complex<U>& other) : real_(T(other.real())), imag_(T(other.imag())) {}

    __device__ T real() const { return real_; }
    __device__ T imag() const { return imag_; }
    __device__ void real(T value) { real_ = value; }
    __device__ void imag(T value) { imag_ = value; }
    template <class U> __device__ complex& operator+=(const U& other) { return *this = complex(*this + other); }
    template <class U> __device__ complex& operator-=(const U& other) { return *this = complex(*this - other); }
    template <class U> __device__ complex& operator*=(const U& other) { return *this = complex(*this * other); }
    template <class U> __device__ complex& operator/=(const U& other) { return *this = complex(*this / other); }

  private:
    T real_, imag_;
};

#define QUERN_BOTH complex<typename quern::Wider<A, B>::type>
#define QUERN_MIXED typename quern::WithNumber<quern::IsNumber<B>::value, A, B>::type
template <class A, class B> __device__ inline QUERN_BOTH operator+(const complex<A>& a, const complex<B>& b) {
    return QUERN_BOTH(a.real() + b.real(), a.imag() + b.imag());
}
template <class A, class B> __device__ inline QUERN_BOTH operator-(const complex<A>& a, const complex<B>& b) {
    return QUERN_BOTH(a.real() - b.real(), a.imag() - b.imag());
}
template <class A, class B> __device__ inline QUERN_BOTH operator*(const complex<A>& a, const complex<B>& b) {
    return QUERN_BOTH(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}
// Smith's division, as NumPy has it: no overflow where the quotient fits.
template <class A, class B> __device__ inline QUERN_BOTH operator/(const complex<A>& a, const complex<B>& b) {
    typedef typename quern::Wider<A, B>::type T;
    const T ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
    if (fabs(br) >= fabs(bi)) {
        if (br == 0 && bi == 0) return complex<T>(ar / fabs(br), ai / fabs(br));
        const T ratio = bi / br, scale = T(1) / (br + bi * ratio);
        return complex<T>((ar + ai * ratio) * scale, (ai - ar * ratio) * scale);
    }
    const T ratio = br / bi, scale = T(1) / (bi + br * ratio);
    return complex<T>((ar * ratio + ai) * scale, (ai * ratio - ar) * scale);
}
template <class A, class B> __device__ inline bool operator==(const complex<A>& a, const complex<B>& b) {
    return (a.real() == b.real()) & (a.imag() == b.imag());
}
template <class A, class B> __device__ inline bool operator!=(const complex<A>& a, const complex<B>& b) { return !(a == b); }
// NumPy's order: by the real part, then by the imaginary part.
template <class A, class B> __device__ inline bool operator<(const complex<A>& a, const complex<B>& b) {
    return (a.real() < b.real()) | ((a.real() == b.real()) & (a.imag() < b.imag()));
}
template <class A, class B> __device__ inline bool operator>(const complex<A>& a, const complex<B>& b) { return b < a; }
template <class A, class B> __device__ inline bool operator<=(const complex<A>& a, const complex<B>& b) {
    return (a.real() < b.real()) | ((a.real() == b.real()) & (a.imag() <= b.imag()));
}
template <class A, class B> __device__ inline bool operator>=(const complex<A>& a, const complex<B>& b) { return b <= a; }

// With a real number on one side: its imaginary part is not zero, it is absent.
template <class A, class B> __device__ inline QUERN_MIXED operator+(const complex<A>& a, const B& b) {
    return QUERN_MIXED(a.real() + b, a.imag());
}
template <class A, class B> __device__ inline QUERN_MIXED operator+(const B& b, const complex<A>& a) {
    return QUERN_MIXED(b + a.real(), a.imag());
}
template <class A, class B> __device__ inline QUERN_MIXED operator-(const complex<A>& a, const B& b) {
    return QUERN_MIXED(a.real() - b, a.imag());
}
template <class A, class B> __device__ inline QUERN_MIXED operator-(const B& b, const complex<A>& a) {
    return QUERN_MIXED(b - a.real(), -a.imag());
}
template <class A, class B> __device__ inline QUERN_MIXED operator*(const complex<A>& a, const B& b) {
    return QUERN_MIXED(a.real() * b, a.imag() * b);
}
template <class A, class B> __device__ inline QUERN_MIXED operator*(const B& b, const complex<A>& a) {
    return QUERN_MIXED(b * a.real(), b * a.imag());
}
template <class A, class B> __device__ inline QUERN_MIXED operator/(const complex<A>& a, const B& b) {
    return QUERN_MIXED(a.real() / b, a.imag() / b);
}
template <class A, class B> __device__ inline QUERN_MIXED operator/(const B& b, const complex<A>& a) {
    typedef QUERN_MIXED C;
    return C(typename C::value_type(b)) / C(a);
}
#define QUERN_COMPARE(op)                                                                                              \
    template <class A> __device__ inline bool operator op(const complex<A>& a, A b) { return a op complex<A>(b); }     \
    template <class A> __device__ inline bool operator op(A a, const complex<A>& b) { return complex<A>(a) op b; }
QUERN_COMPARE(==) QUERN_COMPARE(!=) QUERN_COMPARE(<) QUERN_COMPARE(>) QUERN_COMPARE(<=) QUERN_COMPARE(>=)
#undef QUERN_COMPARE
#undef QUERN_BOTH
#undef QUERN_MIXED

#define QUERN_OF template <class T> __device__ inline
QUERN_OF complex<T> operator+(const complex<T>& z) { return z; }
QUERN_OF complex<T> operator-(const complex<T>& z) { return complex<T>(-z.real(), -z.imag()); }
QUERN_OF T real(const complex<T>& z) { return z.real(); }
QUERN_OF T imag(const complex<T>& z) { return z.imag(); }
QUERN_OF T abs(const complex<T>& z) { return hypot(z.real(), z.imag()); }
QUERN_OF T arg(const complex<T>& z) { return quern::angle(z.imag(), z.real()); }
QUERN_OF T norm(const complex<T>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
QUERN_OF complex<T> conj(const complex<T>& z) { return complex<T>(z.real(), -z.imag()); }
QUERN_OF complex<T> polar(T radius, T angle = T()) {
    T sine, cosine;
    quern::sin_and_cos(angle, sine, cosine);
    return complex<T>(radius * cosine, radius * sine);
}
QUERN_OF bool isnan(const complex<T>& z) { return isnan(z.real()) || isnan(z.imag()); }
QUERN_OF bool isinf(const complex<T>& z) { return isinf(z.real()) || isinf(z.imag()); }
QUERN_OF bool isfinite(const complex<T>& z) { return isfinite(z.real()) && isfinite(z.imag()); }

// Infinities and NaN are C's annex G's. Past this a power of e overflows, whose product with a sine may not.
QUERN_OF T exp_limit() { return sizeof(T) == 4 ? T(88) : T(709); }
// A number of this size times the rest, which grows with x, at an angle of y.
QUERN_OF complex<T> turned(T x, T size, T rest, T y) {
    if (isinf(x) && !isfinite(y)) return x > 0 ? complex<T>(x, y - y) : complex<T>(T(0), copysign(T(0), y));
    T sine, cosine;
    quern::sin_and_cos(y, sine, cosine);
    return complex<T>(size * cosine * rest, y == 0 ? y : size * sine * rest);
}
QUERN_OF complex<T> exp(const complex<T>& z) {
    const bool far = z.real() > exp_limit<T>();
    const T size = exp(far ? z.real() / 2 : z.real());
    return turned(z.real(), size, far ? size : T(1), z.imag());
}
QUERN_OF complex<T> log(const complex<T>& z) {
    const T x = fabs(z.real()), y = fabs(z.imag()), angle = arg(z);
    const T big = x > y ? x : y, small = x > y ? y : x;
    bool usual = true;
    const T found = quern::log_of_size(big, small, usual);
    if (usual) return complex<T>(found, angle);
    if (big > T(0.5) && big < T(2)) // near the unit circle log(|z|) itself would cancel
        return complex<T>(T(0.5) * log1p(quern::square_less_one(big, small)), angle);
    return complex<T>(log(hypot(x, y)), angle);
}
QUERN_OF complex<T> log2(const complex<T>& z) { return log(z) * T(1.44269504088896340736); }
QUERN_OF complex<T> log10(const complex<T>& z) { return log(z) * T(0.43429448190325182765); }
QUERN_OF complex<T> sqrt(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (x == 0 && y == 0) return complex<T>(T(0), y);
    if (isinf(y)) return complex<T>(fabs(y), y);
    if (isinf(x)) return x > 0 ? complex<T>(x, isnan(y) ? y : copysign(T(0), y)) : complex<T>(isnan(y) ? y : T(0), copysign(-x, y));
    const T t = sqrt((fabs(x) * T(0.5)) + hypot(x * T(0.5), y * T(0.5)));
    if (x >= 0) return complex<T>(t, y / (2 * t));
    return complex<T>(fabs(y) / (2 * t), copysign(t, y));
}
// The product in which NaN beside an infinity is no reason to forget it, as C has it.
QUERN_OF T direction(T part, bool infinite) { return copysign(infinite ? T(isinf(part) ? 1 : 0) : isnan(part) ? T(0) : part, part); }
QUERN_OF complex<T> infinite_product(const complex<T>& a, const complex<T>& b) {
    const complex<T> plain = a * b;
    if (!(isnan(plain.real()) && isnan(plain.imag()) && (isinf(a) || isinf(b)))) return plain;
    const complex<T> u(direction(a.real(), isinf(a)), direction(a.imag(), isinf(a)));
    const complex<T> v(direction(b.real(), isinf(b)), direction(b.imag(), isinf(b)));
    return complex<T>((u * v).real() / T(0), (u * v).imag() / T(0));
}
QUERN_OF complex<T> pow(const complex<T>& z, const complex<T>& w) {
    if (w.real() == 0 && w.imag() == 0) return complex<T>(T(1), T(0));
    if (z.real() == 0 && z.imag() == 0) return w.real() > 0 ? complex<T>(T(0), T(0)) : complex<T>(T(0) / T(0), T(0) / T(0));
    if (w.imag() == 0 && w.real() == trunc(w.real()) && fabs(w.real()) < 100) { // by squaring: exact for small powers
        if (w.real() == 1) return z;
        if (w.real() == 2) return z * z;
        if (w.real() == 3) return z * (z * z);
        int n = static_cast<int>(fabs(w.real()));
        complex<T> result(T(1), T(0)), factor = z;
        for (; n; n >>= 1) {
            if (n & 1) result = result * factor;
            factor = factor * factor;
        }
        return w.real() < 0 ? T(1) / result : result;
    }
    return exp(infinite_product(w, log(z)));
}
QUERN_OF complex<T> pow(const complex<T>& z, T w) { return pow(z, complex<T>(w)); }
QUERN_OF complex<T> pow(T z, const complex<T>& w) { return pow(complex<T>(z), w); }
QUERN_OF complex<T> pow(const complex<T>& z, int w) { return pow(z, complex<T>(T(w))); }
// sinh(x) and cosh(x), of large x without a factor `rest`, which a sine may make good.
QUERN_OF void sinh_and_cosh(T x, T& sine, T& cosine, T& rest) {
    rest = T(1);
    quern::sinh_and_cosh(x, sine, cosine);
    if (fabs(x) > exp_limit<T>()) {
        rest = exp(fabs(x) / 2);
        cosine = rest / 2;
        sine = copysign(cosine, x);
    }
}
QUERN_OF complex<T> sinh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    T s, c, rest, sine, cosine;
    sinh_and_cosh(x, s, c, rest);
    quern::sin_and_cos(y, sine, cosine);
    const T real = isfinite(y) ? s * cosine * rest : x == 0 ? x : isinf(x) ? fabs(x) : y - y;
    return complex<T>(real, y == 0 ? y : c * sine * rest);
}
QUERN_OF complex<T> cosh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    T s, c, rest, sine, cosine;
    sinh_and_cosh(x, s, c, rest);
    quern::sin_and_cos(y, sine, cosine);
    const T real = isinf(x) && !isfinite(y) ? fabs(x) : c * cosine * rest;
    const T side = isnan(x) ? T(1) : copysign(T(1), x);
    return complex<T>(real, y == 0 ? side * y : x == 0 && !isfinite(y) ? T(0) : s * sine * rest);
}
QUERN_OF complex<T> sin(const complex<T>& z) {
    const complex<T> w = sinh(complex<T>(-z.imag(), z.real()));
    return complex<T>(w.imag(), isinf(z.imag()) && !isfinite(z.real()) ? fabs(w.real()) : -w.real());
}
QUERN_OF complex<T> cos(const complex<T>& z) { return cosh(complex<T>(-z.imag(), z.real())); }
QUERN_OF complex<T> tanh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (y == 0) return complex<T>(tanh(x), y);
    if (isinf(x)) return complex<T>(copysign(T(1), x), copysign(T(0), isfinite(y) && fabs(y) > 1 ? sin(y) * cos(y) : y));
    if (!isfinite(y)) return complex<T>(x == 0 ? x : y - y, y - y);
    if (fabs(x) > T(20)) return complex<T>(copysign(T(1), x), 4 * sin(y) * cos(y) * exp(-2 * fabs(x)));
    T s, c, sine, cosine; // |cosh(z)|^2 is sinh(x)^2 + cos(y)^2
    quern::sinh_and_cosh(x, s, c);
    quern::sin_and_cos(y, sine, cosine);
    const T below = s * s + cosine * cosine;
    return complex<T>(copysign(quern::near::quotient(s * c, below), x), quern::near::quotient(sine * cosine, below));
}
QUERN_OF complex<T> tan(const complex<T>& z) {
    const complex<T> w = tanh(complex<T>(-z.imag(), z.real()));
    return complex<T>(w.imag(), -w.real());
}
// Inverse functions after Kahan, "Branch cuts for complex elementary functions".
QUERN_OF complex<T> asin(const complex<T>& z) {
    if (isinf(z)) {
        const T quarter = isinf(z.imag()) ? T(0.78539816339744830962) : T(1.57079632679489661923);
        const T angle = isnan(z) ? T(0) / T(0) : isinf(z.real()) ? quarter : T(0);
        return complex<T>(copysign(angle, z.real()), copysign(fabs(isinf(z.real()) ? z.real() : z.imag()), z.imag()));
    }
    if (isnan(z.imag()) && z.real() == 0) return z;
    const complex<T> a = sqrt(complex<T>(1 - z.real(), -z.imag())), b = sqrt(complex<T>(1 + z.real(), z.imag()));
    return complex<T>(quern::angle(z.real(), a.real() * b.real() - a.imag() * b.imag()),
                      quern::part_asinh(a.real() * b.imag() - a.imag() * b.real()));
}
QUERN_OF complex<T> acos(const complex<T>& z) {
    if (!isfinite(z)) {
        const complex<T> w = asin(z);
        return complex<T>(T(1.57079632679489661923) - w.real(), -w.imag());
    }
    const complex<T> a = sqrt(complex<T>(1 - z.real(), -z.imag())), b = sqrt(complex<T>(1 + z.real(), z.imag()));
    return complex<T>(2 * quern::angle(a.real(), b.real()), quern::part_asinh(b.real() * a.imag() - b.imag() * a.real()));
}
QUERN_OF complex<T> acosh(const complex<T>& z) {
    if (!isfinite(z)) {
        const complex<T> w = acos(z);
        return complex<T>(fabs(w.imag()), copysign(w.real(), z.imag()));
    }
    const complex<T> a = sqrt(complex<T>(z.real() - 1, z.imag())), b = sqrt(complex<T>(z.real() + 1, z.imag()));
    return complex<T>(quern::part_asinh(a.real() * b.real() + a.imag() * b.imag()), 2 * quern::angle(a.imag(), b.real()));
}
QUERN_OF complex<T> atanh(const complex<T>& z) {
    const T x = fabs(z.real()), y = z.imag(), turn = copysign(T(1.57079632679489661923), y);
    if (isinf(y) || isinf(x)) return complex<T>(isnan(x) ? T(0) : copysign(T(0), z.real()), isnan(y) ? y : turn);
    if (isnan(z)) return complex<T>(x == 0 ? z.real() : x + y, x + y);
    if (x > T(1e16) || fabs(y) > T(1e16)) // 1 / z and a quarter turn, before squares overflow
        return complex<T>(copysign((T(1) / z).real(), z.real()), turn);
    const T apart = (1 - x) * (1 - x) + y * y; // odd: with x >= 0 the logarithm's argument never cancels
    const T real = x == 1 && fabs(y) < T(1e-8) ? T(0.5) * log(2 / fabs(y)) : T(0.25) * quern::part_log1p(quern::near::quotient(4 * x, apart));
    return complex<T>(copysign(real, z.real()), T(0.5) * quern::angle(2 * y, (1 - x) * (1 + x) - y * y));
}
QUERN_OF complex<T> asinh(const complex<T>& z) {
    const complex<T> w = asin(complex<T>(-z.imag(), z.real()));
    return complex<T>(w.imag(), -w.real());
}
QUERN_OF complex<T> atan(const complex<T>& z) {
    const complex<T> w = atanh(complex<T>(-z.imag(), z.real()));
    return complex<T>(w.imag(), isnan(z.imag()) && !isnan(w.real()) ? T(0) : -w.real());
}
#undef QUERN_OF

namespace thrust { // where CUDA's users know these names from
template <class T> using complex = ::complex<T>;
using ::abs; using ::acos; using ::acosh; using ::arg; using ::asin; using ::asinh; using ::atan; using ::atanh;
using ::conj; using ::cos; using ::cosh; using ::exp; using ::log; using ::log10; using ::norm; using ::polar;
using ::pow; using ::sin; using ::sinh; using ::sqrt; using ::tan; using ::tanh;
} // namespace thrust
