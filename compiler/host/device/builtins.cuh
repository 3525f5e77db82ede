// What CUDA C++ takes for granted: included before every program, precompiled by the build.
#include "keywords.cuh"
#include "vectors.cuh"
#include "math.cuh"
#include "integer.cuh"
#include "rounding.cuh"
#include "math_special.cuh"
#include "convert.cuh"
#include "memory.cuh"
#include "atomics.cuh"
#include "barriers.cuh"
#include "warp.cuh"
#ifdef __QUERN_SHORT_FLOATS__
#include "short_floats.cuh"
#endif
#pragma clang force_cuda_host_device begin // as NVRTC's -default-device: a plain function is a device function
