"""Programs as course texts on GPU programming print them, run as they stand; NumPy says what must come out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quern as cp

ADD = r"""
extern "C" __global__
void my_add(const float* x1, const float* x2, float* y) {
    int tid = blockDim.x * blockIdx.x + threadIdx.x;
    y[tid] = x1[tid] + x2[tid];
}
"""


def test_the_first_raw_kernel(device):
    add_kernel = cp.RawKernel(ADD, "my_add")
    x1 = cp.arange(25, dtype=cp.float32)
    x2 = cp.arange(25, dtype=cp.float32)
    y = cp.zeros(25, dtype=cp.float32)
    add_kernel((5,), (5,), (x1, x2, y))
    np.testing.assert_array_equal(y.get(), 2 * np.arange(25, dtype=np.float32))


def test_a_fourth_argument_has_no_parameter(device):
    add_kernel = cp.RawKernel(ADD, "my_add")
    threads_per_block = 512
    size = 25
    room = cp.zeros(3 * threads_per_block, dtype=cp.float32)  # the kernel asks nobody for its size
    x1, x2, y = (room[k * threads_per_block : (k + 1) * threads_per_block] for k in range(3))
    x1[:size] = cp.arange(size, dtype=cp.float32)
    x2[:size] = cp.arange(size, dtype=cp.float32)
    grid_size = (math.ceil(size / threads_per_block), 1, 1)
    block_size = (threads_per_block, 1, 1)
    with pytest.warns(UserWarning, match="takes 3 arguments, 4 were given"):
        add_kernel(grid_size, block_size, (x1, x2, y, size))
    np.testing.assert_array_equal(y[:size].get(), 2 * np.arange(size, dtype=np.float32))


REDUCTION = """
__global__ void reduction(float *g_odata, float *g_idata)
{
    // dynamically allocated shared memory
    extern  __shared__  float temp[];

    int tid = threadIdx.x;

    // first, each thread loads data into shared memory
    temp[tid] = g_idata[tid];

    // next, we perform binary tree reduction
    for (int d=blockDim.x/2; d>0; d=d/2) {
      __syncthreads();  // ensure previous step completed
      if (tid<d)
          temp[tid] += temp[tid+d];
    }

    // finally, first thread puts result into global memory
    if (tid == 0)
        g_odata[0] = temp[0];
}
"""


@pytest.mark.parametrize("threads", [1, 2, 32, 64, 256, 1024])
def test_a_tree_in_dynamic_shared_memory(device, threads):
    values = np.random.default_rng(threads).random(threads, np.float32)
    out = cp.zeros(1, cp.float32)
    kernel = cp.RawKernel(REDUCTION, "reduction")
    kernel((1,), (threads,), (out, cp.asarray(values)), shared_mem=4 * threads)
    np.testing.assert_allclose(out.item(), values.astype(np.float64).sum(), rtol=1e-6)


FOO = """
__global__
void foo1D(float A[], float B[], float Out[], int Nelem){
    int tid = threadIdx.x;
    int ctaid = blockIdx.x;
    int ntid = blockDim.x;
    int i = tid + ctaid * ntid;
    if ( i >= Nelem )
        return;
    float temp = A[i] + B[i];
    Out[i] = temp * temp;
}
"""


def test_array_parameters_and_an_early_return(device):
    a, b = np.random.default_rng(3).random((2, 1000), np.float32)
    out = cp.zeros(1000, cp.float32)
    cp.RawKernel(FOO, "foo1D")[8, 128](cp.asarray(a), cp.asarray(b), out, 1000)
    np.testing.assert_array_equal(out.get(), (a + b) * (a + b))


SUM_OF_A_GROUP = """
#include <cooperative_groups.h>
using namespace cooperative_groups;

__device__ int sumReduction(thread_group g, int *x, int val)
{
    int lane = g.thread_rank();
    for (int i = g.size()/2; i > 0; i /= 2)
    {
        x[lane] = val;
        g.sync();
        if(lane<i)
        {
            val += x[lane + i];
        }
        g.sync();
    }
    if (g.thread_rank()==0)
        return val;
    else
        return -1;
}

__global__ void sums(int *out, const int *in)
{
    extern __shared__ int work[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = sumReduction(this_thread_block(), work, in[i]);
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}
"""


def test_a_device_function_over_a_thread_group(device):
    values = np.random.default_rng(5).integers(-1000, 1000, (6, 128), np.int32)
    out = cp.zeros(6, cp.int32)
    cp.RawKernel(SUM_OF_A_GROUP, "sums")((6,), (128,), (out, cp.asarray(values)), shared_mem=512)
    np.testing.assert_array_equal(out.get(), values.sum(axis=1))
