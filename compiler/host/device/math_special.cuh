// The functions CUDA has and libm has not: pi-scaled trigonometry, reciprocal roots, norms, inverse error functions,
// the normal distribution, modified Bessel functions. In double; the float forms round the double result.
#pragma once
// One step of Newton's iteration on the exact residual brings a result of a few places' error to the last place.
__quern_fn double rsqrt(double x) {
    __quern_exact double s = __builtin_sqrt(x), y = 1.0 / s, left = __builtin_fma(-s, y, 1.0);
    double better = __builtin_fma(y, left - 0.5 * __builtin_fma(-s, s, x) * y * y, y);
    return __builtin_isfinite(s) && s != 0 ? better : y;
}
__quern_fn float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__quern_fn double cbrt(double x) {
    __quern_exact double size = __builtin_fabs(x), scale = size < 0x1p-900 ? 0x1p300 : size > 0x1p900 ? 0x1p-300 : 1.0;
    double t = x * scale, y = __builtin_cbrt(t), yy = y * y, cube = yy * y;
    double left = ((t - cube) - __builtin_fma(yy, y, -cube)) - __builtin_fma(y, y, -yy) * y;
    double better = y + left / (3.0 * yy);
    y = __builtin_isfinite(t) && t != 0 ? better : y;
    return scale == 1.0 ? y : y * (scale > 1.0 ? 0x1p-100 : 0x1p100);
}
__quern_fn float cbrtf(float x) { // libmvec's is up to three places off
    double y = __builtin_cbrtf(x), better = y - (y * y * y - x) / (3.0 * y * y);
    return (float)(__builtin_isfinite(x) && x != 0 ? better : y);
}
__quern_fn double rcbrt(double x) {
    __quern_exact double y = 1.0 / __builtin_cbrt(x), u = y * y, v = x * y, p = u * v;
    double left = ((1.0 - p) - __builtin_fma(u, v, -p)) - (u * __builtin_fma(x, y, -v) + __builtin_fma(y, y, -u) * v);
    return __builtin_isfinite(x) && x != 0 ? y + y * left * (1.0 / 3.0) : y;
}
__quern_fn float rcbrtf(float x) {
    double y = 1.0f / __builtin_cbrtf(x), better = y + y * (1.0 - (double)x * y * y * y) * (1.0 / 3.0);
    return (float)(__builtin_isfinite(x) && x != 0 ? better : y);
}
__quern_float_twin1(rsqrt) __quern_overload1(double, rsqrt)
__quern_float_twin1(cbrt) __quern_overload1(double, cbrt)
__quern_float_twin1(rcbrt) __quern_overload1(double, rcbrt)

// sin and cos of pi*r: the quadrant comes off exactly, pi*(r - n/2) is carried in two parts, and the series to its last
// useful term does the rest.
struct __quern_pi_parts { double sine, cosine; int quadrant; };
__quern_fn __quern_pi_parts __quern_pi_split(double x) {
    __quern_exact double r = x - 2.0 * __builtin_rint(x * 0.5), n = __builtin_rint(r * 2.0), t = r - n * 0.5;
    double a = t * 3.14159265358979323846, lost = __builtin_fma(t, 3.14159265358979323846, -a) + t * 1.2246467991473532e-16, z = a * a;
    double odd = -1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                 z * (1.0 / 6227020800.0 + z * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)))))));
    double even = 1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600.0 +
                  z * (-1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0))))));
    double half = 1.0 - 0.5 * z;
    return {a + (lost + a * z * odd), half + (((1.0 - half) - 0.5 * z) + (z * z * even - a * lost)), (int)n & 3};
}
__quern_fn double sinpi(double x) {
    __quern_pi_parts p = __quern_pi_split(x);
    double v = p.quadrant & 1 ? p.cosine : p.sine;
    v = p.quadrant & 2 ? -v : v;
    return !__builtin_isfinite(x) ? __builtin_nan("") : x == __builtin_rint(x) ? __builtin_copysign(0.0, x) : v;
}
__quern_fn double cospi(double x) {
    __quern_pi_parts p = __quern_pi_split(x);
    double v = p.quadrant & 1 ? -p.sine : p.cosine;
    v = p.quadrant & 2 ? -v : v;
    return v == 0 ? 0.0 : __builtin_isfinite(x) ? v : __builtin_nan("");
}
#define __quern_by_double1(N)                                                                                          \
    __quern_fn float N##f(float x) { return (float)N((double)x); }                                                     \
    __quern_float_twin1(N) __quern_overload1(double, N)
