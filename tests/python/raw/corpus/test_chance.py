"""Integrals by chance, with the device side of cuRAND: pi, moments of normal numbers."""

from __future__ import annotations

import math

import numpy as np

import quern

CODE = r"""
#include <curand_kernel.h>
extern "C" __global__ void pi(unsigned long long* inside, int draws, unsigned long long seed) {
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, id, 0, &state);
    int hits = 0;
    for (int k = 0; k < draws; ++k) {
        float4 u = curand_uniform4(&state);
        hits += (u.x * u.x + u.y * u.y <= 1) + (u.z * u.z + u.w * u.w <= 1);
    }
    for (int d = 16; d; d >>= 1) hits += __shfl_down_sync(~0u, hits, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(inside, (unsigned long long)hits);
}
extern "C" __global__ void moments(double* sums, int draws, unsigned long long seed, curandState* states) {
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, id, 0, &states[id]);
    curandState state = states[id];
    double first = 0, second = 0;
    for (int k = 0; k < draws; ++k) {
        double x = k % 2 ? curand_normal(&state) : curand_normal_double(&state);
        first += x, second += x * x;
    }
    states[id] = state;
    atomicAdd(&sums[0], first);
    atomicAdd(&sums[1], second);
}
"""


def test_pi_by_chance(device):
    kernel = quern.RawKernel(CODE, "pi")
    inside = quern.zeros(1, "u8")
    kernel((4,), (96,), (inside, 100, np.uint64(1234)))
    n = 4 * 96 * 200
    assert abs(4 * inside.get()[0] / n - math.pi) < 5 * (math.pi * (4 - math.pi) / n) ** 0.5


def test_normal_moments(device):
    module = quern.RawModule(code=CODE)
    sums, states = quern.zeros(2, "f8"), quern.zeros(128 * 64, "u1")
    module.get_function("moments")((2,), (64,), (sums, 300, np.uint64(7), states), strict=False)
    n = 128 * 300
    first, second = sums.get() / n
    assert abs(first) < 5 / n**0.5
    assert abs(second - 1) < 5 * (2 / n) ** 0.5
