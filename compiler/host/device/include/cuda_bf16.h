// __nv_bfloat16 and __nv_bfloat162 with NVIDIA's names. Arithmetic rounds once, to nearest even, as
// the GPU's does.
#pragma once
#include "cuda_fp16.h"
#define __CUDA_BF16_TYPES_EXIST__
#define __CUDA_BF16_H__
#ifndef __QUERN_SHORT_FLOATS__
#include "/quern/bfloat16.cuh"
#endif

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
