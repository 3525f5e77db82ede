// cuComplex.h's names over complex<T>, for programs that mix its functions with operators (translate_cucomplex).
#pragma once
#include "quern/complex.cuh"

typedef complex<float> cuFloatComplex;
typedef complex<double> cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define QUERN_CU_COMPLEX(type, part, name, f)                                                                          \
    __device__ inline type make_##name(part x, part y) { return type(x, y); }                                          \
    __device__ inline part cuCreal##f(type x) { return x.real(); }                                                     \
    __device__ inline part cuCimag##f(type x) { return x.imag(); }                                                     \
    __device__ inline type cuConj##f(type x) { return type(x.real(), -x.imag()); }                                     \
    __device__ inline type cuCadd##f(type x, type y) { return x + y; }                                                 \
    __device__ inline type cuCsub##f(type x, type y) { return x - y; }                                                 \
    __device__ inline type cuCmul##f(type x, type y) { return x * y; }                                                 \
    __device__ inline type cuCdiv##f(type x, type y) { return x / y; }                                                 \
    __device__ inline part cuCabs##f(type x) { return abs(x); }                                                        \
    __device__ inline type cuCfma##f(type x, type y, type d) { return x * y + d; }
QUERN_CU_COMPLEX(cuFloatComplex, float, cuFloatComplex, f)
QUERN_CU_COMPLEX(cuDoubleComplex, double, cuDoubleComplex, )
#undef QUERN_CU_COMPLEX

__device__ inline cuComplex make_cuComplex(float x, float y) { return cuComplex(x, y); }
__device__ inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) {
    return cuDoubleComplex(x.real(), x.imag());
}
__device__ inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
    return cuFloatComplex(float(x.real()), float(x.imag()));
}
