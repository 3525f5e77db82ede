// A loop whose iterations the threads of a grid share.
#pragma once

#define QUERN_EACH(k, count)                                                                     \
    for (long long k = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; \
         k += static_cast<long long>(gridDim.x) * blockDim.x)
