// __half and __half2 with NVIDIA's names. Arithmetic rounds once, to nearest even, as the GPU's does.
#pragma once
#define __CUDA_FP16_TYPES_EXIST__
#define __CUDA_FP16_H__
#if !defined(__QUERN_SHORT_FLOATS__) || defined(__CUDA_NO_HALF_CONVERSIONS__) || defined(__CUDA_NO_HALF_OPERATORS__) ||                                    \
    defined(__CUDA_NO_HALF2_OPERATORS__) || defined(__CUDA_NO_BFLOAT16_CONVERSIONS__) ||                               \
    defined(__CUDA_NO_BFLOAT16_OPERATORS__) || defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#define __QUERN_SHORT_FLOATS_ANEW // not the precompiled ones, which have everything
#include "/quern/half.cuh"
#else
using namespace __quern_short_floats;
// Names that others share, for those who write ::atomicAdd.
using __quern_short_floats::__ldcv;
using __quern_short_floats::__shfl_down_sync;
using __quern_short_floats::__shfl_sync;
using __quern_short_floats::__shfl_up_sync;
using __quern_short_floats::__shfl_xor_sync;
using __quern_short_floats::atomicAdd;
using __quern_short_floats::atomicAdd_block;
using __quern_short_floats::atomicAdd_system;
#endif

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