__quern_by_double1(sinpi) __quern_by_double1(cospi)
__quern_fn void sincos(double x, double* s, double* c) { *s = __builtin_sin(x); *c = __builtin_cos(x); }
__quern_fn void sincosf(float x, float* s, float* c) { *s = __builtin_sinf(x); *c = __builtin_cosf(x); }
__quern_fn void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
__quern_fn void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
__quern_fn void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
__quern_fn void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }

// Lengths of vectors: scaled by a power of two, squares summed in two parts, root and reciprocal corrected.
struct __quern_length {
    double unit, sum, rest; // 1 over the scale
    __device__ __host__ __attribute__((always_inline)) __quern_length(double largest) : sum(0), rest(0) {
        unsigned long long power = __builtin_bit_cast(unsigned long long, largest) >> 52;
        unit = __builtin_bit_cast(double, (2046ull - (power < 2044 ? power : 2044)) << 52);
    }
    __device__ __host__ __attribute__((always_inline)) void add(double x) {
        __quern_exact x *= unit;
        double square = x * x, total = sum + square;
        rest += __quern_sum_error(sum, square, total) + __builtin_fma(x, x, -square);
        sum = total;
    }
    __device__ __host__ __attribute__((always_inline)) double scaled() const {
        __quern_exact double r = __builtin_sqrt(sum);
        return sum > 0 ? r + (__builtin_fma(-r, r, sum) + rest) / (2 * r) : sum;
    }
    __device__ __host__ __attribute__((always_inline)) double length() const { return scaled() / unit; }
    __device__ __host__ __attribute__((always_inline)) double reciprocal() const {
        __quern_exact double r = __builtin_sqrt(sum), y = 1.0 / r;
        double left = __builtin_fma(-r, y, 1.0) - 0.5 * (__builtin_fma(-r, r, sum) + rest) * y * y;
        return (sum > 0 ? __builtin_fma(y, left, y) : y) * unit;
    }
};
__quern_fn double __quern_largest(double a, double b) { return __builtin_fmax(__builtin_fabs(a), __builtin_fabs(b)); }
#define __quern_norm(N, PARAMS, LARGEST, ADDS)                                                                         \
    __quern_fn double N PARAMS {                                                                                       \
        double largest = LARGEST;                                                                                      \
        __quern_length v(largest);                                                                                     \
        ADDS;                                                                                                          \
        return __builtin_isinf(largest) ? largest : v.length();                                                        \
    }                                                                                                                  \
    __quern_fn double r##N PARAMS {                                                                                    \
        double largest = LARGEST;                                                                                      \
        __quern_length v(largest);                                                                                     \
        ADDS;                                                                                                          \
        return __builtin_isinf(largest) ? 0.0 : v.reciprocal();                                                        \
    }
__quern_fn double __quern_largest_of(int n, const double* p) {
    double m = 0;
    for (int i = 0; i < n; ++i) m = __quern_largest(m, p[i]);
    return m;
}
__quern_norm(norm3d, (double a, double b, double c), __quern_largest(__quern_largest(a, b), c), (v.add(a), v.add(b), v.add(c)))
__quern_norm(norm4d, (double a, double b, double c, double d), __quern_largest(__quern_largest(a, b), __quern_largest(c, d)),
             (v.add(a), v.add(b), v.add(c), v.add(d)))
