"""What CUDA programs may say beyond the common: variable arguments, C's array qualifiers, the runtime's structures."""

from __future__ import annotations

import numpy as np

import quern

CODE = r"""
#include <cstdint>
#include <cuda_fp16.h>
#include <cstdarg>

// A number of doubles, integers and pointers in turn: more of each than registers hold.
__device__ double weigh(int count, ...) {
    va_list list, again;
    va_start(list, count);
    va_copy(again, list);
    double sum = 0;
    for (int k = 0; k < count; ++k) {
        sum += va_arg(list, double) * va_arg(list, int);
        sum += *va_arg(list, const float*);
    }
    va_end(list);
    sum += 1000 * va_arg(again, double);
    va_end(again);
    return sum;
}
extern "C" __global__ void weights(const double* a, const int* b, const float* c, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 9 >= n) return;
    const double* x = a + i;
    const int* y = b + i;
    const float* z = c + i;
    out[i] = weigh(10, x[0], y[0], z, x[1], y[1], z + 1, x[2], y[2], z + 2, x[3], y[3], z + 3, x[4], y[4], z + 4, x[5],
                   y[5], z + 5, x[6], y[6], z + 6, x[7], y[7], z + 7, x[8], y[8], z + 8, x[9], y[9], z + 9);
}

__device__ float row_sum(const float row[__restrict__], int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += row[k];
    return sum;
}
extern "C" __global__ void rows(const float in[__restrict__], float out[__restrict__], int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = row_sum(in + i * n, n);
}

// Pitched memory: a box of it, by the runtime's own structures.
extern "C" __global__ void box(cudaPitchedPtr volume, cudaPos from, cudaExtent size, uint32_t* out) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (x >= size.width || y >= size.height || z >= size.depth) return;
    const char* slice = (const char*)volume.ptr + (from.z + z) * volume.pitch * volume.ysize;
    const uint32_t* row = (const uint32_t*)(slice + (from.y + y) * volume.pitch);
    out[(z * size.height + y) * size.width + x] = row[from.x + x];
}

// What a launch is told, kept by a structure that no kernel is handed.
struct Launcher {
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attributes[2];
    cudaMemPoolProps pool;
    cudaIpcMemHandle_t handle;
    cudaDeviceAttr asked;
};
extern "C" __global__ void launches(int* out) {
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = 5;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2, 3);
    config.attrs = &cluster;
    out[0] = config.gridDim.y;
    out[1] = config.attrs->val.clusterDim.x;
    out[2] = sizeof(Launcher);
    out[3] = cudaDevAttrMultiProcessorCount;
}

// Which memory an address is of, by functions and by PTX.
__constant__ int fixed[4];
__device__ int roaming[4];
#define ASK(SPACE, BIT)                                                                                        \
    asm("{ .reg .pred p; isspacep." SPACE " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(yes) : "l"(address));      \
    found |= yes << BIT;
__device__ int space(const void* address) {
    unsigned yes;
    int found = __isShared(address) | __isLocal(address) << 1 | __isConstant(address) << 2 | __isGlobal(address) << 3;
    ASK("shared", 4) ASK("local", 5) ASK("const", 6) ASK("global", 7)
    return found;
}
extern "C" __global__ void spaces(const int* in, int* out, int step) {
    __shared__ int tile[32];
    extern __shared__ int dynamic[];
    int mine[8];
    for (int k = 0; k < 8; ++k) mine[k] = in[k] + threadIdx.x;
    tile[threadIdx.x] = dynamic[threadIdx.x] = mine[step];
    __syncthreads();
    int* to = out + 8 * threadIdx.x;
    to[0] = space(in + step);
    to[1] = space(roaming + step);
    to[2] = space(tile + 31 - threadIdx.x);
    to[3] = space(dynamic + threadIdx.x);
    to[4] = space(mine + (step + threadIdx.x) % 8);
    to[5] = space(fixed + step);
    to[6] = tile[31 - threadIdx.x] + mine[step];
}

extern "C" __global__ void pairs(const half2* in, half2* out) {
    half2 sum;
    sum = {};
    for (int k = 0; k < 4; ++k) sum = __hadd2(sum, in[4 * threadIdx.x + k]);
    half2 turned;
    turned = {sum.y, sum.x};
    __half2_raw bits = turned;
    out[threadIdx.x] = bits;
}
"""

POSITION = np.dtype([("x", "u8"), ("y", "u8"), ("z", "u8")])
PITCHED = np.dtype([("ptr", "u8"), ("pitch", "u8"), ("xsize", "u8"), ("ysize", "u8")])


def kernel(name):
    return quern.RawModule(code=CODE).get_function(name)


def test_variable_arguments(device):
    rng = np.random.default_rng(1)
    n = 70
    a, c = rng.standard_normal(n), rng.standard_normal(n).astype("f4")
    b = rng.integers(-1000, 1000, n).astype("i4")
    out = quern.zeros(n, "f8")
    kernel("weights")((2,), (64,), (quern.asarray(a), quern.asarray(b), quern.asarray(c), out, n))
    part = a * b + c
    wanted = np.array([part[i : i + 10].sum() + 1000 * a[i] for i in range(n - 9)])
    np.testing.assert_allclose(out.get()[: n - 9], wanted, rtol=1e-12, atol=1e-9)


def test_qualified_arrays(device):
    x = np.random.default_rng(2).random((40, 40)).astype("f4")
    out = quern.zeros(40, "f4")
    kernel("rows")((1,), (64,), (quern.asarray(x), out, 40))
    np.testing.assert_allclose(out.get(), x.sum(1, dtype="f8"), rtol=1e-5)


def test_structures_of_the_runtime(device):
    volume = np.random.default_rng(3).integers(0, 2**32, (5, 6, 16), dtype="u4")
    held = quern.asarray(volume)
    at = np.array([(held.data.ptr, 64, 11, 6)], PITCHED)[0]
    start, size = np.array([(2, 1, 3)], POSITION)[0], np.array([(7, 4, 2)], POSITION)[0]
    out = quern.zeros((2, 4, 7), "u4")
    kernel("box")((1,), (8, 8, 4), (at, start, size, out))
    np.testing.assert_array_equal(out.get(), volume[3:5, 1:5, 2:9])


def test_what_launches_are_told(device):
    out = quern.zeros(4, "i4")
    kernel("launches")((1,), (1,), (out,))
    assert out.get().tolist() == [3, 5, 56 + 2 * 72 + 88 + 64 + 8, 16]


def test_spaces_of_addresses(device):
    x = np.arange(10, 18, dtype="i4")
    out = quern.zeros((32, 8), "i4")
    kernel("spaces")((1,), (32,), (quern.asarray(x), out, 1), shared_mem=128)
    shared, local, constant, everywhere = 0x11, 0x22, 0x44, 0x88
    wanted = [everywhere, everywhere, shared, shared, local, constant, 2 * 11 + 31, 0]
    np.testing.assert_array_equal(out.get(), [wanted] * 32)


def test_braces_for_pairs(device):
    x = np.random.default_rng(4).integers(-50, 50, (8, 4, 2)).astype("f2")
    out = quern.zeros((8, 2), "f2")
    kernel("pairs")((1,), (8,), (quern.asarray(x), out))
    np.testing.assert_array_equal(out.get(), x.sum(1)[:, ::-1])
