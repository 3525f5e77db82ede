"""The kernels of the rows, in CUDA C++ and, where PoCL runs the same, in OpenCL C."""

# One text for both: what differs between the languages is named by macros.
CUDA = r"""
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__
#define BARRIER __syncthreads()
#define TX threadIdx.x
#define TY threadIdx.y
#define BX blockIdx.x
#define BY blockIdx.y
#define WIDE blockDim.x
#define GRID gridDim.x
#define EXP expf
#define COUNT(place, by) atomicAdd(place, by)
"""
OPENCL = r"""
#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define TX (int)get_local_id(0)
#define TY (int)get_local_id(1)
#define BX (int)get_group_id(0)
#define BY (int)get_group_id(1)
#define WIDE (int)get_local_size(0)
#define GRID (int)get_num_groups(0)
#define EXP exp
#define COUNT(place, by) atomic_add(place, by)
"""

ADD = r"""
KERNEL add(GLOBAL const float* x, GLOBAL const float* y, GLOBAL float* z, int n) {
    int i = BX * WIDE + TX;
    if (i < n) z[i] = x[i] + y[i];
}
"""
ADD_STRIDE = r"""
KERNEL add_stride(GLOBAL const float* x, GLOBAL const float* y, GLOBAL float* z, int n) {
    for (int i = BX * WIDE + TX; i < n; i += GRID * WIDE) z[i] = x[i] + y[i];
}
"""
EXP = r"""
KERNEL power(GLOBAL const float* x, GLOBAL float* z, int n) {
    int i = BX * WIDE + TX;
    if (i < n) z[i] = EXP(x[i]);
}
"""
EXP_STRIDE = r"""
KERNEL power_stride(GLOBAL const float* x, GLOBAL float* z, int n) {
    for (int i = BX * WIDE + TX; i < n; i += GRID * WIDE) z[i] = EXP(x[i]);
}
"""
SAXPY_STRIDE = r"""
KERNEL saxpy_stride(GLOBAL const float* x, GLOBAL float* y, float a, int n) {
    for (int i = BX * WIDE + TX; i < n; i += GRID * WIDE) y[i] = a * x[i] + y[i];
}
"""
# What the threads of a block have kept is summed, half by half.
MEET = r"""
    BARRIER;
    for (int step = 128; step > 0; step /= 2) {
        if (TX < step) kept[TX] += kept[TX + step];
        BARRIER;
    }
    if (TX == 0) sums[BX] = kept[0];
}
"""
DOT_STRIDE = (
    r"""
KERNEL dot_stride(GLOBAL const float* x, GLOBAL const float* y, GLOBAL float* sums, int n) {
    LOCAL float kept[256];
    float sum = 0;
    for (int i = BX * 256 + TX; i < n; i += GRID * 256) sum += x[i] * y[i];
    kept[TX] = sum;
"""
    + MEET
)
HISTOGRAM_STRIDE = r"""
KERNEL histogram_stride(GLOBAL const unsigned char* x, GLOBAL int* counts, int n) {
    LOCAL int own[256];
    own[TX] = 0;
    BARRIER;
    for (int i = BX * 256 + TX; i < n; i += GRID * 256) COUNT(&own[x[i]], 1);
    BARRIER;
    COUNT(&counts[TX], own[TX]);
}
"""
PRODUCT = r"""
KERNEL product(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* c, int n) {
    int i = BY * 16 + TY, j = BX * 16 + TX;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}
"""
TILED = r"""
KERNEL tiled(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* c, int n) {
    LOCAL float x[16][16];
    LOCAL float y[16][16];
    int i = BY * 16 + TY, j = BX * 16 + TX;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[TY][TX] = a[i * n + k + TX];
        y[TY][TX] = b[(k + TY) * n + j];
        BARRIER;
        for (int m = 0; m < 16; ++m) sum += x[TY][m] * y[m][TX];
        BARRIER;
    }
    c[i * n + j] = sum;
}
"""
TREE = (
    r"""
KERNEL tree(GLOBAL const float* x, GLOBAL float* sums) {
    LOCAL float kept[256];
    int i = BX * 512 + TX;
    kept[TX] = x[i] + x[i + 256];
"""
    + MEET
)
TREE_STRIDE = (
    r"""
KERNEL tree_stride(GLOBAL const float* x, GLOBAL float* sums, int n) {
    LOCAL float kept[256];
    float sum = 0;
    for (int i = BX * 256 + TX; i < n; i += GRID * 256) sum += x[i];
    kept[TX] = sum;
"""
    + MEET
)
# A barrier and a read of shared memory, `rounds` times.
BARRIERS = r"""
KERNEL barriers(GLOBAL const float* x, GLOBAL float* y, int rounds) {
    LOCAL float kept[256];
    int i = BX * 256 + TX;
    float sum = 0;
    kept[TX] = x[i];
    for (int round = 0; round < rounds; ++round) {
        BARRIER;
        sum += kept[(TX + round) % 256];
    }
    y[i] = sum;
}
"""
