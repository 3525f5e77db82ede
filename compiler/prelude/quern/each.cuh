// A loop whose iterations the threads of a grid share; blocks of a CPU, of one thread here, take a piece each.
#pragma once

#ifdef __QUERN_HOST__
#define QUERN_EACH(k, count)                                                                                               \
    for (long long k = static_cast<long long>(count) * blockIdx.x / gridDim.x,                                             \
                   quern_end = static_cast<long long>(count) * (blockIdx.x + 1) / gridDim.x;                               \
         k < quern_end; ++k)
#else
#define QUERN_EACH(k, count)                                                                     \
    for (long long k = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; \
         k += static_cast<long long>(gridDim.x) * blockDim.x)
#endif