__quern_norm(norm, (int n, const double* p), __quern_largest_of(n, p), for (int i = 0; i < n; ++i) v.add(p[i]))
#undef __quern_norm
__quern_fn double rhypot(double a, double b) { return rnorm3d(a, b, 0.0); }
// A float's square fits into double.
__quern_fn double __quern_squares(double a, double b, double c, double d) {
    double sum = a * a + b * b + c * c + d * d;
    return __builtin_isinf(a) || __builtin_isinf(b) || __builtin_isinf(c) || __builtin_isinf(d) ? __builtin_inf() : sum;
}
__quern_fn double __quern_squares_of(int n, const float* p) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum = __builtin_isinf(p[i]) ? __builtin_inf() : __builtin_isinf(sum) ? sum : sum + (double)p[i] * p[i];
    return sum;
}
__quern_fn float norm3df(float a, float b, float c) { return (float)__builtin_sqrt(__quern_squares(a, b, c, 0)); }
__quern_fn float norm4df(float a, float b, float c, float d) { return (float)__builtin_sqrt(__quern_squares(a, b, c, d)); }
__quern_fn float normf(int n, const float* p) { return (float)__builtin_sqrt(__quern_squares_of(n, p)); }
__quern_fn float rhypotf(float a, float b) { return (float)(1.0 / __builtin_sqrt(__quern_squares(a, b, 0, 0))); }
__quern_fn float rnorm3df(float a, float b, float c) { return (float)(1.0 / __builtin_sqrt(__quern_squares(a, b, c, 0))); }
__quern_fn float rnorm4df(float a, float b, float c, float d) { return (float)(1.0 / __builtin_sqrt(__quern_squares(a, b, c, d))); }
__quern_fn float rnormf(int n, const float* p) { return (float)(1.0 / __builtin_sqrt(__quern_squares_of(n, p))); }
__quern_fn double fdivide(double a, double b) { return a / b; }
__quern_fn float fdividef(float a, float b) { return a / b; }

// exp(x*x)*erfc(x). Directly while erfc has digits left, then the asymptotic continued fraction.
__quern_fn double erfcx(double x) {
    if (x < 10.0) {
        double hi = x * x, lo = __builtin_fma(x, x, -hi); // exp of a square: the square's lost digits matter
        if (x < -26.7) return __builtin_inf();
        return __builtin_exp(hi) * (1.0 + lo) * __builtin_erfc(x);
    }
    double f = 0.0;
    for (int k = 24; k > 0; --k) f = 0.5 * k / (x + f);
    return 0.56418958354775628695 / (x + f);
}
// The division by root 2 costs a place; erfc's slope gives back what the place is worth.
__quern_fn double normcdf(double x) {
    double a = -x * 0.70710678118654752440, lost = __builtin_fma(-x, 0.70710678118654752440, -a) + x * 4.8336466567264567e-17;
    double whole = __builtin_erfc(a);
    double part = 1.12837916709551257390 * __builtin_exp(-a * a) * lost;
    return 0.5 * (__builtin_isfinite(x) ? whole - part : whole);
}

// erfinv below 1/2: the series gives the start, Newton on erf the rest. Tails: Acklam's rational approximation of the
// normal quantile (relative error 1.2e-9), then Newton on log erfc, which neither underflows nor cancels. Source:
// P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function" (2003).
__quern_fn double __quern_central(double a) { // a in [0, 1/2]: x with erf(x) = a
    double w = a * a;
    double x = a * 0.88622692545275801365 * (1.0 + w * (0.26179938779914943654 + w * (0.14393173084921978 +
               w * (0.0976636195036120 + w * 0.0732990793662500))));
    for (int i = 0; i < 2; ++i)
        x -= (__builtin_erf(x) - a) * 0.88622692545275801365 * __builtin_exp(x * x);
    return a < 1e-8 ? a * 0.88622692545275801365 : x;
}
__quern_fn double __quern_tail(double y) { // y in (0, 1/2]: x with erfc(x) = y
    double p = 0.5 * y, x, log_y = __builtin_log(y);
    if (p < 0.02425) {
        double q = __builtin_sqrt(-2.0 * (log_y - 0.69314718055994530942));
        x = (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
               2.549732539343734e+00) * q + 4.374664141464968e+00) * q + 2.938163982698783e+00) /
            ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
              3.754408661907416e+00) * q + 1.0);
    } else {
        double q = p - 0.5, r = q * q;
        x = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
               1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239e+00) * q /
            (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
               6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1.0);
    }
    x *= -0.70710678118654752440;
    for (int i = 0; i < 2; ++i) {
        double scaled = erfcx(x);
        x += ((__builtin_log(scaled) - log_y) - x * x) * scaled * 0.88622692545275801365;
    }
    return x;
}
__quern_fn double erfcinv(double y) {
    if (!(y >= 0.0 && y <= 2.0)) return __builtin_nan("");
    if (y == 0.0) return __builtin_inf();
    if (y == 2.0) return -__builtin_inf();
    if (y < 0.5) return __quern_tail(y);
    if (y > 1.5) return -__quern_tail(2.0 - y);
    return __builtin_copysign(__quern_central(__builtin_fabs(1.0 - y)), 1.0 - y);
}
__quern_fn double erfinv(double y) {
    double a = __builtin_fabs(y);
    if (!(a <= 1.0)) return __builtin_nan("");
    if (a == 1.0) return __builtin_copysign(__builtin_inf(), y);
    return __builtin_copysign(a > 0.5 ? __quern_tail(1.0 - a) : __quern_central(a), y);
}
__quern_fn double normcdfinv(double p) {
    if (!(p >= 0.0 && p <= 1.0)) return __builtin_nan("");
    if (p == 0.0) return -__builtin_inf();
    if (p == 1.0) return __builtin_inf();
    if (p < 0.25) return -1.41421356237309504880 * __quern_tail(2.0 * p);
    if (p > 0.75) return 1.41421356237309504880 * __quern_tail(2.0 - 2.0 * p);
    return 1.41421356237309504880 * __builtin_copysign(__quern_central(__builtin_fabs(2.0 * p - 1.0)), p - 0.5);
}
__quern_by_double1(normcdf) __quern_by_double1(normcdfinv) __quern_by_double1(erfcinv) __quern_by_double1(erfinv)
__quern_by_double1(erfcx)

