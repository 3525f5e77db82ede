// The built-in headers with both floats of two bytes, for programs that include cuda_fp16.h or cuda_bf16.h: reading 350
// functions takes longer than compiling a kernel, and an image that holds them opens slower than one without.
#include "builtins.cuh"
#define __QUERN_SHORT_FLOATS__ 1
#include "half.cuh"
#include "bfloat16.cuh"
