// __nv_bfloat16 and __nv_bfloat162: declared wherever this is included, after half.cuh.
#pragma once
#define QUERN_FORMAT __quern_bf16
#define QUERN_WORD bfloat16
#define QUERN_WORD2 bfloat162
#define QUERN_TYPE __nv_bfloat16
#define QUERN_TYPE2 __nv_bfloat162
#define QUERN_RAW __nv_bfloat16_raw
#define QUERN_RAW2 __nv_bfloat162_raw
#define QUERN_OTHER __half
#ifdef __CUDA_NO_BFLOAT16_CONVERSIONS__
#define QUERN_NO_CONVERSIONS
#endif
#ifdef __CUDA_NO_BFLOAT16_OPERATORS__
#define QUERN_NO_OPERATORS
#endif
#if defined(__CUDA_NO_BFLOAT162_OPERATORS__) || defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define QUERN_NO_OPERATORS2
#endif
#include "/quern/short_float_api.cuh"
#ifndef __CUDA_NO_BFLOAT16_CONVERSIONS__
__quern_member __nv_bfloat16::__nv_bfloat16(const __half x) : __nv_bfloat16(__half2float(x)) {}
#ifndef __CUDA_NO_HALF_CONVERSIONS__
__quern_member __half::__half(const __nv_bfloat16 x) : __half(__bfloat162float(x)) {}
#endif
#endif

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