// I0 and I1: the power series while it converges fast, then the asymptotic expansion (Abramowitz and Stegun 9.6.10,
// 9.7.1). All terms have one sign, or fall fast: nothing cancels. Past 714 the result overflows.
__quern_fn double __quern_bessel_i(double x, int order) {
    __quern_exact double a = __builtin_fabs(x), sum, rest = 0;
    if (a > 714.0) return order && x < 0 ? -__builtin_inf() : __builtin_inf();
    if (a < 25.0) { // terms and their sum in two parts
        double square = a * a, q = square * 0.25, low = __builtin_fma(a, a, -square) * 0.25;
        double term = order ? a * 0.5 : 1.0, tail = 0;
        sum = term;
        for (int k = 1; k < 64; ++k) {
            double d = (double)k * (k + order), ratio = q / d, lost = (__builtin_fma(-ratio, d, q) + low) / d;
            double next = term * ratio, total;
            tail = tail * ratio + (__builtin_fma(term, ratio, -next) + term * lost);
            term = next;
            total = sum + term;
            rest += __quern_sum_error(sum, term, total) + tail;
            sum = total;
        }
        sum += rest;
    } else {
        double mu = 4.0 * order * order, term = 1.0;
        for (int k = 1; k < 20; ++k) {
            double odd = 2 * k - 1;
            term *= (odd * odd - mu) / (8.0 * k * a);
            rest += term;
        }
        double root = __builtin_sqrt(a), growth = a < 700.0 ? __builtin_exp(a) : __builtin_exp(a - 8.0);
        sum = (growth / root) * 0.39894228040143267794 * (1.0 + rest); // 1 / sqrt(2 pi)
        sum = a < 700.0 ? sum : sum * 2980.9579870417282747; // e to the 8th
    }
    return order ? __builtin_copysign(sum, x) : sum;
}
__quern_fn double cyl_bessel_i0(double x) { return __quern_bessel_i(x, 0); }
__quern_fn double cyl_bessel_i1(double x) { return __quern_bessel_i(x, 1); }
__quern_by_double1(cyl_bessel_i0) __quern_by_double1(cyl_bessel_i1)
#undef __quern_by_double1
__quern_float_twin1(j0) __quern_float_twin1(j1) __quern_float_twin1(y0) __quern_float_twin1(y1)
__quern_overload1(double, j0) __quern_overload1(double, j1) __quern_overload1(double, y0) __quern_overload1(double, y1)
__quern_fn float jn(int n, float x) { return jnf(n, x); }
__quern_fn float yn(int n, float x) { return ynf(n, x); }

// The fast forms: here as exact as the others.
#define __quern_fast1(FAST, N) __quern_fn float FAST(float x) { return N(x); }
__quern_fast1(__expf, expf) __quern_fast1(__exp10f, exp10f) __quern_fast1(__logf, logf) __quern_fast1(__log2f, log2f)
__quern_fast1(__log10f, log10f) __quern_fast1(__sinf, sinf) __quern_fast1(__cosf, cosf) __quern_fast1(__tanf, tanf)
__quern_fast1(__tanhf, tanhf)
#undef __quern_fast1
__quern_fn float __powf(float a, float b) { return powf(a, b); }
__quern_fn float __fdividef(float a, float b) { return a / b; }
__quern_fn void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
__quern_fn float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); } // NaN is 0
__quern_fn float __frsqrt_rn(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
