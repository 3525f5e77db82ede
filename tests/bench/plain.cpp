// What CUDA on the CPU is held against: the same work as plain loops, for the system's compiler at
// -O3 -march=native -ffast-math, which gives expf to libmvec.
#include <cmath>

extern "C" {

const char* plain_compiler() {
#ifdef __clang__
    return "Clang " __clang_version__;
#else
    return "GCC " __VERSION__;
#endif
}

// i, k, j: the inner loop walks along rows.
void plain_product(const float* __restrict a, const float* __restrict b, float* __restrict c,
                   int n) {
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j)
            c[i * n + j] = 0;
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

void plain_add(const float* __restrict x, const float* __restrict y, float* __restrict z, int n) {
    for (int i = 0; i < n; ++i)
        z[i] = x[i] + y[i];
}

void plain_exp(const float* __restrict x, float* __restrict z, int n) {
    for (int i = 0; i < n; ++i)
        z[i] = expf(x[i]);
}

void plain_saxpy(const float* __restrict x, float* __restrict y, float a, int n) {
    for (int i = 0; i < n; ++i)
        y[i] = a * x[i] + y[i];
}

float plain_dot(const float* x, const float* y, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i)
        sum += x[i] * y[i];
    return sum;
}

void plain_histogram(const unsigned char* __restrict x, int* __restrict counts, int n) {
    for (int i = 0; i < n; ++i)
        ++counts[x[i]];
}

float plain_sum(const float* x, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i)
        sum += x[i];
    return sum;
}
}
