// __half and __half2 with NVIDIA's names. Arithmetic rounds once, to nearest even, as the GPU's
// does.
#pragma once
#define __CUDA_FP16_TYPES_EXIST__
#define __CUDA_FP16_H__
#ifndef __QUERN_SHORT_FLOATS__ // precompiled
#include "/quern/half.cuh"
#endif

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)

#if __has_include(<nv/target>) // cuda_fp8.h takes it from here
#include <nv/target>
#endif
