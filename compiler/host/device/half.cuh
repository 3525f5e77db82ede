// __half and __half2: declared wherever this is included.
#pragma once
struct __nv_bfloat16;
#define QUERN_FORMAT __quern_f16
#define QUERN_WORD half
#define QUERN_WORD2 half2
#define QUERN_TYPE __half
#define QUERN_TYPE2 __half2
#define QUERN_RAW __half_raw
#define QUERN_RAW2 __half2_raw
#define QUERN_OTHER __nv_bfloat16
#ifdef __CUDA_NO_HALF_CONVERSIONS__
#define QUERN_NO_CONVERSIONS
#endif
#ifdef __CUDA_NO_HALF_OPERATORS__
#define QUERN_NO_OPERATORS
#endif
#if defined(__CUDA_NO_HALF2_OPERATORS__) || defined(__CUDA_NO_HALF_OPERATORS__)
#define QUERN_NO_OPERATORS2
#endif
#include "/quern/short_float_api.cuh"

typedef __half half, __nv_half, nv_half;
typedef __half2 half2, __nv_half2, nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
