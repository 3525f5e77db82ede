// The driver's header, for programs that include it beside their kernels: the integers it brings
// along and its handles.
#pragma once
#include <stdint.h>
#include <stdlib.h>
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUtexObject, CUsurfObject;
typedef int CUdevice;
typedef enum cudaError_enum { CUDA_SUCCESS = 0 } CUresult;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct CUarray_st* CUarray;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphExec_st* CUgraphExec;
// A tensor map moves tiles on GPUs only: what would use it is refused where a kernel reaches it.
typedef struct CUtensorMap_st {
    __align__(64) cuuint64_t opaque[16];
} CUtensorMap;
