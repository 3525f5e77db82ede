// Both formats of two bytes, precompiled out of sight until a program includes cuda_fp16.h or cuda_bf16.h: reading them anew
// would take longer than a kernel.
#pragma once
#include "short_float.cuh"
namespace __quern_short_floats {
#include "half.cuh"
#include "bfloat16.cuh"
}
