// The functions CUDA has and libm has not: pi-scaled trigonometry, reciprocal roots, norms, inverse error functions,
// the normal distribution, modified Bessel functions. In double; the float forms round the double result.
#pragma once
__quern_fn double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__quern_fn float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__quern_fn double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
__quern_fn float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
__quern_float_twin1(rsqrt) __quern_overload1(double, rsqrt)
__quern_float_twin1(rcbrt) __quern_overload1(double, rcbrt)

// Exact reduction first: x - 2*rint(x/2) loses nothing, so multiples of 1/2 come out exactly.
__quern_fn void __quern_pi_reduce(double x, double* angle, int* quadrant) {
    double r = x - 2.0 * __builtin_rint(x * 0.5);
    double n = __builtin_rint(r * 2.0);
    *quadrant = (int)n & 3;
    *angle = (r - n * 0.5) * 3.14159265358979323846;
}
__quern_fn double sinpi(double x) {
    double a; int q;
    __quern_pi_reduce(x, &a, &q);
    double v = q & 1 ? __builtin_cos(a) : __builtin_sin(a);
    v = q & 2 ? -v : v;
    return x == __builtin_rint(x) ? __builtin_copysign(0.0, x) : __builtin_isfinite(x) ? v : __builtin_nan("");
}
__quern_fn double cospi(double x) {
    double a; int q;
    __quern_pi_reduce(x, &a, &q);
    double v = q & 1 ? -__builtin_sin(a) : __builtin_cos(a);
    v = q & 2 ? -v : v;
    return x + 0.5 == __builtin_rint(x + 0.5) && __builtin_fabs(x) < 4503599627370496.0
               ? 0.0 : __builtin_isfinite(x) ? v : __builtin_nan("");
}
__quern_fn double tanpi(double x) { return sinpi(x) / cospi(x); }
#define __quern_by_double1(N)                                                                                          \
    __quern_fn float N##f(float x) { return (float)N((double)x); }                                                     \
    __quern_float_twin1(N) __quern_overload1(double, N)
__quern_by_double1(sinpi) __quern_by_double1(cospi) __quern_by_double1(tanpi)
__quern_fn void sincos(double x, double* s, double* c) { *s = __builtin_sin(x); *c = __builtin_cos(x); }
__quern_fn void sincosf(float x, float* s, float* c) { *s = __builtin_sinf(x); *c = __builtin_cosf(x); }
__quern_fn void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
__quern_fn void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
__quern_fn void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
__quern_fn void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }

__quern_fn double norm3d(double a, double b, double c) { return __builtin_hypot(__builtin_hypot(a, b), c); }
__quern_fn double norm4d(double a, double b, double c, double d) { return __builtin_hypot(norm3d(a, b, c), d); }
__quern_fn double norm(int n, const double* p) { double r = 0; for (int i = 0; i < n; ++i) r = __builtin_hypot(r, p[i]); return r; }
__quern_fn float norm3df(float a, float b, float c) { return (float)norm3d(a, b, c); }
__quern_fn float norm4df(float a, float b, float c, float d) { return (float)norm4d(a, b, c, d); }
__quern_fn float normf(int n, const float* p) { double r = 0; for (int i = 0; i < n; ++i) r = __builtin_hypot(r, (double)p[i]); return (float)r; }
__quern_fn float norm(int n, const float* p) { return normf(n, p); }
__quern_fn double rhypot(double a, double b) { return 1.0 / __builtin_hypot(a, b); }
__quern_fn float rhypotf(float a, float b) { return (float)rhypot((double)a, (double)b); }
__quern_fn float rhypot(float a, float b) { return rhypotf(a, b); }
__quern_fn double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
__quern_fn double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
__quern_fn double rnorm(int n, const double* p) { return 1.0 / norm(n, p); }
__quern_fn float rnorm3df(float a, float b, float c) { return (float)rnorm3d(a, b, c); }
__quern_fn float rnorm4df(float a, float b, float c, float d) { return (float)rnorm4d(a, b, c, d); }
__quern_fn float rnormf(int n, const float* p) { return 1.0f / normf(n, p); }
__quern_fn float rnorm(int n, const float* p) { return rnormf(n, p); }
__quern_fn double fdivide(double a, double b) { return a / b; }
__quern_fn float fdividef(float a, float b) { return a / b; }
__quern_fn float fdivide(float a, float b) { return a / b; }

