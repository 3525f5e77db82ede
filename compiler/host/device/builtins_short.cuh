// The built-in headers for programs that name cuda_fp16.h or cuda_bf16.h: an image of its own, for the other would open slower.
#define __QUERN_SHORT_FLOATS__ 1
#include "builtins.cuh"