// Quantile of the normal distribution: Acklam's rational approximation (relative error 1.2e-9), then two Newton-Halley
// steps against erfc, which bring it to double precision. Source: P. J. Acklam, "An algorithm for computing the
// inverse normal cumulative distribution function" (2003).
__quern_fn double __quern_quantile_start(double p) {
    if (p < 0.02425) {
        double q = __builtin_sqrt(-2.0 * __builtin_log(p));
        return (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
                  2.549732539343734e+00) * q + 4.374664141464968e+00) * q + 2.938163982698783e+00) /
               ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
                 3.754408661907416e+00) * q + 1.0);
    }
    double q = p - 0.5, r = q * q;
    return (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
              1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239e+00) * q /
           (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
              6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1.0);
}
// For p in (0, 1/2]: x with erfc(-x/sqrt 2)/2 = p, that is x <= 0.
__quern_fn double __quern_quantile(double p) {
    double x = __quern_quantile_start(p);
    for (int i = 0; i < 2; ++i) {
        double e = 0.5 * __builtin_erfc(-x * 0.70710678118654752440) - p;
        double u = e * 2.50662827463100050242 * __builtin_exp(x * x * 0.5);
        x -= u / (1.0 + x * u * 0.5);
    }
    return x;
}
__quern_fn double normcdf(double x) { return 0.5 * __builtin_erfc(-x * 0.70710678118654752440); }
__quern_fn double normcdfinv(double p) {
    if (!(p >= 0.0 && p <= 1.0)) return __builtin_nan("");
    if (p == 0.0) return -__builtin_inf();
    if (p == 1.0) return __builtin_inf();
    return p <= 0.5 ? __quern_quantile(p) : -__quern_quantile(1.0 - p);
}
__quern_fn double erfcinv(double y) {
    if (!(y >= 0.0 && y <= 2.0)) return __builtin_nan("");
    if (y == 0.0) return __builtin_inf();
    if (y == 2.0) return -__builtin_inf();
    return y <= 1.0 ? -__quern_quantile(y * 0.5) * 0.70710678118654752440 : __quern_quantile((2.0 - y) * 0.5) * 0.70710678118654752440;
}
// Near zero erfcinv(1 - y) would lose y's digits: a series there gives the start, Newton on erf the rest.
__quern_fn double erfinv(double y) {
    double a = __builtin_fabs(y);
    if (!(a <= 1.0)) return __builtin_nan("");
    if (a == 1.0) return __builtin_copysign(__builtin_inf(), y);
    if (a > 0.5) return __builtin_copysign(erfcinv(1.0 - a), y);
    double w = a * a;
    double x = a * 0.88622692545275801365 * (1.0 + w * (0.26179938779914943654 + w * (0.14393173084921978 +
               w * (0.0976636195036120 + w * 0.0732990793662500))));
    for (int i = 0; i < 2; ++i)
        x -= (__builtin_erf(x) - a) * 0.88622692545275801365 * __builtin_exp(x * x);
    return __builtin_copysign(a < 1e-8 ? a * 0.88622692545275801365 : x, y);
}
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
__quern_by_double1(normcdf) __quern_by_double1(normcdfinv) __quern_by_double1(erfcinv) __quern_by_double1(erfinv)
__quern_by_double1(erfcx)

// I0 and I1: the power series while it converges fast, then the asymptotic expansion (Abramowitz and Stegun 9.6.10,
// 9.7.1). All terms have one sign, or fall fast: nothing cancels.
__quern_fn double __quern_bessel_i(double x, int order) {
    double a = __builtin_fabs(x), sum, term;
    if (a < 25.0) {
        double q = a * a * 0.25;
        sum = term = order ? a * 0.5 : 1.0;
        for (int k = 1; k < 64; ++k) {
            term *= q / ((double)k * (k + order));
            sum += term;
        }
    } else {
        double mu = 4.0 * order * order;
        sum = term = 1.0;
        for (int k = 1; k < 20; ++k) {
            double odd = 2 * k - 1;
            term *= (odd * odd - mu) / (8.0 * k * a);
            sum += term;
        }
        double half = __builtin_exp(a * 0.5);
        sum = half * (sum / __builtin_sqrt(2.0 * 3.14159265358979323846 * a)) * half;
    }
    return order && x < 0 ? -sum : sum;
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
__quern_fn float saturate(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
__quern_fn float __saturatef(float x) { return saturate(x); }
__quern_fn float __frsqrt_rn(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
